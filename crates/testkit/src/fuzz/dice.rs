//! Bytes that are used up choice by choice.

/// Choices, as bytes decide them. When there are none left, every choice is the first.
pub(super) struct Dice<'a> {
    bytes: &'a [u8],
}

impl<'a> Dice<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// A number below `count`, which is not 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let (now, rest) = self.bytes.split_at(self.bytes.len().min(2));
        self.bytes = rest;
        let number = now.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        number % count
    }

    /// One of several.
    pub(super) fn pick<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[self.below(of.len())]
    }

    /// One of several words.
    pub(super) fn word(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    /// Flips bits, cuts or repeats a part of a text, whatever it is.
    pub(super) fn garble(&mut self, text: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let at = self.below(text.len());
        match self.below(4) {
            0 => text[at] ^= 1 << self.below(8),
            1 => text.truncate(at),
            2 => {
                let part = text[at..text.len().min(at + 40)].to_vec();
                text.splice(at..at, part);
            }
            _ => {
                const BYTES: [&[u8]; 8] = [
                    b"\"",
                    b"\xff\xfe",
                    b"\0",
                    b"\\u0000",
                    b"\n",
                    b"[",
                    b"\xf0\x9f\x98\x80",
                    b": ",
                ];
                let bytes = self.pick(&BYTES).to_vec();
                text.splice(at..at, bytes);
            }
        }
    }
}

/// What is often wrong: the wrong type, numbers at the ends of their range, quantities, times and
/// names that are not quite ones, and words that other fields know.
pub(super) const WORDS: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1.5",
    "1e3",
    "1e400",
    "true",
    "null",
    "~",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "2147483648",
    "500m",
    "-500m",
    "1Ki",
    "1Ei",
    "9Ei",
    "99999999999999999999Ei",
    "1.000000000000000000001",
    ".5",
    "1n",
    "0x10",
    "10s",
    "1h1h",
    "-5m",
    "9999999h",
    "1ns",
    "10%",
    "101%",
    "2026-11-16T03:28:39Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:60+99:99",
    "*",
    "In",
    "Exists",
    "DoesNotExist",
    "Gt",
    "NoSchedule",
    "Running",
    "Never",
    "cpu",
    "pods",
    "kubernetes.io/hostname",
    "a/b/c",
    "a,b,,c",
    "name=web,zone in (x",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "\u{0}",
    "\u{202e}\u{1F600}",
    "ſ\u{130}",
];

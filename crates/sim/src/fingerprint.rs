//! A number that two runs share exactly when they decided the same, in the same order.

/// FNV-1a over everything written. Not a map's hash: its value may be compared between builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        // Ends the text, so that "ab" and "c" differ from "a" and "bc".
        self.bytes(&[0xff]);
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_borders_of_texts_count() {
        let of = |texts: &[&str]| {
            let mut print = Fingerprint::default();
            texts.iter().for_each(|text| print.text(text));
            print.value()
        };
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
    }
}

//! Blocks of lines as gzip members that know their length, one after the other.
//!
//! ```text
//!  0  1f 8b 08 04  00 00 00 00  00 ff        gzip, with an extra field
//! 10  0c 00  'K' 'N'  08 00                  the extra field is ours
//! 16  length of the member, 4 bytes          little-endian, as everything in gzip
//! 20  CRC-32 of these 4 bytes
//! 24  deflate, CRC-32 and length of the text
//! ```
//!
//! The length makes it possible to tell a member that was cut short from one that was damaged, and
//! its own check keeps a damaged length from swallowing what follows.

use std::io::{Read as _, Write as _};

use flate2::bufread::GzDecoder;
use flate2::{Compression, Crc, GzBuilder};

const HEAD: usize = 24;
/// An empty deflate stream, a checksum and a length.
const BODY_MIN: usize = 10;
const MAGIC: [u8; 4] = [0x1f, 0x8b, 0x08, 0x04];
const EXTRA: [u8; 6] = [0x0c, 0x00, b'K', b'N', 0x08, 0x00];

/// The block as a member.
pub(crate) fn pack(block: &[u8]) -> Vec<u8> {
    // The extra field without its length, which the builder writes: name, size, room.
    let extra = [&EXTRA[2..], &[0; 8]].concat();
    let packed = Vec::with_capacity(block.len() / 6 + HEAD + BODY_MIN);
    let mut encoder = GzBuilder::new().extra(extra).write(packed, Compression::fast());
    let written = encoder.write_all(block).and_then(|()| encoder.finish());
    let mut packed = written.expect("memory takes everything");
    let length = u32::try_from(packed.len()).expect("a block is far below four gigabytes");
    packed[16..20].copy_from_slice(&length.to_le_bytes());
    packed[20..24].copy_from_slice(&check(length).to_le_bytes());
    packed
}

/// What is at the start of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A block, and how many bytes its member takes.
    Whole(Vec<u8>, usize),
    /// The bytes end before the member does.
    Cut,
    /// No member, or not what was written.
    Damaged(&'static str),
}

/// Reads the member at the start of `bytes`, which is not empty.
pub(crate) fn unpack(bytes: &[u8]) -> Frame {
    let Some(length) = length(bytes) else {
        let is_start = bytes.len() < HEAD && is_head(bytes);
        return if is_start { Frame::Cut } else { Frame::Damaged("no block begins here") };
    };
    let Some(member) = bytes.get(..length) else { return Frame::Cut };
    let mut block = Vec::new();
    let mut decoder = GzDecoder::new(member);
    // A checksum that is not right is an error as well.
    if decoder.read_to_end(&mut block).is_err() {
        return Frame::Damaged("the block is not what was written");
    }
    if !decoder.into_inner().is_empty() {
        return Frame::Damaged("the block is shorter than it says");
    }
    Frame::Whole(block, length)
}

/// Whether a member begins anywhere in these bytes.
pub(crate) fn has_frame(bytes: &[u8]) -> bool {
    (0..bytes.len()).any(|at| length(&bytes[at..]).is_some())
}

/// The length of the member that begins here.
fn length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..HEAD).filter(|head| is_head(head))?;
    let number = |at: usize| {
        let bytes = head[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let length = number(16);
    let is_right = number(20) == check(length) && length as usize >= HEAD + BODY_MIN;
    is_right.then_some(length as usize)
}

/// Whether all bytes that are there could be those of a head.
fn is_head(bytes: &[u8]) -> bool {
    let fits = |at: usize, expected: &[u8]| {
        let found = bytes.get(at..).unwrap_or_default();
        found.iter().zip(expected).all(|(found, expected)| found == expected)
    };
    fits(0, &MAGIC) && fits(10, &EXTRA)
}

fn check(length: u32) -> u32 {
    let mut crc = Crc::new();
    crc.update(&length.to_le_bytes());
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back() {
        for block in [&b""[..], b"one line\n", &b"again and ".repeat(10_000)] {
            let packed = pack(block);
            let expected = Frame::Whole(block.into(), packed.len());
            assert_eq!(unpack(&packed), expected);
            assert_eq!(unpack(&[&packed[..], b"more"].concat()), expected);
        }
    }

    #[test]
    fn any_gzip_reader_reads_blocks_in_a_row() {
        let packed = [pack(b"one\n"), pack(b"two\n")].concat();
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }

    #[test]
    fn a_block_that_is_cut_anywhere_is_cut() {
        let packed = pack(b"some line or other\n");
        for end in 1..packed.len() {
            assert_eq!(unpack(&packed[..end]), Frame::Cut, "{end} of {}", packed.len());
        }
    }

    #[test]
    fn a_flipped_bit_never_gives_another_block() {
        let block = b"some line or other, and the same line or other\n";
        let packed = pack(block);
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut spoiled = packed.clone();
                spoiled[at] ^= 1 << bit;
                // Time, flags of the compressor and the system say nothing.
                let is_idle = (4..10).contains(&at);
                match unpack(&spoiled) {
                    Frame::Whole(found, _) => assert!(is_idle && found == block, "byte {at}"),
                    Frame::Cut => panic!("byte {at} is taken for the end"),
                    Frame::Damaged(_) => assert!(!is_idle, "byte {at}"),
                }
            }
        }
    }

    #[test]
    fn a_later_block_is_found() {
        let packed = pack(b"line\n");
        assert!(has_frame(&[b"damage", &packed[..]].concat()));
        assert!(!has_frame(&packed[1..]) && !has_frame(b""));
    }
}

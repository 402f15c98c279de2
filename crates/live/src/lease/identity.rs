//! The name under which a replica holds a lease: no two processes ever have the same.

use std::fs::{self, File};
use std::io::{self, Read};

/// The name of this machine, in a pod the name of the pod.
pub(crate) fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".into() } else { name.into() }
}

/// Bits that nobody else has.
pub(super) fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}

/// `<hostname>_<uuid>`, as client-go's.
pub(super) fn identity(hostname: &str, bits: u128) -> String {
    // Version 4, variant 1: what says that the rest is random.
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("{hostname}_{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_ends_in_a_random_uuid() {
        assert_eq!(identity("pod-1", 0), "pod-1_00000000-0000-4000-8000-000000000000");
        assert_eq!(identity("pod-1", u128::MAX), "pod-1_ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_ne!(random().unwrap(), random().unwrap());
    }

    #[test]
    fn a_machine_has_a_name_of_one_word() {
        let name = hostname();
        assert!(!name.is_empty() && !name.contains(char::is_whitespace), "{name:?}");
    }
}

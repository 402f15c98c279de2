//! The fingerprint of a set of pods, by which updaters of NodeResourceTopology say whom they
//! account for. It is that of the library podfingerprint, version 1: the xxHash64 of every pod's
//! name, seeded with that of its namespace; these, sorted, hashed again.

/// The fingerprint of pods, by namespace and name, in any order.
pub fn fingerprint<'a>(pods: impl Iterator<Item = (&'a str, &'a str)>) -> u64 {
    let of_pod = |(namespace, name): (&str, &str)| {
        xxhash64(name.as_bytes(), xxhash64(namespace.as_bytes(), 0))
    };
    let mut hashes: Vec<u64> = pods.map(of_pod).collect();
    hashes.sort_unstable();
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    xxhash64(&bytes, 0)
}

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// xxHash64, as its specification has it.
fn xxhash64(bytes: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = match stripes {
        [] => seed.wrapping_add(P5),
        stripes => striped(stripes, seed),
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(P5);
        hash = hash.rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

/// Four lanes over stripes of 32 bytes, merged.
fn striped(stripes: &[[u8; 32]], seed: u64) -> u64 {
    let first = seed.wrapping_add(P1);
    let mut lanes = [first.wrapping_add(P2), seed.wrapping_add(P2), seed, seed.wrapping_sub(P1)];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, turn)| lane.rotate_left(turn));
    let sum = turned.fold(0_u64, u64::wrapping_add);
    let merge = |hash: u64, lane: &u64| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4);
    lanes.iter().fold(sum, merge)
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_library() {
        // From the library's own compatibility cases.
        let three = ["jaeger-dpgjk", "nginx-rt684", "envoy-g9m22"].map(|name| ("production", name));
        let ten = [
            ("analytics", "controller-69dkj"),
            ("kube-public", "subscriber-tq6v7"),
            ("kube-public", "transformer-hfbng"),
            ("kube-public", "validator-c6pn5"),
            ("kube-system", "proxy-wszrd"),
            ("middleware", "processor-jkrl4"),
            ("network", "gateway-vsll5"),
            ("network", "importer-kzdfr"),
            ("network", "importer-q5vt9"),
            ("staging", "prometheus-bwgbn"),
        ];
        assert_eq!(fingerprint(three.into_iter()), 0x607b_76a0_e9d3_aeb4);
        assert_eq!(fingerprint(ten.into_iter()), 0x5671_44e4_a561_bb5a);
        assert_eq!(fingerprint(ten.into_iter().rev()), 0x5671_44e4_a561_bb5a);
        // The hash of nothing.
        assert_eq!(fingerprint([].into_iter()), 0xef46_db37_51d8_e999);
    }

    #[test]
    fn hashes_are_those_of_other_implementations() {
        let table: [(&str, u64); 3] = [
            ("a", 0xd24e_c4f1_a98c_6e5b),
            ("as", 0x1c33_0fb2_d66b_e179),
            (
                "Call me Ishmael. Some years ago--never mind how long precisely-",
                0x02a2_e854_70d6_fd96,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(xxhash64(text.as_bytes(), 0), expected, "{text}");
        }
    }
}

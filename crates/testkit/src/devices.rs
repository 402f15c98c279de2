//! ResourceSlices and ResourceClaims in words.
//!
//! ```text
//! slice s on=a devices=0,0,1x,?            zones of gpu-0 to gpu-3; x is tainted, ? unknown
//! slice t on=a pool=p generation=2 slices=2 first=4 devices=0      gpu-4
//! slice u on=a devices=0,0 models=NVIDIA-L4,NVIDIA-L40S            their products
//! claim default/c a/gpu-0 a/gpu-1          pools and devices that are allocated to it
//! gone slice s
//! gone claim default/c
//! ```

use model::device::{ClaimedDevice, ResourceClaimFacts, ResourceSliceFacts, SliceDevice};

const DRIVER: &str = "gpu.nvidia.com";

/// A slice from the words behind its name.
///
/// # Panics
/// When a word makes no sense.
pub(crate) fn slice(name: &str, words: &[&str]) -> ResourceSliceFacts {
    let driver = DRIVER.into();
    let name = name.into();
    let mut slice = ResourceSliceFacts { name, driver, ..ResourceSliceFacts::default() };
    (slice.generation, slice.slice_count) = (1, 1);
    let (mut first, mut devices, mut models) = (0, "", "");
    for word in words {
        let (key, value) = word.split_once('=').expect("words of slices are KEY=VALUE");
        let number = || value.parse().expect("a number");
        match key {
            "on" => slice.node = value.into(),
            "pool" => slice.pool = value.into(),
            "driver" => slice.driver = value.into(),
            "generation" => slice.generation = number(),
            "slices" => slice.slice_count = value.parse().expect("a number"),
            "first" => first = value.parse().expect("a number"),
            "devices" => devices = value,
            "models" => models = value,
            _ => panic!("a slice has no {key:?}"),
        }
    }
    if slice.pool.is_empty() {
        slice.pool = slice.node.clone();
    }
    let device = |(at, word): (usize, &str)| SliceDevice {
        name: format!("gpu-{}", first + at).into(),
        zones: word.trim_end_matches('x').parse().into_iter().collect(),
        is_tainted: word.ends_with('x'),
        model: models.split(',').nth(at).filter(|model| !model.is_empty()).map(Into::into),
        ..SliceDevice::default()
    };
    let devices = devices.split(',').filter(|word| !word.is_empty());
    slice.devices = devices.enumerate().map(device).collect();
    slice
}

/// A claim from the words behind its name.
///
/// # Panics
/// When a word makes no sense.
pub(crate) fn claim(key: &str, words: &[&str]) -> ResourceClaimFacts {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    let device = |word: &&str| {
        let (pool, device) = word.split_once('/').expect("pool/device");
        ClaimedDevice { driver: DRIVER.into(), pool: pool.into(), device: device.into() }
    };
    let devices = words.iter().map(device).collect();
    ResourceClaimFacts { namespace: namespace.into(), name: name.into(), devices }
}

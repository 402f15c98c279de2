//! What a pod says of the GPUs it wants. All of it is a constraint: what means nothing keeps the
//! pod from being placed.

use model::{GpuFault, GpuShare, GpuWish, Quantity, Requests, is_gpu};

use super::annotations::{Annotations, fault};
use super::view::PodView;

/// Memory that each GPU must have.
const MEMORY: &str = "scheduling.kubenexus.io/vram-request";
/// Memory that all GPUs must have together.
const MEMORY_TOTAL: &str = "scheduling.kubenexus.io/vram-request-total";
/// How much of each GPU is used.
const FRACTION: &str = "kubenexus.io/gpu-fraction";
/// How much memory of each GPU is used.
const PART: &str = "kubenexus.io/gpu-memory";

/// Annotations that are read.
pub(super) const ANNOTATIONS: [&str; 4] = [MEMORY, MEMORY_TOTAL, FRACTION, PART];

/// The GPUs that a pod was bound with.
pub(crate) const PLACEMENT: &str = "gpu.kubenexus.io/placement";

/// More bytes than the GPUs of any node have.
const BYTES_MAX: i64 = 1 << 50;

/// The GPUs that a pod was bound with, bit 0 being the first; 0 if that is not known.
pub(super) fn placed(pod: &PodView) -> u64 {
    pod.metadata.annotations.get(PLACEMENT).and_then(super::numa::ids).unwrap_or(0)
}

/// What a pod says of GPUs; nothing if it says nothing.
pub(super) fn wish(pod: &PodView, requests: &Requests<String>) -> Option<Box<GpuWish>> {
    let annotations = &pod.metadata.annotations;
    let is_long = |key: &str| annotations.too_long().iter().any(|long| long.key == key);
    let is_said = |key: &&str| annotations.get(key).is_some() || is_long(key);
    let said = ANNOTATIONS.iter().copied().find(is_said)?;
    let mut scalars = requests.charge.amounts.scalars.iter();
    let has_gpus = scalars.any(|(name, amount)| *amount > 0 && is_gpu(name));
    let wish = match read(annotations) {
        Ok(_) if !has_gpus => faulty(stranded(said, annotations)),
        Ok(wish) => wish,
        Err(fault) => faulty(fault),
    };
    Some(Box::new(wish))
}

fn faulty(fault: GpuFault) -> GpuWish {
    GpuWish { fault: Some(fault), ..GpuWish::default() }
}

fn read(annotations: &Annotations) -> Result<GpuWish, GpuFault> {
    if let Some(long) = annotations.too_long().iter().find(|long| ANNOTATIONS.contains(&long.key)) {
        return Err(about(long.key, long.to_string()));
    }
    let memory = bytes(annotations, MEMORY)?;
    let memory_total = bytes(annotations, MEMORY_TOTAL)?;
    let part = bytes(annotations, PART)?.map(GpuShare::Memory);
    let fraction = annotations.get(FRACTION).map(|value| {
        let expected = "a number from 0.01 to 1.00 with at most two digits after the point";
        let milli = milli(value).ok_or_else(|| unsound(FRACTION, value, expected))?;
        Ok(GpuShare::Milli(milli))
    });
    let fraction = fraction.transpose()?;
    if let (Some(_), Some(value)) = (part, annotations.get(FRACTION)) {
        let expected = format!("no such annotation, as annotation {PART} says how much of a GPU");
        return Err(unsound(FRACTION, value, &expected));
    }
    Ok(GpuWish { memory, memory_total, share: fraction.or(part), fault: None })
}

/// That a pod says something of GPUs and asks for none.
fn stranded(key: &str, annotations: &Annotations) -> GpuFault {
    let value = annotations.get(key).unwrap_or_default();
    let expected = "a container that asks for GPUs, such as nvidia.com/gpu";
    unsound(key, value, expected)
}

fn unsound(key: &str, value: &str, expected: &str) -> GpuFault {
    about(key, fault(key, value, expected))
}

fn about(key: &str, words: String) -> GpuFault {
    if [FRACTION, PART].contains(&key) {
        GpuFault::InvalidShare(words.into())
    } else {
        GpuFault::InvalidMemory(words.into())
    }
}

/// A quantity of whole bytes. A part of a byte, as in `500m`, was meant to be something else.
fn bytes(annotations: &Annotations, key: &str) -> Result<Option<u64>, GpuFault> {
    let Some(value) = annotations.get(key) else { return Ok(None) };
    let quantity = Quantity::parse(value).ok();
    let units = quantity.filter(|it| Quantity::from_units(it.units()) == *it).map(Quantity::units);
    let units = units.filter(|units| (1..=BYTES_MAX).contains(units));
    let found = units.and_then(|units| u64::try_from(units).ok());
    let expected = "a quantity of bytes above 0 and up to 1Pi, such as 40Gi";
    found.map(Some).ok_or_else(|| unsound(key, value, expected))
}

/// Thousandths of a GPU: `0.25`, `0.5`, `1` or `1.0`. Digits stand on both sides of a point.
fn milli(text: &str) -> Option<u16> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, "0"));
    let hundredths = match digits.as_bytes() {
        [tens @ b'0'..=b'9'] => u16::from(tens - b'0') * 10,
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            u16::from(tens - b'0') * 10 + u16::from(ones - b'0')
        }
        _ => return None,
    };
    match (whole, hundredths) {
        ("0", 1..) => Some(hundredths * 10),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::requests::requests;
    use super::*;

    /// What a pod says that asks for these resources.
    fn read_with(resources: &serde_json::Value, annotations: &[(&str, &str)]) -> Option<GpuWish> {
        let annotations: std::collections::BTreeMap<_, _> = annotations.iter().copied().collect();
        let pod = json!({
            "metadata": {"name": "p", "annotations": annotations},
            "spec": {"containers": [{"name": "c", "resources": {"requests": resources}}]},
        });
        let view: PodView = serde_json::from_value(pod).expect("a pod");
        wish(&view, &requests(&view)).map(|wish| *wish)
    }

    /// What a pod says that asks for two GPUs.
    fn read(annotations: &[(&str, &str)]) -> GpuWish {
        read_with(&json!({"nvidia.com/gpu": 2}), annotations).expect("it says something")
    }

    #[test]
    fn memory_by_table() {
        let table: [(&str, Option<u64>); 18] = [
            ("40Gi", Some(40 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("80G", Some(80_000_000_000)),
            ("85899345920", Some(80 << 30)),
            ("8e10", Some(80_000_000_000)),
            ("1", Some(1)),
            ("1Pi", Some(1 << 50)),
            ("1125899906842625", None),
            ("1Ei", None),
            ("99999999999999999999999999", None),
            ("0", None),
            ("0Gi", None),
            ("-40Gi", None),
            ("500m", None),
            ("40GB", None),
            ("40 Gi", None),
            ("", None),
            ("much", None),
        ];
        for (value, bytes) in table {
            for key in [MEMORY, MEMORY_TOTAL, PART] {
                let wish = read(&[(key, value)]);
                let words = format!(
                    "annotation {key} is {value:?}: expected a quantity of bytes above 0 and up \
                     to 1Pi, such as 40Gi"
                );
                let expected = match (bytes, key) {
                    (None, _) => faulty(about(key, words)),
                    (_, MEMORY) => GpuWish { memory: bytes, ..GpuWish::default() },
                    (_, MEMORY_TOTAL) => GpuWish { memory_total: bytes, ..GpuWish::default() },
                    _ => {
                        let share = bytes.map(GpuShare::Memory);
                        GpuWish { share, ..GpuWish::default() }
                    }
                };
                assert_eq!(wish, expected, "{key} {value:?}");
            }
        }
    }

    #[test]
    fn fractions_by_table() {
        let table: [(&str, Option<u16>); 24] = [
            ("0.01", Some(10)),
            ("0.1", Some(100)),
            ("0.10", Some(100)),
            ("0.25", Some(250)),
            ("0.99", Some(990)),
            ("1", Some(1000)),
            ("1.0", Some(1000)),
            ("1.00", Some(1000)),
            ("0", None),
            ("0.0", None),
            ("0.00", None),
            ("1.01", None),
            ("2", None),
            ("-0.5", None),
            ("+0.5", None),
            ("0.005", None),
            ("0.500", None),
            (".5", None),
            ("1.", None),
            ("00.5", None),
            ("0,5", None),
            ("50%", None),
            (" 0.5", None),
            ("", None),
        ];
        for (value, milli) in table {
            let wish = read(&[(FRACTION, value)]);
            assert_eq!(wish.share, milli.map(GpuShare::Milli), "{value:?}");
            let fault = milli.is_none().then(|| {
                GpuFault::InvalidShare(
                    format!(
                        "annotation {FRACTION} is {value:?}: expected a number from 0.01 to 1.00 \
                         with at most two digits after the point"
                    )
                    .into(),
                )
            });
            assert_eq!(wish.fault, fault, "{value:?}");
        }
    }

    #[test]
    fn memory_of_each_and_of_all_and_a_share_stand_beside_each_other() {
        let wish = read(&[(MEMORY, "40Gi"), (MEMORY_TOTAL, "100Gi"), (PART, "10Gi")]);
        assert_eq!((wish.memory, wish.memory_total), (Some(40 << 30), Some(100 << 30)));
        assert_eq!((wish.share, wish.fault), (Some(GpuShare::Memory(10 << 30)), None));
    }

    #[test]
    fn a_fraction_and_an_amount_of_memory_exclude_each_other() {
        let fault = read(&[(FRACTION, "0.5"), (PART, "10Gi")]).fault.expect("both are there");
        let words = format!(
            "annotation {FRACTION} is \"0.5\": expected no such annotation, as annotation {PART} \
             says how much of a GPU"
        );
        assert_eq!(fault, GpuFault::InvalidShare(words.into()));
    }

    #[test]
    fn a_pod_without_gpus_may_say_nothing_of_them() {
        let none = json!({"cpu": 1, "nvidia.com/gpu": 0});
        assert_eq!(read_with(&none, &[]), None);
        assert_eq!(read_with(&json!({"nvidia.com/gpu": 1}), &[]), None);
        for (key, value) in [(MEMORY, "1Gi"), (MEMORY_TOTAL, "1Gi"), (FRACTION, "1"), (PART, "1")] {
            let fault = read_with(&none, &[(key, value)]).expect("it says something").fault;
            let words = format!(
                "annotation {key} is {value:?}: expected a container that asks for GPUs, such as \
                 nvidia.com/gpu"
            );
            assert_eq!(fault, Some(about(key, words)));
            for resource in ["nvidia.com/mig-1g.5gb", "amd.com/gpu", "nvidia.com/gpu.shared"] {
                let wish = read_with(&json!({resource: 1}), &[(key, value)]);
                assert_eq!(wish.expect("it says something").fault, None, "{resource}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        let long = "1".repeat(4_097);
        for key in ANNOTATIONS {
            let fault = read(&[(key, &long)]).fault.expect("too long");
            let begins = "1".repeat(80) + "...";
            let words = format!(
                "annotation {key} has 4097 bytes and begins with {begins:?}: expected at most \
                 4096 bytes"
            );
            assert_eq!(fault, about(key, words));
        }
    }

    /// The rows of a table on the page, cell by cell.
    fn rows(head: &str) -> Vec<Vec<&'static str>> {
        let page = include_str!("../../../../docs/gpu.md");
        let (_, table) = page.split_once(head).expect("a table");
        let table = table.split_once("\n\n").map_or(table, |(table, _)| table);
        let cells = |row: &'static str| row.split('|').skip(1).map(str::trim).collect();
        table.lines().skip(2).map(cells).collect()
    }

    #[test]
    fn the_page_lists_every_annotation_with_a_value_that_is_read() {
        let rows = rows("| Annotation of a pod |");
        let bare = |cell: &'static str| cell.trim_matches('`');
        let listed: Vec<&str> = rows.iter().map(|row| bare(row[0])).collect();
        assert_eq!(listed, ANNOTATIONS);
        for row in &rows {
            assert_eq!(read(&[(bare(row[0]), bare(row[1]))]).fault, None, "{row:?}");
        }
    }

    #[test]
    fn the_page_lists_every_reason() {
        let all = [
            GpuFault::InvalidMemory("".into()),
            GpuFault::InvalidShare("".into()),
            GpuFault::NoSharing,
            GpuFault::MemoryUnknown,
            GpuFault::MemoryTooSmall,
            GpuFault::NoneFree,
            GpuFault::ShareFull,
        ];
        let listed: Vec<&str> = rows("| Code |").iter().map(|row| row[0]).collect();
        assert_eq!(listed, all.map(|fault| format!("`{}`", fault.word())));
    }
}

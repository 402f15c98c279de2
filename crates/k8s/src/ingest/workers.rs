//! Pods that another pod makes when it runs: as an annotation lists them, or as the settings of a
//! Spark driver say.

use model::{GANG_MAX, Quantity, Workers};
use serde_json::Value;

use super::quantity::{Amount, List, Resource};
use super::requests::requests_of;
use super::view::PodSpecView;
use super::words::settings;
use super::{cut, read as read_object};

/// How workers are written.
pub(super) const EXAMPLE: &str = r#"[{"count":3,"resources":{"cpu":"1","memory":"2Gi"}}]"#;

/// How much of a text is repeated to its author.
const SHOWN_MAX: usize = 200;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with count and resources")]
struct Shape {
    count: i64,
    #[serde(default)]
    resources: List,
}

/// Workers as an annotation lists them.
pub(super) fn read(key: &'static str, text: &str) -> Result<Box<[Workers]>, String> {
    let wrong = |message: &str| format!("annotation {key}: {message}: expected {EXAMPLE}");
    let list: Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let shapes: Vec<Shape> = read_object("", &list).map_err(|error| {
        let place = if error.path().is_empty() { "" } else { ": " };
        wrong(&cut(&format!("{}{place}{}", error.path(), error.message()), SHOWN_MAX))
    })?;
    let mut sum = 0;
    let workers = shapes.iter().map(|shape| {
        let count = u32::try_from(shape.count).ok().filter(|count| (1..=GANG_MAX).contains(count));
        let Some(count) = count else {
            return Err(wrong(&format!("count is {}, not from 1 to {GANG_MAX}", shape.count)));
        };
        sum += count;
        if sum > GANG_MAX {
            return Err(wrong(&format!("these are more than {GANG_MAX} pods")));
        }
        Ok(Workers { count, requests: requests_of(&shape.resources) })
    });
    let workers: Box<[Workers]> = workers.collect::<Result<_, String>>()?;
    if workers.is_empty() { Err(wrong("the list is empty")) } else { Ok(workers) }
}

/// The executors that a Spark driver makes, if all of its settings that matter can be read.
pub(super) fn of_spark_driver(spec: &PodSpecView) -> Option<Workers> {
    let containers = spec.containers.iter();
    let found = containers.flat_map(|it| settings([&it.command, &it.args].into_iter(), &it.env));
    // What is said last holds, as it does for Spark.
    let found: Vec<(&str, &str)> = found.collect();
    let get = |key: &str| found.iter().rev().find(|(it, _)| *it == key).map(|(_, value)| *value);
    let count = get("spark.executor.instances")?.parse().ok()?;
    if !(1..=GANG_MAX).contains(&count) {
        return None;
    }
    let cores = get("spark.kubernetes.executor.request.cores").or(get("spark.executor.cores"));
    let cores = amount(cores.unwrap_or("1"))?;
    let factor =
        get("spark.executor.memoryOverheadFactor").or(get("spark.kubernetes.memoryOverheadFactor"));
    let mut resources = List::new();
    let mib = memory_mib(
        get("spark.executor.memory").unwrap_or("1g"),
        get("spark.executor.memoryOverhead"),
        factor.unwrap_or("0.1"),
    )?;
    resources.set(&Resource::Cpu, cores);
    resources.set(&Resource::Memory, Amount(Quantity::from_units(mib.checked_mul(1 << 20)?)));
    for (key, amount) in &found {
        let device = key.strip_prefix("spark.executor.resource.");
        let Some(device) = device.and_then(|it| it.strip_suffix(".amount")) else { continue };
        let vendor = get(&format!("spark.executor.resource.{device}.vendor"))?;
        resources.set(&Resource::named(&format!("{vendor}/{device}")), self::amount(amount)?);
    }
    Some(Workers { count, requests: requests_of(&resources) })
}

/// A quantity that is not negative.
fn amount(text: &str) -> Option<Amount> {
    Quantity::parse(text).ok().filter(|it| *it >= Quantity::default()).map(Amount)
}

/// The least that Spark adds to the memory of an executor.
const OVERHEAD_MIN_MIB: i64 = 384;

/// Memory of an executor with all that Spark adds, in MiB.
fn memory_mib(memory: &str, overhead: Option<&str>, factor: &str) -> Option<i64> {
    let memory = spark_mib(memory)?;
    let overhead = match overhead {
        Some(overhead) => spark_mib(overhead)?,
        None => {
            let factor = amount(factor)?.0.milli();
            (memory.checked_mul(factor)? / 1000).max(OVERHEAD_MIN_MIB)
        }
    };
    memory.checked_add(overhead)
}

/// An amount of memory as Spark reads it: `2g`, `2048m`, or a number of MiB.
fn spark_mib(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: i64 = number.parse().ok()?;
    match unit {
        "b" => Some(number >> 20),
        "k" | "kb" => Some(number >> 10),
        "" | "m" | "mb" => Some(number),
        "g" | "gb" => number.checked_mul(1 << 10),
        "t" | "tb" => number.checked_mul(1 << 20),
        _ => None,
    }
}

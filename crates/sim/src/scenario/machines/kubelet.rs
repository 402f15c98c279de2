//! How the kubelet of a pool is configured, under the names that a KubeletConfiguration has.

use k8s::document::{Fields, Problems, Spot};
use serde_json::{Map, Value as Json, json};

/// The keys of a pool that are read here.
pub(in super::super) const KEYS: [&str; 7] = [
    "topologyManagerPolicy",
    "topologyManagerScope",
    "topologyManagerPolicyOptions",
    "cpuManagerPolicy",
    "cpuManagerPolicyOptions",
    "memoryManagerPolicy",
    "reservedSystemCPUs",
];

/// Words that keys may have; the first is what the kubelet does if nothing is said.
const WORDS: [(&str, &[&str]); 4] = [
    ("topologyManagerPolicy", &["none", "best-effort", "restricted", "single-numa-node"]),
    ("topologyManagerScope", &["container", "pod"]),
    ("cpuManagerPolicy", &["none", "static"]),
    ("memoryManagerPolicy", &["None", "Static"]),
];

/// Options that are switched on and off.
const OPTIONS: [(&str, &[&str]); 2] = [
    ("topologyManagerPolicyOptions", &["prefer-closest-numa-nodes"]),
    (
        "cpuManagerPolicyOptions",
        &[
            "full-pcpus-only",
            "distribute-cpus-across-numa",
            "distribute-cpus-across-cores",
            "align-by-socket",
            "strict-cpu-reservation",
            "prefer-align-cpus-by-uncorecache",
        ],
    ),
];

/// The longest list of CPUs that is read, and the largest number of one.
const LIST_MAX: usize = 256;
const CPU_MAX: u64 = 1_023;

/// What is said of a kubelet.
#[derive(Clone, Debug, Default)]
pub(super) struct Kubelet {
    /// By the name of the field.
    said: Map<String, Json>,
    /// How many CPUs are reserved, if it is said which.
    reserved_cpus: Option<u64>,
}

impl Kubelet {
    pub(super) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let before = problems.count();
        let mut kubelet = Self::default();
        for (key, words) in WORDS {
            let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, *word)).collect();
            let word = fields.get(key).and_then(|spot| spot.word(&words, problems));
            kubelet.said.extend(word.map(|word| (key.to_owned(), json!(word))));
        }
        for (key, known) in OPTIONS {
            if let Some(spot) = fields.get(key) {
                kubelet.said.insert(key.to_owned(), options(spot, known, problems));
            }
        }
        if let Some(spot) = fields.get("reservedSystemCPUs")
            && let Some(text) = spot.text(problems)
        {
            kubelet.reserved_cpus = cpus(text);
            if kubelet.reserved_cpus.is_none() {
                spot.expected("CPUs from 0 to 1023, such as 0-1,32", problems);
            }
            kubelet.said.insert("reservedSystemCPUs".to_owned(), json!(text));
        }
        (problems.count() == before).then_some(kubelet)
    }

    /// A kubelet with a policy that gives whole CPUs exclusively.
    pub(super) fn aligned(policy: &'static str) -> Self {
        let said = [("topologyManagerPolicy", policy), ("cpuManagerPolicy", "static")];
        let said = said.map(|(key, word)| (key.to_owned(), json!(word))).into_iter().collect();
        Self { said, reserved_cpus: None }
    }

    pub(super) fn reserved_cpus(&self) -> Option<u64> {
        self.reserved_cpus
    }

    /// The annotation that the agent writes; `first` are the CPUs that are reserved if nothing is
    /// said of that.
    pub(super) fn annotation(&self, first: &str, reserved_gib: u64) -> String {
        let mut all = self.said.clone();
        all.entry("reservedSystemCPUs").or_insert(json!(first));
        let limits = json!({"memory": format!("{reserved_gib}Gi")});
        all.insert("reservedMemory".to_owned(), json!([{"numaNode": 0, "limits": limits}]));
        Json::Object(all).to_string()
    }
}

/// Options as a KubeletConfiguration has them: words for truth values.
fn options(spot: Spot<'_>, known: &[&str], problems: &mut Problems) -> Json {
    let mut options = Map::new();
    let Some(fields) = spot.fields(known, problems) else { return Json::Null };
    for key in known {
        let value = fields.boolean(key, problems);
        options.extend(value.map(|value| ((*key).to_owned(), json!(value.to_string()))));
    }
    Json::Object(options)
}

/// How many CPUs a list such as `0-1,32` has.
fn cpus(text: &str) -> Option<u64> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number <= CPU_MAX);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some((first, last))
    };
    let is_short = !text.is_empty() && text.len() <= LIST_MAX;
    let ranges: Vec<_> = text.split(',').filter(|_| is_short).map(range).collect::<Option<_>>()?;
    let mut all: Vec<u64> = ranges.into_iter().flat_map(|(first, last)| first..=last).collect();
    all.sort_unstable();
    all.dedup();
    is_short.then_some(all.len() as u64)
}

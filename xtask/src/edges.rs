//! Which crate may stand on which. A new edge changes what the crates are, so it needs a line
//! here, with its reason, and a reader who agrees.
//!
//! ```text
//! model <- framework <- plugins        engine does not know plugins, plugins do not know engine
//!   ^          ^
//!   |          +------- engine
//!   +-----------------  k8s            shapes and texts, no network
//!
//! sim, live, kubenexus                 shells: put engine, plugins and k8s together
//! nvml <- agent                        runs on nodes, knows nothing of the scheduler
//! ```

use std::collections::BTreeSet;

use crate::metadata::{Kind, Metadata, Package};
use crate::problem::Problem;

const RULE: &str = "edges";

/// Crates whose results depend on their arguments alone, with their folders.
const PURE: &[(&str, &str)] = &[
    ("kubenexus-model", "crates/model/"),
    ("kubenexus-framework", "crates/framework/"),
    ("kubenexus-plugins", "crates/plugins/"),
    ("kubenexus-engine", "crates/engine/"),
    ("kubenexus-k8s", "crates/k8s/"),
];

/// What may be used by whom, and why. Crates of [`ANYTHING`] are not listed.
const ALLOWED: &[(&str, &[(&str, &str)])] = &[
    (
        "kubenexus-model",
        &[
            ("hashbrown", "tables whose keys live elsewhere, and maps that take a hasher"),
            ("foldhash", "a hasher with a fixed seed"),
            ("serde", "facts and events are written down in journals and checkpoints"),
        ],
    ),
    ("kubenexus-framework", &[("kubenexus-model", "questions are about the model")]),
    (
        "kubenexus-plugins",
        &[
            ("kubenexus-framework", "the questions to answer"),
            ("kubenexus-model", "what the answers are made of"),
            ("fearless_simd", "loops over columns for the machine at hand"),
        ],
    ),
    (
        "kubenexus-engine",
        &[
            ("kubenexus-framework", "the questions to ask"),
            ("kubenexus-model", "the state it keeps and the decisions it gives"),
            ("serde", "checkpoints are written down"),
            ("thiserror", "why a checkpoint is refused"),
        ],
    ),
    (
        "kubenexus-journal",
        &[
            ("kubenexus-model", "the events and decisions it keeps"),
            ("kubenexus-engine", "the checkpoints segments begin with"),
            ("flate2", "compression that any tool can undo"),
            ("jiff", "names of segments say their time"),
            ("serde", "the shape of records"),
            ("serde_json", "the text of records"),
            ("thiserror", "errors that keep their sources"),
            ("tracing", "the log"),
        ],
    ),
    (
        "kubenexus-k8s",
        &[
            ("kubenexus-framework", "the settings a configuration becomes"),
            ("kubenexus-model", "the events objects become, the decisions it renders"),
            ("saphyr-parser", "the line of every key of a configuration"),
            ("serde", "the shapes Kubernetes serves"),
            ("serde_json", "the text of these shapes"),
            ("serde_path_to_error", "the path of a value that does not parse"),
            ("thiserror", "errors that keep their sources"),
        ],
    ),
    (
        "kubenexus-testkit",
        &[
            ("kubenexus-model", "the events fixtures become"),
            ("kubenexus-framework", "profiles for fixtures"),
            ("kubenexus-plugins", "profiles for fixtures"),
            ("kubenexus-engine", "running fixtures"),
            ("kubenexus-k8s", "texts to compare"),
            ("bolero", "fuzz targets"),
            ("rand", "drawing their inputs"),
            ("rand_chacha", "a stream that is the same for the same seed, for ever"),
            ("serde_json", "documents to spoil"),
        ],
    ),
    (
        "kubenexus-sim",
        &[
            ("kubenexus-model", "the events of the world"),
            ("kubenexus-framework", "profiles"),
            ("kubenexus-plugins", "profiles"),
            ("kubenexus-engine", "what lives in the world"),
            ("kubenexus-k8s", "texts of reasons, the default configuration"),
            ("kubenexus-journal", "what is replayed"),
            ("rand", "drawing the world"),
            ("rand_chacha", "a stream that is the same for the same seed, for ever"),
            ("serde", "the report for machines"),
            ("serde_json", "manifests between reading and ingesting"),
            ("thiserror", "why a journal cannot be replayed"),
        ],
    ),
    (
        "kubenexus-live",
        &[
            ("kubenexus-model", "the events watches become, the decisions to carry out"),
            ("kubenexus-framework", "profiles"),
            ("kubenexus-plugins", "profiles"),
            ("kubenexus-engine", "what decides"),
            ("kubenexus-k8s", "objects to events, decisions to objects, the configuration"),
            ("kubenexus-journal", "what went in and came out, for replay"),
            ("anyhow", "why it could not start"),
            ("bytes", "bodies of answers"),
            ("http", "requests"),
            ("http-body-util", "reading bodies piece by piece"),
            ("hyper", "serving health and metrics"),
            ("hyper-util", "connections of the client and the server"),
            ("jiff", "timestamps of leases, events and conditions"),
            ("k8s-openapi", "leases and reviews, which are few"),
            ("kube", "kubeconfig, credentials, TLS to the API server"),
            ("memchr", "ends of lines in a watch"),
            ("prometheus-client", "metrics"),
            ("rcgen", "the certificate that is served when none is given"),
            ("rustls", "TLS"),
            ("serde", "shapes of answers"),
            ("serde_json", "the text of these shapes"),
            ("thiserror", "errors that keep their sources"),
            ("tokio", "waiting for many things on one thread"),
            ("tokio-rustls", "TLS for what is served"),
            ("tower", "credentials and headers around the client"),
            ("tracing", "the log"),
        ],
    ),
    (
        "kubenexus-nvml",
        &[
            ("libloading", "NVIDIA's library is opened when it is needed"),
            ("thiserror", "why it cannot be"),
        ],
    ),
    (
        "kubenexus-agent",
        &[
            ("kubenexus-nvml", "GPUs, as their maker describes them"),
            ("anyhow", "why it could not start or write"),
            ("bytes", "bodies of answers"),
            ("clap", "the command line"),
            ("h2", "the kubelet's socket"),
            ("http", "requests"),
            ("http-body-util", "reading bodies"),
            ("hyper-util", "connections to the API server"),
            ("k8s-openapi", "kube does not compile without a version of its types"),
            ("kube", "kubeconfig, credentials, TLS to the API server"),
            ("rustls", "the provider of cryptography"),
            ("serde", "shapes of answers and annotations"),
            ("serde_json", "the text of these shapes"),
            ("serde-saphyr", "the kubelet's configuration"),
            ("thiserror", "errors that keep their sources"),
            ("tokio", "timers, signals and sockets on one thread"),
            ("tower", "credentials and headers around the client"),
            ("tracing", "the log"),
            ("tracing-subscriber", "the log"),
        ],
    ),
];

/// The binary, and what is outside the product: these may use whatever the workspace lists.
const ANYTHING: &[&str] = &[
    "kubenexus",
    "kubenexus-conformance",
    "kubenexus-control-plane",
    "kubenexus-e2e",
    "kubenexus-kubelet",
    "kubenexus-parity",
    "kubenexus-perf",
    "kubenexus-perf-live",
    "xtask",
];

/// What the crates of [`ALLOWED`] may use in tests beside each other.
const FOR_TESTS: &[&str] = &["proptest", "serde_json", "tracing-subscriber", TESTKIT];

/// Never part of the product.
const TESTKIT: &str = "kubenexus-testkit";

/// What no pure crate may reach, through however many others: clocks, threads, chance, network.
const UNREACHABLE: &[&str] =
    &["chrono", "getrandom", "hyper", "jiff", "kube", "mio", "rand", "rand_core", "time", "tokio"];

/// Whether a file is product source of a pure crate.
pub(crate) fn is_pure_source(path: &str) -> bool {
    let within = |folder: &str| path.strip_prefix(folder).is_some_and(|p| p.starts_with("src/"));
    PURE.iter().any(|(_, folder)| within(folder))
}

pub(crate) fn check(metadata: &Metadata) -> Vec<Problem> {
    metadata.members().flat_map(|package| check_package(metadata, package)).collect()
}

fn check_package(metadata: &Metadata, package: &Package) -> Vec<Problem> {
    let name = package.name.as_str();
    let manifest = metadata.relative(&package.manifest_path);
    let mut problems = Vec::new();
    let mut say = |text: String| problems.push(Problem::of(RULE, &manifest, text));
    let allowed = ALLOWED.iter().find(|(of, _)| *of == name).map(|(_, edges)| *edges);
    if allowed.is_none() && !ANYTHING.contains(&name) {
        say(format!("crate {name} has no line in xtask/src/edges.rs: add one, with its edges"));
        return problems;
    }
    for dependency in &package.dependencies {
        let to = dependency.name.as_str();
        if to == TESTKIT && dependency.kind != Some(Kind::Dev) {
            say(format!("{name} uses {to} outside tests: make it a dev-dependency"));
        } else if let Some(edges) = allowed
            && !is_allowed(edges, to, dependency.kind)
        {
            let kind = match dependency.kind {
                None => "",
                Some(Kind::Dev) => " in tests",
                Some(Kind::Build) => " in its build script",
            };
            say(format!(
                "{name} must not use {to}{kind}: a new edge needs a line in xtask/src/edges.rs \
                 with its reason"
            ));
        }
    }
    if PURE.iter().any(|(pure, _)| *pure == name) {
        for far in reached(metadata, &package.id) {
            if UNREACHABLE.contains(&far) {
                say(format!(
                    "{name} is pure but reaches {far}: see `cargo tree -p {name} -i {far}`"
                ));
            }
        }
    }
    problems
}

fn is_allowed(edges: &[(&str, &str)], to: &str, kind: Option<Kind>) -> bool {
    let is_listed = edges.iter().any(|(edge, _)| *edge == to);
    match kind {
        None => is_listed,
        // A test may use what stands above: the engine is tested with real plugins.
        Some(Kind::Dev) => {
            let is_ours = ALLOWED.iter().any(|(ours, _)| *ours == to);
            is_listed || is_ours || FOR_TESTS.contains(&to)
        }
        Some(Kind::Build) => false,
    }
}

/// Names of what the product part of a package uses, directly or not.
fn reached<'a>(metadata: &'a Metadata, id: &str) -> BTreeSet<&'a str> {
    let mut ids = BTreeSet::new();
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let Some(node) = metadata.resolve.nodes.iter().find(|node| node.id == id) else { continue };
        for used in &node.deps {
            let is_product = used.dep_kinds.iter().any(|purpose| purpose.kind.is_none());
            if is_product && ids.insert(used.pkg.as_str()) {
                open.push(&used.pkg);
            }
        }
    }
    let packages = metadata.packages.iter();
    packages.filter(|package| ids.contains(package.id.as_str())).map(|p| p.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Node, Resolve, Use, UseKind, package};
    use crate::problem::lines;

    fn workspace(packages: Vec<Package>, uses: &[(&str, &str, Option<Kind>)]) -> Metadata {
        let node = |(from, to, kind): &(&str, &str, Option<Kind>)| Node {
            id: (*from).into(),
            deps: vec![Use { pkg: (*to).into(), dep_kinds: vec![UseKind { kind: *kind }] }],
        };
        let is_ours = |name: &&String| name.starts_with("kubenexus");
        Metadata {
            workspace_members: packages.iter().map(|p| &p.id).filter(is_ours).cloned().collect(),
            packages,
            workspace_root: "/r".into(),
            resolve: Resolve { nodes: uses.iter().map(node).collect() },
        }
    }

    fn check_edge(from: &str, to: &str, kind: Option<Kind>) -> String {
        lines(&check(&workspace(vec![package(from, None, &[(to, kind)])], &[])))
    }

    #[test]
    fn listed_edges_pass() {
        let table = [
            ("kubenexus-model", "hashbrown", None),
            ("kubenexus-plugins", "kubenexus-framework", None),
            ("kubenexus-engine", "kubenexus-plugins", Some(Kind::Dev)),
            ("kubenexus-model", "proptest", Some(Kind::Dev)),
            ("kubenexus-model", "kubenexus-testkit", Some(Kind::Dev)),
            ("kubenexus", "anything", None),
        ];
        for (from, to, kind) in table {
            assert_eq!(check_edge(from, to, kind), "", "{from} -> {to}");
        }
    }

    #[test]
    fn other_edges_ask_for_a_line() {
        let table = [
            ("kubenexus-model", "serde_json", None),
            ("kubenexus-engine", "kubenexus-plugins", None),
            ("kubenexus-plugins", "kubenexus-engine", None),
            ("kubenexus-k8s", "tokio", None),
            ("kubenexus-model", "hashbrown", Some(Kind::Build)),
            ("kubenexus-model", "tokio", Some(Kind::Dev)),
        ];
        for (from, to, kind) in table {
            let found = check_edge(from, to, kind);
            assert!(
                found.contains("needs a line in xtask/src/edges.rs"),
                "{from} -> {to}: {found}"
            );
        }
    }

    #[test]
    fn the_testkit_stays_out_of_the_product() {
        let found = check_edge("kubenexus", "kubenexus-testkit", None);
        assert!(found.contains("make it a dev-dependency"), "{found}");
    }

    #[test]
    fn a_crate_nobody_listed_is_noticed() {
        let found = check_edge("kubenexus-unknown", "tokio", None);
        assert!(found.contains("kubenexus-unknown has no line"), "{found}");
    }

    #[test]
    fn pure_crates_reach_no_chance_through_others() {
        let packages = || {
            vec![
                package("kubenexus-model", None, &[]),
                package("hashbrown", None, &[]),
                package("getrandom", None, &[]),
            ]
        };
        let uses =
            |kind| [("kubenexus-model", "hashbrown", None), ("hashbrown", "getrandom", kind)];
        let found = lines(&check(&workspace(packages(), &uses(None))));
        assert!(found.contains("is pure but reaches getrandom"), "{found}");
        assert!(check(&workspace(packages(), &uses(Some(Kind::Dev)))).is_empty());
    }

    #[test]
    fn pure_source_is_told_by_its_folder() {
        assert!(is_pure_source("crates/model/src/a/b.rs"));
        assert!(!is_pure_source("crates/model/tests/a.rs"));
        assert!(!is_pure_source("crates/sim/src/a.rs"));
    }
}

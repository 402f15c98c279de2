//! `cargo xtask fields`: the fields that objects of Kubernetes may have, as one table.
//!
//! The OpenAPI document of the Kubernetes that everything is compared with is in its Go module,
//! which `go` downloads. The table in the repository tells `simulate` and `verdict` which fields of
//! a manifest nobody knows. A rule of `tidy` sees to it that both are of the same version.
//!
//! ```text
//! kind v1 Pod core.v1.Pod            an API version, a kind, and the type of its objects
//! type core.v1.PodSpec               a type, and below it its fields
//!   hostname                         a value, a list of values, or a map with keys of the user's
//!   affinity core.v1.Affinity        an object of another type, or a list of such
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::Metadata;
use crate::problem::Problem;
use crate::tree::File;

const RULE: &str = "fields";
/// The table.
const TABLE: &str = "crates/k8s/src/manifest/fields.txt";
/// The folder of the Go module that names the version of Kubernetes.
const GO_FOLDER: &str = "tests/control-plane/kubernetes";
const MODULE: &str = "k8s.io/kubernetes";

/// The kinds of manifests that are read.
const KINDS: &[&str] = &[
    "CompositePodGroup",
    "DaemonSet",
    "Deployment",
    "Job",
    "Namespace",
    "Node",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
    "Workload",
];

/// Writes the table anew.
pub(crate) fn run() -> Result<()> {
    let metadata = Metadata::read()?;
    let root = Path::new(&metadata.workspace_root);
    let go_mod =
        fs::read_to_string(root.join(GO_FOLDER).join("go.mod")).context("reading go.mod")?;
    let version =
        version_in(&go_mod).with_context(|| format!("{GO_FOLDER}/go.mod has no {MODULE}"))?;
    let path = module_folder(root, version)?.join("api/openapi-spec/swagger.json");
    let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let document: Document =
        serde_json::from_slice(&text).context("reading the OpenAPI document")?;
    fs::write(root.join(TABLE), table(&document, version)?).context("writing the table")
}

/// The table must be of the Kubernetes that everything else is compared with.
pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| &*file.text);
    let version = text(&format!("{GO_FOLDER}/go.mod")).and_then(version_in);
    let (Some(version), Some(table)) = (version, text(TABLE)) else { return Vec::new() };
    if table.starts_with(&head(version)) {
        return Vec::new();
    }
    let text = format!("not of {MODULE} {version}: run `cargo xtask fields`");
    vec![Problem::at(RULE, TABLE, 1, text)]
}

fn head(version: &str) -> String {
    format!("# Fields of {MODULE} {version}, written by `cargo xtask fields`.\n")
}

/// The version that a `go.mod` requires.
fn version_in(go_mod: &str) -> Option<&str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(MODULE)).then(|| words.next())?
    })
}

/// The folder of the module, which `go` downloads if it is not there.
fn module_folder(root: &Path, version: &str) -> Result<std::path::PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Module {
        dir: String,
    }
    let module = format!("{MODULE}@{version}");
    let output = Command::new("go")
        .args(["mod", "download", "-json", &module])
        .current_dir(root.join(GO_FOLDER))
        .output()
        .context("starting go to download the module")?;
    if !output.status.success() {
        bail!("go mod download {module}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let module: Module = serde_json::from_slice(&output.stdout).context("reading what go says")?;
    Ok(module.dir.into())
}

/// An OpenAPI document, version 2.
#[derive(Deserialize)]
struct Document {
    definitions: BTreeMap<String, Schema>,
}

#[derive(Deserialize)]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    items: Option<Box<Self>>,
    #[serde(default)]
    properties: BTreeMap<String, Self>,
    #[serde(default, rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

impl Schema {
    /// The type of its objects, or of those in its list.
    fn target(&self) -> Option<&str> {
        let schema = self.items.as_deref().unwrap_or(self);
        schema.reference.as_deref()?.rsplit('/').next()
    }
}

fn table(document: &Document, version: &str) -> Result<String> {
    let mut text = head(version);
    let mut reached = BTreeSet::new();
    let mut waiting = Vec::new();
    for (name, schema) in &document.definitions {
        // Types such as DeleteOptions belong to every version of every group.
        let [Kind { group, version, kind }] = &schema.kinds[..] else { continue };
        if KINDS.contains(&&**kind) {
            let slash = if group.is_empty() { "" } else { "/" };
            text.push_str(&format!("kind {group}{slash}{version} {kind} {}\n", short(name)));
            waiting.push(&**name);
        }
    }
    while let Some(name) = waiting.pop() {
        if reached.insert(name) {
            let schema = document.definitions.get(name);
            let schema = schema.with_context(|| format!("{name} is not defined"))?;
            let targets = schema.properties.values().filter_map(Schema::target);
            waiting.extend(targets.filter(|target| has_fields(document, target)));
        }
    }
    for name in reached {
        text.push_str(&format!("type {}\n", short(name)));
        for (field, schema) in &document.definitions[name].properties {
            let target = schema.target().filter(|target| has_fields(document, target));
            let target = target.map(|target| format!(" {}", short(target))).unwrap_or_default();
            text.push_str(&format!("  {field}{target}\n"));
        }
    }
    Ok(text)
}

/// Whether a type is an object with named fields, and not, say, a quantity.
fn has_fields(document: &Document, name: &str) -> bool {
    document.definitions.get(name).is_some_and(|schema| !schema.properties.is_empty())
}

/// `core.v1.Pod` for `io.k8s.api.core.v1.Pod`: the last three words tell types apart.
fn short(name: &str) -> &str {
    name.rmatch_indices('.').nth(2).map_or(name, |(at, _)| &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    #[test]
    fn a_table_has_the_kinds_that_are_read_and_every_type_below_them() {
        let kind = serde_json::json!([{"group": "", "version": "v1", "kind": "Pod"}]);
        let to = |name: &str| serde_json::json!({"$ref": format!("#/definitions/{name}")});
        let document = serde_json::json!({"definitions": {
            "io.k8s.api.core.v1.Pod": {"x-kubernetes-group-version-kind": kind,
                "properties": {"spec": to("io.k8s.api.core.v1.PodSpec"), "kind": {}}},
            "io.k8s.api.core.v1.PodSpec": {"properties": {
                "containers": {"type": "array", "items": to("io.k8s.api.core.v1.Container")},
                "overhead": {"type": "object", "additionalProperties": to("a.Quantity")}}},
            "io.k8s.api.core.v1.Container": {"properties": {"size": to("a.Quantity")}},
            "io.k8s.api.core.v1.Secret": {"properties": {"data": {}}},
            "a.Quantity": {"type": "string"},
        }});
        let document: Document = serde_json::from_value(document).expect("a document");
        let expected = "# Fields of k8s.io/kubernetes v9, written by `cargo xtask fields`.\n\
            kind v1 Pod core.v1.Pod\n\
            type core.v1.Container\n  size\n\
            type core.v1.Pod\n  kind\n  spec core.v1.PodSpec\n\
            type core.v1.PodSpec\n  containers core.v1.Container\n  overhead\n";
        assert_eq!(table(&document, "v9").expect("complete"), expected);
    }

    #[test]
    fn a_table_of_another_version_is_found() {
        let go_mod = format!("{GO_FOLDER}/go.mod");
        let version =
            "module x\n\nrequire (\n\tk8s.io/kubernetes/a v3\n\tk8s.io/kubernetes v2 // x\n)\n";
        let check = |table: &str| lines(&check(&tree::of(&[(&*go_mod, version), (TABLE, table)])));
        assert_eq!(check(&head("v2")), "");
        assert!(
            check(&head("v1")).contains("not of k8s.io/kubernetes v2: run `cargo xtask fields`")
        );
    }
}

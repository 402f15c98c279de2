//! What `cargo metadata` says, as far as rules ask.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The workspace and everything it stands on.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) workspace_root: String,
    pub(crate) resolve: Resolve,
}

/// A package, ours or not.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// None for our own.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// A dependency as a manifest states it.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<Kind>,
}

/// What a dependency is for; a normal one has no kind.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Tests and benchmarks.
    Dev,
    /// Build scripts.
    Build,
}

/// Something cargo builds.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) src_path: String,
}

/// Which package uses which, after versions were chosen.
#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// The uses of one package.
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Use>,
}

/// A use, which can serve several purposes.
#[derive(Debug, Deserialize)]
pub(crate) struct Use {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<UseKind>,
}

/// A purpose of a use.
#[derive(Debug, Deserialize)]
pub(crate) struct UseKind {
    pub(crate) kind: Option<Kind>,
}

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read() -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let asked = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked"])
            .output()
            .context("starting cargo metadata")?;
        if !asked.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&asked.stderr).trim());
        }
        serde_json::from_slice(&asked.stdout).context("reading the output of cargo metadata")
    }

    /// Our own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The first file of each of our targets, from the root of the repository.
    pub(crate) fn target_files(&self) -> Vec<String> {
        let targets = self.members().flat_map(|package| &package.targets);
        targets.map(|target| self.relative(&target.src_path)).collect()
    }

    /// A path from the root of the repository, with `/`.
    pub(crate) fn relative(&self, path: &str) -> String {
        let path = Path::new(path);
        let short = path.strip_prefix(&self.workspace_root).unwrap_or(path);
        short.to_string_lossy().replace('\\', "/")
    }
}

/// For tests: a workspace of one package with these targets.
#[cfg(test)]
pub(crate) fn with_targets(paths: &[&str]) -> Metadata {
    let targets = paths.iter().map(|path| Target { src_path: format!("/r/{path}") }).collect();
    let package = Package { targets, ..package("a", None, &[]) };
    Metadata {
        packages: vec![package],
        workspace_members: vec!["a".into()],
        workspace_root: "/r".into(),
        resolve: Resolve { nodes: Vec::new() },
    }
}

/// For tests: a package with dependencies, whose id is its name.
#[cfg(test)]
pub(crate) fn package(
    name: &str,
    license: Option<&str>,
    dependencies: &[(&str, Option<Kind>)],
) -> Package {
    let dependencies = dependencies.iter();
    Package {
        id: name.into(),
        name: name.into(),
        version: "1.0.0".into(),
        license: license.map(Into::into),
        source: None,
        manifest_path: format!("/r/crates/{name}/Cargo.toml"),
        dependencies: dependencies
            .map(|(to, kind)| Dependency { name: (*to).into(), kind: *kind })
            .collect(),
        targets: Vec::new(),
    }
}

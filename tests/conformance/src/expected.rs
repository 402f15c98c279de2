//! Which specs are known to fail.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Names of specs that are expected to fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    names: BTreeSet<String>,
}

impl Expected {
    /// Reads a file with one name per line; lines that begin with `#` say why.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        Ok(Self::parse(&text))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let names = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self { names: names.map(str::to_owned).collect() }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

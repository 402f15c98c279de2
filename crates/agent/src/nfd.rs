//! A file of local features for Node Feature Discovery, which makes labels of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The text of the file: a line `KEY=VALUE` for every label.
pub fn text(labels: &BTreeMap<String, String>) -> String {
    let mut text = String::from("# Written by kubenexus-agent.\n");
    for (key, value) in labels {
        text.push_str(&format!("{key}={value}\n"));
    }
    text
}

/// Writes the file if it is not that already, as a whole: a reader sees the old one or the new one.
/// Whether it was written is returned.
///
/// # Errors
/// When the folder is not there or cannot be written to.
pub fn write(path: &Path, text: &str) -> Result<bool> {
    match fs::read_to_string(path) {
        Ok(found) if found == text => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    }
    let writing = || format!("writing the feature file {}", path.display());
    let name = path.file_name().and_then(|name| name.to_str()).with_context(writing)?;
    // NFD passes over files whose name begins with a dot.
    let draft = path.with_file_name(format!(".{name}"));
    fs::write(&draft, text).with_context(writing)?;
    fs::rename(&draft, path).with_context(writing)?;
    Ok(true)
}

//! The text files of the repository: what is tracked, and what would be if it were added now.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A text file.
pub(crate) struct File {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }
}

/// Reads every text file that git knows or would take, in the order of their paths.
pub(crate) fn read(root: &Path) -> Result<Vec<File>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(root)
        .output()
        .context("starting git to list the files")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let listed = String::from_utf8(listed.stdout).context("reading the file names git lists")?;
    let mut paths: Vec<&str> = listed.split_terminator('\0').collect();
    paths.sort_unstable();
    let mut files = Vec::new();
    for path in paths {
        let place = root.join(path);
        // A file can be deleted and still be known to git; a link has no text of its own.
        if place.is_symlink() || !place.is_file() {
            continue;
        }
        let bytes = fs::read(&place).with_context(|| format!("reading {path}"))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if !text.contains('\0') {
            files.push(File { path: path.into(), text });
        }
    }
    Ok(files)
}

/// For tests: a tree of these files.
#[cfg(test)]
pub(crate) fn of(files: &[(&str, &str)]) -> Vec<File> {
    files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect()
}

//! Every Rust file is part of some target, and a module is `name.rs` beside its folder `name/`.

use std::collections::BTreeSet;

use crate::lexer::strip;
use crate::metadata::Metadata;
use crate::problem::Problem;
use crate::scan::file_modules;
use crate::tree::File;

const RULE: &str = "modules";

pub(crate) fn check(files: &[File], metadata: &Metadata) -> Vec<Problem> {
    let roots = metadata.target_files();
    let reached = reachable(files, &roots);
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if let Some(folder) = file.path.strip_suffix("/mod.rs") {
            let text = format!("is a `mod.rs`: move it to `{folder}.rs`, beside its folder");
            problems.push(Problem::of(RULE, &file.path, text));
        } else if !reached.contains(file.path.as_str()) {
            let text = "is part of no target: declare it with `mod`, or delete it".into();
            problems.push(Problem::of(RULE, &file.path, text));
        }
    }
    problems
}

/// The files that can be reached from the roots of targets through `mod` declarations.
fn reachable<'a>(files: &'a [File], roots: &[String]) -> BTreeSet<&'a str> {
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let mut reached = BTreeSet::new();
    let mut open: Vec<&File> = roots.iter().filter_map(|root| find(root)).collect();
    while let Some(file) = open.pop() {
        if !reached.insert(file.path.as_str()) {
            continue;
        }
        let folder = children_folder(&file.path, roots.contains(&file.path));
        let children = file_modules(&strip(&file.text))
            .into_iter()
            .filter_map(|name| find(&format!("{folder}{name}.rs")))
            .collect::<Vec<_>>();
        open.extend(children);
    }
    reached
}

/// Where the modules that a file declares live: beside a root, below any other file.
fn children_folder(path: &str, is_root: bool) -> String {
    if is_root {
        let end = path.rfind('/').map_or(0, |at| at + 1);
        path[..end].into()
    } else {
        format!("{}/", path.trim_end_matches(".rs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::{metadata, tree};

    fn check_files(files: &[(&str, &str)]) -> String {
        let metadata = metadata::with_targets(&["a/src/lib.rs", "a/tests/b.rs"]);
        lines(&check(&tree::of(files), &metadata))
    }

    #[test]
    fn declared_files_are_part_of_a_target() {
        let found = check_files(&[
            ("a/src/lib.rs", "mod x;"),
            ("a/src/x.rs", "pub mod y;"),
            ("a/src/x/y.rs", ""),
            ("a/tests/b.rs", "mod common;"),
            ("a/tests/common.rs", ""),
        ]);
        assert_eq!(found, "");
    }

    #[test]
    fn a_file_nobody_declares_is_dead() {
        let found =
            check_files(&[("a/src/lib.rs", "// mod x;\nmod y { }"), ("a/src/x.rs", "mod x;")]);
        assert!(found.starts_with("a/src/x.rs: is part of no target"), "{found}");
    }

    #[test]
    fn mod_rs_is_refused_with_its_new_name() {
        let found = check_files(&[("a/src/lib.rs", "mod x;"), ("a/src/x/mod.rs", "")]);
        assert!(found.contains("move it to `a/src/x.rs`"), "{found}");
    }
}

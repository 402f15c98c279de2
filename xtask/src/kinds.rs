//! Kinds of objects: a file that names a kind is a file that has to be changed for the next one
//! like it. How many there may be is written down here, and is to fall.

use std::collections::BTreeMap;

use crate::problem::Problem;
use crate::tree::File;

const RULE: &str = "kinds";

/// The one list of kinds.
const LIST: &str = "crates/model/src/kinds.rs";

/// How many files name the kinds that everything is about, and those that were there first.
const FIRST: [(&str, usize); 7] = [
    ("Node", 20),
    ("Pod", 21),
    ("Namespace", 13),
    ("Budget", 10),
    ("PodGroup", 15),
    ("Succeeded", 12),
    // Who is spread with whom is checked by rules of the checkers' own.
    ("Grouping", 10),
];

/// How many files may name any other kind: the list, its table, its row, its arm where it is
/// applied, and what it means.
const FILES_MAX: usize = 9;

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let Some(list) = files.iter().find(|file| file.path == LIST) else {
        return vec![Problem::of(RULE, LIST, "the list of kinds is not there".into())];
    };
    let first = BTreeMap::from(FIRST);
    let check = |kind: &str| {
        let max = first.get(kind).copied().unwrap_or(FILES_MAX);
        let count = files.iter().filter(|file| is_product(file) && names(file, kind)).count();
        let say = || {
            format!(
                "{kind} is named in {count} files, at most {max}: whoever does not care about a \
                 kind does not name it"
            )
        };
        (count > max).then(|| Problem::of(RULE, LIST, say()))
    };
    kinds(&list.text).filter_map(check).collect()
}

/// The kinds in the list, which are its lines of the form `Kind: Facts,` or `Kind(Sort): Facts,`.
fn kinds(list: &str) -> impl Iterator<Item = &str> {
    let rows = list.split_once("\nkinds! {").map_or("", |(_, rows)| rows);
    let rows = rows.split_once("\n}").map_or("", |(rows, _)| rows);
    let rows = rows.lines().map(str::trim).filter(|row| !row.starts_with("//"));
    rows.filter_map(|row| row.split(['(', ':']).next()).filter(|kind| !kind.is_empty())
}

/// Tests, and the bugs that are planted for them, name what they please.
fn is_product(file: &File) -> bool {
    let is_of_tests = ["/tests", "/planted", "crates/testkit/"];
    file.path.starts_with("crates/")
        && file.path.contains("/src/")
        && file.is_rust()
        && !is_of_tests.iter().any(|part| file.path.contains(part))
}

fn names(file: &File, kind: &str) -> bool {
    ["Kind::", "Fact::"].iter().any(|prefix| {
        let name = format!("{prefix}{kind}");
        let mut after = file.text.match_indices(&name).map(|(at, _)| &file.text[at + name.len()..]);
        after.any(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    const ROWS: &str = "\nkinds! {\n    /// A node.\n    Node: NodeFacts,\n    \
                        Queue(Sort): QueueFacts,\n}\n";

    fn found(count: usize, text: &str) -> String {
        let paths: Vec<String> = (0..count).map(|at| format!("crates/a/src/{at}.rs")).collect();
        let files = paths.iter().map(|path| (&**path, text));
        let files: Vec<_> = files.chain([(LIST, ROWS)]).collect();
        lines(&check(&tree::of(&files)))
    }

    #[test]
    fn files_that_name_a_kind_are_counted() {
        assert_eq!(found(FILES_MAX, "Kind::Queue"), "");
        let say = "Queue is named in 10 files, at most 9";
        for text in ["Kind::Queue", "match Fact::Queue(facts)", "Kind::QueueOf Kind::Queue,"] {
            assert!(found(FILES_MAX + 1, text).contains(say), "{text}");
        }
        assert_eq!(found(FILES_MAX + 1, "Kind::QueueOf OtherKind Queue"), "");
        assert_eq!(found(20, "Kind::Node"), "");
        assert!(lines(&check(&tree::of(&[]))).contains("the list of kinds is not there"));
        assert!(found(21, "Kind::Node").contains("Node is named in 21 files, at most 20"));
    }

    #[test]
    fn tests_name_what_they_please() {
        for path in ["crates/a/src/tests/b.rs", "crates/a/tests/b.rs", "crates/testkit/src/b.rs"] {
            assert!(!is_product(&tree::of(&[(path, "")])[0]), "{path}");
        }
        assert!(is_product(&tree::of(&[("crates/a/src/b.rs", "")])[0]));
    }
}

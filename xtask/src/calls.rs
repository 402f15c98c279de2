//! Calls that do not belong: what would make a pure crate depend on anything but its arguments,
//! and what is never meant to be committed.
//!
//! Clippy knows some of these too, but its lists hold for the whole workspace, while shells may
//! read clocks and files. Tests of pure crates may as well.

use crate::edges;
use crate::lexer::strip;
use crate::problem::Problem;
use crate::scan::{is_name, line_of, without_tests, words};
use crate::tree::File;

const RULE: &str = "calls";

/// What pure crates must not say, and what to do instead.
const IN_PURE: &[(&str, &str)] = &[
    ("Instant::now", "take the time as an argument of type `model::Time`"),
    ("SystemTime", "take the time as an argument of type `model::Time`"),
    ("std::thread", "leave threads to the shells; a pure crate is plain functions"),
    ("thread::spawn", "leave threads to the shells; a pure crate is plain functions"),
    ("std::env", "take the setting as an argument"),
    ("std::fs", "read the file in a shell and take its text as an argument"),
    ("std::net", "leave the network to the shells; take events, return decisions"),
    ("print!", "return the value; shells print"),
    ("println!", "return the value; shells print"),
    ("eprint!", "return the value; shells print"),
    ("eprintln!", "return the value; shells print"),
    ("std::collections::HashMap", "use `model::Map` or a BTreeMap: their order is fixed"),
    ("std::collections::HashSet", "use a BTreeSet: its order is fixed"),
    ("rand::", "take the drawn number as an argument"),
];

/// What no Rust file may say, tests included.
const ANYWHERE: &[(&str, &str)] = &[
    ("dbg!", "remove it"),
    ("todo!", "finish it, or refuse with a reason"),
    ("unimplemented!", "finish it, or refuse with a reason"),
    ("#[ignore", "make the test pass, or assert what happens today and say why it is wrong"),
];

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = strip(&file.text);
        let mut found = occurrences(&code, ANYWHERE);
        if edges::is_pure_source(&file.path) && !file.path.ends_with("/tests.rs") {
            let product = without_tests(&code);
            found.extend(occurrences(&product, IN_PURE));
            for (line, path) in grouped_imports(&product) {
                found.extend(occurrences(&path, IN_PURE).into_iter().map(|(_, say)| (line, say)));
            }
        }
        found.sort_by_key(|(line, _)| *line);
        // `std::thread::spawn` breaks two lines of the table; one message is enough.
        found.dedup_by_key(|(line, _)| *line);
        for (line, (call, instead)) in found {
            let text = format!("`{call}` does not belong here: {instead}");
            problems.push(Problem::at(RULE, &file.path, line, text));
        }
    }
    problems
}

type Ban = (&'static str, &'static str);

fn occurrences(code: &str, bans: &[Ban]) -> Vec<(usize, Ban)> {
    let mut found = Vec::new();
    for ban in bans {
        for (at, call) in code.match_indices(ban.0) {
            let continues = |c: char| call.ends_with(is_name) && is_name(c);
            let is_part = code[..at].ends_with(is_name) && call.starts_with(is_name);
            if !is_part && !code[at + call.len()..].starts_with(continues) {
                found.push((line_of(code, at), *ban));
            }
        }
    }
    found
}

/// The paths that `use a::{b, c}` brings in, with the line of the `use`.
fn grouped_imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in words(code).filter(|(_, word)| *word == "use") {
        let rest = &code[at + 3..];
        let tree = &rest[..rest.find(';').unwrap_or(rest.len())];
        // `impl Trait + use<'a>` is no import.
        if tree.contains('{') && !tree.starts_with('<') {
            let mut paths = Vec::new();
            expand("", tree, &mut paths);
            found.extend(paths.into_iter().map(|path| (line_of(code, at), path)));
        }
    }
    found
}

fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let (Some(open), Some(close)) = (tree.find('{'), tree.rfind('}')) else {
        paths.push(format!("{prefix}{}", tree.trim()));
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let inside = &tree[open + 1..close];
    let mut depth = 0;
    let is_top_comma = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    inside.split(is_top_comma).for_each(|branch| expand(&prefix, branch, paths));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    fn check_pure(source: &str) -> String {
        lines(&check(&tree::of(&[("crates/model/src/a.rs", source)])))
    }

    #[test]
    fn every_banned_call_is_found_in_a_pure_crate() {
        for (call, instead) in IN_PURE.iter().chain(ANYWHERE) {
            let found = check_pure(&format!("fn f() {{\n    {call};\n}}\n"));
            assert!(found.starts_with("crates/model/src/a.rs:2: `"), "{call}: {found}");
            assert!(found.contains(instead), "{call}: {found}");
        }
    }

    #[test]
    fn imports_in_groups_are_found() {
        for import in [
            "use std::collections::{BTreeMap, HashMap};",
            "use std::{fmt, collections::{BTreeMap, HashSet as Set}};",
            "use std::{\n    fmt,\n    env,\n};",
        ] {
            assert_eq!(check_pure(import).lines().count(), 1, "{import}");
        }
    }

    #[test]
    fn words_that_only_look_alike_are_fine() {
        for source in [
            "fn f() -> impl Iterator + use<'_> { operand::of(std::environment) }",
            "use std::{collections::BTreeMap, fmt};",
            "// std::env\nconst A: &str = \"SystemTime println!\";",
            "use hashbrown::HashMap;",
            "#[cfg(test)]\nmod tests { use std::fs; }",
        ] {
            assert_eq!(check_pure(source), "", "{source}");
        }
    }

    #[test]
    fn shells_may_read_clocks_but_not_commit_scaffolding() {
        let check = |source| lines(&check(&tree::of(&[("crates/kubenexus/src/a.rs", source)])));
        assert_eq!(check("fn f() { Instant::now(); println!() }"), "");
        assert!(check("#[test]\n#[ignore = \"slow\"]\nfn f() {}").contains(":2: `#[ignore`"));
    }
}

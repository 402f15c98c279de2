//! Licences, banned crates and sources of everything the workspace stands on.
//!
//! deny.toml holds the lists. cargo-deny reads them too and knows more, such as advisories, but a
//! fresh machine does not have it; these checks need nothing that is not there.

use crate::metadata::{Metadata, Package};
use crate::problem::Problem;
use crate::tree::File;

const RULE: &str = "licences";
const LISTS: &str = "deny.toml";

pub(crate) fn check(files: &[File], metadata: &Metadata) -> Vec<Problem> {
    let Some(lists) = files.iter().find(|file| file.path == LISTS) else {
        let text = "is missing: it lists the licences we accept".into();
        return vec![Problem::of(RULE, LISTS, text)];
    };
    let allowed = list(&lists.text, "[licenses]", "allow");
    let banned = list(&lists.text, "[bans]", "deny");
    let packages = metadata.packages.iter();
    packages.flat_map(|package| check_package(package, &allowed, &banned)).collect()
}

fn check_package(package: &Package, allowed: &[&str], banned: &[&str]) -> Vec<Problem> {
    let Package { name, version, .. } = package;
    let mut problems = Vec::new();
    let mut say = |text: String| problems.push(Problem::of(RULE, LISTS, text));
    let licence = package.license.as_deref().unwrap_or("no licence that it names");
    if !is_accepted(licence, allowed) {
        say(format!(
            "{name} {version} has {licence}, which `allow` does not cover: choose another crate, \
             or add the licence after reading it"
        ));
    }
    if banned.contains(&name.as_str()) {
        say(format!(
            "{name} {version} is banned: see the reason there, and `cargo tree -i {name}`"
        ));
    }
    if package.source.as_ref().is_some_and(|source| source.starts_with("git+")) {
        say(format!("{name} {version} comes from a git repository: use a published version"));
    }
    problems
}

/// The first quoted word of each line of a list. Our own file has one entry per line, so that a
/// reader of TOML would be more than is needed.
fn list<'a>(text: &'a str, section: &str, key: &str) -> Vec<&'a str> {
    let opening = format!("{key} = [");
    text.lines()
        .skip_while(|line| *line != section)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .skip_while(|line| *line != opening)
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split('"').nth(1))
        .collect()
}

/// Whether a licence expression can be met with the allowed licences alone.
fn is_accepted(expression: &str, allowed: &[&str]) -> bool {
    // Older crates write `MIT/Apache-2.0` for a choice.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Expression { words: &words, allowed };
    reader.any() && reader.words.is_empty()
}

/// Reads `a OR b AND (c OR d)`, where AND binds tighter.
struct Expression<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl Expression<'_> {
    fn any(&mut self) -> bool {
        let mut is_met = self.all();
        while self.take("OR") {
            // Both sides are read, whatever the first says.
            is_met |= self.all();
        }
        is_met
    }

    fn all(&mut self) -> bool {
        let mut is_met = self.one();
        while self.take("AND") {
            is_met &= self.one();
        }
        is_met
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let is_met = self.any();
            return self.take(")") && is_met;
        }
        let Some((licence, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        if self.take("WITH") {
            let Some((exception, rest)) = self.words.split_first() else { return false };
            self.words = rest;
            return self.allowed.contains(&format!("{licence} WITH {exception}").as_str());
        }
        self.allowed.contains(licence)
    }

    fn take(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if *first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{package, with_targets};
    use crate::problem::lines;
    use crate::tree;

    const DENY: &str = "[licenses]\nallow = [\n    # Why.\n    \"MIT\",\n    \"Zlib\",\n]\n\
        [bans]\ndeny = [\n    { crate = \"openssl\", reason = \"a\" },\n]\n";

    fn check_one(package: Package) -> String {
        let metadata = Metadata { packages: vec![package], ..with_targets(&[]) };
        lines(&check(&tree::of(&[(LISTS, DENY)]), &metadata))
    }

    #[test]
    fn lists_are_read_from_their_section() {
        assert_eq!(list(DENY, "[licenses]", "allow"), ["MIT", "Zlib"]);
        assert_eq!(list(DENY, "[bans]", "deny"), ["openssl"]);
        assert!(list(DENY, "[bans]", "allow").is_empty());
    }

    #[test]
    fn accepted_licences_pass_and_others_fail() {
        assert_eq!(check_one(package("a", Some("MIT OR GPL-3.0"), &[])), "");
        let found = check_one(package("a", Some("GPL-3.0"), &[]));
        assert!(found.contains("a 1.0.0 has GPL-3.0"), "{found}");
        assert!(check_one(package("a", None, &[])).contains("no licence"));
    }

    #[test]
    fn banned_crates_and_git_sources_fail() {
        assert!(check_one(package("openssl", Some("MIT"), &[])).contains("is banned"));
        let source = Some("git+https://a.example/b".into());
        let found = check_one(Package { source, ..package("a", Some("MIT"), &[]) });
        assert!(found.contains("comes from a git repository"), "{found}");
    }

    #[test]
    fn expressions_are_weighed_by_table() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        let table = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 OR MIT AND Unicode-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-3.0) AND BSL-1.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("", false),
            ("MIT MIT", false),
            ("(MIT", false),
        ];
        for (expression, is_met) in table {
            assert_eq!(is_accepted(expression, &allowed), is_met, "{expression:?}");
        }
    }
}

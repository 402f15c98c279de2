//! What holds for every text file: it ends where a file ends, and says nothing about the machine
//! it was written on.

use crate::problem::Problem;
use crate::scan::is_name;
use crate::tree::File;

const RULE: &str = "text";

/// Written by tools, which put into them what they like.
const GENERATED: &[&str] = &["Cargo.lock", "go.sum"];

/// This file, which has to name what it forbids.
const SELF: &str = "xtask/src/text.rs";

/// Folders of one person or one machine.
const MACHINE_FOLDERS: &[&str] = &["/home/", "/root/", "/work/"];

/// Where packages come from is a setting of the machine: a mirror named here works for one.
const REGISTRIES: &[&str] =
    &["sparse+http", "registry+http", "index.crates.io", "proxy.golang.org", "GOPROXY=http"];

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let is_generated = |file: &&File| {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        GENERATED.contains(&name)
    };
    files.iter().filter(|file| !is_generated(file)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        let mut say = |text: String| {
            problems.push(Problem::at(RULE, &file.path, index + 1, text));
        };
        if line.ends_with([' ', '\t', '\r']) {
            say("blanks at the end of the line: remove them".into());
        }
        if file.path == SELF {
            continue;
        }
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            say(format!("`{folder}` exists on one machine only: use a path within the repository"));
        }
        if let Some(host) = REGISTRIES.iter().find(|host| line.contains(*host)) {
            say(format!("`{host}` names a package registry: leave it to the machine's settings"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let text = "does not end with a newline: add one".into();
        problems.push(Problem::of(RULE, &file.path, text));
    }
    if file.text.ends_with("\n\n") {
        let text = "ends with an empty line: remove it".into();
        problems.push(Problem::of(RULE, &file.path, text));
    }
    problems
}

/// Whether a line names something inside a folder at the root of a file system, rather than a
/// folder of that name further down.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let is_further_down = |c: char| is_name(c) || "./-*~})".contains(c);
        !line[..at].ends_with(is_further_down)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    fn check_text(text: &str) -> String {
        lines(&check(&tree::of(&[("docs/a.md", text)])))
    }

    #[test]
    fn ordinary_text_passes() {
        for text in ["", "a\n", "see src/work/a and https://a.example/home/b\n", "~/work/a\n"] {
            assert_eq!(check_text(text), "", "{text:?}");
        }
    }

    #[test]
    fn ends_of_lines_and_files_are_checked() {
        assert!(check_text("a\nb \n").starts_with("docs/a.md:2: blanks at the end"));
        assert!(check_text("a\r\n").starts_with("docs/a.md:1: blanks at the end"));
        assert!(check_text("a").contains("does not end with a newline"));
        assert!(check_text("a\n\n").contains("ends with an empty line"));
    }

    #[test]
    fn machines_are_not_named() {
        assert!(check_text("cd /home/ada/nexus\n").contains("one machine only"));
        assert!(check_text("\"/root/a\"\n").contains("one machine only"));
        assert!(check_text("path=/work/a\n").contains("one machine only"));
        assert!(check_text("GOPROXY=https://mirror.example\n").contains("package registry"));
        assert!(check_text("index = \"sparse+https://a.example\"\n").contains("package registry"));
    }

    #[test]
    fn what_tools_write_is_left_alone() {
        assert!(check(&tree::of(&[("Cargo.lock", "registry+https://a.example \n")])).is_empty());
        assert!(check(&tree::of(&[("a/go.sum", "a ")])).is_empty());
    }
}

//! Every dependency from outside is named once, in the workspace's manifest, under a comment that
//! says why we take it.

use crate::problem::Problem;
use crate::tree::File;

const RULE: &str = "manifest";
const WORKSPACE: &str = "Cargo.toml";
const LISTED: &str = "[workspace.dependencies]";

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let is_manifest = |file: &&File| file.path == WORKSPACE || file.path.ends_with("/Cargo.toml");
    files.iter().filter(is_manifest).flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut section = "";
    let mut has_reason = false;
    // Greater than zero inside a list that spans lines.
    let mut depth = 0;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        let is_entry = depth == 0 && line.contains('=');
        if !line.starts_with('#') {
            depth += line.matches(['[', '{']).count();
            depth -= line.matches([']', '}']).count();
        }
        if line.is_empty() {
            // A reason holds for the lines right below it.
            has_reason = false;
        } else if line.starts_with('#') {
            has_reason = true;
        } else if line.starts_with('[') && !is_entry {
            section = line;
            has_reason = false;
        } else if is_entry && let Some(wrong) = wrong_entry(section, line, has_reason) {
            problems.push(Problem::at(RULE, &file.path, index + 1, wrong));
        }
    }
    problems
}

/// What is wrong with a line of a section of dependencies, if anything is.
fn wrong_entry(section: &str, line: &str, has_reason: bool) -> Option<String> {
    let name = line.split(['=', '.', ' ']).next().unwrap_or(line);
    if section == LISTED {
        let is_ours = line.contains("path = ");
        let text = format!("dependency {name} has no reason: write one in a comment above it");
        return (!is_ours && !has_reason).then_some(text);
    }
    let is_used = section.ends_with("dependencies]") && !line.contains("workspace = true");
    is_used.then(|| {
        format!(
            "dependency {name} is stated here: state it in {LISTED} of {WORKSPACE}, with its \
             reason, and say `{name}.workspace = true`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    fn check_text(path: &str, text: &str) -> String {
        lines(&check(&tree::of(&[(path, text)])))
    }

    #[test]
    fn a_reason_holds_for_the_lines_below_it() {
        let text = "[workspace]\nmembers = [\n    \"a\",\n]\n[workspace.dependencies]\n\
            ours = { path = \"crates/ours\" }\n\n# Why.\na = \"1\"\n\
            b = { version = \"1\", features = [\n    \"c\",\n] }\n\
            [profile.release]\nlto = false\n";
        assert_eq!(check_text("Cargo.toml", text), "");
    }

    #[test]
    fn a_dependency_without_a_reason_fails() {
        let found =
            check_text("Cargo.toml", "[workspace.dependencies]\n# Why.\na = \"1\"\n\nb = \"1\"\n");
        assert!(found.starts_with("Cargo.toml:5: dependency b has no reason"), "{found}");
    }

    #[test]
    fn crates_use_what_the_workspace_states() {
        let good =
            "[dependencies]\na.workspace = true\nb = { workspace = true, optional = true }\n";
        assert_eq!(check_text("crates/x/Cargo.toml", good), "");
        let found = check_text("crates/x/Cargo.toml", "[dev-dependencies]\na = \"1\"\n");
        assert!(found.starts_with("crates/x/Cargo.toml:2: dependency a is stated here"), "{found}");
    }
}

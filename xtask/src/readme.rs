//! The README promises two commands; they must be in it.

use crate::problem::Problem;
use crate::tree::File;

const RULE: &str = "readme";
const README: &str = "README.md";
const COMMANDS: &[&str] = &["cargo run --release -- demo", "make test"];

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let Some(readme) = files.iter().find(|file| file.path == README) else { return Vec::new() };
    let missing = COMMANDS.iter().filter(|command| !readme.text.contains(**command));
    missing
        .map(|command| {
            let text = format!("does not show `{command}`: newcomers start with it, put it back");
            Problem::of(RULE, README, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    #[test]
    fn both_commands_are_shown() {
        let check = |text| lines(&check(&tree::of(&[(README, text)])));
        assert_eq!(check("`cargo run --release -- demo`, then `make test`"), "");
        assert!(check("`make test`").contains("`cargo run --release -- demo`"));
        assert!(check("`cargo run --release -- demo`").contains("`make test`"));
    }
}

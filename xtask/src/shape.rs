//! How long lines, functions and files may be, and how a file begins.

use crate::lexer::strip;
use crate::problem::Problem;
use crate::scan::{functions, test_lines};
use crate::tree::File;

const RULE: &str = "shape";
const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    files.iter().filter(|file| file.is_rust()).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = strip(&file.text);
    let mut problems = Vec::new();
    if !file.text.starts_with("//!") {
        let text = "starts without `//!`: say in a sentence what the file is for".into();
        problems.push(Problem::at(RULE, &file.path, 1, text));
    }
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            let text = format!("{columns} columns, at most {COLUMNS_MAX}: break the line");
            problems.push(Problem::at(RULE, &file.path, index + 1, text));
        }
    }
    for function in functions(&code) {
        if function.lines > FUNCTION_LINES_MAX {
            let text = format!(
                "function `{}` has {} lines, at most {FUNCTION_LINES_MAX}: move parts into \
                 functions with names of their own",
                function.name, function.lines
            );
            problems.push(Problem::at(RULE, &file.path, function.line, text));
        }
    }
    let lines = file.text.lines().count() - test_lines(&code);
    if lines > FILE_LINES_MAX && !file.path.ends_with("/tests.rs") {
        let text =
            format!("{lines} lines without tests, at most {FILE_LINES_MAX}: split it by concept");
        problems.push(Problem::of(RULE, &file.path, text));
    }
    problems
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
    fn a_file_says_what_it_is_for() {
        assert_eq!(check_text("a.rs", "//! A.\n"), "");
        assert!(check_text("a.rs", "use a::b;\n").starts_with("a.rs:1: starts without"));
    }

    #[test]
    fn lines_fit_100_columns() {
        let line = |columns: usize| format!("//! A.\n// {}\n", "ü".repeat(columns - 3));
        assert_eq!(check_text("a.rs", &line(100)), "");
        assert!(check_text("a.rs", &line(101)).starts_with("a.rs:2: 101 columns"));
    }

    #[test]
    fn functions_fit_a_screen() {
        let function = |lines: usize| format!("//! A.\nfn f() {{{}}}\n", "\n".repeat(lines - 1));
        assert_eq!(check_text("a.rs", &function(70)), "");
        assert!(check_text("a.rs", &function(71)).starts_with("a.rs:2: function `f` has 71"));
    }

    #[test]
    fn files_tell_one_story() {
        let text = |lines: usize| format!("//! A.\n{}", "\n".repeat(lines - 1));
        assert_eq!(check_text("a.rs", &text(500)), "");
        assert!(check_text("a.rs", &text(501)).starts_with("a.rs: 501 lines"));
        assert_eq!(check_text("a/tests.rs", &text(501)), "");
        let with_tests = text(498) + "#[cfg(test)]\nmod tests {\n\n}\n";
        assert_eq!(check_text("a.rs", &with_tests), "");
    }
}

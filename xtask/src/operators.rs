//! Names of operators: what a job of one operator or another means for gangs is read at the edge,
//! in `k8s` and `plugins`. The crates that decide know gangs, drivers and shapes, and no product.

use crate::problem::Problem;
use crate::scan::line_of;
use crate::tree::File;

const RULE: &str = "operators";

/// Where no operator is named, tests and comments included.
const WHERE: [&str; 3] = ["crates/model/", "crates/framework/", "crates/engine/"];

/// Names that count wherever they stand, also within a longer word.
const NAMES: [&str; 13] = [
    "spark",
    "kubeflow",
    "pytorch",
    "tensorflow",
    "xgboost",
    "mpijob",
    "rayjob",
    "raycluster",
    "jobset",
    "leaderworkerset",
    "kserve",
    "flink",
    "horovod",
];

/// Names that are part of other words as well, and count as whole words.
const WORDS: [&str; 4] = ["ray", "mpi", "dask", "argo"];

pub(crate) fn check(files: &[File]) -> Vec<Problem> {
    let is_meant = |file: &&File| WHERE.iter().any(|place| file.path.starts_with(place));
    files.iter().filter(|file| file.is_rust()).filter(is_meant).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let text = file.text.to_lowercase();
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let is_word = |at: usize, word: &str| {
        !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter)
    };
    let anywhere = NAMES.iter().flat_map(|name| text.match_indices(*name));
    let words = WORDS.iter().flat_map(|word| text.match_indices(*word));
    let words = words.filter(|(at, word)| is_word(*at, word));
    let problem = |(at, name): (usize, &str)| {
        let say = format!("{name:?} is the name of an operator: read it in `k8s` or `plugins`");
        Problem::at(RULE, &file.path, line_of(&text, at), say)
    };
    anywhere.chain(words).map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::lines;
    use crate::tree;

    fn found(path: &str, source: &str) -> String {
        lines(&check(&tree::of(&[(path, source)])))
    }

    #[test]
    fn operators_are_named_in_no_crate_that_decides() {
        for name in NAMES.iter().chain(&WORDS) {
            for place in WHERE {
                let path = format!("{place}src/a.rs");
                let found = found(&path, &format!("fn f() {{}}\n// as {name} does\n"));
                assert!(found.starts_with(&format!("{path}:2: {name:?} is the name")), "{found}");
            }
        }
        assert!(found("crates/engine/src/a.rs", "fn is_SparkDriver() {}").contains("spark"));
    }

    #[test]
    fn elsewhere_they_may_be_named_and_words_that_look_alike_are_fine() {
        assert_eq!(found("crates/k8s/src/a.rs", "// spark"), "");
        assert_eq!(found("crates/plugins/src/a.rs", "// ray"), "");
        assert_eq!(found("crates/model/src/a.rs", "// an array, an empire, cargo"), "");
    }
}

//! `cargo xtask`: the rules of the repository as code, so that no reviewer has to remember them,
//! and the one table that is generated.
//!
//! `tidy` reads the tree and says what is wrong with it; it never changes a file.

mod calls;
mod edges;
mod fields;
mod kinds;
mod lexer;
mod licences;
mod manifest;
mod metadata;
mod modules;
mod operators;
mod problem;
mod readme;
mod scan;
mod shape;
mod text;
mod tidy;
mod tree;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy      check the rules that compilers do not know
       cargo xtask fields    write the table of fields of Kubernetes' objects anew";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let word = match &words[..] {
        [word] => &**word,
        _ => "",
    };
    let done = match word {
        "tidy" => tidy::run(),
        "fields" => fields::run().map(|()| true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{word}: {error:#}");
            ExitCode::from(2)
        }
    }
}

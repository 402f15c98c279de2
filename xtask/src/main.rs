//! `cargo xtask`: the rules of the repository as code, so that no reviewer has to remember them.
//!
//! It reads the tree and says what is wrong with it. It never changes a file.

mod calls;
mod edges;
mod lexer;
mod licences;
mod manifest;
mod metadata;
mod modules;
mod problem;
mod readme;
mod scan;
mod shape;
mod text;
mod tidy;
mod tree;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy    check the rules that compilers do not know";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if words != ["tidy"] {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match tidy::run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("tidy: {error:#}");
            ExitCode::from(2)
        }
    }
}

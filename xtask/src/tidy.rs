//! Runs every rule over the tree and prints what they found.

use std::path::Path;

use anyhow::Result;

use crate::metadata::Metadata;
use crate::{
    calls, edges, fields, kinds, licences, manifest, modules, operators, readme, shape, text, tree,
};

/// Prints the problems of the repository, and gives back whether there are none.
pub(crate) fn run() -> Result<bool> {
    let metadata = Metadata::read()?;
    let files = tree::read(Path::new(&metadata.workspace_root))?;
    let mut problems = [
        calls::check(&files),
        edges::check(&metadata),
        fields::check(&files),
        licences::check(&files, &metadata),
        manifest::check(&files),
        modules::check(&files, &metadata),
        kinds::check(&files),
        operators::check(&files),
        readme::check(&files),
        shape::check(&files),
        text::check(&files),
    ]
    .concat();
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => println!("tidy: {} files, no problems", files.len()),
        count => println!("tidy: {} files, problems: {count}", files.len()),
    }
    Ok(problems.is_empty())
}

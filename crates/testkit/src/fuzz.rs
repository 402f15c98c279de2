//! Fuzz targets: documents that are nearly right, put to whatever reads documents.
//!
//! An input is a few bytes, which decide which document is taken and how it is spoiled. Inputs are
//! drawn from a fixed seed, so that every run tries the same ones; one that fails is made smaller
//! before it is shown, and fewer bytes spoil less.

mod dice;
mod engine;
mod json;
mod text;

use std::any::Any;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::sync::Mutex;

use bolero::TestTarget;
use serde_json::Value;

use dice::Dice;
use engine::FromSeed;

/// How much of a document that fails is shown.
const SHOWN_MAX: usize = 4_000;

/// Puts so many spoiled versions of JSON documents to a target, which must not panic.
pub fn json(inputs: u32, documents: &[Value], target: impl Fn(&[u8]) + RefUnwindSafe) {
    run(inputs, |dice| json::spoiled(documents, dice), target);
}

/// So many spoiled versions of JSON documents, each in one line, for a target that is another
/// process.
///
/// # Panics
/// Never: nothing is done with them here.
#[must_use]
pub fn json_lines(inputs: u32, documents: &[Value]) -> Vec<Vec<u8>> {
    let drawn = Mutex::new(Vec::new());
    json(inputs, documents, |document| {
        let byte = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
        drawn.lock().expect("nobody panics").push(document.iter().map(byte).collect());
    });
    drawn.into_inner().expect("nobody panics")
}

/// Puts so many spoiled versions of texts to a target, which must not panic. Lines and words are
/// what is spoiled, so that much of YAML stays YAML.
pub fn text(inputs: u32, documents: &[&str], target: impl Fn(&[u8]) + RefUnwindSafe) {
    run(inputs, |dice| text::spoiled(documents, dice), target);
}

fn run(
    inputs: u32,
    spoiled: impl Fn(&mut Dice<'_>) -> Vec<u8> + RefUnwindSafe,
    target: impl Fn(&[u8]) + RefUnwindSafe,
) {
    TestTarget::new(FromSeed { inputs }).for_each(|bytes: &[u8]| {
        let document = spoiled(&mut Dice::of(bytes));
        let Err(panic) = catch_unwind(|| target(&document)) else { return };
        // The bytes alone would say nothing to whoever reads the failure.
        let text = String::from_utf8_lossy(&document[..document.len().min(SHOWN_MAX)]);
        panic!("{}\n{} bytes: {text}", message(&*panic), document.len());
    });
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn drawn(inputs: u32) -> Vec<Vec<u8>> {
        let document = json!({"name": "web", "list": [1, 2, {"deep": true}], "cpu": "500m"});
        json_lines(inputs, &[document])
    }

    #[test]
    fn the_same_documents_are_drawn_every_time_and_few_twice() {
        let first = drawn(500);
        assert_eq!(first.len(), 500);
        assert_eq!(first, drawn(500));
        let distinct: BTreeSet<_> = first.iter().collect();
        assert!(distinct.len() > 300, "{}", distinct.len());
    }

    #[test]
    fn most_documents_still_parse_and_some_do_not() {
        let all = drawn(500);
        let parse = |bytes: &&Vec<u8>| serde_json::from_slice::<Value>(bytes).is_ok();
        let sound = all.iter().filter(parse).count();
        assert!((300..490).contains(&sound), "{sound}");
    }

    #[test]
    fn a_target_that_panics_fails_the_test() {
        let is_refused = |bytes: &[u8]| assert!(!bytes.starts_with(b"{"), "an object");
        let ran = catch_unwind(|| json(50, &[json!({"a": 1})], is_refused));
        let message = *ran.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("an object"), "{message}");
    }

    #[test]
    fn texts_lose_lines_and_gain_words() {
        let seen = Mutex::new(Vec::new());
        let document = "kind: Pod\nspec:\n  containers:\n  - name: web\n    image: web:1\n";
        text(500, &[document], |bytes| {
            seen.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.iter().any(|text| text.lines().count() < 4));
        assert!(seen.iter().any(|text| text.lines().count() > 5));
        assert!(seen.iter().any(|text| text.len() > 1_000));
        assert!(seen.iter().filter(|text| text.starts_with("kind: Pod")).count() > 200);
    }
}

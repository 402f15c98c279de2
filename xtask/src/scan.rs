//! Finds items in stripped source by matching brackets. It knows no grammar, and needs none: the
//! compiler has already accepted the text, so every bracket closes.

use std::iter;
use std::ops::Range;

/// A function and how long it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The line of its `fn`.
    pub(crate) line: usize,
    /// From `fn` to the closing bracket.
    pub(crate) lines: usize,
}

/// The functions with a body, nested ones too.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, _) in words(code).filter(|(_, word)| *word == "fn") {
        // `fn(u32)` is a type: it has no name.
        let Some((name, _)) = name_and_rest(&code[at + 2..]) else { continue };
        let (end, has_body) = item_end(code, at);
        if has_body {
            let lines = lines_of(code, &(at..end));
            found.push(Function { name, line: line_of(code, at), lines });
        }
    }
    found
}

/// The names of modules that live in files of their own.
pub(crate) fn file_modules(code: &str) -> Vec<&str> {
    let mods = words(code).filter(|(_, word)| *word == "mod");
    let named = mods.filter_map(|(at, _)| name_and_rest(&code[at + 3..]));
    named.filter(|(_, rest)| rest.trim_start().starts_with(';')).map(|(name, _)| name).collect()
}

/// The code with everything under `#[cfg(test)]` turned into blanks.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut done = 0;
    for item in test_items(code) {
        out.push_str(&code[done..item.start]);
        out.extend(code[item.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        done = item.end;
    }
    out + &code[done..]
}

/// How many lines are under `#[cfg(test)]`.
pub(crate) fn test_lines(code: &str) -> usize {
    test_items(code).iter().map(|item| lines_of(code, item)).sum()
}

/// The line of a place, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Whether a character can be part of a name.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of the code with their places.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    iter::from_fn(move || {
        let start = from + code[from..].find(is_name)?;
        let length = code[start..].find(|c| !is_name(c)).unwrap_or(code.len() - start);
        from = start + length;
        Some((start, &code[start..from]))
    })
}

fn lines_of(code: &str, item: &Range<usize>) -> usize {
    code[item.clone()].matches('\n').count() + 1
}

fn name_and_rest(code: &str) -> Option<(&str, &str)> {
    let code = code.trim_start();
    let end = code.find(|c| !is_name(c)).unwrap_or(code.len());
    (end > 0).then(|| code.split_at(end))
}

/// Where the items under `#[cfg(test)]` are, each with its attribute.
fn test_items(code: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let mut items: Vec<Range<usize>> = Vec::new();
    for (at, _) in code.match_indices(MARK) {
        // One inside another is already covered.
        if items.last().is_none_or(|last| last.end <= at) {
            items.push(at..item_end(code, at + MARK.len()).0);
        }
    }
    items
}

/// Where the item that starts here ends, and whether it has a body in curly brackets.
fn item_end(code: &str, from: usize) -> (usize, bool) {
    let mut depth = 0;
    for (offset, c) in code[from..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            // What is around the item closes: a field or a variant, the last of its list.
            ')' | ']' | '}' if depth == 0 => return (from + offset, false),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, '}' | ';') {
            return (from + offset + 1, c == '}');
        }
    }
    (code.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_fn_to_bracket() {
        let code =
            "trait T { fn a(&self) -> [u8; 4]; }\nfn b(f: fn(u8)) {\n if x { y }\n}\nfn c() {}";
        let found: Vec<_> = functions(code).iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("b", 2, 3), ("c", 5, 1)]);
    }

    #[test]
    fn nested_functions_are_found_too() {
        let found = functions("fn a() {\nfn b() {\n}\n}");
        let found: Vec<_> = found.iter().map(|f| (f.name, f.lines)).collect();
        assert_eq!(found, [("a", 4), ("b", 2)]);
    }

    #[test]
    fn only_modules_in_files_are_listed() {
        assert_eq!(file_modules("mod a;\npub(crate) mod b ;\nmod c { mod_d(); }"), ["a", "b"]);
    }

    #[test]
    fn tests_are_blanked_and_nothing_else() {
        let code = "fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n f();\n}\nfn b() {}\n";
        let left = without_tests(code);
        assert_eq!(left.lines().filter(|l| !l.trim().is_empty()).count(), 2, "{left}");
        assert_eq!(left.lines().count(), code.lines().count());
        assert_eq!(test_lines(code), 5);
        assert_eq!(without_tests("#[cfg(test)]\nmod tests;\nfn b() {}").trim(), "fn b() {}");
    }
}

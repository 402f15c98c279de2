//! Just enough of Rust's lexer to tell code from comments and literals.

/// The source with every comment, string and character literal turned into blanks. Lines stay
/// where they are, so what is found in the result has the same line in the source.
pub(crate) fn strip(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let end = end.min(chars.len());
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Where the comment or literal that starts here ends; the same place if none starts.
fn skipped_end(chars: &[char], at: usize) -> usize {
    match (chars[at], chars.get(at + 1)) {
        ('/', Some('/')) => line_end(chars, at),
        ('/', Some('*')) => block_end(chars, at),
        ('"', _) => quoted_end(chars, at, '"'),
        ('r', Some('"' | '#')) if is_prefix(chars, at) => raw_end(chars, at),
        // `'a` is a lifetime, `'a'` and `'\n'` are characters.
        ('\'', Some('\\')) => quoted_end(chars, at, '\''),
        ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    let length = chars[at..].iter().position(|c| *c == '\n');
    length.map_or(chars.len(), |length| at + length)
}

fn block_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut here = at;
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                here += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    here
}

fn quoted_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut here = at + 1;
    while here < chars.len() {
        match chars[here] {
            '\\' => here += 2,
            c if c == quote => return here + 1,
            _ => here += 1,
        }
    }
    here
}

/// Whether an `r` stands where `r"`, `br"` or `cr"` can start, and not at the end of a name.
fn is_prefix(chars: &[char], at: usize) -> bool {
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    let before = |back: usize| at.checked_sub(back).map(|place| &chars[place]);
    match before(1) {
        Some('b' | 'c') => !before(2).is_some_and(is_name),
        other => !other.is_some_and(is_name),
    }
}

fn raw_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        // A raw name such as `r#type`.
        return at;
    }
    let mut here = open + 1;
    while here < chars.len() {
        let closing = chars[here + 1..].iter().take(hashes);
        if chars[here] == '"' && closing.filter(|c| **c == '#').count() == hashes {
            return here + 1 + hashes;
        }
        here += 1;
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_become_blanks() {
        let table = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x // \" y", z)"#, "f(           , z)"),
            (r##"f(r#"a " b"#, z)"##, "f(          , z)"),
            (r#"f(br"\", z)"#, "f(b    , z)"),
            ("r#type = 'r' + '\\'' + b'{'", "r#type =     +      + b   "),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("\"a\nb\" c", "  \n   c"),
            ("for\"\"", "for  "),
        ];
        for (source, stripped) in table {
            assert_eq!(strip(source), stripped, "{source}");
        }
    }

    #[test]
    fn what_never_ends_ends_with_the_file() {
        for source in ["\"a", "\"a\\", "/* a", "r#\"a\"", "'\\", "'"] {
            assert_eq!(strip(source).chars().count(), source.chars().count(), "{source}");
        }
    }
}

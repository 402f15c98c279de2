//! Which texts Kubernetes accepts as names of labels, resources and objects.

/// An optional DNS prefix and a slash, then a name: `cpu`, `example.com/gpu`.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// A name, or nothing.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Parts of lower case letters, digits and dashes, with dots between them: `gpu.example.com`.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(is_inner) && is_end(bytes.first()) && is_end(bytes.last())
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_table() {
        let good = ["cpu", "example.com/gpu", "a", "A_b.c-9", "9", "x/y", &"a".repeat(63)];
        for text in good {
            assert!(is_qualified_name(text), "{text}");
        }
        let long = "a".repeat(64);
        let bad = [
            "", "/", "/x", "x/", "a/b/c", "-a", "a-", "a b", "E.com/x", "a..b/c", "-a/b", "\u{e9}",
            &long,
        ];
        for text in bad {
            assert!(!is_qualified_name(text), "{text}");
        }
        assert!(is_subdomain("gpu-2.example.com") && !is_subdomain("") && !is_subdomain("GPU"));
        assert!(is_label_value("") && is_label_value("zone-1") && !is_label_value("a/b"));
    }
}

//! Names as git writes them in a diff.
//!
//! Owns: quoting. Never: leaves a blank unquoted, since not every reader finds the border between two names then.

/// Returns the name with its prefix, in quotes if a byte needs them.
#[must_use]
pub fn quote_name(prefix: &str, name: &str) -> String {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
    if plain {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for byte in name.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b' '..=b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("\\{other:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does_and_blanks_too() {
        let cases = [
            ("src/a.rs", "a/src/a.rs"),
            ("a b", "\"a/a b\""),
            ("q\"\\", "\"a/q\\\"\\\\\""),
            ("tab\t", "\"a/tab\\t\""),
            ("\u{e9}", "\"a/\\303\\251\""),
        ];
        for (name, wanted) in cases {
            assert_eq!(quote_name("a/", name), wanted);
        }
    }
}

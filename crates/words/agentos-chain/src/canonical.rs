//! Canonical JSON (RFC 8785): writing it, and recognizing in one pass that bytes already are it.
//!
//! Owns: both. Never: guesses; where the quick pass is not sure, the general writer decides.

use serde_json::Value;

/// Limit on arrays and objects that lie in each other; the quick pass gives up beyond it.
pub const MAX_NESTING: usize = 64;

/// Writes a value as canonical JSON.
///
/// # Errors
/// If a number cannot be written so.
pub fn write_canonical(value: &Value) -> Result<String, serde_json::Error> {
    // Nearly every record is canonical as serde writes it. Recognising that takes one pass and no allocation, where
    // the general writer sorts and formats everything again.
    let plain = value.to_string();
    if skip_canonical(plain.as_bytes()).is_some_and(<[u8]>::is_empty) {
        return Ok(plain);
    }
    serde_json_canonicalizer::to_string(value)
}

/// Counts how many arrays and objects of a value lie in each other; 0 for a value that is neither.
#[must_use]
pub fn measure_nesting(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(measure_nesting).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(measure_nesting).max().unwrap_or(0),
    }
}

/// Maximum number of digits of an integer that every reader keeps exactly.
const EXACT_DIGITS: usize = 15;

/// Returns the bytes after the JSON value at the start of `bytes`, if that value is surely canonical. `None` says nothing:
/// names beyond plain ASCII, `\u` escapes and numbers that are no small integers are left to [`write_canonical`]. The
/// caller has checked that the bytes are UTF-8.
#[must_use]
pub fn skip_canonical(bytes: &[u8]) -> Option<&[u8]> {
    skip_value(bytes, MAX_NESTING)
}

fn skip_value(bytes: &[u8], depth: usize) -> Option<&[u8]> {
    match bytes.first()? {
        b'"' => read_string(bytes).map(|(_, rest)| rest),
        b'{' => skip_object(bytes, depth.checked_sub(1)?),
        b'[' => skip_array(bytes, depth.checked_sub(1)?),
        b't' => bytes.strip_prefix(b"true"),
        b'f' => bytes.strip_prefix(b"false"),
        b'n' => bytes.strip_prefix(b"null"),
        _ => skip_integer(bytes),
    }
}

fn skip_object(bytes: &[u8], depth: usize) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"{")?;
    if let Some(after) = rest.strip_prefix(b"}") {
        return Some(after);
    }
    let mut previous: Option<&[u8]> = None;
    loop {
        let (name, after) = read_string(rest)?;
        // Plain ASCII names sort by bytes as they do by UTF-16 units.
        let plain = name.iter().all(|b| b.is_ascii() && *b != b'\\');
        // An equal name is refused, too: readers differ in which of two they keep.
        if !plain || previous.is_some_and(|previous| previous >= name) {
            return None;
        }
        previous = Some(name);
        rest = skip_value(after.strip_prefix(b":")?, depth)?;
        match rest.split_first()? {
            (b',', after) => rest = after,
            (b'}', after) => return Some(after),
            _ => return None,
        }
    }
}

fn skip_array(bytes: &[u8], depth: usize) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"[")?;
    if let Some(after) = rest.strip_prefix(b"]") {
        return Some(after);
    }
    loop {
        rest = skip_value(rest, depth)?;
        match rest.split_first()? {
            (b',', after) => rest = after,
            (b']', after) => return Some(after),
            _ => return None,
        }
    }
}

/// Returns the inside of a string, escapes as they stand, and what follows it.
fn read_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = bytes.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += count_plain(inside.get(at..)?)?;
        match inside.get(at)? {
            b'"' => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            b'\\' => {
                // RFC 8785 writes other control characters as `\u` escapes and never escapes `/`.
                let short = matches!(
                    inside.get(at + 1)?,
                    b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't'
                );
                at = short.then_some(at + 2)?;
            }
            _ => return None,
        }
    }
}

/// Counts the bytes before the first that ends a string or is written in another way in one. Nearly all of a tape goes through here,
/// so it is taken a block at a time, which the compiler turns into a few instructions.
fn count_plain(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let special = |b: &u8| *b < b' ' || *b == b'"' || *b == b'\\';
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |found, b| found | special(b));
    let plain = bytes.chunks_exact(BLOCK).take_while(is_plain).count() * BLOCK;
    Some(plain + bytes.get(plain..)?.iter().position(special)?)
}

fn skip_integer(bytes: &[u8]) -> Option<&[u8]> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = digits.get(count..)?;
    let zero = digits.first() == Some(&b'0');
    let plain = if zero {
        count == 1 && digits.len() == bytes.len()
    } else {
        (1..=EXACT_DIGITS).contains(&count)
    };
    // `1.0` and `1e3` have other canonical forms, so a fraction or an exponent is left to the general writer.
    let goes_on = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
    (plain && !goes_on).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quick(text: &str) -> bool {
        skip_canonical(text.as_bytes()).is_some_and(<[u8]>::is_empty)
    }

    #[test]
    fn the_quick_pass_is_sure_of_plain_canonical_text_alone() {
        let cases = [
            (r#"{"a":1,"b":[true,null,-5],"c":{}}"#, true),
            (r#"{"a":"é \"x\" \n\\"}"#, true),
            (r#"{"b":1,"a":2}"#, false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a": 1}"#, false),
            (r#"{"a":01}"#, false),
            (r#"{"a":-0}"#, false),
            (r#"{"a":1.50}"#, false),
            (r#"{"a":1e3}"#, false),
            (r#"{"a":"\/"}"#, false),
            ("{\"a\":\"\t\"}", false),
            (r#"{"a":"\u0061"}"#, false),
            (r#"{"é":1}"#, false),
            (r#"[1,]"#, false),
            (r#"[1"#, false),
            ("", false),
        ];
        for (text, sure) in cases {
            assert_eq!(quick(text), sure, "{text}");
        }
        assert!(!quick(&("[".repeat(5000) + &"]".repeat(5000))));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-zA-Z_é\"]{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        /// Whatever the quick pass is sure of, the general writer writes the same; spoiled texts included.
        #[test]
        fn what_it_is_sure_of_is_canonical(value in json(), at in any::<prop::sample::Index>(), byte in 0x20_u8..0x7f) {
            let mut spoiled = serde_json::to_vec(&value).unwrap();
            let at = at.index(spoiled.len());
            for text in [serde_json::to_vec(&value).unwrap(), { spoiled[at] = byte; spoiled }] {
                let Ok(text) = String::from_utf8(text) else { continue };
                if quick(&text) {
                    let read: Value = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(serde_json_canonicalizer::to_string(&read).unwrap(), text);
                }
            }
        }
    }
}

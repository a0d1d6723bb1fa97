//! Ids of runs in text for people, who are shown the short form.
//!
//! Owns: finding an id in a text. Never: changes JSON, evidence or a file, where the whole id stands.

/// Length of the part before the random digits: `20261121T091400Z-`.
const STAMP: usize = 17;
/// Length of the random part.
const RANDOM: usize = 8;

/// Replaces every id of a run by its short form. An id inside of a longer word, such as the name of a folder, stays.
pub fn shorten_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.find("Z-").and_then(|at| rest.split_at_checked(at + 2)) {
        let start = before.len().checked_sub(STAMP).filter(|start| {
            let stamp = before.get(*start..).unwrap_or_default();
            is_stamp(stamp) && ends_apart(before.get(..*start).unwrap_or_default())
        });
        let random = after.get(..RANDOM).filter(|random| {
            let next = after.get(RANDOM..).and_then(|rest| rest.chars().next());
            random.bytes().all(|b| b.is_ascii_hexdigit()) && next.is_none_or(|c| !joins_words(c))
        });
        // Both parts must fit: a text that only looks like an id stays as it was written.
        match (start, random) {
            (Some(start), Some(_)) => out.push_str(before.get(..start).unwrap_or_default()),
            (Some(_) | None, _) => out.push_str(before),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns whether a text is the time of an id, as in `20261121T091400Z-`.
fn is_stamp(text: &str) -> bool {
    text.len() == STAMP
        // By position instead of a regular expression: it is checked for each task of a list.
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 => b == b'T',
            15 => b == b'Z',
            16 => b == b'-',
            _ => b.is_ascii_digit(),
        })
}

/// Returns whether an id that follows this text is a word of its own.
fn ends_apart(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| !joins_words(c))
}

fn joins_words(c: char) -> bool {
    // A path or the name of a branch can contain an id. Such a name is only right as a whole, so it is not shortened.
    c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_shortened_and_what_only_looks_like_one_is_not() {
        for (text, shown) in [
            ("run 20261121T091400Z-1a2b3c4d: x", "run 1a2b3c4d: x"),
            ("20261121T091400Z-1a2b3c4d", "1a2b3c4d"),
            (
                "`20261121T091400Z-1a2b3c4d`, 20261121T091400Z-ffffffff",
                "`1a2b3c4d`, ffffffff",
            ),
            ("run-20261121T091400Z-1a2b3c4d", "run-20261121T091400Z-1a2b3c4d"),
            ("a/20261121T091400Z-1a2b3c4d", "a/20261121T091400Z-1a2b3c4d"),
            ("20261121T091400Z-1a2b3c4d.json", "1a2b3c4d.json"),
            ("20261121T091400Z-1a2b3c4d5", "20261121T091400Z-1a2b3c4d5"),
            ("20261121T091400Z-1a2b", "20261121T091400Z-1a2b"),
            ("éZ-éééé A-Z-a Z-", "éZ-éééé A-Z-a Z-"),
            ("", ""),
        ] {
            assert_eq!(shorten_runs(text), shown, "{text}");
        }
    }
}

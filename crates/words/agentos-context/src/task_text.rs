//! The text of a task, before its words are read.
//!
//! Owns: where the first sentence ends, the area in front of a task, and which text names people or pages instead of code.
//! Never: weighs a word.

use std::borrow::Cow;

/// Number of bytes before which a sentence does not end: `Hi.` says nothing about a file.
const SHORTEST_SENTENCE: usize = 10;
/// Maximum bytes and words of an area. A longer text before a colon is a sentence.
const LONGEST_AREA: usize = 40;
const MOST_AREA_WORDS: usize = 3;
/// Maximum words of a person's name in a trailer.
const MOST_NAME_WORDS: usize = 5;
/// Kinds of changes in front of an area (Conventional Commits 1.0.0, and the types that its specification recommends).
const CHANGE_KINDS: [&str; 13] = [
    "build", "chore", "ci", "doc", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test",
    "tests",
];

/// Returns the task without trailers such as `Reviewed-by: Ann <ann@example.org>` and without addresses of pages. Their words
/// are also in lists of authors and in changelogs, and lead there instead of to code.
pub(crate) fn drop_people_and_pages(task: &str) -> Cow<'_, str> {
    if !task.contains("://") && !task.contains('@') {
        return Cow::Borrowed(task);
    }
    let without_people = drop_people(task);
    let words = without_people.split_inclusive(char::is_whitespace);
    Cow::Owned(words.filter(|word| !word.contains("://")).collect())
}

/// Drops addresses in angle brackets, each with the trailer that it ends.
fn drop_people(task: &str) -> String {
    let mut kept = String::with_capacity(task.len());
    let mut rest = task;
    while let Some((before, after)) = rest.split_once('<') {
        // An address has no blank, so the search for its end stops at the first one.
        let end = after.find(|letter: char| letter.is_whitespace() || matches!(letter, '<' | '>'));
        let address = end.and_then(|end| after.split_at_checked(end));
        match address.and_then(|(address, next)| Some((address, next.strip_prefix('>')?))) {
            Some((address, next)) if address.contains('@') => {
                kept.push_str(before_trailer(before));
                rest = next;
            }
            Some(_) | None => {
                kept.push_str(before);
                kept.push('<');
                rest = after;
            }
        }
    }
    kept + rest
}

/// Returns the text in front of the trailer that ends a text: `Signed-off-by: Ann Example`. The name has a few words and no mark of a
/// sentence, or `order-by:` in a sentence would be taken for a trailer.
fn before_trailer(text: &str) -> &str {
    let marks = ["-by:", "-By:"];
    let Some(mark) = marks.iter().filter_map(|mark| text.rfind(mark)).max() else {
        return text;
    };
    let (before, trailer) = text.split_at(mark);
    let name = trailer.split_once(':').map_or("", |(_, name)| name);
    let word = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let key = before.get(word..).unwrap_or_default();
    let is_name = name.split_whitespace().count() <= MOST_NAME_WORDS && !name.contains(['.', ',', ';', ':']);
    if is_name && key.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        before.get(..word).unwrap_or_default()
    } else {
        text
    }
}

/// Returns the number of bytes of the first sentence: up to the end of its line, or to a mark before a blank.
pub(crate) fn end_of_first_sentence(task: &str) -> usize {
    let bytes = task.as_bytes();
    let ends = bytes
        .windows(2)
        .enumerate()
        .skip(SHORTEST_SENTENCE)
        .find(|(_, pair)| match pair {
            [b'.' | b'!' | b'?', next] => next.is_ascii_whitespace(),
            [first, _] => *first == b'\n',
            _ => false,
        });
    ends.map_or(bytes.len(), |(at, _)| at)
}

/// Returns the words of the area in front of a task: `parser: …`, `fix(parser): …`, `[parser] …`.
pub(crate) fn list_area_words(task: &str) -> Vec<&str> {
    let task = task.trim_start();
    let in_brackets = task.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((head, _)) = in_brackets.or_else(|| task.split_once(": ")) else {
        return Vec::new();
    };
    if head.len() > LONGEST_AREA || head.split_whitespace().count() > MOST_AREA_WORDS {
        return Vec::new();
    }
    let area = head.split_once('(').map_or(head, |(_, area)| area);
    let words = area.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    let is_kind = |word: &&str| CHANGE_KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(word));
    words.filter(|word| word.len() > 1 && !is_kind(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_pages_are_dropped_and_code_stays() {
        let cases = [
            ("fix Vec<String> in a@b", "fix Vec<String> in a@b"),
            (
                "free it. Reviewed-By: Ann B <a@b.org> Signed-off-by: C <c@d.org>",
                "free it.  ",
            ),
            ("see https://example.org/a for a.rs", "see for a.rs"),
            ("from Ann <a@b.org>: wrong total", "from Ann : wrong total"),
            ("a < b @ c > d", "a < b @ c > d"),
            (
                "order-by: in the parser, says Ann <a@b.org>",
                "order-by: in the parser, says Ann ",
            ),
            (
                "Order-by: the parser fails. Ann <a@b.org>",
                "Order-by: the parser fails. Ann ",
            ),
            ("Vec<T<a@b>>", "Vec<T>"),
        ];
        for (task, expected) in cases {
            assert_eq!(drop_people_and_pages(task), expected, "{task}");
        }
    }

    #[test]
    fn the_first_sentence_ends_at_a_mark_or_a_line() {
        let cases = [
            ("fix a.rs in the parser. It panics.", "fix a.rs in the parser"),
            ("Hi. The parser panics! Why?", "Hi. The parser panics"),
            ("the parser panics\nsometimes", "the parser panics"),
            ("short. x", "short. x"),
            ("", ""),
        ];
        for (task, expected) in cases {
            assert_eq!(task.split_at(end_of_first_sentence(task)).0, expected, "{task}");
        }
    }

    #[test]
    fn an_area_is_in_front_of_a_task() {
        let cases: [(&str, &[&str]); 8] = [
            ("parser: panics", &["parser"]),
            ("unix,win: close the pipe", &["unix", "win"]),
            ("fix(parser)!: panics", &["parser"]),
            ("[net] close", &["net"]),
            ("fix: the total", &[]),
            ("please do the following in this order: a", &[]),
            ("see std::fs", &[]),
            ("", &[]),
        ];
        for (task, expected) in cases {
            assert_eq!(list_area_words(task), expected, "{task}");
        }
    }
}

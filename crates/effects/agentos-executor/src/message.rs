//! The message of a commit: what the caller states, or else the names of the changed files, and the trailers.
//!
//! Owns: the last paragraph, which leads from a commit to its evidence. Never: takes a trailer from the text of a message.

use agentos_landing::Change;

use crate::history::{EVIDENCE_TRAILER, RUN_TRAILER};
use crate::{LandPlan, ReceiptFile};

/// Columns of a subject, by the common convention for git.
const SUBJECT_COLUMNS: usize = 72;

/// Returns the message that the commit of a change would have, with zeros for the hash of its evidence, which is not known before
/// the change is written.
#[must_use]
pub fn preview_message(message: &str, trailers: &[(String, String)], run: &str, change: &Change) -> String {
    let files = change.files().iter();
    let files: Vec<NamedChange<'_>> = files
        .map(|file| NamedChange::new(file.path.as_str(), file.old.is_some(), file.new.is_some()))
        .collect();
    let pin = format!("sha256:{}", "0".repeat(64));
    compose_message((message, trailers, run), &files, &pin)
}

/// Builds the commit message, with the trailers as its last paragraph. git reads trailers from the last paragraph only, so
/// lines of the text that look like trailers count as text.
pub(crate) fn commit_message(plan: &LandPlan, files: &[ReceiptFile], pin: &str) -> String {
    let files: Vec<NamedChange<'_>> = files
        .iter()
        .map(|file| NamedChange::new(file.path.as_str(), file.old.is_some(), file.new.is_some()))
        .collect();
    compose_message((&plan.message, &plan.trailers, &plan.run), &files, pin)
}

/// Builds a message from the text, the trailers and the run of a commit.
fn compose_message(
    (message, trailers, run): (&str, &[(String, String)], &str),
    files: &[NamedChange<'_>],
    pin: &str,
) -> String {
    let body: String = message
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    let body = body.trim();
    let mut text = if body.is_empty() {
        describe_files(files)
    } else {
        body.to_owned()
    };
    text.push_str("\n\n");
    let own = [(RUN_TRAILER, run), (EVIDENCE_TRAILER, pin)];
    let given = trailers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in given.chain(own) {
        // A line feed in a value would begin another trailer.
        let value: String = value
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        text.push_str(&format!("{name}: {}\n", value.trim()));
    }
    text
}

/// Changed path, with the word for what happens to it.
struct NamedChange<'a> {
    path: &'a str,
    verb: &'static str,
}

impl<'a> NamedChange<'a> {
    fn new(path: &'a str, was_there: bool, is_there: bool) -> Self {
        let verb = match (was_there, is_there) {
            (false, _) => "Add",
            (true, false) => "Delete",
            (true, true) => "Change",
        };
        Self { path, verb }
    }
}

/// Makes a subject from the changed files, for a change about which nobody said more.
fn describe_files(files: &[NamedChange<'_>]) -> String {
    let count = files.len();
    let Some(first) = files.first() else {
        return "Apply a change".to_owned();
    };
    let shared = match files.iter().all(|file| file.verb == first.verb) {
        true => first.verb,
        false => "Change",
    };
    let all = match files {
        [one] => format!("{shared} {}", one.path),
        [one, two] => format!("{shared} {} and {}", one.path, two.path),
        _ => format!("{shared} {} and {} other files", first.path, count - 1),
    };
    // A control character of a path would begin another line of the message.
    let is_line = all.chars().count() <= SUBJECT_COLUMNS && !all.chars().any(char::is_control);
    match (is_line, count) {
        (true, _) => all,
        (false, 1) => format!("{shared} a file"),
        (false, _) => format!("{shared} {count} files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_the_files_as_far_as_they_fit() {
        let long = format!("~src/{}.rs", "a".repeat(80));
        for (files, expected) in [
            (&["~src/lib.rs"][..], "Change src/lib.rs"),
            (&["+new.txt"], "Add new.txt"),
            (&["-old.txt"], "Delete old.txt"),
            (&["+a", "+b"], "Add a and b"),
            (&["+a", "-b"], "Change a and b"),
            (&["~a", "~b", "~c"], "Change a and 2 other files"),
            (&[long.as_str()], "Change a file"),
            (&[long.as_str(), "~b", "~c"], "Change 3 files"),
            (&[], "Apply a change"),
        ] {
            let list: Vec<NamedChange<'_>> = files
                .iter()
                .map(|text| text.split_at(1))
                .map(|(mark, path)| NamedChange::new(path, mark != "+", mark != "-"))
                .collect();
            assert_eq!(describe_files(&list), expected, "{files:?}");
        }
    }
}

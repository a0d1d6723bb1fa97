//! The walk through the queue of open requests, as states, keys and effects.
//!
//! Owns: what a key means in each state, and the parts of a change that a person can choose. Never: reads a key, shows
//! anything, or lands; a front end carries out the effects and asks for the next key.
//!
//! | state | key | next state | effect |
//! |---|---|---|---|
//! | request | `y` | next request | land what is shown |
//! | request | `n` or nothing | next request | none: the request stays open |
//! | request | `d` | next request | deny for good |
//! | request | `s`, `e` | the same | show the diff; explain the decision |
//! | request | `f`, `h` | part 1 | ask about each file, or each hunk |
//! | request | `E` | the same | edit the diff |
//! | part | `y`, `n` | next part, or request | ask about the next one; after the last: use the chosen ones |
//! | part | `a`, `d` | request | take this part and the rest, or none of them, and use the chosen ones |
//! | any | `q` | end | end; every request that was not answered stays open |
//!
//! Other keys change nothing and show which keys there are.

use agentos_landing::split_diff;

/// Part of a change that a person can choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffPart {
    file: usize,
    /// Numbers of the hunks in the file. Empty for a file without hunks.
    hunks: Vec<usize>,
    /// Text of the part as a diff of its own. Untrusted.
    pub text: Vec<u8>,
}

/// State of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkState {
    /// The person is asked about a request.
    Request,
    /// The person is asked about one part of a change after the other.
    Part {
        /// The parts.
        parts: Vec<DiffPart>,
        /// Number of the part in question.
        at: usize,
        /// Numbers of the chosen parts.
        chosen: Vec<usize>,
    },
}

/// Work that a front end does after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkEffect {
    /// Land the change that is shown, and go on to the next request.
    Land,
    /// Go on to the next request.
    Skip,
    /// Deny the request for good, and go on to the next one.
    Deny,
    /// Show the diff.
    ShowDiff,
    /// Explain the decision.
    Explain,
    /// Let the person edit the diff.
    Edit,
    /// Show the part in question and ask about it.
    AskPart,
    /// Use the chosen parts as the change, and ask about it.
    UseChosen,
    /// All parts or none were chosen, so the change stays as it is.
    KeepChange,
    /// Show the keys.
    ShowKeys,
    /// End the walk.
    End,
}

impl WalkState {
    /// Takes a key, as the person typed it. Returns the next state and the work to do; for [`WalkEffect::UseChosen`], also
    /// the text of the chosen parts, and for [`WalkEffect::Deny`] the reason that was typed behind the key.
    #[must_use]
    pub fn press(self, key: &str, diff: &[u8]) -> (Self, WalkEffect, Vec<u8>) {
        let key = key.trim();
        if self == Self::Request
            && let Some(reason) = read_reason(key)
        {
            return (self, WalkEffect::Deny, reason.as_bytes().to_vec());
        }
        let stay = |state: Self, effect| (state, effect, Vec::new());
        match (self, key) {
            (_, "q" | "quit") => stay(Self::Request, WalkEffect::End),
            (Self::Request, "y" | "yes") => stay(Self::Request, WalkEffect::Land),
            // A person who only presses Enter has not read the question.
            (Self::Request, "n" | "no" | "") => stay(Self::Request, WalkEffect::Skip),
            (Self::Request, "d" | "deny") => stay(Self::Request, WalkEffect::Deny),
            (Self::Request, "s" | "show") => stay(Self::Request, WalkEffect::ShowDiff),
            (Self::Request, "e" | "explain") => stay(Self::Request, WalkEffect::Explain),
            (Self::Request, "E" | "edit") => stay(Self::Request, WalkEffect::Edit),
            (Self::Request, "f" | "h") => begin_choice(list_parts(diff, key == "h")),
            (Self::Part { parts, at, chosen }, "y" | "n" | "a" | "d") => choose_parts(parts, at, chosen, key),
            (state, _) => stay(state, WalkEffect::ShowKeys),
        }
    }
}

/// Returns the reason behind the key for a denial. `None` for any other line.
fn read_reason(line: &str) -> Option<&str> {
    let (key, reason) = line.split_once(' ')?;
    matches!(key, "d" | "deny").then(|| reason.trim())
}

fn begin_choice(parts: Vec<DiffPart>) -> (WalkState, WalkEffect, Vec<u8>) {
    // One part is the whole change, and `y` or `n` is the question about it.
    if parts.len() < 2 {
        return (WalkState::Request, WalkEffect::KeepChange, Vec::new());
    }
    let state = WalkState::Part {
        parts,
        at: 0,
        chosen: Vec::new(),
    };
    (state, WalkEffect::AskPart, Vec::new())
}

fn choose_parts(
    parts: Vec<DiffPart>,
    at: usize,
    mut chosen: Vec<usize>,
    key: &str,
) -> (WalkState, WalkEffect, Vec<u8>) {
    match key {
        "y" => chosen.push(at),
        "a" => chosen.extend(at..parts.len()),
        _ => {}
    }
    let is_last = at + 1 >= parts.len() || matches!(key, "a" | "d");
    if !is_last {
        let at = at + 1;
        return (
            WalkState::Part { parts, at, chosen },
            WalkEffect::AskPart,
            Vec::new(),
        );
    }
    if chosen.is_empty() || chosen.len() == parts.len() {
        return (WalkState::Request, WalkEffect::KeepChange, Vec::new());
    }
    (
        WalkState::Request,
        WalkEffect::UseChosen,
        join_parts(&parts, &chosen),
    )
}

/// Lists the parts of a canonical diff: its files, or the hunks of those files that can be divided.
fn list_parts(diff: &[u8], by_hunk: bool) -> Vec<DiffPart> {
    let mut parts = Vec::new();
    for (number, file) in split_diff(diff).iter().enumerate() {
        let count = file.hunks.len();
        let part = |hunks: Vec<usize>| DiffPart {
            file: number,
            text: file.part_text(hunks.iter().copied()),
            hunks,
        };
        if by_hunk && file.is_divisible() {
            parts.extend((0..count).map(|hunk| part(vec![hunk])));
        } else {
            parts.push(part((0..count).collect()));
        }
    }
    parts
}

/// Joins chosen parts to one diff, with the header of each file once.
fn join_parts(parts: &[DiffPart], chosen: &[usize]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut last_file = None;
    for part in chosen.iter().filter_map(|at| parts.get(*at)) {
        let files = split_diff(&part.text);
        let Some(file) = files.first() else { continue };
        let header = file.part_text([]);
        // The second hunk of a file follows the first without another header.
        let rest = if last_file == Some(part.file) {
            part.text.get(header.len()..)
        } else {
            Some(part.text.as_slice())
        };
        text.extend_from_slice(rest.unwrap_or_default());
        last_file = Some(part.file);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n@@ -9 +9 @@\n-p\n+q\n\
                        diff --git a/n b/n\nnew file mode 100644\nindex 0..3\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n";

    /// Presses keys one after the other. Returns the effects, whether a part is in question, and the chosen text.
    fn press_all(keys: &str) -> (Vec<WalkEffect>, bool, String) {
        let (mut state, mut effects, mut text) = (WalkState::Request, Vec::new(), Vec::new());
        for key in keys.split(' ') {
            let (next, effect, chosen) = state.press(key, DIFF.as_bytes());
            effects.push(effect);
            if effect == WalkEffect::UseChosen {
                text = chosen;
            }
            state = next;
        }
        let is_part = matches!(state, WalkState::Part { .. });
        (effects, is_part, String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn every_key_has_one_meaning_in_each_state() {
        use WalkEffect::{
            AskPart, Deny, Edit, End, Explain, KeepChange, Land, ShowDiff, ShowKeys, Skip, UseChosen,
        };
        let cases: [(&str, &[WalkEffect], bool); 17] = [
            ("y", &[Land], false),
            ("n", &[Skip], false),
            ("", &[Skip], false),
            ("d", &[Deny], false),
            ("s", &[ShowDiff], false),
            ("e", &[Explain], false),
            ("E", &[Edit], false),
            ("q", &[End], false),
            ("Y", &[ShowKeys], false),
            ("D", &[ShowKeys], false),
            ("f", &[AskPart], true),
            ("f what", &[AskPart, ShowKeys], true),
            ("f q", &[AskPart, End], false),
            ("f y n", &[AskPart, AskPart, UseChosen], false),
            ("f n n", &[AskPart, AskPart, KeepChange], false),
            ("f a", &[AskPart, KeepChange], false),
            ("h y d", &[AskPart, AskPart, UseChosen], false),
        ];
        for (keys, effects, is_part) in cases {
            let (found, part, _) = press_all(keys);
            assert_eq!((found.as_slice(), part), (effects, is_part), "{keys:?}");
        }
    }

    #[test]
    fn the_chosen_parts_are_a_diff_of_their_own() {
        let file = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n";
        let (first, second) = ("@@ -1 +1 @@\n-x\n+y\n", "@@ -9 +9 @@\n-p\n+q\n");
        let new = DIFF.split_once("+q\n").map_or("", |(_, new)| new);
        let cases = [
            ("f y n", format!("{file}{first}{second}")),
            ("f n y", new.to_owned()),
            ("h y d", format!("{file}{first}")),
            ("h n y n", format!("{file}{second}")),
            ("h y y n", format!("{file}{first}{second}")),
            ("h n a", format!("{file}{second}{new}")),
            ("h a", String::new()),
        ];
        for (keys, text) in cases {
            assert_eq!(press_all(keys).2, text, "{keys}");
        }
    }

    #[test]
    fn a_reason_follows_the_key_of_a_denial() {
        let cases = [
            ("d", WalkEffect::Deny, ""),
            ("d not on push", WalkEffect::Deny, "not on push"),
            ("deny  a test fails ", WalkEffect::Deny, "a test fails"),
            ("done not", WalkEffect::ShowKeys, ""),
            ("y because", WalkEffect::ShowKeys, ""),
        ];
        for (key, effect, text) in cases {
            let (_, pressed, typed) = WalkState::Request.press(key, DIFF.as_bytes());
            assert_eq!((pressed, typed.as_slice()), (effect, text.as_bytes()), "{key}");
        }
    }

    #[test]
    fn one_part_cannot_be_divided() {
        let one = DIFF.split_once("@@ -9").map_or("", |(one, _)| one);
        for key in ["f", "h"] {
            let (state, effect, _) = WalkState::Request.press(key, one.as_bytes());
            assert_eq!(
                (state, effect),
                (WalkState::Request, WalkEffect::KeepChange),
                "{key}"
            );
        }
    }
}

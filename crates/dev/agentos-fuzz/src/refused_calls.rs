//! The report of refused system calls: a report that was cut off says less, and never something else.
//!
//! Owns: the claims. Never: starts a process.

use agentos_sandbox::RefusedCall;
use agentos_sandbox::fuzzing::read_refused_calls;

/// Reads the bytes as the report of a helper.
///
/// # Panics
/// If a claim does not hold.
pub fn check_refused_calls(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(all) = read_refused_calls(&text) else {
        return;
    };
    assert!(all.len() <= text.lines().count(), "more calls than lines");
    for pair in all.windows(2) {
        if let [first, second] = pair {
            assert!(first.times >= second.times, "{first:?} before {second:?}");
            assert_ne!(first.call, second.call, "a call is counted once");
        }
    }
    let mut names: Vec<&str> = all.iter().map(|refused| refused.call.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a call is counted once");
    check_cut(&text, &all);
}

/// A report that ends earlier, after a whole line, must not name any call more often.
fn check_cut(text: &str, all: &[RefusedCall]) {
    // A helper that is killed leaves a report that ends anywhere; a few cuts are enough for each input.
    for (end, _) in text.match_indices('\n').take(8) {
        let Some(cut) = text.get(..=end).and_then(read_refused_calls) else {
            continue;
        };
        for refused in cut {
            let whole = all.iter().find(|known| known.call == refused.call);
            assert!(
                whole.is_some_and(|whole| whole.times >= refused.times),
                "cut off, it says more: {refused:?}"
            );
        }
    }
}

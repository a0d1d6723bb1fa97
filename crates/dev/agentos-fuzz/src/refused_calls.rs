//! The report of refused calls: what was cut off says less, never something else.
//!
//! Owns: the claims. Never: starts a process.

use agentos_sandbox::Refused;
use agentos_sandbox::fuzzing::read_refused_calls;

/// Reads the bytes as the report that a helper left.
///
/// # Panics
/// When a claim does not hold.
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

/// A report that ends with a whole line before the end names no call more often.
fn check_cut(text: &str, all: &[Refused]) {
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

//! What a confined process tried and the filter of system calls refused, from the helper to the parent.
//!
//! Owns: the lines in which it is told. Never: holds a word of the tool's own: names are ours, the rest are numbers.
//!
//! A path is not among them. What is not mounted, or is mounted read-only, is refused before any rule about files is asked,
//! and no kernel record tells of that; what Landlock itself refuses goes to the system's audit, which only root may read.
//! Nor is a call that a filter of the tool's own refuses first (seccomp(2): `SECCOMP_RET_ERRNO` goes before a listener).

use std::io::Read;
use std::path::Path;

/// One call, as often as it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name, and of a socket its kind.
    pub call: String,
    /// How often.
    pub times: u64,
}

/// The first line: from here on everything is told.
pub(crate) const HEARD: &str = "heard";
/// Different calls that are told one by one.
#[cfg(target_os = "linux")]
pub(crate) const MOST: usize = 64;
/// A longer file is none of the helper's.
const LONGEST: u64 = 64 << 10;

/// What the helper wrote, most often first; none where nobody heard what was refused.
pub(crate) fn read(place: &Path) -> Option<Vec<Refused>> {
    let mut text = String::new();
    let file = std::fs::File::open(place).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    parsed(&text)
}

fn parsed(text: &str) -> Option<Vec<Refused>> {
    let lines = text.strip_prefix(HEARD)?.strip_prefix('\n')?.lines();
    let mut all: Vec<Refused> = Vec::new();
    for line in lines {
        // The last one may be cut off where the helper was killed.
        let Some((times, call)) = line.split_once(' ') else {
            continue;
        };
        let Ok(times) = times.parse() else { continue };
        match all.iter_mut().find(|known| known.call == call) {
            // Told when it came first, and counted at the end.
            Some(known) => known.times = known.times.max(times),
            None => all.push(Refused {
                call: call.to_owned(),
                times,
            }),
        }
    }
    all.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.call.cmp(&b.call)));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_at_the_end_stands_for_what_was_told_before() {
        let refused = |call: &str, times| Refused {
            call: call.to_owned(),
            times,
        };
        let cases = [
            ("", None),
            ("hear", None),
            ("heard\n", Some(Vec::new())),
            ("heard\n1 ptrace\n", Some(vec![refused("ptrace", 1)])),
            (
                "heard\n1 ptrace\n1 socket (inet, stream)\n1 ptrace\n7 socket (inet, stream)\n",
                Some(vec![refused("socket (inet, stream)", 7), refused("ptrace", 1)]),
            ),
            ("heard\n1 ptrace\n1", Some(vec![refused("ptrace", 1)])),
        ];
        for (text, wanted) in cases {
            assert_eq!(parsed(text), wanted, "{text:?}");
        }
    }
}

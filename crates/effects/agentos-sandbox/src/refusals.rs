//! Refused system calls, as the helper reports them to the parent.
//!
//! A path is not reported. What is not mounted, or is mounted read-only, is refused before the kernel evaluates any
//! rule about files, and no kernel record mentions it; what Landlock itself refuses goes to the system's audit log,
//! which only root may read. A call that a filter of the tool's own refuses is not reported either (seccomp(2):
//! `SECCOMP_RET_ERRNO` takes precedence over a listener).
//!
//! Owns: the format of the report. Never: holds a word of the tool's own: names come from this program, everything
//! else is a number.

#[cfg(target_os = "linux")]
use std::io::{self, Read};
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixListener;
#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::outlet::SocketPlace;

/// Refused system call with its count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
    /// Name of the call, followed by the kind if it is a socket.
    pub call: String,
    /// Number of refusals.
    pub times: u64,
}

/// First line of a report: from here on every refused call is recorded.
#[cfg(any(target_os = "linux", test))]
pub(crate) const FIRST_LINE: &str = "heard";
/// Last line of a report: the counts before it are final.
#[cfg(any(target_os = "linux", test))]
pub(crate) const LAST_LINE: &str = "complete";
/// Largest number of socket kinds, and of calls without a name, that are recorded one by one.
#[cfg(target_os = "linux")]
pub(crate) const MAX_KINDS: usize = 32;
/// Largest size of a report. The helper writes one line for each kind of call and one more with its count, so a
/// longer one is not the helper's.
#[cfg(target_os = "linux")]
const LONGEST: u64 = 64 << 10;

/// The parent's end of the report: a socket that the helper connects to before any rule restricts it.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct RefusalSocket(UnixListener);

#[cfg(target_os = "linux")]
impl RefusalSocket {
    /// Opens the socket for the user of process 1, if that is another user than the parent's.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn open(socket: &Path, keeper: Option<u32>) -> io::Result<Self> {
        let listener = UnixListener::bind(SocketPlace::open(socket)?.short_path())?;
        std::os::unix::fs::lchown(socket, keeper, keeper)?;
        Ok(Self(listener))
    }

    /// Reads the report after the helper has ended. All of it waits in the socket by then: the helper writes less
    /// than a socket holds (`MAX_KINDS` lines of a few words; unix(7), socket(7): `SO_SNDBUF`).
    ///
    /// Returns `None` if it is not known what was refused: nothing was recorded, or the helper ended by itself
    /// (`was_killed` is false) without the last line.
    pub(crate) fn read(&self, was_killed: bool) -> Option<Vec<RefusedCall>> {
        // The helper connects before it reports its layers. If it did not get so far, nobody would ever connect, so
        // this must not wait.
        self.0.set_nonblocking(true).ok()?;
        let (stream, _) = self.0.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let mut text = String::new();
        match stream.take(LONGEST).read_to_string(&mut text) {
            Ok(_) => {}
            // Another process still holds the other end, so the report may not be complete.
            Err(_) => return None,
        }
        parse_report(&text, was_killed)
    }
}

/// Parses a report, most frequent calls first. Returns `None` if the report is not complete.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn parse_report(text: &str, was_killed: bool) -> Option<Vec<RefusedCall>> {
    let lines = text.strip_prefix(FIRST_LINE)?.strip_prefix('\n')?;
    if !was_killed && !lines.ends_with(&format!("{LAST_LINE}\n")) {
        return None;
    }
    let lines = lines.lines();
    let mut all: Vec<RefusedCall> = Vec::new();
    for line in lines {
        // The last line may be cut off if the helper was killed.
        let Some((times, call)) = line.split_once(' ') else {
            continue;
        };
        let Ok(times) = times.parse() else { continue };
        match all.iter_mut().find(|known| known.call == call) {
            // A call is written once when it first occurs, and again with its count at the end.
            Some(known) => known.times = known.times.max(times),
            None => all.push(RefusedCall {
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
        let refused = |call: &str, times| RefusedCall {
            call: call.to_owned(),
            times,
        };
        let cases = [
            ("", None),
            ("hear", None),
            ("heard\n", Some(Vec::new())),
            ("heard\ncomplete\n", Some(Vec::new())),
            ("heard\n1 ptrace\n", Some(vec![refused("ptrace", 1)])),
            (
                "heard\n1 ptrace\n1 socket (inet, stream)\n1 ptrace\n7 socket (inet, stream)\n",
                Some(vec![refused("socket (inet, stream)", 7), refused("ptrace", 1)]),
            ),
            ("heard\n1 ptrace\n1", Some(vec![refused("ptrace", 1)])),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_report(text, true), wanted, "{text:?}");
            let is_whole = text.ends_with("complete\n");
            assert_eq!(parse_report(text, false), wanted.filter(|_| is_whole), "{text:?}");
        }
    }
}

//! What a confined process tried and the filter of system calls refused, from the helper to the parent.
//!
//! Owns: the lines in which it is told. Never: holds a word of the tool's own: names are ours, the rest are numbers.
//!
//! A path is not among them. What is not mounted, or is mounted read-only, is refused before any rule about files is asked,
//! and no kernel record tells of that; what Landlock itself refuses goes to the system's audit, which only root may read.
//! Nor is a call that a filter of the tool's own refuses first (seccomp(2): `SECCOMP_RET_ERRNO` goes before a listener).

#[cfg(target_os = "linux")]
use std::io::{self, Read};
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixListener;
#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::outlet::SocketPlace;

/// One call, as often as it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name, and of a socket its kind.
    pub call: String,
    /// How often.
    pub times: u64,
}

/// First line: from here on every refused call is recorded.
#[cfg(any(target_os = "linux", test))]
pub(crate) const HEARD: &str = "heard";
/// Last line: the counts before it are final.
#[cfg(any(target_os = "linux", test))]
pub(crate) const COMPLETE: &str = "complete";
/// Kinds of sockets, and calls that no table knows, that are recorded one by one.
#[cfg(target_os = "linux")]
pub(crate) const MOST: usize = 32;
/// A longer record is none of the helper's: it has a line for each kind of call and one more for its count.
#[cfg(target_os = "linux")]
const LONGEST: u64 = 64 << 10;

/// Our end of the record: a socket that the helper connects to before any rule holds it.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct RefusalSocket(UnixListener);

#[cfg(target_os = "linux")]
impl RefusalSocket {
    /// Opens the socket for the user of process 1, where that is another than ours.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn open(socket: &Path, keeper: Option<u32>) -> io::Result<Self> {
        let listener = UnixListener::bind(SocketPlace::of(socket)?.address())?;
        std::os::unix::fs::lchown(socket, keeper, keeper)?;
        Ok(Self(listener))
    }

    /// Reads what the helper wrote, when it has ended. All of it waits in the socket by then: the helper writes less than a
    /// socket holds (`MOST` lines of a few words; unix(7), socket(7): `SO_SNDBUF`).
    ///
    /// Returns `None` if it is not known what was refused: nobody could hear it, or the helper came to its own end
    /// (`was_killed` is false) without saying that this was all.
    pub(crate) fn read(&self, was_killed: bool) -> Option<Vec<Refused>> {
        // The helper connects before it reports; where it did not get so far there is nobody to wait for.
        self.0.set_nonblocking(true).ok()?;
        let (stream, _) = self.0.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let mut text = String::new();
        match stream.take(LONGEST).read_to_string(&mut text) {
            Ok(_) => {}
            // Somebody still has the other end.
            Err(_) => return None,
        }
        parsed(&text, was_killed)
    }
}

/// Reads the lines, most often first. Returns `None` if they do not say all that was refused.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn parsed(text: &str, was_killed: bool) -> Option<Vec<Refused>> {
    let lines = text.strip_prefix(HEARD)?.strip_prefix('\n')?;
    if !was_killed && !lines.ends_with(&format!("{COMPLETE}\n")) {
        return None;
    }
    let lines = lines.lines();
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
            ("heard\ncomplete\n", Some(Vec::new())),
            ("heard\n1 ptrace\n", Some(vec![refused("ptrace", 1)])),
            (
                "heard\n1 ptrace\n1 socket (inet, stream)\n1 ptrace\n7 socket (inet, stream)\n",
                Some(vec![refused("socket (inet, stream)", 7), refused("ptrace", 1)]),
            ),
            ("heard\n1 ptrace\n1", Some(vec![refused("ptrace", 1)])),
        ];
        for (text, wanted) in cases {
            assert_eq!(parsed(text, true), wanted, "{text:?}");
            let is_whole = text.ends_with("complete\n");
            assert_eq!(parsed(text, false), wanted.filter(|_| is_whole), "{text:?}");
        }
    }
}

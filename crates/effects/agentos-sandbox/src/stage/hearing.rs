//! Records the system calls that the filter refuses.
//!
//! Owns: the thread that listens, the names of calls, the counts. Never: lets a call through, or reads the memory
//! that a call's arguments point to.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use agentos_notify::{CallListener, PendingCall};

use super::filter::{PARTLY_REFUSED, REFUSED, REFUSED_ON_X86, X32};
use super::user::drop_start_rights;
use crate::refusals::{FIRST_LINE, LAST_LINE, MAX_KINDS};

/// Beginning of the name of a socket's kind, and the name of all kinds beyond the first [`MAX_KINDS`].
const SOCKET: &str = "socket (";
const OTHER_SOCKETS: &str = "socket (others)";
/// Beginning of the name of a call that no table has, and the name of all those beyond the first [`MAX_KINDS`].
const NUMBERED: &str = "call ";
const OTHERS: &str = "others";

/// Connection to the parent, made before any rule restricted this process. A socket and not a file: the size of files
/// can be limited (`RLIMIT_FSIZE`, setrlimit(2)), so a tool could decide what is recorded of it.
#[derive(Clone)]
pub(super) struct CallRecord(Arc<Mutex<RecordState>>);

struct RecordState {
    parent: UnixStream,
    counts: BTreeMap<String, u64>,
    is_over: bool,
}

impl RecordState {
    /// Replaces the name of a call that is not counted yet if its family has its share of names already. A tool can
    /// invent numbers and kinds of sockets as it likes; they must not use up the names of calls that the tables have.
    fn limit_names(&self, name: &mut String) {
        for (family, rest) in [(SOCKET, OTHER_SOCKETS), (NUMBERED, OTHERS)] {
            let known = self.counts.keys().filter(|known| known.starts_with(family));
            if name.starts_with(family) && known.count() >= MAX_KINDS {
                rest.clone_into(name);
            }
        }
    }

    /// Writes whole lines. If that fails, this process ends and the tool with it: a run must not end normally with a
    /// record that says less than what happened.
    fn write(&mut self, lines: &str) {
        if self.parent.write_all(lines.as_bytes()).is_err() {
            std::process::abort();
        }
    }
}

impl CallRecord {
    /// Connects to the socket, which is named by the last part of its path: its folder is the current one.
    ///
    /// # Errors
    /// If the parent does not listen there.
    pub(super) fn connect(socket: &Path) -> Result<Self, String> {
        let name = socket.file_name().map(Path::new).unwrap_or(socket);
        let parent = UnixStream::connect(name)
            .map_err(|error| format!("the record of refused calls cannot be opened: {error}"))?;
        Ok(Self::from_stream(parent))
    }

    fn from_stream(parent: UnixStream) -> Self {
        Self(Arc::new(Mutex::new(RecordState {
            parent,
            counts: BTreeMap::new(),
            is_over: false,
        })))
    }

    /// Starts to listen, on a thread that no later layer restricts. The listener comes through the returned channel.
    /// `None` if the system refuses a thread.
    pub(super) fn listen(&self) -> Option<Sender<CallListener>> {
        let (say, hear) = channel::<CallListener>();
        let record = self.clone();
        let listen = move || {
            if drop_start_rights().is_err() {
                return;
            }
            let Ok(listener) = hear.recv() else { return };
            record.lock_state().write(&format!("{FIRST_LINE}\n"));
            while let Ok(heard) = listener.next_call() {
                let Some(call) = heard else { continue };
                // Counted before it is answered: a tool that knows of the refusal could have this process killed.
                record.count_call(&call);
                if listener.refuse_call(&call, libc::EPERM).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().spawn(listen).ok().map(|_| say)
    }

    /// Writes the count of each call and the last line. Later refusals, to processes that the tool left and that end
    /// with this one, are not counted: nothing may follow the last line.
    pub(super) fn write_counts(&self) {
        let mut written = self.lock_state();
        let counts = std::mem::take(&mut written.counts);
        let mut lines = String::new();
        for (name, times) in counts {
            lines.push_str(&format!("{times} {name}\n"));
        }
        written.is_over = true;
        written.write(&format!("{lines}{LAST_LINE}\n"));
    }

    fn count_call(&self, call: &PendingCall) {
        let mut name = name_call(call);
        let mut written = self.lock_state();
        if written.is_over {
            return;
        }
        if !written.counts.contains_key(&name) {
            written.limit_names(&mut name);
        }
        let times = written.counts.entry(name.clone()).or_default();
        *times += 1;
        // Written at once: if the tool has to be killed, there is no later.
        if *times == 1 {
            written.write(&format!("1 {name}\n"));
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, RecordState> {
        // The value is consistent at every moment, so a panic of another thread does not matter.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names a call. For a socket the name has its family and type, which are numbers; no other argument is reported.
fn name_call(call: &PendingCall) -> String {
    let number = i64::from(call.number);
    let plain = number & !i64::from(X32);
    let table = REFUSED.iter().chain(REFUSED_ON_X86);
    let others = PARTLY_REFUSED.iter().map(|(name, call, _)| (*name, *call));
    if plain == libc::SYS_socket || plain == libc::SYS_socketpair {
        return name_socket(call);
    }
    let known = table.copied().chain(others).find(|(_, known)| *known == plain);
    known.map_or_else(|| format!("{NUMBERED}{number}"), |(name, _)| name.to_owned())
}

fn name_socket(call: &PendingCall) -> String {
    let [family, kind, ..] = call.args;
    let named = |value: u64, names: &[(i32, &str)]| {
        let found = names.iter().find(|(known, _)| u64::try_from(*known) == Ok(value));
        found.map_or_else(|| value.to_string(), |(_, name)| (*name).to_owned())
    };
    // The kernel reads the lower half of the family, and the four lowest bits of the type (`SOCK_TYPE_MASK`).
    let family = named(
        family & 0xffff_ffff,
        &[
            (libc::AF_UNIX, "unix"),
            (libc::AF_INET, "inet"),
            (libc::AF_INET6, "inet6"),
            (libc::AF_NETLINK, "netlink"),
            (libc::AF_PACKET, "packet"),
            (libc::AF_VSOCK, "vsock"),
        ],
    );
    let kind = named(
        kind & 0xf,
        &[
            (libc::SOCK_STREAM, "stream"),
            (libc::SOCK_DGRAM, "datagram"),
            (libc::SOCK_RAW, "raw"),
            (libc::SOCK_SEQPACKET, "packets"),
        ],
    );
    format!("{SOCKET}{family}, {kind})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, first: u64, second: u64) -> PendingCall {
        PendingCall {
            id: 1,
            number: i32::try_from(number).unwrap(),
            args: [first, second, 0, 0, 0, 0],
        }
    }

    #[test]
    fn a_call_is_told_by_its_name_and_a_socket_by_its_kind() {
        let number = |value: i32| u64::try_from(value).unwrap();
        for (heard, name) in [
            (call(libc::SYS_ptrace, 16, 1), "ptrace"),
            (call(libc::SYS_ptrace | i64::from(X32), 16, 1), "ptrace"),
            (
                call(
                    libc::SYS_socket,
                    number(libc::AF_INET),
                    number(libc::SOCK_STREAM | libc::SOCK_CLOEXEC),
                ),
                "socket (inet, stream)",
            ),
            (call(libc::SYS_socket, 99, 9), "socket (99, 9)"),
            (call(libc::SYS_clone, 0, 0), "clone (a namespace)"),
            (call(9999, 0, 0), "call 9999"),
        ] {
            assert_eq!(name_call(&heard), name);
        }
    }

    #[test]
    fn many_kinds_are_told_as_others() {
        let (ours, mut parent) = UnixStream::pair().unwrap();
        let record = CallRecord::from_stream(ours);
        for number in 1000..1100 {
            record.count_call(&call(number, 0, 0));
            record.count_call(&call(number, 0, 0));
        }
        for kind in 0..100 {
            record.count_call(&call(libc::SYS_socket, kind, 9));
        }
        // What a table knows has its place, whatever came before.
        record.count_call(&call(libc::SYS_bpf, 0, 0));
        record.write_counts();
        record.count_call(&call(libc::SYS_ptrace, 0, 0));
        drop(record);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut parent, &mut text).unwrap();
        assert!(
            text.contains("\n2 call 1000\n")
                && text.contains("\n136 others\n")
                && text.ends_with("\ncomplete\n"),
            "{text}"
        );
    }
}

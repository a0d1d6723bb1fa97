//! Hearing what the filter of system calls refuses, and writing it down.
//!
//! Owns: the thread that listens, the names of calls, the counts. Never: lets a call through, or reads what a call's
//! addresses lead to.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use agentos_notify::{Call, Listener};

use super::filter::{REFUSED, REFUSED_ON_X86, X32};
use crate::refusals::{HEARD, MOST};

/// What stands for every call beyond the first kinds.
const OTHERS: &str = "others";

/// Where it is written: a file that was opened before the root was left behind, and that the tool has no way to.
#[derive(Clone)]
pub(super) struct Record(Arc<Mutex<Written>>);

struct Written {
    file: File,
    counts: BTreeMap<String, u64>,
}

impl Record {
    /// Opens the file, which must be new.
    pub(super) fn open(place: &Path) -> Option<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(place).ok()?;
        let counts = BTreeMap::new();
        Some(Self(Arc::new(Mutex::new(Written { file, counts }))))
    }

    /// Begins to listen, on a thread that no later layer holds; what it is to listen to comes through the channel.
    pub(super) fn listen(&self) -> Option<Sender<Listener>> {
        let (say, hear) = channel::<Listener>();
        let record = self.clone();
        let listen = move || {
            let Ok(listener) = hear.recv() else { return };
            record.tell(HEARD);
            while let Ok(heard) = listener.refuse_next(libc::EPERM) {
                heard.into_iter().for_each(|call| record.count(&call));
            }
        };
        thread::Builder::new().spawn(listen).ok().map(|_| say)
    }

    /// Writes how often each was refused.
    pub(super) fn end(&self) {
        let counts = self.written().counts.clone();
        for (name, times) in counts {
            self.tell(&format!("{times} {name}"));
        }
    }

    fn count(&self, call: &Call) {
        let mut name = named(call);
        let is_new = {
            let counts = &mut self.written().counts;
            if !counts.contains_key(&name) && counts.len() >= MOST {
                OTHERS.clone_into(&mut name);
            }
            let times = counts.entry(name.clone()).or_default();
            *times += 1;
            *times == 1
        };
        // At once: where the tool has to be killed there is no later.
        if is_new {
            self.tell(&format!("1 {name}"));
        }
    }

    /// A line. What cannot be written is missing in the record, and refused all the same.
    fn tell(&self, line: &str) {
        let _ = self.written().file.write_all(format!("{line}\n").as_bytes());
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        // Counts and file are whole at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in words. Of a socket its family and type are told, which are numbers; the rest of the arguments are not.
fn named(call: &Call) -> String {
    let number = i64::from(call.number);
    let plain = number & !i64::from(X32);
    let table = REFUSED.iter().chain(REFUSED_ON_X86);
    let others = [
        ("clone (a namespace)", libc::SYS_clone),
        ("ioctl (a terminal's input)", libc::SYS_ioctl),
    ];
    if plain == libc::SYS_socket || plain == libc::SYS_socketpair {
        return socket(call);
    }
    let known = table.chain(&others).find(|(_, known)| *known == plain);
    known.map_or_else(|| format!("call {number}"), |(name, _)| (*name).to_owned())
}

fn socket(call: &Call) -> String {
    let [family, kind, ..] = call.args;
    let named = |value: u64, names: &[(i32, &str)]| {
        let found = names.iter().find(|(known, _)| u64::try_from(*known) == Ok(value));
        found.map_or_else(|| value.to_string(), |(_, name)| (*name).to_owned())
    };
    // The kernel reads the lower half, and of the type the four lowest bits (SOCK_TYPE_MASK).
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
    format!("socket ({family}, {kind})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, first: u64, second: u64) -> Call {
        Call {
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
            assert_eq!(named(&heard), name);
        }
    }

    #[test]
    fn many_kinds_are_told_as_others() {
        let folder = std::env::temp_dir().join(format!("agentos-hearing-{}", std::process::id()));
        let record = Record::open(&folder).unwrap();
        for number in 1000..1100 {
            record.count(&call(number, 0, 0));
            record.count(&call(number, 0, 0));
        }
        record.end();
        let text = std::fs::read_to_string(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        assert!(
            text.contains("\n2 call 1000\n") && text.contains("\n72 others\n"),
            "{text}"
        );
    }
}

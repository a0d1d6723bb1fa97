//! Failures to write a file or folder: their codes, and what to do about them.
//!
//! Owns: the codes and hints of such failures. Never: writes anything.

use std::io;

/// Returns the stable code of a failure to write. `None` if the system reported another reason.
#[must_use]
pub fn unwritable_code(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("disk-full"),
        io::ErrorKind::ReadOnlyFilesystem => Some("read-only"),
        io::ErrorKind::PermissionDenied => Some("not-permitted"),
        _ => None,
    }
}

/// Returns what to do about a failure to write.
#[must_use]
pub fn advise_unwritable(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, and run the command again"
        }
        io::ErrorKind::ReadOnlyFilesystem => "make the disk writable, and run the command again",
        io::ErrorKind::PermissionDenied => {
            "make the folder writable for you, or run the command as its owner: `ls -ld` shows who that is"
        }
        _ => "free some space, or make the folder writable",
    }
}

/// Recognises the kind of a failure in a message of libgit2.
pub(super) fn kind_of(why: &str) -> io::ErrorKind {
    // libgit2 passes the system's message on, but not its error number.
    let kinds = [
        ("No space left on device", io::ErrorKind::StorageFull),
        ("Disk quota exceeded", io::ErrorKind::QuotaExceeded),
        ("Read-only file system", io::ErrorKind::ReadOnlyFilesystem),
        ("Permission denied", io::ErrorKind::PermissionDenied),
        ("Operation not permitted", io::ErrorKind::PermissionDenied),
    ];
    let found = kinds.iter().find(|(words, _)| why.contains(words));
    found.map_or(io::ErrorKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ExecError;

    #[test]
    fn a_place_that_cannot_be_written_is_told_by_its_reason() {
        let cases = [
            ("No space left on device", io::ErrorKind::StorageFull, "disk-full"),
            ("Disk quota exceeded", io::ErrorKind::QuotaExceeded, "disk-full"),
            (
                "Read-only file system",
                io::ErrorKind::ReadOnlyFilesystem,
                "read-only",
            ),
            (
                "Permission denied",
                io::ErrorKind::PermissionDenied,
                "not-permitted",
            ),
            (
                "Operation not permitted",
                io::ErrorKind::PermissionDenied,
                "not-permitted",
            ),
            ("Input/output error", io::ErrorKind::Other, "write-failed"),
        ];
        for (words, kind, code) in cases {
            let git = ExecError::Git {
                action: "write a tree",
                why: format!("could not write: {words}"),
                source: None,
            };
            let own = ExecError::write("write", Path::new("x"))(kind.into());
            assert_eq!((git.code(), own.code()), (code, code), "{words}");
            assert_eq!(git.hint(), own.hint(), "{words}");
        }
    }
}

//! Places that cannot be written: by which reason, and what to do about it.
//!
//! Owns: the codes and hints of such failures. Never: tries to write.

use std::io;

/// The stable code for a place that cannot be written; none where the system had another reason.
#[must_use]
pub fn unwritable(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("disk-full"),
        io::ErrorKind::ReadOnlyFilesystem => Some("read-only"),
        io::ErrorKind::PermissionDenied => Some("not-permitted"),
        _ => None,
    }
}

/// What makes a place that cannot be written writable.
#[must_use]
pub fn mend(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space and run it again",
        io::ErrorKind::ReadOnlyFilesystem => "make the disk writable and run it again",
        io::ErrorKind::PermissionDenied => {
            "make the folder writable for you, or run it as its owner: `ls -ld` shows who that is"
        }
        _ => "free some space, or make the folder writable",
    }
}

/// libgit2 passes on the system's words and nothing else.
pub(super) fn kind_of(why: &str) -> io::ErrorKind {
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

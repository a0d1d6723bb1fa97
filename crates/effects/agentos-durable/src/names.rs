//! Renames that replace nothing.
//!
//! Owns: exchanging two names in one step, and giving a file a name that nothing has. Never: removes or replaces
//! anything, or does in several steps what the system cannot do in one: a caller whose file system has no such call
//! gets [`io::ErrorKind::Unsupported`] and decides what a crash between two steps may leave.
//!
//! `rename(2)` replaces whatever the new name leads to at that moment. A program that looks at a file and then renames
//! another one over it loses what was saved between the two calls. `renameat2(2)` (Linux 3.15) has two flags without
//! that gap: with `RENAME_EXCHANGE` the old content stays reachable under the other name and can be looked at
//! afterwards, and `RENAME_NOREPLACE` fails if the name is taken. macOS has the same as `renamex_np(2)` with
//! `RENAME_SWAP` and `RENAME_EXCL`. File systems may lack either; they answer `EINVAL` on Linux and `ENOTSUP` on macOS.

use std::io;
use std::path::Path;

/// Exchanges what two names lead to, in one step. Both must exist; neither is followed if it is a link.
///
/// # Errors
/// When a name does not exist or may not be changed; [`io::ErrorKind::Unsupported`] if the system or the file system
/// cannot exchange names. Then nothing has changed.
pub fn exchange_names(one: &Path, other: &Path) -> io::Result<()> {
    rename_with(one, other, RenameMode::Exchange)
}

/// Renames a file, unless the new name is taken.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the new name is taken, and [`io::ErrorKind::Unsupported`] if the system or the
/// file system cannot do it in one step. Then nothing has changed.
pub fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    rename_with(from, to, RenameMode::ToFreeName)
}

/// Effect of a rename on the new name.
#[derive(Debug, Clone, Copy)]
enum RenameMode {
    /// Both names stay and lead to each other's file.
    Exchange,
    /// The new name must not exist.
    ToFreeName,
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_with(from: &Path, to: &Path, mode: RenameMode) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    let flags = match mode {
        RenameMode::Exchange => RenameFlags::EXCHANGE,
        RenameMode::ToFreeName => RenameFlags::NOREPLACE,
    };
    // Answers of file systems that cannot do it. ENOTSUP and EOPNOTSUPP are one number on Linux and two on macOS.
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    renameat_with(CWD, from, CWD, to, flags).map_err(|error| {
        if unsupported.contains(&error) {
            io::ErrorKind::Unsupported.into()
        } else {
            error.into()
        }
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_with(_from: &Path, _to: &Path, mode: RenameMode) -> io::Result<()> {
    match mode {
        RenameMode::Exchange | RenameMode::ToFreeName => Err(io::ErrorKind::Unsupported.into()),
    }
}

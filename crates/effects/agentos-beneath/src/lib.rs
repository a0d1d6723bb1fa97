//! Folder trees that an untrusted process may write, or may still be writing.
//!
//! Owns: opening, listing, reading, filling, changing and removing whatever lies beneath an opened folder. Never: follows
//! a symbolic link, walks by path name, opens a FIFO or a device, recurses, or decides what is to be read or removed.
//!
//! # The problem
//!
//! Every system call resolves its path name again. Between a look at `a/b` and the opening of `a/b/c`, a process that may
//! write `a` can replace `b` by a link, and the second call opens a file outside the tree. A walk over a tool's folders
//! therefore keeps a descriptor of a folder and names only entries that lie directly in it, and every opening refuses
//! links.
//!
//! # The API
//!
//! [`OpenFolder`] is a folder with an open descriptor. Names passed to it are single names; `..`, an empty name and a name
//! with a separator are refused.
//!
//! | to do | call |
//! |---|---|
//! | begin; the folder itself must not be a link | [`OpenFolder::open_root`] |
//! | descend, by one name or by several at once | [`OpenFolder::open_folder`], [`OpenFolder::open_path`] |
//! | list names, at most so many | [`OpenFolder::read_names`] |
//! | look at an entry without opening it | [`OpenFolder::inspect`], [`OpenFolder::inspect_entry`] |
//! | read a regular file, at most so many bytes | [`OpenFolder::read_file`], [`OpenFolder::open_file`] |
//! | read a link, an overlay's mark | [`OpenFolder::read_link`], [`OpenFolder::is_opaque`] |
//! | create, never over or through anything | [`OpenFolder::create_file`], [`OpenFolder::create_folder`], [`OpenFolder::create_link`], [`OpenFolder::create_whiteout`] |
//! | open a file of ours for locking | [`OpenFolder::open_lock`] |
//! | change owner or mode | [`OpenFolder::give_to`], [`OpenFolder::give_entry`], [`OpenFolder::change_mode`] |
//! | copy a whole tree | [`OpenFolder::copy_tree`] |
//! | add up what a tree takes on the disk | [`OpenFolder::measure_tree`] |
//! | remove an entry of any kind | [`OpenFolder::remove_tree`], [`OpenFolder::remove_entry`] |
//!
//! Removal succeeds at any depth with a few dozen descriptors, opens folders of mode 000 that belong to us, and gives up
//! with [`TreeError::StillWritten`] if somebody keeps adding entries. The other walks descend [`MAX_DEPTH`] folders.
//!
//! # Systems
//!
//! Linux: `openat2` with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS`, `RESOLVE_NO_MAGICLINKS` and `RESOLVE_NO_XDEV`
//! (openat2(2), Linux 5.6); where the call is missing or filtered, and on macOS, one `openat` with `O_NOFOLLOW` for each
//! part. Windows has no such calls in the standard library: there each step looks with `symlink_metadata` first, which
//! finds a link that is there already, and misses one that is put there between the look and the next call.
//!
//! # Why no existing crate
//!
//! `cap-std` (4.0.3) and `pathrs` (0.2.6) are both maintained. `cap-std` brings its own file and metadata types and six
//! more crates, cannot read an extended attribute of a folder, cannot open a folder of mode 000, and its
//! `remove_dir_all` recurses. `pathrs` is for Linux alone, and its `remove_all` recurses too. Only the call of `openat2`
//! would remain of either, and `rustix`, which is used here already, has it.

mod copy;
mod error;
mod facts;
#[cfg(unix)]
mod folder;
mod measure;
mod name;
#[cfg(not(unix))]
mod plain;
#[cfg(unix)]
mod remove;
#[cfg(unix)]
mod resolve;

pub use error::TreeError;
pub use facts::{EntryFacts, EntryKind, FileContent, FolderOwner};
#[cfg(unix)]
pub use folder::OpenFolder;
pub use measure::TreeSize;
#[cfg(not(unix))]
pub use plain::OpenFolder;

/// Maximum number of folders that a walk descends beneath its root. Half of the deepest path that fits into one system
/// call: `PATH_MAX` is 4096 bytes (linux/limits.h), which is 2048 names of one letter.
pub const MAX_DEPTH: usize = 1024;

//! Git's index file as bytes: parsed, looked up, edited and written back.
//!
//! Owns: the file format, versions 2 to 4. Never: touches a disk, asks git, or judges what an entry says.
//! Start at [`IndexFile`].
//!
//! # Why a reader of our own
//!
//! A landing changes a few entries of an index that may hold many. libgit2 reads and writes an index as well: for 90,000
//! entries that took four times as long as the rest of a landing, most of it in a SHA-1 that detects collisions made on
//! purpose. The checksum of an index guards against accidents, not against forgery, so plain SHA-1 is enough. And
//! what a user staged elsewhere must survive byte for byte, which holds by construction where those bytes are copied
//! and never decoded.
//!
//! # Format
//!
//! The source is git's `Documentation/gitformat-index.txt`. All numbers are big-endian.
//!
//! ```text
//! header      "DIRC", version (u32: 2, 3 or 4), number of entries (u32)
//! entry       ctime (2 x u32), mtime (2 x u32), dev, ino, mode, uid, gid, size (u32 each)    bytes  0..40
//!             blob id (20 bytes)                                                             bytes 40..60
//!             flags (u16): assume-valid | extended | stage (2 bits) | name length (12 bits)  bytes 60..62
//!             extended flags (u16), if `extended`: reserved | skip-worktree | intent-to-add  bytes 62..64
//!             name; in versions 2 and 3 padded with 1 to 8 zeros to a multiple of 8 bytes
//! extensions  signature (4 bytes), length (u32), content; optional if the first byte is `A` to `Z`
//! checksum    SHA-1 of everything before it; 20 zeros where `index.skipHash` left it out
//! ```
//!
//! Entries are sorted by name as unsigned bytes, then by stage. A name of 4095 bytes or more has 4095 in its length
//! field and ends at the first zero. In version 4 a name is a number (in the variable-width encoding of pack offsets)
//! that says how many bytes to cut off the previous name, and the bytes to append, ended by a zero; there is no padding.
//!
//! # What is preserved
//!
//! | part | after an edit |
//! |---|---|
//! | version | as it was read; 2 becomes 3 for an entry that is left out of the working tree, whose flag version 2 lacks |
//! | entries that the edit does not name | byte for byte: stat data, mode, id, all flags, name, padding |
//! | `TREE` (ids of folders as tree objects) | nodes above an edited path are invalidated as git does it; dropped as a whole if it cannot be parsed, since git rebuilds it |
//! | `REUC` (resolved conflicts) | byte for byte |
//! | `sdir` (a sparse index: an entry whose name ends with `/` has the id of a tree) | stays; such an entry is edited as any other |
//! | other optional extensions (`UNTR`, `FSMN`, `EOIE`, `IEOT`, unknown ones) | dropped: they hold offsets into the file or state of the whole working tree, and git rebuilds them |
//! | checksum | computed again, also where it was left out |
//!
//! An index that git wrote without those other extensions is written back identical to the last byte. In version 4 that
//! holds because git, too, shares the longest common prefix of two names.
//!
//! # What is refused
//!
//! | [`IndexError`] | reason |
//! |---|---|
//! | `Truncated`, `ChecksumMismatch` | a damaged file; to write it back would make the damage look valid |
//! | `UnsupportedVersion` | version 1 is extinct; a later version may mean anything |
//! | `SplitIndex` | the extension `link`: most entries are in another file, and names may be empty |
//! | `UnknownExtension` | not optional by its signature: the file means something else without it |
//! | `InvalidName`, `WrongOrder` | entries could not be found by binary search, and an edit could hit the wrong one |
//! | `NamesTooLarge` | names of version 4 that expand to more than 1 GiB: a small file must not take that much memory |
//!
//! The index of a SHA-256 repository has longer ids and a longer checksum, and so ends in `ChecksumMismatch`.
//! Paths are not checked: an index may name `../x` or `.git/config`, and the caller decides what it follows.

mod cache_tree;
mod entry;
mod error;
mod extension;
mod index_file;
mod prefix_compression;

pub use entry::{EntryStat, IndexEntry, NewEntry};
pub use error::IndexError;
pub use index_file::IndexFile;

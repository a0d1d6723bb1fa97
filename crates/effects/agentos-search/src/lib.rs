//! An index of a repository's texts, so that the files of a task are found without reading all of them.
//!
//! Owns: the folder of the index, its files, and their checks. Never: decides what a tool may see, ranks a file, shows
//! anything, or keeps a text: it keeps hashes of words with their counts, paths, and subjects of commits. Start at
//! [`TextIndex`].
//!
//! # The files
//!
//! | name | content | made again |
//! |---|---|---|
//! | `segment-…` | texts by the hash of their content: their number of words, and how often each has which word | never: every commit and branch shares them |
//! | `files-…` | paths and object ids of a tree | for each tree |
//! | `withheld-…` | which files of a tree policy withholds by their names, under some set of rules | for each tree and set of rules |
//! | `history-…` | subjects and changed paths of the last commits | for each commit |
//!
//! # Rules
//!
//! - The index only saves time. Without it, or if it cannot be written, the same files are found.
//! - It may be removed at any time. A file that is cut, damaged or of another version is removed and made again.
//! - A reader allocates no more than the file is large, and follows no link.
//! - Several processes work at once without a lock: a file is complete when it gets its name, and its content depends on its
//!   name alone. A process that lost a segment to another one reads those texts again.
//! - Somebody who can write the folder can make the ranking worse, and nothing else: the caller takes ids and contents of files
//!   from git, and asks policy about both.
//! - Segments take at most 1 GiB, and lists 8 files of each kind.
//!
//! # Cost
//!
//! Processor time of the whole command on one core, measured with `python3 scripts/bench/index.py AGENTOS`: sources of crates, with
//! other names in the copies, and 300 commits. The machine had other work, so a quieter one takes less. Half of a warm search is
//! reading the candidates from git and looking for secrets in them, which no index may replace: whoever can write it could
//! claim that a file has none.
//!
//! | | 10,000 files, 109 MiB | 100,000 files, 1,183 MiB |
//! |---|--:|--:|
//! | cold: all texts are read, the index is written | 1.6 s | 16 s |
//! | warm | 0.044 s | 0.126 s |
//! | first after a commit: the files are listed again, new texts are added | 0.18 s | 1.5 s |
//! | without an index | 1.3 s | 12.2 s |
//! | largest memory, cold and warm | 123 and 36 MiB | 414 and 76 MiB |
//! | size of the index | 11.1 MiB | 125.1 MiB |

mod bytes;
mod folder;
mod saved_lists;
mod segment;
mod text_index;

pub use saved_lists::SavedLists;
pub use text_index::TextIndex;

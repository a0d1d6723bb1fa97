//! Finds the program that a person named.
//!
//! Owns: the rule below, which holds for every program that agentos starts by name. Never: starts a program, reads the
//! environment, or finds anything through the current folder. Start at [`ProgramSearch`].
//!
//! # The rule
//!
//! The current folder is usually a repository, perhaps somebody else's. Whatever depends on it could start a program that
//! came with that repository, outside of the sandbox and with the user's rights. So:
//!
//! 1. **A path** is a name that contains `/` or `\`. It is taken as it stands if it is absolute, or if it begins with `~/`
//!    and the home folder is known. Every other path is relative and refused. A path is not checked for permission to
//!    execute: the person meant this file, and the system's own message says best why it cannot be started.
//! 2. **A name** is looked up in the folders of `PATH`, in their order. Three kinds of entries are skipped:
//!    - empty ones, which POSIX reads as the current folder;
//!    - relative ones, such as `.` or `node_modules/.bin`;
//!    - ones that lie in the repository ([`ProgramSearch::outside_repository`]), after links are resolved. Tools such as
//!      `direnv` put `node_modules/.bin` and `.venv/bin` in front of the system's folders, so a package that ships a file
//!      named `gpg` or `less` would otherwise be started in place of the user's own.
//! 3. **The program** is the first file of that name that the user may execute; a folder or a file without permission to
//!    execute is passed over, as `execvp` does. On Windows `.exe` is added to a name, after the name with its own
//!    extension was tried.
//!
//! A link in a folder outside the repository may lead into it: whoever may write to that folder decided so.
//!
//! Where a program is to be confined, as the tools of `agentos run` are, its caller leaves the repository in the search:
//! there `.venv/bin` is what people expect.

mod error;
mod repository;
mod search;
mod words;

pub use error::LookupError;
pub use search::{ProgramSearch, absolute_path, is_executable};
pub use words::split_words;

//! Why a process was not started, or what Windows refused.
//!
//! Owns: the error. Never: holds a value of the environment.

/// What could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WinboxError {
    /// Windows refused a call.
    #[error("cannot {doing}: {source}")]
    Windows {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A text that Windows ends at its first NUL, or that is no Unicode.
    #[error("{0} cannot be told to Windows")]
    Unspeakable(&'static str),
    /// A batch file reads its arguments as commands, whatever quotes stand around them.
    #[error("`{0}` is a batch file, whose arguments cannot be kept from being commands")]
    Batch(String),
}

//! Reasons why a process was not started, or an operation on it failed.
//!
//! Owns: the error. Never: holds a value of the environment.

/// Failure of a call, or a text that Windows cannot take.
#[derive(Debug, thiserror::Error)]
pub enum WinboxError {
    /// Windows refused a call.
    #[error("cannot {doing}: {source}")]
    Windows {
        /// Operation that failed, as an infinitive.
        doing: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A text that contains a NUL, at which Windows would end it, or that is not Unicode.
    #[error("{0} cannot be passed to Windows: it has a NUL or is not Unicode")]
    UnusableText(&'static str),
    /// A batch file, which reads its arguments as commands whatever quotes surround them.
    #[error("`{0}` is a batch file, which could execute its arguments as commands")]
    BatchFile(String),
}

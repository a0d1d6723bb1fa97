//! Tools that are asked after a call that failed, and what a failure says about the window.
//!
//! Owns: the ports. Never: decides which failure is passed on; the caller of the engine does.

use std::future::Future;
use std::pin::Pin;

use agentos_tool::{Adapter, EditFormat, TokenPrices, ToolError};

/// The order in which tools are asked.
pub trait ToolSuccession {
    /// Returns the tool that is asked after this failure. `None` if the failure ends the run.
    ///
    /// It is only called after a call that gave no answer and left the repository as it was, and that the user did not stop.
    fn find_next(&self, failure: &ToolError) -> FoundSuccessor<'_>;

    /// Returns the tool that continues the task after answers of the current tool did not land. `None` if the current tool tries again.
    ///
    /// It is only called where another attempt is allowed. `refusals` is the number of such answers in a row, and `code` the reason of the
    /// last one.
    fn find_abler(&self, refusals: u32, code: &str) -> FoundSuccessor<'_>;

    /// Takes back the tool that was returned last, because policy does not let it be asked.
    fn take_back(&self);
}

/// Memory of the windows that refusals of servers state.
pub trait WindowMemory {
    /// Remembers that the model that was asked has a window of `tokens` tokens, fewer than was known.
    fn remember_window(&self, tokens: u64);
}

/// Search for a successor. It may wait for a server, and is dropped if the user stops the run.
// Not a future that can move between threads: the sessions of runs cannot.
pub type FoundSuccessor<'a> = Pin<Box<dyn Future<Output = Option<SuccessorTool<'a>>> + 'a>>;

/// Tool that is asked in the place of another one.
pub struct SuccessorTool<'a> {
    /// The tool.
    pub adapter: &'a dyn Adapter,
    /// The configured model. `None` if none is.
    pub model: Option<String>,
    /// Price of tokens.
    pub price: TokenPrices,
    /// The edit format in which the tool is asked to answer.
    pub edit_format: EditFormat,
    /// The tool reads the repository itself, with tools of its own.
    pub has_tools: bool,
    /// Time limit of one call, in seconds.
    pub timeout_seconds: u64,
}

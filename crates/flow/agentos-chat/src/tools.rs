//! Calls of tools: what must hold before one runs, and running those of one answer in parallel.
//!
//! Owns: permissions, limits and the results for the model. Never: implements a tool.

mod calls;
mod checks;
mod offer;
mod rate;
mod references;
mod results;

pub(crate) use calls::CallBatch;
pub use checks::{CallRefusal, ToolPermissions, admit_call};
pub use offer::{OfferFault, name_tool, prepare_tools, split_name};
pub use rate::{RateLimit, RateLimiter};
pub use results::{TextLimit, limit_text};

/// State of the tools of a session, which lasts from turn to turn.
#[derive(Debug)]
pub struct ToolSession {
    pub(crate) limiter: RateLimiter,
    began: tokio::time::Instant,
}

impl ToolSession {
    /// Begins with full limits. Must be called within a runtime that has timers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limiter: RateLimiter::default(),
            began: tokio::time::Instant::now(),
        }
    }

    /// Returns the time since the beginning, by which limits refill.
    pub(crate) fn measure_age(&self) -> std::time::Duration {
        self.began.elapsed()
    }
}

impl Default for ToolSession {
    fn default() -> Self {
        Self::new()
    }
}

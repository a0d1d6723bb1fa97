//! Limits of a turn and of its calls of tools.
//!
//! Owns: the numbers and their defaults. Never: measures.

use std::time::Duration;

use crate::ports::ToolClass;

/// Limits of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Calls of the model whose tools are run. The turn ends at the next call for a tool.
    pub rounds: usize,
    /// Time of the whole turn.
    pub total: Duration,
    /// Calls of tools that run at once.
    pub parallel_calls: usize,
    /// Bytes of the text of a tool's result. The rest is cut off, and the text says so.
    pub result_bytes: usize,
    /// Percentage of the room of the window that the results of one answer's calls may fill together.
    pub result_share: u8,
    /// Time of a call of a tool.
    pub tools: ToolTimeouts,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            rounds: 10,
            total: Duration::from_secs(300),
            parallel_calls: 5,
            result_bytes: 64 << 10,
            result_share: 40,
            tools: ToolTimeouts::default(),
        }
    }
}

/// Time of a call of a tool, by the tool's class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolTimeouts {
    /// Tools without a class of their own.
    pub plain: Duration,
    /// Searches in a repository.
    pub search: Duration,
    /// Requests to the web.
    pub web: Duration,
    /// Making of images.
    pub image: Duration,
    /// Proposals of a change, which are landed and judged.
    pub proposal: Duration,
}

impl Default for ToolTimeouts {
    fn default() -> Self {
        Self {
            plain: Duration::from_secs(10),
            search: Duration::from_secs(15),
            web: Duration::from_secs(20),
            image: Duration::from_secs(30),
            // Landing and policy take milliseconds. The time is for the queue of those who write to the repository.
            proposal: Duration::from_secs(60),
        }
    }
}

impl ToolTimeouts {
    /// Returns the time of a class.
    #[must_use]
    pub fn limit_class(&self, class: ToolClass) -> Duration {
        match class {
            ToolClass::Plain => self.plain,
            ToolClass::Search => self.search,
            ToolClass::Web => self.web,
            ToolClass::Image => self.image,
            ToolClass::Proposal => self.proposal,
        }
    }
}

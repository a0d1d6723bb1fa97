//! The context window of a conversation: what fits, what is summarized first, and what the window is filled with.
//!
//! Owns: the estimate of a message's tokens, the plan of a request, and the gauge for the screen. Never: calls a model, reads a
//! text of a store, or changes a conversation: it is given numbers and answers with numbers.
//!
//! A request has the parts system prompt, pinned texts, tool definitions, summary of earlier messages, and messages. They must fit
//! into the *room*: the window without the tokens that are reserved for the answer. [`plan_window`] answers with one of three plans.
//!
//! | state of the request | plan |
//! |---|---|
//! | at most 70 % of the room | [`WindowPlan::SendWhole`] |
//! | more, and older messages can be summarized | [`WindowPlan::Compress`]: summarize these messages, then plan again |
//! | more, it fits, and a summary would gain less than a twentieth of the room | [`WindowPlan::SendWhole`] |
//! | it does not fit, and nothing is left to summarize | [`WindowPlan::TooLarge`], with the numbers |
//!
//! System prompt, pinned texts, tool definitions and the last request of the user are never summarized. The calls of a message and
//! their results stay together. The newest messages stay word for word: at least 20 % of the room, unless they do not fit.

mod gauge;
mod plan;
mod size;

pub use gauge::WindowGauge;
pub use plan::{WindowExcess, WindowInput, WindowPart, WindowPlan, WindowRules, plan_window};
pub use size::{MessageKind, MessageSize, WindowSize, WindowSource, estimate_message, estimate_tools};

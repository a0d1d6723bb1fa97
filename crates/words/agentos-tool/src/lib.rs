//! Shared vocabulary of AgentOS: ids, addresses, health, task, output, result, capabilities and the adapter trait.
//!
//! Owns: the types that all other crates share, and their JSON shapes. Never: does I/O, reads a clock,
//! names a provider's wire format, or depends on a repository. Start at [`Adapter`].

mod adapter;
mod base_url;
mod capabilities;
mod constrain;
mod file_read;
mod forms;
mod health;
mod history;
mod id;
mod key_obstacle;
mod output;
mod price;
mod program_call;
mod program_view;
pub mod prompt;
mod protocol;
mod result;
mod secret;
mod sending;
mod task;
mod thinking;
mod toolbox;

pub use adapter::{Adapter, BoxFuture, NoProgress, Progress, ProgressSink};
pub use base_url::{BaseUrl, BaseUrlFault};
pub use capabilities::{Ability, DiffQuality, ExecutionMode, ToolCapabilities};
pub use constrain::{Constrain, edits_schema};
pub use file_read::FileRead;
pub use forms::{SecretForms, SecretStream};
pub use health::{ErrorCategory, HealthStatus, ToolHealth};
pub use history::{PastTurn, fit_history};
pub use id::{Endpoint, RunId, Timestamp, TimestampError, short_run};
pub use key_obstacle::KeyObstacle;
pub use output::{FinishReason, ToolAdvice, ToolError, ToolFailure, ToolOutput, Usage};
pub use price::{ExactCost, LongPrices, TokenPrice, TokenPrices, WrongDecimal, format_dollars};
pub use program_call::ProgramCall;
pub use program_view::ProgramView;
pub use protocol::{PROTOCOL, ToolMessage, ToolRequest};
pub use result::{
    Boundary, Confinement, DiffValidation, Enforcement, OutputKind, RefusedCall, ResultStatus,
    StateMeasurement, ToolResult,
};
pub use secret::Secret;
pub use sending::{FreeGate, MOST_TOKENS, SendGate, SendingSize};
pub use task::{ContextFile, EditFormat, FileOutline, FilePart, OutlineLine, TaskLimits, ToolTask};
pub use thinking::ThinkingLevel;
pub use toolbox::{TOOLBOX_PROTOCOL, ToolDescription, ToolboxMessage, ToolboxRequest};

//! The tools of a conversation about a repository: reading its base commit, and proposing a change.
//!
//! Owns: which tools there are, and running their calls away from the conversation's thread. Never: reads the working tree, shows a
//! file that policy withholds from the provider, or writes anything but evidence and an open request.
//!
//! | tool | reads | decided by policy |
//! |---|---|---|
//! | `list_files` | names of the base's files | by name; a withheld file is marked |
//! | `read_file` | lines of a file | by name before it is read, and by its text before it is shown |
//! | `search` | the texts of all files that match a pattern | as `read_file` |
//! | `git_log` | subjects of commits | – |
//! | `git_show` | the difference of a commit, as far as its files are still in the base | each file by its name and both of its texts, and by the [names of now](moved_files) |
//! | `time` | the clock | – |
//! | `propose_change` | – | as `agentos apply`; the change then waits for a person |

mod ancestors;
mod base_reader;
mod history;
mod moved_files;
mod propose;
mod reading;
mod search;
mod specs;

pub(crate) use base_reader::open_port;
pub use propose::{PreparedProposal, ProposalRuns};

use std::sync::{Arc, Mutex, PoisonError};

use agentos_chat::{ToolAccess, ToolAnswer, TurnTool, TurnTools};
use agentos_engine::ports::{Clock as _, EffectError, TargetInfo};
use agentos_ledger::RepositoryReads;
use agentos_model::ToolCall;
use agentos_policy::ToolFacts;
use agentos_tool::{BoxFuture, FileRead};
use serde_json::Value;

use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::control::RunControl;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;

/// The order for the tools of a conversation.
#[derive(Debug, Clone)]
pub struct RepositoryToolsSpec {
    /// The branch that is read and changed, and the further policies.
    pub session: SessionOptions,
    /// The model, for policy.
    pub author: ModelFacts,
    /// Others that the model can send what it reads, such as programs with a network. A file is shown only if policy lets each of
    /// them read it too.
    pub receivers: Vec<ModelFacts>,
    /// Makes the runs of proposals. `None` where the model only reads.
    pub proposals: Option<Arc<dyn ProposalRuns>>,
    /// Name of the conversation, for the record of a proposal.
    pub conversation: String,
}

/// The tools of a conversation about a repository.
#[derive(Clone)]
pub struct RepositoryTools(Arc<ToolContext>);

/// Everything that a call needs.
struct ToolContext {
    ground: Ground,
    spec: RepositoryToolsSpec,
    /// Attempt of a task that the calls belong to. `None` in a conversation.
    attempt: Option<AttemptView>,
    shown: Mutex<ShownTexts>,
    /// Texts of old commits that are shown in no file, and the base that they were found for. `None` before they are needed.
    hidden: Mutex<Option<(String, Arc<moved_files::HiddenTexts>)>>,
}

/// Attempt of a task, as the tools of its model see the repository.
#[derive(Debug, Clone)]
pub struct AttemptView {
    /// Facts about the model, for policy.
    pub facts: ToolFacts,
    /// The base that is read, wherever the branch is by now.
    pub target: TargetInfo,
}

/// Texts of files that the provider was sent.
#[derive(Debug, Default)]
struct ShownTexts {
    /// Their bytes, in all turns. Rules can limit them.
    bytes: u64,
    /// Texts that no record has yet, by the base that they are of.
    reads: Vec<RepositoryReads>,
}

impl RepositoryTools {
    /// Makes the tools for the repository of a call.
    #[must_use]
    pub fn new(ground: &Ground, spec: RepositoryToolsSpec) -> Self {
        Self(Arc::new(ToolContext {
            ground: ground.clone(),
            spec,
            attempt: None,
            shown: Mutex::default(),
            hidden: Mutex::default(),
        }))
    }

    /// Makes the tools of a model that reads for one attempt of a task. `sent` is how many bytes of files it has been sent already.
    pub fn for_attempt(ground: &Ground, spec: RepositoryToolsSpec, attempt: AttemptView, sent: u64) -> Self {
        Self(Arc::new(ToolContext {
            ground: ground.clone(),
            spec,
            attempt: Some(attempt),
            shown: Mutex::new(ShownTexts {
                bytes: sent,
                reads: Vec::new(),
            }),
            hidden: Mutex::default(),
        }))
    }

    /// Finds the base that the tools of a session read now.
    pub fn find_target(ground: &Ground, session: &SessionOptions) -> Result<TargetInfo, EffectError> {
        base_reader::find_target(ground, session)
    }

    /// Returns the others that the model can send what it reads.
    pub fn receivers(&self) -> &[ModelFacts] {
        &self.0.spec.receivers
    }

    /// Takes the texts that the model of an attempt was shown since the last call of this function.
    pub fn take_reads(&self) -> Vec<FileRead> {
        let reads = std::mem::take(&mut self.0.lock_shown().reads);
        reads.into_iter().flat_map(|read| read.files).collect()
    }

    /// Lists the names of all tools.
    pub fn list_names() -> Vec<String> {
        specs::list_tools()
            .into_iter()
            .map(|tool| tool.spec.name)
            .collect()
    }

    /// Lists all tools.
    pub fn list_all() -> Vec<TurnTool> {
        specs::list_tools()
    }

    /// Lists the tools that read, and no other.
    pub fn list_reading() -> Vec<TurnTool> {
        let mut tools = specs::list_tools();
        tools.retain(|tool| tool.access == ToolAccess::Read);
        tools
    }
}

impl TurnTools for RepositoryTools {
    fn list_tools(&self) -> Vec<TurnTool> {
        specs::list_tools()
    }

    fn call_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let context = Arc::clone(&self.0);
            let (name, arguments) = (call.name.clone(), call.arguments.clone());
            let (control, stop) = StopOnDrop::prepare();
            // Git's objects are read with blocking calls, and several tools of one answer run at once.
            let work = tokio::task::spawn_blocking(move || context.answer_call(&name, &arguments, &control));
            let answer = work.await;
            drop(stop);
            // Only a panic ends a blocking task early. The model can go on without the result.
            let answer = answer.unwrap_or_else(|_| ToolAnswer::from_error("The tool failed unexpectedly."));
            // A run takes the reads of its attempt itself. Several calls of one turn run at once: it does not matter with which of
            // their answers a read is recorded.
            let reads = match &self.0.attempt {
                Some(_) => Vec::new(),
                None => self.0.take_records(),
            };
            ToolAnswer { reads, ..answer }
        })
    }
}

impl ToolContext {
    fn lock_shown(&self) -> std::sync::MutexGuard<'_, ShownTexts> {
        // A panic elsewhere cannot leave the list half changed, so a poisoned lock is used all the same.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the records of what calls have shown. A call that showed no text leaves a record too, so that its turn differs from a turn
    /// of a version that recorded no reads.
    fn take_records(&self) -> Vec<RepositoryReads> {
        let reads = std::mem::take(&mut self.lock_shown().reads);
        match reads.is_empty() {
            true => vec![RepositoryReads::default()],
            false => reads,
        }
    }

    fn answer_call(&self, name: &str, arguments: &Value, stop: &StopSlot) -> ToolAnswer {
        let arguments = CallArguments(arguments);
        let answer = match name {
            "list_files" => reading::list_files(self, &arguments),
            "read_file" => reading::read_file(self, &arguments),
            "search" => search::search_files(self, &arguments, stop),
            "git_log" => history::list_commits(self, &arguments),
            "git_show" => history::show_commit(self, &arguments, stop),
            "time" => Ok(format!("{} (UTC)", SystemClock.now())),
            "propose_change" => return propose::propose_change(self, &arguments, stop),
            _ => return no_tool(name),
        };
        match answer {
            Ok(text) => ToolAnswer::from_text(text),
            Err(error) => ToolAnswer::from_error(describe_error(&error)).with_code(error.code),
        }
    }
}

fn no_tool(name: &str) -> ToolAnswer {
    ToolAnswer::from_error(format!("There is no tool `{name}`."))
}

/// Arguments of a call, which match the tool's schema.
struct CallArguments<'a>(&'a Value);

impl CallArguments<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Place for the control of the run that a call makes. Empty before the run begins.
type StopSlot = Arc<std::sync::Mutex<StopState>>;

/// State of the run that a call makes.
#[derive(Default)]
struct StopState {
    control: Option<RunControl>,
    is_stopped: bool,
}

/// Stops the run of a call when the conversation abandons the call: by a time limit, or because the user wishes it.
struct StopOnDrop(StopSlot);

impl StopOnDrop {
    fn prepare() -> (StopSlot, Self) {
        let slot = StopSlot::default();
        (Arc::clone(&slot), Self(slot))
    }
}

/// Returns true if the conversation has abandoned the call.
fn is_stopped(slot: &StopSlot) -> bool {
    // As in `StopOnDrop`: a poisoned lock belongs to a call that has ended.
    slot.lock().map_or(true, |state| state.is_stopped)
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        // A poisoned lock means that the call has panicked, so nothing is left to stop.
        if let Ok(mut state) = self.0.lock() {
            state.is_stopped = true;
            if let Some(control) = &state.control {
                control.cancel();
            }
        }
    }
}

/// Words an error for the model, with its code.
fn describe_error(error: &EffectError) -> String {
    let hint = error
        .hint
        .as_ref()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    format!("{}{hint} ({})", error.message, error.code)
}

#[cfg(test)]
mod tests;

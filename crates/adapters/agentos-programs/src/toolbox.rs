//! Toolboxes: programs that offer tools to models, in processes that each work on one request at a time.
//!
//! Owns: which process a request goes to, and what its line of answer means. Never: checks a description or an argument, or limits
//! the time of a request: whoever drops its future ends its process.
//!
//! | a request | its process |
//! |---|---|
//! | begins | one that has nothing to do; a new one if there is none |
//! | is answered | waits for the next request, if fewer than [`MOST_IDLE`] others do |
//! | is dropped | is killed, and is gone when the drop returns |
//! | fails, or the process breaks the protocol | is killed |
//!
//! A process is kept between requests because starting an interpreter takes longer than most calls. So a toolbox may remember earlier
//! calls of the same session, but never those of another one: the processes belong to this value. Whoever has no call for a while ends
//! those that wait ([`Toolbox::end_idle`]). A new process passes the check of its files, if there is one, and lists its tools before
//! its first call: other tools than those of the first list end the toolbox.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agentos_sandbox::{Sandbox, SandboxError, SandboxProbe, StopHandle};
use agentos_tool::{
    BoxFuture, NoProgress, TOOLBOX_PROTOCOL, ToolDescription, ToolboxMessage, ToolboxRequest,
};
use serde_json::Value;

use crate::background::start_work;
use crate::line_process::{LineProcess, LineSink};
use crate::quote::last_line;
use crate::toolbox_process::ToolboxProcess;
use crate::{AgentError, Places, Program};

/// Processes that are kept while they have nothing to do: as many as calls of one answer run at once by default.
const MOST_IDLE: usize = 5;

/// Reason that a call gets from a toolbox whose tools changed.
const OTHER_TOOLS: &str = "its tools are not those that it listed before";

/// Check of a program's files before each of its processes starts. Its error is the reason why it must not start.
pub type ProgramCheck = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Program that offers tools, with the processes of one session.
pub struct Toolbox {
    core: Arc<ToolboxCore>,
    held: SandboxProbe,
}

/// Everything that a process of a toolbox is started with.
pub(crate) struct ToolboxCore {
    pub(crate) program: Program,
    pub(crate) places: Places,
    pub(crate) sandbox: Sandbox,
    /// Folder in which each process may create a folder of its own.
    pub(crate) folder: PathBuf,
    /// Beginning of the names of those folders, which no other session of this machine has.
    name: String,
    next: AtomicU64,
    idle: Mutex<Vec<ToolboxProcess>>,
    /// Check before each process. Empty if there is none.
    pub(crate) check: OnceLock<ProgramCheck>,
    /// Tools of the first list. Empty before it.
    tools: OnceLock<Vec<ToolDescription>>,
    has_changed: AtomicBool,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolboxResult {
    /// Text for the model. Untrusted.
    pub text: String,
    /// True if the tool reports that it failed.
    pub is_error: bool,
}

/// State of a request, by which its end and its being dropped exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestState {
    Running,
    Ended,
    Dropped,
}

impl Toolbox {
    /// Makes the toolbox of a program. `held` is the result of probing the sandbox, and `name` begins the names of folders in `folder`:
    /// no other session may have it.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: SandboxProbe,
        (folder, name): (PathBuf, String),
    ) -> Self {
        Self {
            core: Arc::new(ToolboxCore {
                program,
                places,
                sandbox,
                folder,
                name,
                next: AtomicU64::new(0),
                idle: Mutex::default(),
                check: OnceLock::new(),
                tools: OnceLock::new(),
                has_changed: AtomicBool::new(false),
            }),
            held,
        }
    }

    /// Adds the check before each process. Only the first one counts.
    #[must_use]
    pub fn with_check(self, check: ProgramCheck) -> Self {
        // Fails if there is a check already.
        let _ = self.core.check.set(check);
        self
    }

    /// Returns true if a process listed other tools than the first one did. Then every call fails.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.core.has_changed.load(Ordering::SeqCst)
    }

    /// Starts a process that speaks a protocol of its own. Its lines go to `sink`, on a thread of its own.
    ///
    /// # Errors
    /// If it cannot be confined, or the system refuses a thread. Everything else is the reason of its end.
    pub fn open_lines(&self, sink: LineSink) -> Result<LineProcess, AgentError> {
        if let Err(why) = self.held.get() {
            return Err(SandboxError::NotConfined(why.clone()).into());
        }
        LineProcess::start(&self.core, sink)
    }

    /// Ends the processes that have nothing to do. The next request starts a new one.
    pub fn end_idle(&self) {
        let idle = std::mem::take(&mut *lock(&self.core.idle));
        idle.iter().for_each(|process| process.stop_handle().stop());
    }

    /// Asks the program for its tools.
    ///
    /// # Errors
    /// If it cannot be started or confined, or gives no list. The list is as the program wrote it.
    pub async fn describe(&self) -> Result<Vec<ToolDescription>, AgentError> {
        let request = ToolboxRequest::Describe {
            protocol: TOOLBOX_PROTOCOL,
        };
        match self.ask(request).await? {
            ToolboxMessage::Tools { tools } => {
                let first = self.core.tools.get_or_init(|| tools.clone());
                if *first != tools {
                    self.core.has_changed.store(true, Ordering::SeqCst);
                }
                Ok(tools)
            }
            ToolboxMessage::Error { message } => Err(self.core.said(&message)),
            ToolboxMessage::Result { .. } => Err(self.core.broke("it answered `describe` with a result")),
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the program cannot be started or confined, or gives no result.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<ToolboxResult, AgentError> {
        let request = ToolboxRequest::Call {
            protocol: TOOLBOX_PROTOCOL,
            name: tool.to_owned(),
            arguments: arguments.clone(),
        };
        match self.ask(request).await? {
            ToolboxMessage::Result { text, is_error } => Ok(ToolboxResult { text, is_error }),
            ToolboxMessage::Error { message } => Err(self.core.said(&message)),
            ToolboxMessage::Tools { .. } => Err(self.core.broke("it answered a call with a list of tools")),
        }
    }

    /// Sends a request to a process that has nothing else to do. Dropping the future ends the process.
    fn ask(&self, request: ToolboxRequest) -> BoxFuture<'_, Result<ToolboxMessage, AgentError>> {
        if let Err(why) = self.held.get() {
            let error = SandboxError::NotConfined(why.clone());
            return Box::pin(std::future::ready(Err(error.into())));
        }
        if self.has_changed() {
            return Box::pin(std::future::ready(Err(self.core.said(OTHER_TOOLS))));
        }
        let state = Arc::new(Mutex::new(RequestState::Running));
        let (core, work_state) = (Arc::clone(&self.core), Arc::clone(&state));
        let process = match ToolboxCore::take_process(&core) {
            Ok(process) => process,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let stop = process.stop_handle();
        let work = move |_: &_| core.work_on(&request, process, &work_state);
        let cancel = move || cancel_request(&state, &stop);
        match start_work(work, cancel, &NoProgress) {
            Some(background) => Box::pin(background),
            None => Box::pin(std::future::ready(Err(AgentError::Thread))),
        }
    }
}

impl Drop for Toolbox {
    fn drop(&mut self) {
        // Taken out explicitly: the threads of the processes own the core too, so it would never be dropped by itself.
        self.end_idle();
    }
}

/// Ends the process of a request, unless the request has ended already: then the process may belong to another one.
fn cancel_request(state: &Mutex<RequestState>, stop: &StopHandle) {
    let mut state = lock(state);
    if *state == RequestState::Running {
        *state = RequestState::Dropped;
        stop.stop();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Values are replaced in one step, so they are valid even after a panic of another thread.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ToolboxCore {
    /// Takes a process that has nothing to do, or starts one.
    fn take_process(core: &Arc<Self>) -> Result<ToolboxProcess, AgentError> {
        loop {
            // Popped in a statement of its own, so that the lock is free while a dead process is dropped.
            let idle = lock(&core.idle).pop();
            match idle {
                Some(process) if process.is_alive() => return Ok(process),
                // It ended while it had nothing to do, so nobody waits for its answer.
                Some(_) => {}
                None => return ToolboxProcess::start(core),
            }
        }
    }

    fn work_on(
        &self,
        request: &ToolboxRequest,
        mut process: ToolboxProcess,
        state: &Mutex<RequestState>,
    ) -> Result<ToolboxMessage, AgentError> {
        let answer = match request {
            ToolboxRequest::Describe { .. } => process.ask(&self.write_request(request)?),
            ToolboxRequest::Call { .. } => {
                let line = self.write_request(request)?;
                self.check_process(&mut process).and_then(|()| process.ask(&line))
            }
        };
        process.is_described = true;
        let mut state = lock(state);
        if *state == RequestState::Running {
            *state = RequestState::Ended;
        } else {
            return Err(SandboxError::Stopped.into());
        }
        drop(state);
        let message = self.read_message(&answer?)?;
        let mut idle = lock(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(process);
        }
        Ok(message)
    }

    /// Asks a new process for its tools. They must be those of the first list, which the user was shown.
    fn check_process(&self, process: &mut ToolboxProcess) -> Result<(), AgentError> {
        let Some(first) = self.tools.get().filter(|_| !process.is_described) else {
            return Ok(());
        };
        let request = ToolboxRequest::Describe {
            protocol: TOOLBOX_PROTOCOL,
        };
        let line = process.ask(&self.write_request(&request)?)?;
        match self.read_message(&line)? {
            ToolboxMessage::Tools { tools } if tools == *first => Ok(()),
            ToolboxMessage::Tools { .. } => {
                self.has_changed.store(true, Ordering::SeqCst);
                Err(self.said(OTHER_TOOLS))
            }
            ToolboxMessage::Error { message } => Err(self.said(&message)),
            ToolboxMessage::Result { .. } => Err(self.broke("it answered `describe` with a result")),
        }
    }

    fn write_request(&self, request: &ToolboxRequest) -> Result<Vec<u8>, AgentError> {
        let line = serde_json::to_vec(request);
        let mut line =
            line.map_err(|error| self.broke(&format!("the request cannot be written as JSON: {error}")))?;
        line.push(b'\n');
        Ok(line)
    }

    fn read_message(&self, line: &[u8]) -> Result<ToolboxMessage, AgentError> {
        serde_json::from_slice(line).map_err(|error| {
            // The position within the line would read like a position in the output.
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            self.broke(&format!(
                "its line is not a valid message: {}",
                last_line(why.as_bytes())
            ))
        })
    }

    pub(crate) fn broke(&self, how: &str) -> AgentError {
        AgentError::Protocol {
            program: self.program.provider.clone(),
            how: how.to_owned(),
        }
    }

    pub(crate) fn said(&self, message: &str) -> AgentError {
        AgentError::Said {
            program: self.program.provider.clone(),
            why: last_line(message.as_bytes()),
        }
    }

    /// Returns a name for the folders of a new process.
    pub(crate) fn name_process(&self) -> String {
        format!("{}.{}", self.name, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

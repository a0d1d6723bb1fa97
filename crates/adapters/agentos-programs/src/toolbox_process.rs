//! One process of a toolbox: a line in, a line out.
//!
//! Owns: its thread, its folders, and the rule of one line for each request. Never: reads a message, or outlives its value.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use agentos_sandbox::{InputSource, OutputStream, RunCaps, RunFolders, SandboxError, StopHandle, ToolInput};

use crate::AgentError;
use crate::adapter::check_layers;
use crate::background::ProgressChannel;
use crate::handed::{ProgramInputs, SecretValues};
use crate::lines::LineSplitter;
use crate::outlets::open_outlets;
use crate::quote::last_line;
use crate::toolbox::ToolboxCore;

/// Longest line of a program, in bytes: a list of tools, or a result of which a model is shown a part.
pub(crate) const LONGEST_LINE: usize = 1 << 20;
/// Bytes of standard error that are kept: an error quotes its last line.
pub(crate) const MOST_ERRORS: usize = 4 << 10;
/// Time limit of a process, which never applies: whoever waits for an answer has a limit, and the session ends the process.
const LONGEST_RUN: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Running process. It is ended when this value is dropped, and nothing of it is left then.
pub(crate) struct ToolboxProcess {
    /// Lines to the program. `None` while the process is being ended.
    input: Option<mpsc::Sender<Vec<u8>>>,
    output: mpsc::Receiver<Result<Vec<u8>, AgentError>>,
    /// True while the program owes a line.
    is_asked: Arc<AtomicBool>,
    /// True after its first request. A new one must list its tools before a call.
    pub(crate) is_described: bool,
    stop: StopHandle,
    worker: Option<JoinHandle<()>>,
}

impl ToolboxProcess {
    /// Starts a process on a thread of its own, without waiting for it.
    ///
    /// # Errors
    /// If the system refuses a thread. Everything else is the answer of the first request.
    pub(crate) fn start(core: &Arc<ToolboxCore>) -> Result<Self, AgentError> {
        let (input, lines) = mpsc::channel();
        let (answers, output) = mpsc::channel();
        let (stop, is_asked) = (StopHandle::default(), Arc::new(AtomicBool::new(false)));
        let reader = LineReader {
            is_asked: Arc::clone(&is_asked),
            answers: answers.clone(),
            stop: stop.clone(),
            splitter: LineSplitter::default(),
            fault: None,
            errors: Vec::new(),
            is_checked: false,
        };
        let core = Arc::clone(core);
        let work = move || {
            let end = run_process(&core, lines, reader);
            // Fails if nobody waits for an answer any more.
            let _ = answers.send(Err(end));
        };
        let worker = Builder::new().spawn(work).map_err(|_| AgentError::Thread)?;
        Ok(Self {
            input: Some(input),
            output,
            is_asked,
            is_described: false,
            stop,
            worker: Some(worker),
        })
    }

    pub(crate) fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns false if the process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| !worker.is_finished())
            && matches!(self.output.try_recv(), Err(mpsc::TryRecvError::Empty))
    }

    /// Sends a line, and waits for the line that answers it.
    ///
    /// # Errors
    /// If the process ends first, breaks the protocol, or was stopped.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Result<Vec<u8>, AgentError> {
        self.is_asked.store(true, Ordering::SeqCst);
        if let Some(input) = &self.input {
            // If the process has ended, its reason arrives below.
            let _ = input.send(line.to_vec());
        }
        let stopped = |_| Err(SandboxError::Stopped.into());
        self.output.recv().unwrap_or_else(stopped)
    }
}

impl Drop for ToolboxProcess {
    fn drop(&mut self) {
        self.input = None;
        self.stop.stop();
        // The sandbox kills the process, so its thread ends soon. Its folders must not be used after the call.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Runs a process to its end, and returns the reason of the end.
fn run_process(core: &ToolboxCore, lines: mpsc::Receiver<Vec<u8>>, mut reader: LineReader) -> AgentError {
    // On this thread, because a program may be large, and before it starts: other bytes may do anything with the time they are given.
    if let Some(Err(why)) = core.check.get().map(|check| check()) {
        return core.said(&why);
    }
    let inputs = match ProgramInputs::read_inputs(&core.program, &core.places) {
        Ok(inputs) => inputs,
        Err(error) => return error,
    };
    let stop = reader.stop.clone();
    let mut seen = |stream, bytes: &[u8]| reader.read_output(stream, bytes, &inputs.secrets);
    let ended = run_confined(core, &inputs, lines, &stop, &mut seen);
    let said = last_line(
        inputs
            .secrets
            .hide(&String::from_utf8_lossy(&reader.errors))
            .as_bytes(),
    );
    match (reader.fault, ended) {
        (Some(fault), _) => fault.into_error(core),
        (None, Ok(0)) => core.broke("it ended without an answer"),
        (None, Ok(code)) => AgentError::Failed {
            program: core.program.provider.clone(),
            code,
            said,
            lack: None,
        },
        (None, Err(error)) => error,
    }
}

/// Runs a confined process that is sent lines, and passes its output on. Returns its exit code.
///
/// # Errors
/// If it cannot be started or confined, or was stopped.
pub(crate) fn run_confined(
    core: &ToolboxCore,
    inputs: &ProgramInputs,
    lines: mpsc::Receiver<Vec<u8>>,
    stop: &StopHandle,
    seen: &mut dyn FnMut(OutputStream, &[u8]),
) -> Result<u8, AgentError> {
    let lease = core.sandbox.lease_identity()?;
    let scratch = RunFolders::new(&core.folder, &core.name_process(), lease)?;
    let home = scratch.home();
    let order = core
        .program
        .launch_spec(&core.places, &scratch, &home, home.clone())?;
    inputs.write_files(&home)?;
    // Bound to a name, because dropping the outlets closes them. Refused hosts are not reported: the tool's own error goes to the
    // model, which can do nothing about them.
    let _outlets = open_outlets(
        &core.program,
        &scratch,
        &inputs.secrets,
        &ProgressChannel::default(),
    )?;
    let caps = RunCaps {
        time: LONGEST_RUN,
        // Each line is bounded by its reader, which takes them one by one.
        output: usize::MAX,
    };
    let input = ToolInput::Talk(InputSource::new(lines));
    Ok(scratch.run(&core.sandbox, &order, input, caps, stop, seen)?.code)
}

/// Reason why this program ended a process.
enum ReaderFault {
    LineTooLong,
    UnaskedLine,
    /// A layer of the sandbox is missing.
    Layers(AgentError),
}

impl ReaderFault {
    fn into_error(self, core: &ToolboxCore) -> AgentError {
        match self {
            Self::LineTooLong => core.broke(&format!("its line is longer than {LONGEST_LINE} bytes")),
            Self::UnaskedLine => core.broke("it wrote more than one line for a request"),
            Self::Layers(error) => error,
        }
    }
}

/// Reader of a process's output.
struct LineReader {
    is_asked: Arc<AtomicBool>,
    answers: mpsc::Sender<Result<Vec<u8>, AgentError>>,
    stop: StopHandle,
    splitter: LineSplitter,
    fault: Option<ReaderFault>,
    /// End of standard error.
    errors: Vec<u8>,
    is_checked: bool,
}

impl LineReader {
    fn read_output(&mut self, stream: OutputStream, bytes: &[u8], secrets: &SecretValues) {
        match stream {
            OutputStream::Out if self.fault.is_some() => {}
            OutputStream::Out => {
                if let Err(fault) = self.read_lines(bytes, secrets) {
                    self.fault = Some(fault);
                    self.stop.stop();
                }
            }
            OutputStream::Err => {
                self.errors.extend_from_slice(bytes);
                let surplus = self.errors.len().saturating_sub(MOST_ERRORS);
                self.errors.drain(..surplus);
            }
        }
    }

    fn read_lines(&mut self, bytes: &[u8], secrets: &SecretValues) -> Result<(), ReaderFault> {
        if !self.is_checked {
            let report = self.stop.report();
            let report = report.ok_or_else(|| SandboxError::NotConfined("without a report".to_owned()));
            let checked = report
                .map_err(AgentError::from)
                .and_then(|report| check_layers(&report));
            checked.map_err(ReaderFault::Layers)?;
            self.is_checked = true;
        }
        let (is_asked, answers) = (&self.is_asked, &self.answers);
        let mut result = Ok(());
        self.splitter.add_bytes(bytes, &mut |line| {
            // A program that writes without being asked could fill the memory, or answer the next request before it has read it.
            if !is_asked.swap(false, Ordering::SeqCst) {
                result = Err(ReaderFault::UnaskedLine);
            } else if line.len() > LONGEST_LINE {
                result = Err(ReaderFault::LineTooLong);
            } else {
                // Fails if the request was dropped; the process is ended then.
                let _ = answers.send(Ok(secrets.hide(&String::from_utf8_lossy(line)).into_bytes()));
            }
        });
        if result.is_ok() && self.splitter.count_pending() > LONGEST_LINE {
            result = Err(ReaderFault::LineTooLong);
        }
        result
    }
}

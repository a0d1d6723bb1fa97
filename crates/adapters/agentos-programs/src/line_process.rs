//! A process of a toolbox that speaks a protocol of its own, line by line, in both directions at any time.
//!
//! Owns: its thread, its folders, and the longest line. Never: reads a line, or outlives its value.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{Builder, JoinHandle};

use agentos_sandbox::{OutputStream, SandboxError, StopHandle};

use crate::AgentError;
use crate::adapter::check_layers;
use crate::handed::{ProgramInputs, SecretValues};
use crate::lines::LineSplitter;
use crate::quote::last_line;
use crate::toolbox::ToolboxCore;
use crate::toolbox_process::{LONGEST_LINE, MOST_ERRORS, run_confined};

/// Receiver of a process's lines, called on the thread of the process. It returns false to end the process.
pub type LineSink = Box<dyn FnMut(Vec<u8>) -> bool + Send>;

/// Running process. It is killed when this value is dropped, and nothing of it is left then.
pub struct LineProcess {
    /// Lines to the program. `None` while the process is being ended.
    input: Option<mpsc::Sender<Vec<u8>>>,
    stop: StopHandle,
    end: Arc<Mutex<Option<AgentError>>>,
    worker: Option<JoinHandle<()>>,
}

/// Handle of a process, which may outlive it: kills it at once from any thread, and knows why it ended.
#[derive(Clone)]
pub struct LineHandle {
    stop: StopHandle,
    end: Arc<Mutex<Option<AgentError>>>,
}

impl LineHandle {
    /// Kills the process.
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Takes the reason of the end. `None` while the process runs, or if it was taken before.
    #[must_use]
    pub fn take_end(&self) -> Option<AgentError> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl LineProcess {
    /// Starts a process on a thread of its own, without waiting for it. The sink is dropped when the process has ended.
    ///
    /// # Errors
    /// If the system refuses a thread. Everything else is the reason of its end.
    pub(crate) fn start(core: &Arc<ToolboxCore>, sink: LineSink) -> Result<Self, AgentError> {
        let (input, lines) = mpsc::channel();
        let (stop, end) = (StopHandle::default(), Arc::new(Mutex::new(None)));
        let mut reader = SinkReader {
            sink,
            stop: stop.clone(),
            splitter: LineSplitter::default(),
            fault: None,
            errors: Vec::new(),
            is_checked: false,
        };
        let (core, reason) = (Arc::clone(core), Arc::clone(&end));
        let work = move || {
            let ended = run_process(&core, lines, &mut reader);
            *reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            // Dropped after the reason is there, because its receiver asks for it then.
            drop(reader);
        };
        let worker = Builder::new().spawn(work).map_err(|_| AgentError::Thread)?;
        Ok(Self {
            input: Some(input),
            stop,
            end,
            worker: Some(worker),
        })
    }

    /// Sends a line, without its end. Returns false if the process has ended.
    pub fn send_line(&self, mut line: Vec<u8>) -> bool {
        line.push(b'\n');
        self.input.as_ref().is_some_and(|input| input.send(line).is_ok())
    }

    /// Returns a handle of the process.
    #[must_use]
    pub fn handle(&self) -> LineHandle {
        LineHandle {
            stop: self.stop.clone(),
            end: Arc::clone(&self.end),
        }
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.input = None;
        self.stop.stop();
        // The sandbox kills the process, so its thread ends soon. Its folders must not be used after the drop.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// Runs a process to its end, and returns the reason of the end.
fn run_process(core: &ToolboxCore, lines: mpsc::Receiver<Vec<u8>>, reader: &mut SinkReader) -> AgentError {
    // On this thread, because a program may be large, and before it starts: other bytes may do anything with the time they are given.
    if let Some(Err(why)) = core.check.get().map(|check| check()) {
        return core.said(&why);
    }
    let inputs = match ProgramInputs::read_inputs(&core.program, &core.places) {
        Ok(inputs) => inputs,
        Err(error) => return error,
    };
    let stop = reader.stop.clone();
    let mut seen = |stream, bytes: &[u8]| reader.read_output(core, stream, bytes, &inputs.secrets);
    let ended = run_confined(core, &inputs, lines, &stop, &mut seen);
    let said = inputs.secrets.hide(&String::from_utf8_lossy(&reader.errors));
    match (reader.fault.take(), ended) {
        (Some(fault), _) => fault,
        (None, Ok(0)) => core.broke("it ended by itself"),
        (None, Ok(code)) => AgentError::Failed {
            program: core.program.provider.clone(),
            code,
            said: last_line(said.as_bytes()),
            lack: None,
        },
        (None, Err(error)) => error,
    }
}

/// Reader of a process's output.
struct SinkReader {
    sink: LineSink,
    stop: StopHandle,
    splitter: LineSplitter,
    /// Reason why this program ended the process. `None` if it did not.
    fault: Option<AgentError>,
    /// End of standard error.
    errors: Vec<u8>,
    is_checked: bool,
}

impl SinkReader {
    fn read_output(
        &mut self,
        core: &ToolboxCore,
        stream: OutputStream,
        bytes: &[u8],
        secrets: &SecretValues,
    ) {
        match stream {
            OutputStream::Out if self.fault.is_some() => {}
            OutputStream::Out => {
                if let Err(fault) = self.read_lines(core, bytes, secrets) {
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

    fn read_lines(
        &mut self,
        core: &ToolboxCore,
        bytes: &[u8],
        secrets: &SecretValues,
    ) -> Result<(), AgentError> {
        if !self.is_checked {
            let report = self.stop.report();
            let report = report.ok_or_else(|| SandboxError::NotConfined("without a report".to_owned()))?;
            check_layers(&report)?;
            self.is_checked = true;
        }
        let too_long = || core.broke(&format!("its line is longer than {LONGEST_LINE} bytes"));
        let (sink, mut is_wanted, mut is_long) = (&mut self.sink, true, false);
        self.splitter.add_bytes(bytes, &mut |line| {
            is_long |= line.len() > LONGEST_LINE;
            if !is_long && is_wanted {
                is_wanted = sink(secrets.hide(&String::from_utf8_lossy(line)).into_bytes());
            }
        });
        if is_long || self.splitter.count_pending() > LONGEST_LINE {
            return Err(too_long());
        }
        match is_wanted {
            true => Ok(()),
            false => Err(SandboxError::Stopped.into()),
        }
    }
}

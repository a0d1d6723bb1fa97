//! Runs the processes of one slot, one after the other, and reads their lines.
//!
//! Owns: the check of a process's layers before it gets a request, and the reason why it ended. Never: starts one for a request that
//! was written before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

use agentos_sandbox::{InputSource, OutputStream, SandboxError};

use crate::AgentError;
use crate::lines::LineSplitter;
use crate::process_slot::{BegunRun, ProcessInput, ProcessSlot, RunFailure};
use crate::quote::last_lines;
use crate::request_table::{LONGEST_LINE, ProtocolFault, parse_line};
use crate::server_reach::{ProcessLauncher, ServerReach};

/// Bytes of standard error that are kept: an error quotes its last lines.
const MOST_ERRORS: usize = 4 << 10;
/// Lines of standard error that an error quotes.
const QUOTED_LINES: usize = 3;

/// Runs processes until there is nothing to do.
pub(crate) fn serve_slot(slot: &Arc<ProcessSlot>, launcher: &dyn ProcessLauncher, reach: ServerReach) {
    while let Some(run) = slot.begin_run() {
        let failure = run_process(slot, launcher, reach, &run);
        slot.settle_run(failure.as_ref());
    }
}

/// Runs one process to its end. `None` if it ended because it was idle or closed.
fn run_process(
    slot: &Arc<ProcessSlot>,
    launcher: &dyn ProcessLauncher,
    reach: ServerReach,
    run: &BegunRun,
) -> Option<RunFailure> {
    let program = || launcher.name().to_owned();
    let greeting = match launcher.write_greeting(reach.lookup()) {
        Ok(greeting) => greeting,
        Err(how) => {
            slot.mark_ended();
            let program = program();
            return Some(judge_failure(AgentError::Protocol { program, how }));
        }
    };
    let mut reader = ProcessReader {
        launcher,
        slot,
        run,
        splitter: LineSplitter::default(),
        fault: None,
        errors: VecDeque::new(),
        is_checked: false,
    };
    let ended = thread::scope(|scope| {
        let clock = thread::Builder::new().spawn_scoped(scope, || slot.watch_clock(run.number));
        if clock.is_err() {
            slot.mark_ended();
            return Err(AgentError::Thread);
        }
        let input = InputSource::new(ProcessInput::new(Arc::clone(slot), run.number, greeting));
        let mut seen = |stream, bytes: &[u8]| reader.read_output(stream, bytes);
        let ended = launcher.run_process(reach, &run.ready, input, &run.stop, &mut seen);
        let was_ending = slot.is_ending();
        slot.mark_ended();
        ended.map(|code| (code, was_ending))
    });
    let said = launcher.hide_secrets(&last_lines(reader.errors.make_contiguous(), QUOTED_LINES));
    let clock_fault = slot.clock_fault().map(RunFault::Protocol);
    let error = match (reader.fault.or(clock_fault), ended) {
        (Some(RunFault::Layers(error)), _) => error,
        (Some(RunFault::Protocol(fault)), _) => AgentError::ProcessEnded {
            program: program(),
            how: format!("was ended, because it broke its protocol: {fault}"),
            said,
        },
        (None, Ok((0, true)) | Err(AgentError::Sandbox(SandboxError::Stopped))) => return None,
        (None, Ok((code, _))) => AgentError::ProcessEnded {
            program: program(),
            how: format!("ended with exit code {code}"),
            said,
        },
        (None, Err(AgentError::Sandbox(error @ (SandboxError::NoReport(_) | SandboxError::NotEnded)))) => {
            AgentError::ProcessEnded {
                program: program(),
                how: format!("ended: {error}"),
                said,
            }
        }
        (None, Err(error)) => error,
    };
    Some(judge_failure(error))
}

fn judge_failure(error: AgentError) -> RunFailure {
    RunFailure {
        is_final: !matches!(error, AgentError::ProcessEnded { .. }),
        error: error.into_tool_error(0),
    }
}

/// Reason why this program ended a process.
enum RunFault {
    Protocol(ProtocolFault),
    /// A layer of the sandbox is missing.
    Layers(AgentError),
}

/// Reader of a process's output.
struct ProcessReader<'a> {
    launcher: &'a dyn ProcessLauncher,
    slot: &'a ProcessSlot,
    run: &'a BegunRun,
    splitter: LineSplitter,
    fault: Option<RunFault>,
    /// End of standard error.
    errors: VecDeque<u8>,
    is_checked: bool,
}

impl ProcessReader<'_> {
    fn read_output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Out if self.fault.is_some() => {}
            OutputStream::Out => {
                if let Err(fault) = self.read_lines(bytes) {
                    self.fault = Some(fault);
                    self.slot.kill_run(self.run.number);
                }
            }
            OutputStream::Err => {
                self.errors.extend(bytes);
                let surplus = self.errors.len().saturating_sub(MOST_ERRORS);
                self.errors.drain(..surplus);
            }
        }
    }

    fn read_lines(&mut self, bytes: &[u8]) -> Result<(), RunFault> {
        if !self.is_checked {
            self.launcher
                .check_layers(&self.run.stop)
                .map_err(RunFault::Layers)?;
            self.is_checked = true;
        }
        let (slot, mut result) = (self.slot, Ok(()));
        let mut waiting = Vec::new();
        self.splitter.add_bytes(bytes, &mut |line| {
            if result.is_ok() {
                result = deliver_line(slot, line).map(|waker| waiting.extend(waker));
            }
        });
        waiting.into_iter().for_each(Waker::wake);
        if self.splitter.count_pending() > LONGEST_LINE {
            result = Err(ProtocolFault::LineTooLong);
        }
        result.map_err(RunFault::Protocol)
    }
}

/// Passes a line on to the answer that it is for. Returns the waker of its reader if that waits.
fn deliver_line(slot: &ProcessSlot, line: &[u8]) -> Result<Option<Waker>, ProtocolFault> {
    // Parsed before the lock is taken: an answer may have megabytes.
    let message = slot.take_message(parse_line(line)?, line.len())?;
    Ok(message.and_then(|(answer, line, bytes)| answer.add_line(*line, bytes)))
}

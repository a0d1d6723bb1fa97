//! The adapter that runs a program in a copy and a sandbox, with the same interface as any other tool.
//!
//! Owns: one call from copy to answer. Never: accepts the answer of a program that ran without a sandbox layer that this
//! system has.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use agentos_sandbox::{
    FinishedRun, IdentityLease, InputSource, LaunchSpec, OutputStream, RunCaps, RunFolders, Sandbox,
    SandboxError, SandboxLayer, SandboxProbe, SandboxReport, StopHandle, ToolInput,
};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, DiffQuality, Enforcement, FinishReason, Progress, ProgressSink,
    Timestamp, ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use crate::acp::AcpClient;
use crate::background::ProgressChannel;
use crate::calling::call_if_confined;
use crate::checkout::{check_shared_folders, keep_while_alive};
use crate::difference::{CopyDifference, CopyView, compare_trees};
use crate::handed::{OutputReporter, ProgramInputs};
use crate::health;
use crate::lines::NoAnswer;
use crate::outlets::{open_outlets, word_refused_hosts};
use crate::program::TaskInput;
use crate::quote::{guess_lack, last_line};
use crate::refusals::LastRun;
use crate::{AgentError, Checkout, Copies, Places, Program};

/// Maximum bytes that a program may write to standard output and standard error together.
const MOST_OUTPUT: usize = 64 << 20;
/// Time between `session/cancel` and the end of the agent's processes.
const TO_LEAVE_OFF: Duration = Duration::from_secs(1);

/// A program as a tool.
pub struct Agent {
    inner: Arc<AgentCore>,
    /// Result of probing the sandbox.
    held: SandboxProbe,
}

struct AgentCore {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    copies: Box<dyn Copies>,
    last: LastRun,
}

impl Agent {
    /// Makes a tool of a program. `held` is the result of probing the sandbox.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: SandboxProbe,
        copies: Box<dyn Copies>,
    ) -> Self {
        Self {
            inner: Arc::new(AgentCore {
                program,
                places,
                sandbox,
                copies,
                last: LastRun::default(),
            }),
            held,
        }
    }
}

impl Adapter for Agent {
    fn provider(&self) -> &str {
        &self.inner.program.provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        let inner = &self.inner;
        health::check_program(&inner.program, &inner.places, &inner.sandbox, &self.held, now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        call_if_confined(self.held.get(), &self.inner, task, progress, AgentCore::run_task)
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities::diff_only(self.inner.program.mode, DiffQuality::High)
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), &self.inner.last)
    }
}

/// Describes the confinement of a program for the tool's result.
pub(crate) fn describe_confinement(held: &Result<SandboxReport, String>, last: &LastRun) -> Confinement {
    let Ok(report) = held else {
        return Confinement::observed();
    };
    Confinement {
        enforcement: if report.is_whole() {
            Enforcement::Kernel
        } else {
            Enforcement::Observed
        },
        layers: report
            .layers
            .iter()
            .map(|layer| layer.as_str().to_owned())
            .collect(),
        landlock_abi: report.landlock_abi,
        run_limits: last.run_limits(),
        refused: last.refused_calls(),
    }
}

/// Checks that the program ran with every layer that this system has.
///
/// # Errors
/// [`SandboxError::NotConfined`] with the missing layers.
pub(crate) fn check_layers(report: &SandboxReport) -> Result<(), AgentError> {
    let lacking = report.lacking();
    if lacking.is_empty() {
        return Ok(());
    }
    let why = format!("without {}", join_names(&lacking));
    Err(SandboxError::NotConfined(why).into())
}

/// Words a note about the layers that this system cannot provide. `None` if it provides all.
pub(crate) fn missing_layers_note(report: &SandboxReport) -> Option<String> {
    let missing = report.missing();
    (!missing.is_empty()).then(|| {
        format!(
            "the tool was confined without {}, which this system does not provide",
            join_names(&missing)
        )
    })
}

fn join_names(layers: &[SandboxLayer]) -> String {
    let names: Vec<&str> = layers.iter().map(|layer| layer.as_str()).collect();
    names.join(", ")
}

impl AgentCore {
    fn run_task(
        &self,
        task: &ToolTask,
        stop: &StopHandle,
        channel: &ProgressChannel,
    ) -> Result<ToolOutput, ToolError> {
        let mut elapsed = 0;
        let inputs = ProgramInputs::read_inputs(&self.program, &self.places)
            .map_err(|error| error.into_tool_error(elapsed))?;
        let call = AgentCall {
            task,
            stop,
            channel,
            inputs: &inputs,
        };
        let produced = self.produce_answer(call, &mut elapsed);
        let (found, finish) = produced.map_err(|error| {
            let error = self
                .last
                .explain_failure(&self.program, error.into_tool_error(elapsed));
            inputs.secrets.hide_in(error)
        })?;
        Ok(ToolOutput {
            text: found.text,
            finish,
            model_id: self.program.model.clone(),
            endpoint: None,
            usage: None,
            latency_ms: elapsed,
            warnings: found.notes.iter().map(|note| inputs.secrets.hide(note)).collect(),
        })
    }

    /// Takes a copy, runs the program in it and reads the difference.
    fn produce_answer(
        &self,
        call: AgentCall<'_>,
        elapsed: &mut u64,
    ) -> Result<(CopyDifference, FinishReason), AgentError> {
        // Under root every run gets a user id of its own, and the copy must belong to it before the program starts.
        let lease = self.sandbox.lease_identity()?;
        let owner = lease.as_ref().map(|lease| lease.identity().tool);
        let checkout = self.copies.take(owner).map_err(AgentError::Copy)?;
        let produced = self.produce_over(checkout.as_ref(), lease, call, elapsed);
        keep_while_alive(checkout, &produced);
        produced
    }

    fn produce_over(
        &self,
        checkout: &dyn Checkout,
        lease: Option<Arc<IdentityLease>>,
        call: AgentCall<'_>,
        elapsed: &mut u64,
    ) -> Result<(CopyDifference, FinishReason), AgentError> {
        check_shared_folders(checkout, &self.program.shared)?;
        let view = checkout.view();
        let withheld = view.withheld.len();
        call.channel.report_progress(Progress::Viewed(view));
        let (mut found, finish) = match self.in_copy(
            checkout,
            CopyView::Overlaid,
            lease.clone(),
            call,
            elapsed,
        ) {
            // Containers often forbid mounting an overlay; a full copy takes longer and gives the same answer.
            Err(AgentError::Sandbox(SandboxError::NoOverlay(_))) => {
                let (mut found, finish) = self.in_copy(checkout, CopyView::Copied, lease, call, elapsed)?;
                let note = "no overlay can be mounted here, as in some containers: the tool worked in a full copy of the \
                            files, which takes longer";
                found.notes.push(note.to_owned());
                (found, finish)
            }
            done => done?,
        };
        if withheld > 0 {
            found.notes.push(format!(
                "policy withheld {withheld} files from the tool; they were neither in its copy nor in its git history"
            ));
        }
        Ok((found, finish))
    }

    fn in_copy(
        &self,
        checkout: &dyn Checkout,
        shown: CopyView,
        lease: Option<Arc<IdentityLease>>,
        call: AgentCall<'_>,
        elapsed: &mut u64,
    ) -> Result<(CopyDifference, FinishReason), AgentError> {
        let (task, inputs) = (call.task, call.inputs);
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = RunFolders::new(&self.copies.folder(), &name, lease)?;
        let (left, lower) = match shown {
            CopyView::Overlaid => (scratch.changes(), Some(checkout.files())),
            CopyView::Copied => {
                scratch.fill(&checkout.files())?;
                (scratch.copy(), None)
            }
        };
        let borrowed = checkout.give_history(&left).map_err(AgentError::Copy)?;
        let prompt = agentos_tool::prompt::instruction(task);
        let mut order = self
            .program
            .launch_spec_in_copy(&self.places, &scratch, lower, task, &prompt)?;
        order.readable.extend(borrowed);
        inputs.write_files(&scratch.home())?;
        let outlets = open_outlets(&self.program, &scratch, &inputs.secrets, call.channel)?;
        let caps = RunCaps {
            time: Duration::from_secs(task.limits.timeout_seconds),
            output: MOST_OUTPUT,
        };
        let done = match self.program.task_input {
            TaskInput::Words => self.run_with_input(&scratch, &order, prompt, caps, call),
            TaskInput::Acp => self.run_with_prompt(&scratch, &order, &prompt, caps, call),
        };
        // Before the `?`: refused system calls matter most for a run that failed.
        self.last.record_run(&scratch, &outlets);
        let done = done?;
        *elapsed = u64::try_from(done.ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        // Checked before the difference is read: without a layer, the copy may not be the only place that was written to.
        check_layers(&done.ended.report)?;
        let unheld = missing_layers_note(&done.ended.report);
        let finish = self.judge_end(done)?;
        let ignored = |path: &str| checkout.is_ignored(path) || self.program.is_own(path);
        let mut found = compare_trees(&checkout.files(), &left, shown, &ignored)?;
        // Checked on the diff and not on the copy: the secret may be in the repository already.
        if inputs.secrets.are_added_by(&found.text) {
            return Err(AgentError::Secret(self.program.name.clone()));
        }
        found.notes.extend(word_refused_hosts(&outlets.list_refused()));
        found.notes.extend(unheld);
        Ok((found, finish))
    }

    /// Runs the program with the task on its standard input and reports its output.
    fn run_with_input(
        &self,
        scratch: &RunFolders,
        order: &LaunchSpec,
        prompt: String,
        caps: RunCaps,
        call: AgentCall<'_>,
    ) -> Result<FinishedProgram, AgentError> {
        let mut reporter = OutputReporter::new(&call.inputs.secrets, call.channel);
        let mut seen = |stream, bytes: &[u8]| reporter.report_stream(stream, bytes);
        let input = ToolInput::Bytes(prompt.into_bytes());
        let ended = scratch.run(&self.sandbox, order, input, caps, call.stop, &mut seen);
        let tail = reporter.finish_report();
        Ok(FinishedProgram {
            ended: ended?,
            tail,
            said: Ok(FinishReason::Stop),
        })
    }

    /// Runs the program, prompts it over the Agent Client Protocol, and ends it when it has answered.
    fn run_with_prompt(
        &self,
        scratch: &RunFolders,
        order: &LaunchSpec,
        prompt: &str,
        caps: RunCaps,
        call: AgentCall<'_>,
    ) -> Result<FinishedProgram, AgentError> {
        let (say, hear) = channel();
        let mut client = AcpClient::start_conversation(&order.cwd, prompt, say);
        call.stop.ask_first(TO_LEAVE_OFF, client.cancel_turn());
        let mut reporter = OutputReporter::new(&call.inputs.secrets, call.channel);
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => {
                // Secrets are hidden before the messages are parsed: a quoted text is cut to one line of limited length, and
                // half of a secret would no longer be recognised.
                let clear = reporter.redact_messages(bytes);
                client.read_output(&clear, &mut |progress| reporter.report_progress(progress));
                // Agents wait for the next prompt after a turn, so the process has to be ended from outside.
                if client.is_over() {
                    call.stop.finish();
                }
            }
            OutputStream::Err => reporter.report_stream(stream, bytes),
        };
        let input = ToolInput::Talk(InputSource::new(hear));
        let ended = scratch.run(&self.sandbox, order, input, caps, call.stop, &mut seen);
        let tail = reporter.finish_report();
        Ok(FinishedProgram {
            ended: ended?,
            tail,
            said: client.finish_turn(),
        })
    }

    /// Decides whether a finished run gave an answer. A reason that the program gave itself takes precedence over its exit code.
    ///
    /// # Errors
    /// [`AgentError::Said`], [`AgentError::Failed`] or [`AgentError::Acp`].
    fn judge_end(&self, done: FinishedProgram) -> Result<FinishReason, AgentError> {
        let program = self.program.name.clone();
        match done.said {
            Err(NoAnswer::Said(why)) => Err(AgentError::Said { program, why }),
            Ok(_) | Err(NoAnswer::Broken(_)) if done.ended.code != 0 => Err(AgentError::Failed {
                program,
                code: done.ended.code,
                said: last_line(&done.tail),
                lack: guess_lack(&done.tail, done.ended.code),
            }),
            Err(NoAnswer::Broken(how)) => Err(AgentError::Acp { program, how }),
            Ok(finish) => Ok(finish),
        }
    }
}

/// Arguments of one call that every step needs.
#[derive(Clone, Copy)]
struct AgentCall<'a> {
    task: &'a ToolTask,
    stop: &'a StopHandle,
    channel: &'a ProgressChannel,
    inputs: &'a ProgramInputs,
}

/// End of a program's process, with what it reported about it.
struct FinishedProgram {
    ended: FinishedRun,
    /// End of its output, without protocol messages.
    tail: Vec<u8>,
    said: Result<FinishReason, NoAnswer>,
}

//! The adapter of the tool protocol: a program that reads a task and writes an answer.
//!
//! Owns: one call, in a sandbox without a copy of anything. Never: takes an answer from a program that broke the
//! protocol or failed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_sandbox::{OutputStream, RunCaps, RunFolders, Sandbox, SandboxProbe, StopHandle, ToolInput};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, DiffQuality, PROTOCOL, ProgressSink, Timestamp, ToolCapabilities,
    ToolError, ToolHealth, ToolOutput, ToolRequest, ToolTask,
};

use crate::adapter::{check_layers, describe_confinement, missing_layers_note};
use crate::background::ProgressChannel;
use crate::calling::{CallResult, call_if_confined};
use crate::handed::{OutputReporter, ProgramInputs};
use crate::health;
use crate::lines::{AnswerReader, NoAnswer, ToolAnswer};
use crate::outlets::{open_outlets, word_refused_hosts};
use crate::quote::{guess_lack, last_line};
use crate::refusals::LastRun;
use crate::{AgentError, Places, Program};

/// Maximum bytes that a tool may write.
const MOST_OUTPUT: usize = 64 << 20;

/// A program that speaks the tool protocol.
pub struct Speaker {
    inner: Arc<SpeakerCore>,
    held: SandboxProbe,
}

struct SpeakerCore {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    /// Folder in which each run may create a folder of its own.
    folder: PathBuf,
    last: LastRun,
}

impl Speaker {
    /// Makes a tool of a program. `held` is the result of probing the sandbox.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: SandboxProbe,
        folder: PathBuf,
    ) -> Self {
        Self {
            inner: Arc::new(SpeakerCore {
                program,
                places,
                sandbox,
                folder,
                last: LastRun::default(),
            }),
            held,
        }
    }
}

impl Adapter for Speaker {
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
        call_if_confined(
            self.held.get(),
            &self.inner,
            task,
            progress,
            SpeakerCore::run_task,
        )
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities::diff_only(self.inner.program.mode, DiffQuality::Medium)
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), &self.inner.last)
    }
}

impl SpeakerCore {
    fn run_task(&self, task: &ToolTask, stop: &StopHandle, channel: &ProgressChannel) -> CallResult {
        let mut elapsed = 0;
        let inputs = ProgramInputs::read_inputs(&self.program, &self.places)
            .map_err(|error| error.into_tool_error(elapsed))?;
        let answer = self.run_program(task, &inputs, (stop, channel), &mut elapsed);
        answer.map_err(|error| {
            let error = self
                .last
                .explain_failure(&self.program, error.into_tool_error(elapsed));
            inputs.secrets.hide_in(error)
        })
    }

    fn run_program(
        &self,
        task: &ToolTask,
        inputs: &ProgramInputs,
        (stop, channel): (&StopHandle, &ProgressChannel),
        elapsed: &mut u64,
    ) -> Result<ToolOutput, AgentError> {
        let secrets = &inputs.secrets;
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = RunFolders::new(&self.folder, &name, self.sandbox.lease_identity()?)?;
        let home = scratch.home();
        let order = self
            .program
            .launch_spec(&self.places, &scratch, &home, home.clone())?;
        inputs.write_files(&home)?;
        let ways = open_outlets(&self.program, &scratch, secrets, channel)?;
        let caps = RunCaps {
            time: Duration::from_secs(task.limits.timeout_seconds),
            output: MOST_OUTPUT,
        };
        let (mut lines, mut reporter) = (AnswerReader::default(), OutputReporter::new(secrets, channel));
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => lines.read_output(bytes, &mut |progress| reporter.report_progress(progress)),
            OutputStream::Err => reporter.report_stream(stream, bytes),
        };
        let input = self.request_line(task)?;
        let ended = scratch.run(
            &self.sandbox,
            &order,
            ToolInput::Bytes(input),
            caps,
            stop,
            &mut seen,
        );
        let errors = reporter.finish_report();
        // Before the `?`: refused system calls matter most for a run that failed.
        self.last.record_run(&scratch, &ways);
        let ended = ended?;
        *elapsed = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        check_layers(&ended.report)?;
        let said = match lines.finish_answer() {
            // Hidden before the text is shortened for a quote: half of a secret would no longer be recognised.
            Err(NoAnswer::Said(why)) => Err(NoAnswer::Said(secrets.hide(&why))),
            said => said,
        };
        let answer = self.judge_end(said, ended.code, &errors)?;
        // The whole answer is checked here, and not only added lines: it may not be a diff.
        if secrets.are_in(&answer.text) {
            return Err(AgentError::Secret(self.program.name.clone()));
        }
        let model = answer.model.map(|model| secrets.hide(&model));
        Ok(ToolOutput {
            text: answer.text,
            finish: answer.finish,
            model_id: model.or_else(|| self.program.model.clone()),
            endpoint: None,
            usage: answer.usage,
            latency_ms: *elapsed,
            warnings: word_refused_hosts(&ways.list_refused())
                .iter()
                .map(|note| secrets.hide(note))
                .chain(missing_layers_note(&ended.report))
                .collect(),
        })
    }

    /// Serialises the request, the one line that the tool reads.
    ///
    /// # Errors
    /// [`AgentError::Protocol`] if the task cannot be serialised.
    fn request_line(&self, task: &ToolTask) -> Result<Vec<u8>, AgentError> {
        let request = ToolRequest {
            protocol: PROTOCOL,
            task: task.clone(),
            model: self.program.model.clone(),
        };
        let mut line = serde_json::to_vec(&request).map_err(|error| AgentError::Protocol {
            program: self.program.name.clone(),
            how: format!("the task cannot be written as JSON: {error}"),
        })?;
        line.push(b'\n');
        Ok(line)
    }

    /// Decides whether a finished tool gave an answer. An error message of its own takes precedence over its exit code.
    ///
    /// # Errors
    /// [`AgentError::Said`], [`AgentError::Failed`] or [`AgentError::Protocol`].
    fn judge_end(
        &self,
        said: Result<ToolAnswer, NoAnswer>,
        code: u8,
        errors: &[u8],
    ) -> Result<ToolAnswer, AgentError> {
        let program = || self.program.name.clone();
        match said {
            Err(NoAnswer::Said(why)) => Err(AgentError::Said {
                program: program(),
                why: last_line(why.as_bytes()),
            }),
            Ok(_) | Err(NoAnswer::Broken(_)) if code != 0 => Err(AgentError::Failed {
                program: program(),
                code,
                said: last_line(errors),
                lack: guess_lack(errors, code),
            }),
            Err(NoAnswer::Broken(how)) => Err(AgentError::Protocol {
                program: program(),
                how,
            }),
            Ok(answer) => Ok(answer),
        }
    }
}

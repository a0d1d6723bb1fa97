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

use crate::adapter::{confinement, outlets, refused, unheld, whole};
use crate::background::Voice;
use crate::calling::{Answered, called_if_held};
use crate::handed::{Handed, Teller};
use crate::health;
use crate::lines::{Answer, Lines, NoAnswer};
use crate::quote::last_line;
use crate::refusals::LastRun;
use crate::{AgentError, Places, Program};

/// Bytes that a tool may write.
const MOST_OUTPUT: usize = 64 << 20;

/// A program that speaks the tool protocol.
pub struct Speaker {
    inner: Arc<Inner>,
    held: SandboxProbe,
}

struct Inner {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    /// Where runs may have folders of their own.
    folder: PathBuf,
    last: LastRun,
}

impl Speaker {
    /// A tool out of a program. `held` is what the sandbox says when it is probed.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: SandboxProbe,
        folder: PathBuf,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
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
        health::check(&inner.program, &inner.places, &inner.sandbox, &self.held, now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        called_if_held(self.held.get(), &self.inner, task, progress, Inner::work)
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities::diff_only(self.inner.program.mode, DiffQuality::Medium)
    }

    fn confinement(&self) -> Confinement {
        confinement(self.held.get(), &self.inner.last)
    }
}

impl Inner {
    fn work(&self, task: &ToolTask, stop: &StopHandle, voice: &Voice) -> Answered {
        let mut elapsed = 0;
        let handed =
            Handed::of(&self.program, &self.places).map_err(|error| error.into_tool_error(elapsed))?;
        let answer = self.answer(task, &handed, (stop, voice), &mut elapsed);
        answer.map_err(|error| handed.secrets.hide_in(error.into_tool_error(elapsed)))
    }

    fn answer(
        &self,
        task: &ToolTask,
        handed: &Handed,
        (stop, voice): (&StopHandle, &Voice),
        elapsed: &mut u64,
    ) -> Result<ToolOutput, AgentError> {
        let secrets = &handed.secrets;
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = RunFolders::new(&self.folder, &name, self.sandbox.lease_identity()?)?;
        let home = scratch.home();
        let order = self.program.order(&self.places, &scratch, &home, home.clone())?;
        handed.furnish(&home)?;
        let ways = outlets(&self.program, &scratch)?;
        let caps = RunCaps {
            time: Duration::from_secs(task.limits.timeout_seconds),
            output: MOST_OUTPUT,
        };
        let (mut lines, mut teller) = (Lines::default(), Teller::new(secrets, voice));
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => lines.take(bytes, &mut |progress| teller.progress(progress)),
            OutputStream::Err => teller.stream(stream, bytes),
        };
        let input = self.request(task)?;
        let ended = scratch.run(
            &self.sandbox,
            &order,
            ToolInput::Bytes(input),
            caps,
            stop,
            &mut seen,
        );
        let errors = teller.end();
        self.last.take(&scratch);
        let ended = ended?;
        *elapsed = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        whole(&ended.report)?;
        let said = match lines.end() {
            // Before it is quoted, since that cuts it.
            Err(NoAnswer::Said(why)) => Err(NoAnswer::Said(secrets.hide(&why))),
            said => said,
        };
        let answer = self.judged(said, ended.code, &errors)?;
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
            warnings: refused(&ways)
                .iter()
                .map(|note| secrets.hide(note))
                .chain(unheld(&ended.report))
                .collect(),
        })
    }

    /// The one line that the tool reads.
    fn request(&self, task: &ToolTask) -> Result<Vec<u8>, AgentError> {
        let request = ToolRequest {
            protocol: PROTOCOL,
            task: task.clone(),
            model: self.program.model.clone(),
        };
        let mut line = serde_json::to_vec(&request).map_err(|error| AgentError::Protocol {
            program: self.program.name.clone(),
            how: format!("its task cannot be written down: {error}"),
        })?;
        line.push(b'\n');
        Ok(line)
    }

    /// What a tool that ended with this code has said.
    fn judged(&self, said: Result<Answer, NoAnswer>, code: u8, errors: &[u8]) -> Result<Answer, AgentError> {
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
            }),
            Err(NoAnswer::Broken(how)) => Err(AgentError::Protocol {
                program: program(),
                how,
            }),
            Ok(answer) => Ok(answer),
        }
    }
}

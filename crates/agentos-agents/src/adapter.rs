//! The adapter: a program in a copy and a sandbox, asked like any other tool.
//!
//! Owns: one call from copy to answer. Never: runs a program that the kernel does not hold with every layer.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentos_sandbox::{Caps, Report, Sandbox, Scratch, Stop};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, DiffQuality, Enforcement, FinishReason, HealthStatus, Progress,
    ProgressSink, Timestamp, ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use crate::background::begin;
use crate::difference::difference;
use crate::program::{Program, socket};
use crate::{AgentError, Copies, Places};

/// Bytes that a program may write to its two streams.
const MOST_OUTPUT: usize = 64 << 20;
/// Of the last line of output that an error quotes.
const LONGEST_QUOTE: usize = 200;

/// A program as a tool.
pub struct Agent {
    inner: Arc<Inner>,
    /// What holds it; the error where it cannot be held.
    held: Result<Report, String>,
}

struct Inner {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    copies: Box<dyn Copies>,
}

impl Agent {
    /// A tool out of a program. `held` is what the sandbox said when it was probed.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: Result<Report, String>,
        copies: Box<dyn Copies>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                program,
                places,
                sandbox,
                copies,
            }),
            held,
        }
    }

    fn state(&self) -> (HealthStatus, String, Option<String>) {
        let program = &self.inner.program;
        match (&self.held, self.inner.places.find(&program.name)) {
            (Err(why), _) => (
                HealthStatus::NotConfigured,
                format!("it cannot be confined here: {why}"),
                Some("tools of this kind need Linux with Landlock, seccomp and user namespaces".to_owned()),
            ),
            (Ok(_), None) => (
                HealthStatus::NotConfigured,
                format!("there is no program `{}`", program.name),
                Some("install it, so that it is on the search path".to_owned()),
            ),
            (Ok(_), Some(found)) => (
                HealthStatus::Connected,
                format!("found at {}", found.display()),
                None,
            ),
        }
    }
}

impl Adapter for Agent {
    fn provider(&self) -> &str {
        &self.inner.program.provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        let (status, details, fix) = self.state();
        let health = ToolHealth::new(self.provider(), status, details, now);
        Box::pin(std::future::ready(match fix {
            Some(fix) => health.with_fix(fix),
            None => health,
        }))
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        if let Err(why) = &self.held {
            let error = AgentError::Sandbox(agentos_sandbox::SandboxError::NotConfined(why.clone()));
            return Box::pin(std::future::ready(Err(error.into_tool_error(0))));
        }
        Box::pin(self.inner.call(task, progress))
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities::diff_only(self.inner.program.mode, DiffQuality::High)
    }

    fn confinement(&self) -> Confinement {
        let Ok(report) = &self.held else {
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
        }
    }
}

impl Inner {
    async fn call(
        self: &Arc<Self>,
        task: &ToolTask,
        progress: &dyn ProgressSink,
    ) -> Result<ToolOutput, ToolError> {
        let stop = Stop::default();
        let (inner, told, work_stop) = (Arc::clone(self), task.clone(), stop.clone());
        let (said, words) = channel();
        let work = move || inner.work(&told, &work_stop, &said);
        let started = begin(work, move || stop.stop());
        let Some(background) = started else {
            let refused = AgentError::Copy("the system refuses a thread".to_owned());
            return Err(refused.into_tool_error(0));
        };
        let done = background.await;
        tell(&words, progress);
        done
    }

    fn work(&self, task: &ToolTask, stop: &Stop, said: &Sender<Progress>) -> Result<ToolOutput, ToolError> {
        let tail = Mutex::new(Vec::new());
        let mut elapsed = 0;
        let text = self.produce(task, stop, said, &tail, &mut elapsed);
        let (text, warnings) = text.map_err(|error| error.into_tool_error(elapsed))?;
        Ok(ToolOutput {
            text,
            finish: FinishReason::Stop,
            model_id: None,
            endpoint: None,
            usage: None,
            latency_ms: elapsed,
            warnings,
        })
    }

    /// Copy, run, difference.
    fn produce(
        &self,
        task: &ToolTask,
        stop: &Stop,
        said: &Sender<Progress>,
        tail: &Mutex<Vec<u8>>,
        elapsed: &mut u64,
    ) -> Result<(String, Vec<String>), AgentError> {
        let checkout = self.copies.take().map_err(AgentError::Copy)?;
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = Scratch::new(&self.copies.folder(), &name)?;
        let borrowed = checkout
            .give_history(&scratch.changes())
            .map_err(AgentError::Copy)?;
        let words = words(task);
        let mut order = self
            .program
            .order(&self.places, &scratch, checkout.files(), &words)?;
        order.readable.extend(borrowed);
        let outlet = self.outlet(&scratch)?;
        let caps = Caps {
            time: Duration::from_secs(task.limits.timeout_seconds),
            output: MOST_OUTPUT,
        };
        let mut seen = |_stream, bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend_from_slice(bytes);
            let extra = tail.len().saturating_sub(4 * LONGEST_QUOTE);
            tail.drain(..extra);
            // Whoever listened may be gone: then the run is being stopped.
            let _ = said.send(Progress::Transcript(text));
        };
        let ended = self
            .sandbox
            .run(&order, words.into_bytes(), caps, stop, &mut seen)?;
        drop(outlet);
        *elapsed = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        if !ended.report.is_whole() {
            let missing = ended.report.missing();
            let names: Vec<&str> = missing.iter().map(|layer| layer.as_str()).collect();
            let why = format!("without {}", names.join(", "));
            return Err(agentos_sandbox::SandboxError::NotConfined(why).into());
        }
        if ended.code != 0 {
            let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(AgentError::Failed {
                program: self.program.name.clone(),
                code: ended.code,
                said: last_line(&tail),
            });
        }
        let ignored = |path: &str| checkout.is_ignored(path);
        let mut found = difference(&checkout.files(), &scratch.changes(), &ignored)?;
        if checkout.withheld() > 0 {
            found.notes.push(format!(
                "{} files were kept from the tool by policy, and with them git's history",
                checkout.withheld()
            ));
        }
        Ok((found.text, found.notes))
    }

    #[cfg(target_os = "linux")]
    fn outlet(&self, scratch: &Scratch) -> Result<Option<agentos_sandbox::Outlet>, AgentError> {
        let open = |server: &crate::Server| {
            agentos_sandbox::Outlet::open(&socket(scratch), &server.host, server.port)
                .map_err(AgentError::from)
        };
        self.program.server.as_ref().map(open).transpose()
    }

    /// Nothing is run here that could need one.
    #[cfg(not(target_os = "linux"))]
    fn outlet(&self, _scratch: &Scratch) -> Result<Option<()>, AgentError> {
        Ok(None)
    }
}

/// What a program is told: the task, and why the last try did not land.
fn words(task: &ToolTask) -> String {
    match &task.feedback {
        Some(feedback) => format!("{}\n\n{feedback}", task.instruction),
        None => task.instruction.clone(),
    }
}

fn tell(words: &Receiver<Progress>, progress: &dyn ProgressSink) {
    words.try_iter().for_each(|word| progress.progress(word));
}

/// The last line that says anything, cut.
fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let kept = line.unwrap_or_default().chars().filter(|c| !c.is_control());
    kept.take(LONGEST_QUOTE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_last_line_that_says_anything() {
        let cases = [
            ("", ""),
            ("one\ntwo\n\n  \n", "two"),
            ("a\x1b[31mred\n", "a[31mred"),
        ];
        for (text, line) in cases {
            assert_eq!(last_line(text.as_bytes()), line);
        }
    }
}

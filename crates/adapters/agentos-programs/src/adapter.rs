//! The adapter: a program in a copy and a sandbox, asked like any other tool.
//!
//! Owns: one call from copy to answer. Never: runs a program that the kernel does not hold with every layer that it
//! has.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use agentos_sandbox::{
    FinishedRun, IdentityLease, LaunchSpec, OutputStream, RunCaps, RunFolders, Sandbox, SandboxError,
    SandboxLayer, SandboxProbe, SandboxReport, StopHandle, ToolInput,
};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, DiffQuality, Enforcement, FinishReason, ProgressSink, Timestamp,
    ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use crate::acp::Client;
use crate::background::Voice;
use crate::calling::called_if_held;
use crate::checkout::{keep_if_alive, shareable};
use crate::difference::{Difference, Shown, difference};
use crate::handed::{Handed, Teller};
use crate::health;
use crate::lines::NoAnswer;
use crate::program::Hears;
use crate::quote::last_line;
use crate::refusals::LastRun;
use crate::{AgentError, Checkout, Copies, Places, Program};

/// Bytes that a program may write to its two streams.
const MOST_OUTPUT: usize = 64 << 20;
/// How long an agent may take to leave off its turn when it is told that the turn is cancelled.
const TO_LEAVE_OFF: Duration = Duration::from_secs(1);

/// A program as a tool.
pub struct Agent {
    inner: Arc<Inner>,
    /// What holds it.
    held: SandboxProbe,
}

struct Inner {
    program: Program,
    places: Places,
    sandbox: Sandbox,
    copies: Box<dyn Copies>,
    last: LastRun,
}

impl Agent {
    /// A tool out of a program. `held` is what the sandbox says when it is probed.
    #[must_use]
    pub fn new(
        program: Program,
        places: Places,
        sandbox: Sandbox,
        held: SandboxProbe,
        copies: Box<dyn Copies>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
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
        ToolCapabilities::diff_only(self.inner.program.mode, DiffQuality::High)
    }

    fn confinement(&self) -> Confinement {
        confinement(self.held.get(), &self.inner.last)
    }
}

/// What holds a program, in the words of a result.
pub(crate) fn confinement(held: &Result<SandboxReport, String>, last: &LastRun) -> Confinement {
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
        refused: last.refused(),
    }
}

/// Refuses what ran without a layer that this system has.
pub(crate) fn whole(report: &SandboxReport) -> Result<(), AgentError> {
    let lacking = report.lacking();
    if lacking.is_empty() {
        return Ok(());
    }
    let why = format!("without {}", named(&lacking));
    Err(SandboxError::NotConfined(why).into())
}

/// What this system has no layer for, in words for the result's reader.
pub(crate) fn unheld(report: &SandboxReport) -> Option<String> {
    let missing = report.missing();
    (!missing.is_empty()).then(|| format!("this system held the tool without {}", named(&missing)))
}

fn named(layers: &[SandboxLayer]) -> String {
    let names: Vec<&str> = layers.iter().map(|layer| layer.as_str()).collect();
    names.join(", ")
}

impl Inner {
    fn work(&self, task: &ToolTask, stop: &StopHandle, voice: &Voice) -> Result<ToolOutput, ToolError> {
        let mut elapsed = 0;
        let handed =
            Handed::of(&self.program, &self.places).map_err(|error| error.into_tool_error(elapsed))?;
        let call = Call {
            task,
            stop,
            voice,
            handed: &handed,
        };
        let produced = self.produce(call, &mut elapsed);
        let (found, finish) =
            produced.map_err(|error| handed.secrets.hide_in(error.into_tool_error(elapsed)))?;
        Ok(ToolOutput {
            text: found.text,
            finish,
            model_id: self.program.model.clone(),
            endpoint: None,
            usage: None,
            latency_ms: elapsed,
            warnings: found.notes.iter().map(|note| handed.secrets.hide(note)).collect(),
        })
    }

    /// Copy, run, difference.
    fn produce(&self, call: Call<'_>, elapsed: &mut u64) -> Result<(Difference, FinishReason), AgentError> {
        let lease = self.sandbox.lease_identity()?;
        let owner = lease.as_ref().map(|lease| lease.identity().tool);
        let checkout = self.copies.take(owner).map_err(AgentError::Copy)?;
        let produced = self.produce_over(checkout.as_ref(), lease, call, elapsed);
        keep_if_alive(checkout, &produced);
        produced
    }

    fn produce_over(
        &self,
        checkout: &dyn Checkout,
        lease: Option<Arc<IdentityLease>>,
        call: Call<'_>,
        elapsed: &mut u64,
    ) -> Result<(Difference, FinishReason), AgentError> {
        shareable(checkout, &self.program.shared)?;
        let (mut found, finish) = match self.in_copy(checkout, Shown::Overlaid, lease.clone(), call, elapsed)
        {
            Err(AgentError::Sandbox(SandboxError::NoOverlay(_))) => {
                let (mut found, finish) = self.in_copy(checkout, Shown::Copied, lease, call, elapsed)?;
                let told =
                    "no overlay can be mounted here: the tool worked in a whole copy, which takes longer";
                found.notes.push(told.to_owned());
                (found, finish)
            }
            done => done?,
        };
        if checkout.withheld() > 0 {
            found.notes.push(format!(
                "{} files were kept from the tool by policy, and from its git",
                checkout.withheld()
            ));
        }
        Ok((found, finish))
    }

    fn in_copy(
        &self,
        checkout: &dyn Checkout,
        shown: Shown,
        lease: Option<Arc<IdentityLease>>,
        call: Call<'_>,
        elapsed: &mut u64,
    ) -> Result<(Difference, FinishReason), AgentError> {
        let (task, handed) = (call.task, call.handed);
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = RunFolders::new(&self.copies.folder(), &name, lease)?;
        let (left, lower) = match shown {
            Shown::Overlaid => (scratch.changes(), Some(checkout.files())),
            Shown::Copied => {
                scratch.fill(&checkout.files())?;
                (scratch.copy(), None)
            }
        };
        let borrowed = checkout.give_history(&left).map_err(AgentError::Copy)?;
        let words = words(task);
        let mut order = self
            .program
            .order_in_copy(&self.places, &scratch, lower, task, &words)?;
        order.readable.extend(borrowed);
        handed.furnish(&scratch.home())?;
        let outlets = outlets(&self.program, &scratch)?;
        let caps = RunCaps {
            time: Duration::from_secs(task.limits.timeout_seconds),
            output: MOST_OUTPUT,
        };
        let done = match self.program.hears {
            Hears::Words => self.watched(&scratch, &order, words, caps, call),
            Hears::Acp => self.prompted(&scratch, &order, &words, caps, call),
        };
        // Of a run that failed as well.
        self.last.take(&scratch);
        let done = done?;
        *elapsed = u64::try_from(done.ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        whole(&done.ended.report)?;
        let unheld = unheld(&done.ended.report);
        let finish = self.judged(done)?;
        let ignored = |path: &str| checkout.is_ignored(path) || self.program.is_own(path);
        let mut found = difference(&checkout.files(), &left, shown, &ignored)?;
        if handed.secrets.are_added_by(&found.text) {
            return Err(AgentError::Secret(self.program.name.clone()));
        }
        found.notes.extend(refused(&outlets));
        found.notes.extend(unheld);
        Ok((found, finish))
    }

    /// Runs the program and tells what it writes.
    fn watched(
        &self,
        scratch: &RunFolders,
        order: &LaunchSpec,
        words: String,
        caps: RunCaps,
        call: Call<'_>,
    ) -> Result<Done, AgentError> {
        let mut teller = Teller::new(&call.handed.secrets, call.voice);
        let mut seen = |stream, bytes: &[u8]| teller.stream(stream, bytes);
        let input = ToolInput::Bytes(words.into_bytes());
        let ended = scratch.run(&self.sandbox, order, input, caps, call.stop, &mut seen);
        let tail = teller.end();
        Ok(Done {
            ended: ended?,
            last: last_line(&tail),
            said: Ok(FinishReason::Stop),
        })
    }

    /// Runs the program, prompts it over the Agent Client Protocol, and ends it when it has answered.
    fn prompted(
        &self,
        scratch: &RunFolders,
        order: &LaunchSpec,
        words: &str,
        caps: RunCaps,
        call: Call<'_>,
    ) -> Result<Done, AgentError> {
        let (say, hear) = channel();
        let mut client = Client::begin(&order.cwd, words, say);
        call.stop.ask_first(TO_LEAVE_OFF, client.cancel());
        let mut teller = Teller::new(&call.handed.secrets, call.voice);
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => {
                // Before it is read, since what is quoted of it is cut.
                let clear = teller.messages(bytes);
                client.take(&clear, &mut |progress| teller.progress(progress));
                if client.is_over() {
                    call.stop.finish();
                }
            }
            OutputStream::Err => teller.stream(stream, bytes),
        };
        let input = ToolInput::Talk(hear);
        let ended = scratch.run(&self.sandbox, order, input, caps, call.stop, &mut seen);
        let tail = teller.end();
        Ok(Done {
            ended: ended?,
            last: last_line(&tail),
            said: client.end(),
        })
    }

    /// What a program that ended so has come to.
    fn judged(&self, done: Done) -> Result<FinishReason, AgentError> {
        let program = self.program.name.clone();
        match done.said {
            Err(NoAnswer::Said(why)) => Err(AgentError::Said { program, why }),
            Ok(_) | Err(NoAnswer::Broken(_)) if done.ended.code != 0 => Err(AgentError::Failed {
                program,
                code: done.ended.code,
                said: done.last,
            }),
            Err(NoAnswer::Broken(how)) => Err(AgentError::Acp { program, how }),
            Ok(finish) => Ok(finish),
        }
    }
}

/// One call.
#[derive(Clone, Copy)]
struct Call<'a> {
    task: &'a ToolTask,
    stop: &'a StopHandle,
    voice: &'a Voice,
    handed: &'a Handed,
}

/// How a program ended, and what it said of that.
struct Done {
    ended: FinishedRun,
    /// The last line beside its answer.
    last: String,
    said: Result<FinishReason, NoAnswer>,
}

#[cfg(target_os = "linux")]
pub(crate) type Outlets = Vec<agentos_sandbox::NetworkOutlet>;
/// Nothing is run here that could need one.
#[cfg(not(target_os = "linux"))]
pub(crate) type Outlets = Vec<()>;

/// Opens a program's ways out.
#[cfg(target_os = "linux")]
pub(crate) fn outlets(program: &Program, scratch: &RunFolders) -> Result<Outlets, AgentError> {
    let ways = program.ways(scratch).into_iter();
    let open = |(forward, way): (agentos_sandbox::PortForward, agentos_sandbox::OutletRoute)| {
        agentos_sandbox::NetworkOutlet::open(&forward.socket, scratch.keeper(), way).map_err(AgentError::from)
    };
    ways.map(open).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn outlets(_program: &Program, _scratch: &RunFolders) -> Result<Outlets, AgentError> {
    Ok(Vec::new())
}

/// What a program wanted to reach and could not, in words.
#[cfg(target_os = "linux")]
pub(crate) fn refused(outlets: &Outlets) -> Vec<String> {
    let names = outlets.iter().flat_map(agentos_sandbox::NetworkOutlet::refused);
    names
        .map(|name| format!("the tool was kept from `{name}`, which is not among its profile's hosts"))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn refused(_outlets: &Outlets) -> Vec<String> {
    Vec::new()
}

/// What a program is told: the task, and why the last try did not land.
fn words(task: &ToolTask) -> String {
    match &task.feedback {
        Some(feedback) => format!("{}\n\n{feedback}", task.instruction),
        None => task.instruction.clone(),
    }
}

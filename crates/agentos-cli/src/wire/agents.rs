//! Programs as tools: which one is meant, where it gets its copy, what holds it.
//!
//! Owns: the provider `command`, and the copies that the executor makes, as the port of programs. Never: starts a
//! program by itself.

use std::path::{Path, PathBuf};

use agentos_agents::{Agent, Checkout, Copies, Places, Program};
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError, Repository as _};
use agentos_executor::{BaseCopy, Repository, Shown, Target};
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_sandbox::Sandbox;
use agentos_tool::{Constrain, EditFormat, Enforcement, ExecutionMode, Price};

use super::repository::back;
use super::session::Session;
use super::tools::Tool;
use crate::app::{App, usage};
use crate::args::land::ProgramFlags;
use crate::args::tool::ProviderFlags;
use crate::clock::SystemClock;

/// A provider that is any program, and has no profile.
pub const COMMAND: &str = "command";

/// Seconds that a program may take when nothing else is said.
const TIMEOUT: u64 = 600;

/// The tool, if a program is asked for.
///
/// # Errors
/// When the flags do not fit together.
pub fn asked(
    app: &App,
    provider: &ProviderFlags,
    flags: &ProgramFlags,
    session: &Session,
) -> Result<Option<Tool>, EffectError> {
    if provider.provider != COMMAND {
        if !flags.command.is_empty() {
            return Err(usage("a command after `--` belongs to the provider `command`"));
        }
        if !flags.readable.is_empty() {
            return Err(usage("`--read` belongs to the provider `command`"));
        }
        return Ok(None);
    }
    let Some((name, args)) = flags.command.split_first() else {
        return Err(usage("the provider `command` needs a program")
            .hint("name it after two dashes: agentos run -p command -- cargo fmt"));
    };
    let absolute = |path: &PathBuf| app.env.cwd.join(path);
    let program = Program {
        provider: COMMAND.to_owned(),
        name: name.clone(),
        args: args.to_vec(),
        env: Vec::new(),
        readable: flags.readable.iter().map(absolute).collect(),
        server: None,
        mode: ExecutionMode::Local,
    };
    made(app, program, provider.over.timeout, session).map(Some)
}

/// Refuses a tool that is not held, where that is demanded.
///
/// # Errors
/// When the kernel does not hold it.
pub fn held(tool: &Tool, flags: &ProgramFlags) -> Result<(), EffectError> {
    let confinement = tool.adapter.confinement();
    if !flags.require_sandbox || confinement.enforcement == Enforcement::Kernel {
        return Ok(());
    }
    let provider = tool.adapter.provider();
    Err(EffectError::new(
        Cause::Tool,
        "not-confined",
        format!("`{provider}` is not held back by the kernel here, and `--require-sandbox` demands it"),
    )
    .hint("leave the flag out to have the boundary observed instead; the evidence says which it was"))
}

/// The task in words: the user's own, or the command line.
pub fn task(words: Option<&str>, flags: &ProgramFlags) -> String {
    match words {
        Some(words) => words.to_owned(),
        None => flags.command.join(" "),
    }
}

fn made(app: &App, program: Program, timeout: Option<u64>, session: &Session) -> Result<Tool, EffectError> {
    let helper = std::env::current_exe().map_err(|error| {
        EffectError::new(
            Cause::Internal,
            "helper",
            format!("cannot find this program's own file: {error}"),
        )
    })?;
    let sandbox = Sandbox::new(helper);
    // What holds a program is known before it is asked: policy may depend on it.
    let held = sandbox.probe().map_err(|error| error.to_string());
    let copies = ExecutorCopies::new(session, &program, held.is_ok())?;
    Ok(Tool {
        adapter: Box::new(Agent::new(program, places(app), sandbox, held, Box::new(copies))),
        model: None,
        price: Price::default(),
        timeout_seconds: timeout.unwrap_or(TIMEOUT),
        edit_format: EditFormat::default(),
        constrain: Constrain::Off,
        notices: Vec::new(),
        key: None,
    })
}

/// Where programs lie, as the user's environment says.
fn places(app: &App) -> Places {
    let path = app.env.get("PATH").unwrap_or_default();
    let folders = path.split(':').map(PathBuf::from);
    Places {
        path: folders.filter(|folder| folder.is_absolute()).collect(),
        home: app.env.home(),
        rustup_home: app.env.get("RUSTUP_HOME").map(PathBuf::from),
    }
}

/// Copies made by the executor, without the files that policy keeps from the tool.
struct ExecutorCopies {
    place: PathBuf,
    target: Target,
    folder: PathBuf,
    policy: PolicySet,
    tool: ToolFacts,
}

impl ExecutorCopies {
    fn new(session: &Session, program: &Program, held: bool) -> Result<Self, EffectError> {
        let target = session.port().target()?;
        let policy = session.port().policy(&target)?;
        Ok(Self {
            place: session.work_dir().to_owned(),
            target: back(&target),
            folder: session.repo().copies_dir(),
            policy: policy.set.clone(),
            tool: ToolFacts {
                provider: program.provider.clone(),
                model: None,
                execution_mode: program.mode,
                enforcement: if held {
                    Enforcement::Kernel
                } else {
                    Enforcement::Observed
                },
                attempt: 1,
                at: SystemClock.now(),
                // How much of the copy a program reads is not known.
                context_bytes: 0,
                target_ref: Some(target.refname),
            },
        })
    }
}

impl Copies for ExecutorCopies {
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    fn take(&self) -> Result<Box<dyn Checkout>, String> {
        let repo = Repository::discover(&self.place).map_err(|error| error.to_string())?;
        let reading = self.policy.reading(&self.tool);
        let shown = Shown {
            key: &reading.key(),
            may: &|path, content| reading.effect(path, content) == Effect::Allow,
        };
        let copy = repo
            .copy(&self.target, agentos_sandbox::tool_user(), &shown)
            .map_err(|error| error.to_string())?;
        Ok(Box::new(Lent(copy)))
    }
}

/// The executor's copy as the port of programs.
struct Lent(BaseCopy);

impl Checkout for Lent {
    fn files(&self) -> PathBuf {
        self.0.files()
    }

    fn withheld(&self) -> usize {
        self.0.withheld().len()
    }

    fn is_ignored(&self, path: &str) -> bool {
        self.0.is_ignored(path)
    }

    fn give_history(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let borrows = self.0.give_history(folder).map_err(|error| error.to_string())?;
        Ok(borrows.then(|| self.0.objects().to_owned()).into_iter().collect())
    }
}

//! Gives programs the copies that they work in. The executor makes the copies, because it alone reads git.
//!
//! Owns: the choice of the commit, the folder and the files of a copy. Never: shows a file that policy withholds from the
//! tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_engine::ports::{Clock, EffectError, Repository as _, TargetInfo};
use agentos_executor::{BaseCopy, CopyFolder, Repository, ShownFiles, Target};
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_programs::{Checkout, Copies, Program};
use agentos_sandbox::SandboxProbe;
use agentos_tool::{Enforcement, ProgramView};

use crate::session::Session;
use agentos_ground::clock::SystemClock;
use agentos_ground::repository::to_exec_target;

/// Copies for a program that is only checked and never run.
pub(crate) struct NoCopies;

impl Copies for NoCopies {
    fn folder(&self) -> PathBuf {
        PathBuf::new()
    }

    fn take(&self, _owner: Option<u32>) -> Result<Box<dyn Checkout>, String> {
        Err("the program was only checked, not run".to_owned())
    }
}

/// Copies made by the executor, without the files that policy withholds from the tool.
#[derive(Clone)]
pub struct ExecutorCopies {
    place: PathBuf,
    target: Target,
    folder: Arc<CopyFolder>,
    policy: PolicySet,
    /// Facts about the tool for policy. Their `enforcement` is a placeholder until the probe has ended.
    tool: ToolFacts,
    /// Probe that runs in the background and shows whether this machine can confine the program.
    probe: SandboxProbe,
}

impl ExecutorCopies {
    /// Prepares the copies of the base for a program. `probe` says whether this machine can confine it.
    ///
    /// # Errors
    /// If the target or its policy cannot be read.
    pub fn new(session: &Session, program: &Program, probe: SandboxProbe) -> Result<Self, EffectError> {
        let target = session.port().target()?;
        let policy = session.port().policy(&target)?;
        Ok(Self {
            place: session.work_dir().to_owned(),
            target: to_exec_target(&target),
            folder: session.open_copies()?,
            policy: policy.set.clone(),
            tool: ToolFacts {
                provider: program.provider.clone(),
                model: None,
                execution_mode: program.mode,
                enforcement: Enforcement::Observed,
                attempt: 1,
                at: SystemClock.now(),
                // Unknown: the program reads files of the copy by itself.
                context_bytes: 0,
                target_ref: Some(target.refname),
                checked: false,
            },
            probe,
        })
    }
}

impl ExecutorCopies {
    /// Returns copies without the files that policy withholds from this tool.
    pub fn for_tool(&self, tool: &ToolFacts) -> Self {
        let mut copies = self.clone();
        copies.tool.provider.clone_from(&tool.provider);
        copies.tool.model.clone_from(&tool.model);
        copies.tool.execution_mode = tool.execution_mode;
        copies
    }

    /// Returns copies of another commit, with the same policy.
    pub fn for_target(&self, target: &TargetInfo) -> Self {
        Self {
            target: to_exec_target(target),
            ..self.clone()
        }
    }
}

impl Copies for ExecutorCopies {
    fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn take(&self, owner: Option<u32>) -> Result<Box<dyn Checkout>, String> {
        // The repository is opened again, because these copies are shared between threads and an open repository cannot be.
        let repo = Repository::discover(&self.place).map_err(|error| error.to_string())?;
        // Waits for the probe if it has not ended. Policy may withhold files from a tool that is only observed.
        let enforcement = if self.probe.is_whole() {
            Enforcement::Kernel
        } else {
            Enforcement::Observed
        };
        let tool = ToolFacts {
            enforcement,
            ..self.tool.clone()
        };
        let reading = self.policy.read_policy(&tool);
        let shown = ShownFiles {
            // An earlier copy is used again only if it was made with the same key: policy then shows the same files.
            key: &reading.cache_key(),
            may: &|path, content| reading.read_effect(path, content) == Effect::Allow,
        };
        let copy = repo
            .copy(&self.folder, &self.target, owner, &shown)
            .map_err(|error| error.to_string())?;
        Ok(Box::new(ExecutorCopy {
            copy,
            target: self.target.clone(),
        }))
    }
}

/// Implements [`Checkout`] for the executor's copy.
struct ExecutorCopy {
    copy: BaseCopy,
    /// The commit whose files it holds.
    target: Target,
}

impl Checkout for ExecutorCopy {
    fn files(&self) -> PathBuf {
        self.copy.files()
    }

    fn view(&self) -> ProgramView {
        ProgramView {
            commit: self.target.base_commit.clone(),
            tree: self.target.base_tree.clone(),
            withheld: self.copy.withheld().to_vec(),
        }
    }

    fn is_ignored(&self, path: &str) -> bool {
        self.copy.is_ignored(path)
    }

    fn give_history(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        self.copy
            .give_history(folder)
            .map_err(|error| error.to_string())?;
        Ok(vec![self.copy.objects()])
    }
}

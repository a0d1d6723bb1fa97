//! `--run-hooks`: the repository's own hooks before a commit, in the sandbox.
//!
//! | hook | runs | why |
//! |---|---|---|
//! | `pre-commit` | yes | checks the files of the commit |
//! | `commit-msg` | yes | checks the message |
//! | `prepare-commit-msg` | no | writes the message, and what a hook writes is not taken |
//! | `post-commit`, `reference-transaction` and others | no | act on the repository, which a hook cannot reach |
//! | `pre-push` | no | nothing is pushed |
//!
//! A hook sees a copy with the change, staged in a git directory of its own that has one commit. It is at the path where git
//! would run it, so that `dirname "$0"` and links lead where its author meant:
//!
//! | git's folder of hooks | a hook sees |
//! |---|---|
//! | `.git/hooks` | the folder, at the same path |
//! | committed, such as `.githooks` | the files of the commit and of the change |
//! | in the working tree and ignored, such as `.husky/_` | the folder, at the same path |
//! | elsewhere | the folder, at its own path |
//!
//! Owns: which hooks run, on what, and where they are seen. Never: runs a hook because a repository's configuration says so, gives
//! one a network or a key, or takes what it writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::{Activity, Notice, RunOption};
use agentos_engine::Tried;
use agentos_engine::ports::{CommitHooks, EffectError, HookResult, HookedCommit, TargetInfo};
use agentos_executor::{FoundHooks, Repository, preview_message};
use agentos_landing::Base;
use agentos_programs::{
    CandidateFile, FolderView, Places, Trial, TrialResult, UnshownPlace, ViewFallback, ViewPlace,
};
use agentos_sandbox::Sandbox;
use agentos_tool::{BoxFuture, NoProgress};

use crate::check::{refuse_unconfined, to_candidate_files, to_check_error};
use agentos_ground::Ground;
use agentos_ground::control::StopFlag;
use agentos_ground::error::repo_error;
use agentos_ground::files::read_file;
use agentos_ground::mails::name_author;
use agentos_ground::options::HookRule;
use agentos_ground::options::SessionOptions;
use agentos_providers::Providers;
use agentos_providers::approver::Approver;
use agentos_providers::check_needs::{
    CheckNeeds, CheckSurroundings, UnshownRemedy, add_view, find_needs, unshown_notice,
};
use agentos_providers::check_presets::has_folder;
use agentos_providers::programs::{self, ExecutorCopies};
use agentos_providers::session::Session;
use agentos_tool::RunId;

/// Hooks that run, in git's order.
const HOOKS: [&str; 2] = ["pre-commit", "commit-msg"];
/// File with the message, as git names it for its hooks.
const MESSAGE_FILE: &str = ".git/COMMIT_EDITMSG";
/// Most bytes of a hook that are searched for the programs that it needs.
const LONGEST_HOOK: u64 = 1 << 20;
/// File with the paths of the change, for staging it.
const PATHS_FILE: &str = ".git/agentos-paths";

/// Opens the repository, its tape, and its commit hooks.
///
/// # Errors
/// If there is no repository, its evidence cannot be opened, or its hooks cannot be confined.
pub(crate) fn open_session(
    ground: &Ground,
    options: &SessionOptions,
    approver: Approver,
    stop: StopFlag,
    run: &RunId,
) -> Result<Session, EffectError> {
    let mut session = Session::open(ground, options, approver, stop, run)?;
    if let Some(hooks) = HookRunner::prepare_hooks(ground, &session, options.hooks)? {
        session.set_hooks(hooks);
    }
    Ok(session)
}

/// The hooks of a repository, ready to run.
pub(crate) struct HookRunner {
    ground: Ground,
    found: FoundHooks,
    sandbox: Sandbox,
    copies: ExecutorCopies,
    work_dir: PathBuf,
    time: Duration,
}

impl HookRunner {
    /// Prepares the hooks of a run. `None` if they are not to run, or there is none.
    ///
    /// # Errors
    /// If the kernel cannot confine them, or the user's settings cannot be read.
    fn prepare_hooks(
        ground: &Ground,
        session: &Session,
        rule: HookRule,
    ) -> Result<Option<Self>, EffectError> {
        let runs = match rule {
            HookRule::Skip => false,
            HookRule::Run => true,
            HookRule::Usual => Providers::of(ground).read_settings()?.runs_hooks(),
        };
        // A change that is only judged is not committed.
        if !runs || session.options().look_only {
            return Ok(None);
        }
        let found = session.repo().find_hooks(&HOOKS);
        for name in &found.skipped {
            let message = format!("the hook `{name}` is not executable, and git would not run it either");
            ground.notify(Notice::new("hook-skipped", message));
        }
        if found.active.is_empty() {
            if rule == HookRule::Run {
                ground.notify(Notice::new(
                    "no-hooks",
                    "the repository has no hook that runs before a commit",
                ));
            }
            return Ok(None);
        }
        let (sandbox, held) = programs::start_sandbox(ground, programs::ToolUse::Run)?;
        refuse_unconfined(&found.active.join("`, `"), &held, RunOption::Hooks)?;
        let copies = ExecutorCopies::new(session, &Trial::program(), held)?;
        let seconds = Providers::of(ground)
            .read_settings()?
            .number_or_usual("check_timeout");
        Ok(Some(Self {
            ground: ground.clone(),
            found,
            sandbox,
            copies,
            work_dir: session.work_dir().to_owned(),
            time: Duration::from_secs(seconds),
        }))
    }

    /// Makes the trials of the hooks, each with its name and its command.
    ///
    /// # Errors
    /// If the base cannot be read.
    fn make_trials(
        &self,
        target: &TargetInfo,
        commit: &HookedCommit<'_>,
    ) -> Result<Vec<(&'static str, String, Trial)>, EffectError> {
        let repo = Repository::discover(&self.work_dir).map_err(|error| repo_error(&error))?;
        let base = repo.base(&agentos_ground::repository::to_exec_target(target));
        let base = base.map_err(|error| repo_error(&error))?;
        let place = HookPlace::find(&self.found.folder, &repo, &self.work_dir, &base);
        let authors = self.author_variables(&repo, commit);
        let mut unshown = Vec::new();
        let make = |hook: &&'static str| {
            let trial = self.make_trial(hook, &target.refname, &base, &place, &authors, &mut unshown);
            (*hook, place.command(hook), trial)
        };
        let trials = self.found.active.iter().map(make).collect();
        if let Some(notice) = unshown_notice(self.ground.environment(), &unshown, UnshownRemedy::SearchPath) {
            self.ground.notify(notice);
        }
        Ok(trials)
    }

    /// Makes the trial of one hook. Adds to `unshown` what it does not see because only the repository names it.
    fn make_trial(
        &self,
        hook: &str,
        refname: &str,
        base: &dyn Base,
        place: &HookPlace,
        authors: &[(String, String)],
        unshown: &mut Vec<UnshownPlace>,
    ) -> Trial {
        let mut places = programs::program_places(&self.ground);
        let around = CheckSurroundings {
            environment: self.ground.environment(),
            places: &places,
            work_dir: &self.work_dir,
            base,
        };
        let command = place.command(hook);
        // A hook may start anything, so its needs are those of the project.
        let mut needs = find_needs(&command, &around);
        let file = self.found.folder.join(hook);
        if let Ok(text) = read_file(self.ground.environment(), &file, LONGEST_HOOK) {
            around.add_pre_commit(&mut needs, &String::from_utf8_lossy(&text));
        }
        place.show(&self.found, &places, &mut needs);
        // A link of `.git/hooks` often leads to a script elsewhere, and an archive can contain such a link.
        if file.is_symlink() {
            let script = if self.found.is_named_by_user {
                places.follow_own(&file)
            } else {
                places.find_if_known(&file)
            };
            match script {
                Ok(script) => needs.readable.push(script),
                Err(place) => needs.unshown.push(place),
            }
        }
        unshown.append(&mut needs.unshown);
        let mut program = Trial::program();
        program.readable = needs.readable;
        program.env = needs.env;
        program.env.extend_from_slice(authors);
        places.path.splice(0..0, needs.path_first);
        let line = shell_line(refname, &command, hook);
        let trial = Trial::new(program, places, self.sandbox.clone(), &line, self.time);
        trial.with_views(needs.views, needs.freshens).watch_files()
    }

    /// Returns the variables that git sets for a hook of `git commit`.
    fn author_variables(&self, repo: &Repository, commit: &HookedCommit<'_>) -> Vec<(String, String)> {
        let mut all = vec![("GIT_EDITOR".to_owned(), ":".to_owned())];
        // A landing without an author is refused elsewhere, with its reason.
        if let Ok(by) = repo.authorship(&self.ground.environment().git_identity()) {
            let by = match commit.author {
                Some(author) => name_author(by, author),
                None => by,
            };
            for (role, who) in [("AUTHOR", &by.author), ("COMMITTER", &by.committer)] {
                all.push((format!("GIT_{role}_NAME"), who.name.clone()));
                all.push((format!("GIT_{role}_EMAIL"), who.email.clone()));
            }
        }
        all
    }
}

impl CommitHooks for HookRunner {
    fn run_hooks<'a>(
        &'a self,
        target: &'a TargetInfo,
        commit: HookedCommit<'a>,
    ) -> BoxFuture<'a, Result<Vec<HookResult>, EffectError>> {
        let trials = self.make_trials(target, &commit);
        let files = list_files(&commit);
        let name = format!("{}.{}", commit.run, commit.attempt);
        let copies = self.copies.for_target(target).for_tool(commit.tool);
        Box::pin(async move {
            self.ground.observer().on_activity(Activity::RunningHooks);
            let mut results = Vec::new();
            for (hook, command, trial) in trials? {
                let copies = Box::new(copies.clone());
                let name = format!("{name}.{hook}");
                let ended = trial.run(&name, copies, files.clone(), &NoProgress).await;
                let ended = ended.map_err(|error| to_check_error(&error))?;
                let result = to_hook_result(hook, command, ended);
                let is_rejected = !result.tried.passed;
                results.push(result);
                if is_rejected {
                    break;
                }
            }
            Ok(results)
        })
    }
}

fn to_hook_result(hook: &str, command: String, ended: TrialResult) -> HookResult {
    let changes_message = ended.changed.iter().any(|path| path == MESSAGE_FILE);
    HookResult {
        hook: hook.to_owned(),
        tried: Tried {
            command,
            passed: ended.code == Some(0) && ended.changed.is_empty(),
            code: ended.code,
            said: ended.said,
            elapsed_ms: ended.elapsed_ms,
            layers: ended.layers,
        },
        changed: ended.changed,
        changes_message,
    }
}

/// Lists the files of the copy: those of the change, its paths, and the message.
fn list_files(commit: &HookedCommit<'_>) -> Vec<CandidateFile> {
    let mut files = to_candidate_files(commit.change);
    let mut paths = Vec::new();
    for file in &files {
        paths.extend_from_slice(file.path.as_bytes());
        paths.push(0);
    }
    let message = preview_message(
        commit.message,
        commit.trailers,
        commit.run.as_str(),
        commit.change,
    );
    for (path, content) in [(PATHS_FILE, paths), (MESSAGE_FILE, message.into_bytes())] {
        files.push(CandidateFile {
            path: path.to_owned(),
            content: Some(content),
            executable: false,
        });
    }
    files
}

/// Returns the line for the shell: the copy gets the branch's name, the change is staged, and the hook runs.
fn shell_line(refname: &str, command: &str, hook: &str) -> String {
    let branch = quote_word(refname.trim_start_matches("refs/heads/"));
    let argument = if hook == "commit-msg" {
        " .git/COMMIT_EDITMSG"
    } else {
        ""
    };
    // A file that policy withholds is not in the index, and its deletion then has no path to stage.
    format!(
        "{{ git branch -M {branch}; \
           GIT_LITERAL_PATHSPECS=1 git add -A -f --pathspec-from-file={PATHS_FILE} --pathspec-file-nul || git add -A; \
           git update-index -q --refresh; }} >/dev/null 2>&1; {}{argument}",
        quote_word(command)
    )
}

/// Quotes a word for the shell.
fn quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The place of the hooks in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HookPlace {
    /// The git directory of the copy.
    GitDir,
    /// A folder of the commit.
    Committed(String),
    /// A folder of the working tree that is not committed.
    WorkTree(String),
    /// The folder itself, at its own path.
    Outside(PathBuf),
}

impl HookPlace {
    /// Finds the place of a folder of hooks.
    fn find(folder: &Path, repo: &Repository, work_dir: &Path, base: &dyn Base) -> Self {
        let common = repo.common_dir().canonicalize();
        if common.is_ok_and(|common| common.join("hooks") == folder) {
            return Self::GitDir;
        }
        let top = work_dir.canonicalize().unwrap_or_else(|_| work_dir.to_owned());
        let Some(inside) = folder.strip_prefix(&top).ok().and_then(Path::to_str) else {
            return Self::Outside(folder.to_owned());
        };
        if has_folder(base, inside) {
            Self::Committed(inside.to_owned())
        } else if inside.is_empty() {
            Self::Outside(folder.to_owned())
        } else {
            Self::WorkTree(inside.to_owned())
        }
    }

    /// Returns the path by which a hook is started.
    fn command(&self, hook: &str) -> String {
        match self {
            Self::GitDir => format!(".git/hooks/{hook}"),
            Self::Committed(folder) | Self::WorkTree(folder) => format!("./{folder}/{hook}"),
            Self::Outside(folder) => folder.join(hook).display().to_string(),
        }
    }

    /// Shows the folder to the hook.
    fn show(&self, found: &FoundHooks, places: &Places, needs: &mut CheckNeeds) {
        let folder = &found.folder;
        match self {
            Self::GitDir => needs.views.push(FolderView {
                from: folder.to_owned(),
                place: ViewPlace::GitDir("hooks".to_owned()),
                fallback: ViewFallback::Share,
            }),
            Self::Committed(_) => {}
            Self::WorkTree(name) => {
                add_view(
                    needs,
                    folder.to_owned(),
                    ViewPlace::Copy(name.clone()),
                    ViewFallback::Share,
                );
            }
            Self::Outside(_) if found.is_named_by_user => needs.readable.push(folder.to_owned()),
            // `core.hooksPath` of the repository's own configuration, or a link in its git directory.
            Self::Outside(_) => match places.folder_if_known(folder) {
                Ok(folder) => needs.readable.push(folder),
                Err(place) => needs.unshown.push(place),
            },
        }
    }
}

//! `agentos` without a verb: the repository, its active rules, and possible next steps.
//!
//! Owns: the sources of the status, all of them local: no network, no keyring. Never: writes, finishes a landing, or
//! creates the folder of evidence.

use agentos_api::{NextStep, Obstacle, PolicyFileStatus, ProposedStep, ProviderStatus, RepositoryStatus};
use agentos_engine::open_requests;
use agentos_engine::ports::{EffectError, Repository as _};
use agentos_evidence::{RunSummary, Store};
use agentos_executor::{Repository, TargetSpec};
use agentos_policy::LayerPreset;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Stories;
use agentos_calls::machine::MachineReport;
use agentos_ground::Ground;
use agentos_ground::error::repo_error;
use agentos_ground::options::ProviderOverrides;
use agentos_ground::repository::{self, exec_error};
use agentos_ground::repository_port::RepositoryPort;
use agentos_ground::run_ref::find_newest;
use agentos_ground::tape::{TapeReader, evidence_error};
use agentos_ground::{clock, policy};
use agentos_providers::Providers;
use agentos_providers::settings::DefaultProvider;
use agentos_providers::tools::Tools;

/// The output of `agentos --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The current repository. `None` outside of one.
    pub repository: Option<RepositoryStatus>,
    /// The active rules. `None` outside of a repository.
    pub policy: Option<PolicyStatus>,
    /// The providers with a profile of the user's own or of the repository, or with a key in the environment.
    pub providers: Vec<ProviderStatus>,
    /// The provider of tasks that name none. `None` if the user has chosen none.
    pub default_provider: Option<DefaultProvider>,
    /// The reason why the settings cannot be used. `None` if they can.
    pub settings_obstacle: Option<Obstacle>,
    /// The newest run. `None` if there are no runs.
    pub last_run: Option<RunSummary>,
    /// Number of runs that wait for a person.
    pub waiting: usize,
    /// The machine, with the models that its servers have loaded. `None` for `agentos` without a verb, which contacts no server.
    pub machine: Option<MachineReport>,
    /// Possible next steps, the most useful first.
    pub next: Vec<ProposedStep>,
}

/// The active rules.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyStatus {
    /// Number of rules; 0 if they cannot be read.
    pub rules: usize,
    /// The layers that must each allow a change, with their presets.
    pub stands: Vec<LayerPreset>,
    /// The files that contain them, besides the built-in rules.
    pub files: Vec<PolicyFileStatus>,
    /// True if the working tree has rules that become active once they are committed.
    pub uncommitted: bool,
    /// The reason why they cannot be used, so that nothing may land. `None` if they can.
    pub obstacle: Option<Obstacle>,
}

impl Stories<'_> {
    /// Reports the repository, its active rules and possible next steps. Contacts no server and no keyring, and writes nothing.
    ///
    /// # Errors
    /// If the named repository cannot be used, or its evidence cannot be read.
    pub fn read_status(self) -> Result<StatusReport, EffectError> {
        let repo = match repository::open(self.ground) {
            Ok(repo) => Some(repo),
            // Unless the caller named a repository, being outside of one is no failure.
            Err(error) if error.code == "not-a-repository" && self.ground.named_repository().is_none() => {
                None
            }
            Err(error) => return Err(error),
        };
        let mut report = StatusReport {
            version: 1,
            repository: None,
            policy: None,
            providers: Vec::new(),
            default_provider: None,
            settings_obstacle: None,
            last_run: None,
            waiting: 0,
            machine: None,
            next: Vec::new(),
        };
        // A mistake in the settings must not hide the state of the repository.
        match Providers::of(self.ground).read_settings() {
            Ok(settings) => report.default_provider = settings.default_provider(),
            Err(error) => report.settings_obstacle = Some(obstacle_of(&error)),
        }
        let default = report.default_provider.as_ref();
        let default = default.map(|chosen| chosen.provider.as_str());
        report.providers = known_providers(self.ground, repo.as_ref(), default)?;
        if let Some(repo) = repo {
            report.repository = Some(of_repository(&repo));
            let dir = repo.state_dir();
            // The first run makes the folder. A command that only reports must not.
            if dir.is_dir() {
                let store = Store::open(&dir).map_err(|error| evidence_error(&error))?;
                report.last_run = find_newest(&store)?;
                report.waiting = open_requests::list_open(&TapeReader(&store), &clock::now())?.len();
            }
            // Last, because reading the policy takes the repository as its own.
            report.policy = Some(of_policy(self.ground, repo));
        }
        report.next = next(&report);
        Ok(report)
    }
}

/// Returns the status of a repository.
fn of_repository(repo: &Repository) -> RepositoryStatus {
    let head = repo.resolve(&TargetSpec::AtHead);
    let landing = repo.resolve(&TargetSpec::CurrentBranch);
    let unfinished = repo.unfinished();
    let obstacle = match (&unfinished, &landing) {
        // First: an interrupted landing is recovered before any other can begin.
        (Err(error), _) => Some(obstacle_of(&exec_error(error))),
        (Ok(_), Err(error)) => Some(obstacle_of(&repo_error(error))),
        (Ok(_), Ok(_)) => None,
    };
    let branch = head.as_ref().ok().and_then(|target| {
        let name = target.refname.strip_prefix("refs/heads/")?;
        Some(name.to_owned())
    });
    RepositoryStatus {
        path: repository_path(repo),
        bare: repo.is_bare(),
        branch,
        commit: head
            .ok()
            .filter(|target| !target.is_unborn())
            .map(|target| target.base_commit),
        obstacle,
        unfinished: unfinished.ok().flatten(),
    }
}

/// Returns the path of the working tree, or of a bare repository, without the last slash.
pub(crate) fn repository_path(repo: &Repository) -> String {
    let place = repo
        .work_dir()
        .unwrap_or_else(|| repo.common_dir())
        .display()
        .to_string();
    // libgit2 ends the path of a working tree with a slash.
    match place.trim_end_matches('/') {
        "" => place,
        trimmed => trimmed.to_owned(),
    }
}

/// Makes an obstacle from an error.
fn obstacle_of(error: &EffectError) -> Obstacle {
    Obstacle {
        code: error.code.clone(),
        message: error.message.clone(),
        hint: error.hint.clone(),
        next: error.next.clone(),
    }
}

/// Returns the status of the rules by which a landing on HEAD would be judged.
pub(crate) fn of_policy(ground: &Ground, repo: Repository) -> PolicyStatus {
    let mut status = PolicyStatus {
        rules: 0,
        stands: Vec::new(),
        files: Vec::new(),
        uncommitted: false,
        obstacle: None,
    };
    if let Err(error) = fill_policy(ground, repo, &mut status) {
        status.obstacle = Some(obstacle_of(&error));
    }
    status
}

/// Fills in the rules and their files.
fn fill_policy(ground: &Ground, repo: Repository, status: &mut PolicyStatus) -> Result<(), EffectError> {
    let layers = policy::outer_layers(ground, &[])?;
    let mut files: Vec<PolicyFileStatus> = layers
        .iter()
        .map(|source| PolicyFileStatus {
            layer: source.layer.as_str().to_owned(),
            name: source.name.clone(),
        })
        .collect();
    let target = repo
        .resolve(&TargetSpec::AtHead)
        .map_err(|error| repo_error(&error))?;
    let own = repo.policy_files(&target).map_err(|error| repo_error(&error))?;
    files.extend(own.into_iter().map(|(name, _)| PolicyFileStatus {
        layer: agentos_policy::Layer::Repository.as_str().to_owned(),
        name,
    }));
    let in_work_tree = match repo.work_dir() {
        Some(dir) => {
            policy::rule_files(ground.environment(), &dir.join(".agentos/policy"))?.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let is_committed = |file: &std::path::PathBuf| {
        let known = files.iter().map(|known| std::path::Path::new(&known.name));
        // `ends_with` compares whole components: one path is absolute, and the one in the commit is relative.
        known.into_iter().any(|known| file.ends_with(known))
    };
    status.uncommitted = !in_work_tree.iter().all(is_committed);
    // Set before the rules are loaded: if that fails, the list shows which files may be wrong.
    status.files = files;
    let port = RepositoryPort::new(ground, repo, TargetSpec::AtHead, layers);
    let policy = port.policy(&repository::to_target_info(&target))?;
    status.rules = policy.set.rules().len();
    status.stands = policy.set.layer_presets().to_vec();
    Ok(())
}

/// Lists the providers that are set up, without asking a keyring, which could take seconds, or a server. `default` is the
/// provider for a task that names none.
fn known_providers(
    ground: &Ground,
    repo: Option<&Repository>,
    default: Option<&str>,
) -> Result<Vec<ProviderStatus>, EffectError> {
    let tools = Tools::read(ground, repo.and_then(|repo| repo.work_dir()))?;
    let mut known = Vec::new();
    for provider in tools.profiled_names() {
        // Built-in providers that nobody set up would only lengthen the list.
        let Some(from) = tools.set_up_by(ground, provider, default) else {
            continue;
        };
        let resolved = tools.resolve_profile(ground, provider, &ProviderOverrides::default());
        let profile = resolved.as_ref().ok().map(|resolved| &resolved.profile);
        known.push(ProviderStatus {
            provider: provider.to_owned(),
            endpoint: profile
                .and_then(|profile| profile.base_url.as_ref())
                .map(|url| url.endpoint().to_string()),
            model: profile.and_then(|profile| profile.model.clone()),
            known_from: from,
            problem: resolved.as_ref().err().map(|error| error.message.clone()),
        });
    }
    Ok(known)
}

/// Returns the next steps: obstacles first, then unfinished work, then new work.
fn next(report: &StatusReport) -> Vec<ProposedStep> {
    let mut steps = Vec::new();
    let mut step = |action: NextStep, why: &str| {
        steps.push(ProposedStep {
            action,
            command: String::new(),
            why: why.to_owned(),
        });
    };
    let Some(repository) = &report.repository else {
        step(
            NextStep::StartDemo,
            "see the path of a change from task to commit, without model, key or network",
        );
        step(NextStep::CheckHealth, "see which providers answer");
        return steps;
    };
    if repository.unfinished.is_some() {
        step(NextStep::Recover, "finish or roll back the interrupted landing");
    }
    if repository.obstacle.is_some()
        || report
            .policy
            .as_ref()
            .is_some_and(|policy| policy.obstacle.is_some())
    {
        step(NextStep::Diagnose, "see what is wrong, and how to fix it");
    }
    if report.waiting > 0 {
        step(NextStep::ListRequests, "see what waits for a person");
    }
    let begun = report.policy.as_ref().is_some_and(|policy| {
        let mut files = policy.files.iter();
        policy.uncommitted || files.any(|file| file.layer == "repository")
    });
    if report.policy.as_ref().is_some_and(|policy| policy.uncommitted) {
        let command = "git commit .agentos".to_owned();
        step(
            NextStep::RunGit { command },
            "make the rules of the working tree active",
        );
    }
    if !begun {
        step(NextStep::InitRepository, "begin with a policy");
    }
    let mut usable = report.providers.iter().filter(|known| known.problem.is_none());
    match (&report.default_provider, usable.next()) {
        (Some(_), _) => step(NextStep::RunDefault, "ask for a change and land it"),
        (None, Some(known)) => {
            let provider = Some(known.provider.clone());
            step(
                NextStep::RunTask {
                    provider: provider.clone(),
                },
                "ask for a change and land it",
            );
            step(
                NextStep::SetDefaultProvider { provider },
                "use this provider whenever none is named",
            );
        }
        (None, None) => step(NextStep::CheckHealth, "see which providers answer"),
    }
    step(NextStep::LandDiff, "land a diff, or a model's whole reply");
    if let Some(last) = &report.last_run {
        let run = last.run.clone();
        step(NextStep::ShowRun { run }, "read the last run step by step");
    }
    if report.last_run.as_ref().is_some_and(|run| run.commit.is_some()) {
        step(NextStep::UndoRun, "undo the last landed run");
    }
    steps
}

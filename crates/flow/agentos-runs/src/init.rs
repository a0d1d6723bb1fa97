//! `agentos init`: proposes a policy, and names a provider that was found.
//!
//! Owns: the search and the proposal. Never: writes by itself (the proposal is judged and landed like every change, so
//! policy asks about it), overwrites a file, or reads a key: only the names of variables.

use std::path::Path;

use agentos_api::{FoundKey, FoundServer, ProposedFile};
use agentos_engine::Outcome;
use agentos_engine::ports::EffectError;
use agentos_executor::{Repository, TargetSpec};
use agentos_landing::Base;
use agentos_net::HttpUrl;
use agentos_policy::Preset;
use agentos_tool::{HealthStatus, ToolHealth};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Runs;
use crate::rules::preset_file;
use crate::run::{ConsentMode, RunSpec, RunWork};
use agentos_calls::health;
use agentos_ground::Ground;
use agentos_ground::answer_spec::AnswerSpec;
use agentos_ground::environment::Environment;
use agentos_ground::error::repo_error;
use agentos_ground::keys;
use agentos_ground::options::{ProviderOverrides, SessionOptions};
use agentos_ground::policy::{self, POLICY_DIR};
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::repository;
use agentos_providers::tools::Tools;

/// The output of `agentos init --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InitReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Servers on this machine that answer.
    pub servers: Vec<FoundServer>,
    /// Keys in the environment, by the names of their variables.
    pub keys: Vec<FoundKey>,
    /// Files to write.
    pub files: Vec<ProposedFile>,
    /// Provider that was chosen, as in `vllm` or `vllm/tiny-coder`. `None` if there is none.
    pub provider: Option<String>,
    /// Files that exist already and stay as they are.
    pub kept: Vec<String>,
    /// The outcome of the landing. `None` if nothing was to be written, or the proposal was only printed.
    pub outcome: Option<Outcome>,
}

/// The order to propose a policy and a provider.
#[derive(Debug, Clone)]
pub struct InitSpec {
    /// The policy that is proposed.
    pub preset: Preset,
    /// The provider that is proposed. `None` means one that is found on the machine.
    pub provider: Option<String>,
    /// True if no server is contacted.
    pub is_offline: bool,
}

impl Runs<'_> {
    /// Searches the machine and proposes a policy and a provider. Writes nothing.
    ///
    /// # Errors
    /// If there is no repository, or no such provider.
    pub fn propose_init(self, spec: &InitSpec) -> Result<InitReport, EffectError> {
        let repo = repository::open(self.ground)?;
        propose_files(self.ground, spec, &repo)
    }
}

/// Makes the run that writes proposed files into index and working tree. They are a diff, which is judged and landed like
/// every change.
#[must_use]
pub fn init_run(files: &[ProposedFile], consent: ConsentMode) -> RunSpec {
    let instruction = "Begin with a policy".to_owned();
    let session = SessionOptions {
        no_commit: true,
        ..SessionOptions::default()
    };
    let answer = AnswerSpec {
        verb: "init".to_owned(),
        answer: files.iter().map(new_file).collect::<String>().into_bytes(),
        message: Some(instruction.clone()),
        instruction,
        partial: false,
        author: None,
        trailers: Vec::new(),
    };
    RunSpec {
        consent,
        ..RunSpec::new(session, RunWork::Answer(answer))
    }
}

fn propose_files(ground: &Ground, spec: &InitSpec, repo: &Repository) -> Result<InitReport, EffectError> {
    let target = repo
        .resolve(&TargetSpec::AtHead)
        .map_err(|error| repo_error(&error))?;
    let base = repo.base(&target).map_err(|error| repo_error(&error))?;
    let there = ExistingFiles {
        base: &base,
        work_dir: repo.work_dir(),
    };
    let tools = Tools::read(ground, repo.work_dir())?;
    if let Some(provider) = &spec.provider {
        tools.require_known(provider)?;
    }
    let servers = match spec.is_offline {
        true => Vec::new(),
        false => find_servers(ground, &tools)?,
    };
    let mut report = InitReport {
        version: 1,
        servers,
        keys: keys_found(ground, &tools),
        files: Vec::new(),
        provider: None,
        kept: Vec::new(),
        outcome: None,
    };
    if there.has_policy(ground.environment())? {
        report.kept.push(POLICY_DIR.to_owned());
    } else {
        report.files.push(preset_file(spec.preset));
    }
    // No file for it: a provider is the user's choice, and a repository's profile cannot change one that exists.
    report.provider = choose_provider(spec, &report);
    Ok(report)
}

/// The files that exist already, in the base commit or in the working tree.
struct ExistingFiles<'a> {
    base: &'a dyn Base,
    work_dir: Option<&'a Path>,
}

impl ExistingFiles<'_> {
    fn has_policy(&self, env: &Environment) -> Result<bool, EffectError> {
        let committed = self
            .base
            .list(POLICY_DIR)
            .map_err(|error| agentos_engine::context::unreadable_base(&error))?;
        let in_work_tree = match self.work_dir {
            Some(dir) => policy::rule_files(env, &dir.join(POLICY_DIR))?,
            None => None,
        };
        let is_rules = |name: &[u8]| name.ends_with(b".toml");
        Ok(committed.iter().any(|found| is_rules(&found.name))
            || in_work_tree.is_some_and(|files| !files.is_empty()))
    }
}

/// Finds the servers on this machine that answer. All are contacted at once, and each takes at most 5 seconds.
fn find_servers(ground: &Ground, tools: &Tools) -> Result<Vec<FoundServer>, EffectError> {
    // Only servers on this machine: a search must not send anything elsewhere.
    let local = |name: &&str| {
        let resolved = tools.resolve_profile(ground, name, &ProviderOverrides::default());
        let url = resolved.ok().and_then(|resolved| resolved.profile.base_url);
        url.is_some_and(|url| HttpUrl::parse(url.as_str()).is_ok_and(|url| url.is_loopback()))
    };
    let kinds: Vec<ProviderKind> = tools
        .profiled_names()
        .filter(local)
        .map(ProviderKind::from)
        .collect();
    let found = health::check_providers(ground, tools, &kinds, &ProviderOverrides::default())?;
    Ok(found.into_iter().filter_map(to_found_server).collect())
}

/// Returns the server, if it lists models, whichever model its profile names. `None` if it does not answer.
fn to_found_server(tool: ToolHealth) -> Option<FoundServer> {
    let there = match tool.status {
        HealthStatus::Connected | HealthStatus::ModelMissing => true,
        HealthStatus::NotConfigured
        | HealthStatus::InvalidToken
        | HealthStatus::Unreachable
        | HealthStatus::SchemaMismatch => false,
    };
    there.then(|| FoundServer {
        provider: tool.provider,
        endpoint: tool.endpoint.map(|endpoint| endpoint.to_string()),
        models: match (tool.status, tool.model) {
            // The configured model first: the server has it loaded.
            (HealthStatus::Connected, Some(model)) => {
                let others = tool.models.into_iter().filter(|other| *other != model);
                std::iter::once(model.clone()).chain(others).collect()
            }
            (_, _) => tool.models,
        },
    })
}

fn keys_found(ground: &Ground, tools: &Tools) -> Vec<FoundKey> {
    let found = tools.provider_names().filter_map(|provider| {
        Some(FoundKey {
            provider: provider.to_owned(),
            variable: keys::key_variable(ground, provider)?,
        })
    });
    found.collect()
}

/// Returns the named provider, else the first local server, else the first provider with a key. `None` if there is none. The first
/// model that a server lists exists there; the model of the profile is only a guess.
fn choose_provider(spec: &InitSpec, report: &InitReport) -> Option<String> {
    let server = report.servers.first().map(|server| server.provider.clone());
    let key = report.keys.first().map(|key| key.provider.clone());
    let provider = spec.provider.clone().or(server).or(key)?;
    let server = report.servers.iter().find(|server| server.provider == provider);
    let model = server.and_then(|server| server.models.first());
    Some(match model {
        Some(model) => format!("{provider}/{model}"),
        None => provider,
    })
}

/// Writes a new file as a diff.
pub(crate) fn new_file(file: &ProposedFile) -> String {
    let count = file.content.lines().count();
    let lines: String = file.content.lines().map(|line| format!("+{line}\n")).collect();
    format!(
        "--- /dev/null\n+++ b/{}\n@@ -0,0 +1,{count} @@\n{lines}",
        file.path
    )
}

//! `agentos init`: what a repository begins with: a policy, and the profile of a provider that is there.
//!
//! Owns: what is looked for and what is proposed. Never: writes by itself (the proposal goes the way of every change,
//! so policy asks about it), overwrites a file, or reads a key: only the names of variables.

use std::path::Path;

use agentos_engine::ports::EffectError;
use agentos_engine::settle::{self, Proposal};
use agentos_engine::{Cause, Outcome};
use agentos_executor::{Repository, TargetSpec};
use agentos_landing::Base;
use agentos_net::HttpUrl;
use agentos_policy::Preset;
use agentos_tool::{HealthStatus, RunId, ToolHealth};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::policy::PresetArg;
use crate::args::start::InitArgs;
use crate::args::tool::OverrideFlags;
use crate::commands::apply::patch_facts;
use crate::commands::health;
use crate::env::Env;
use crate::exit::Exit;
use crate::render;
use crate::wire::repository::{self, unusable};
use crate::wire::session::{Session, Wanted};
use crate::wire::tools::Tools;
use crate::wire::{keys, policy};

const POLICY_DIR: &str = ".agentos/policy";
const PROFILE_DIR: &str = ".agentos/profiles";

/// `agentos init --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InitReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Servers on this machine that answer.
    pub servers: Vec<FoundServer>,
    /// Keys in the environment, by the names of their variables.
    pub keys: Vec<FoundKey>,
    /// What is to be written.
    pub files: Vec<ProposedFile>,
    /// What is there already, and stays as it is.
    pub kept: Vec<String>,
    /// What became of it; none when nothing was to be written, or it was only to be printed.
    pub outcome: Option<Outcome>,
}

/// A server that answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FoundServer {
    /// The provider whose profile leads there.
    pub provider: String,
    /// `host:port`.
    pub endpoint: Option<String>,
    /// The models it lists.
    pub models: Vec<String>,
}

/// A key that is in the environment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FoundKey {
    /// The provider that would use it.
    pub provider: String,
    /// The variable.
    pub variable: String,
}

/// A new file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProposedFile {
    /// Its path in the repository.
    pub path: String,
    /// What it holds.
    pub content: String,
}

/// Runs the verb.
pub fn init(app: &App, args: &InitArgs, run: &RunId) -> Done {
    let repo = repository::open(app)?;
    let mut report = propose(app, args, &repo)?;
    if !app.printer.json {
        app.printer
            .data(&render::init::proposal(&report))
            .map_err(|error| output_failed(&error))?;
    }
    let exit;
    let nobody = !args.yes && (!app.env.can_ask || app.printer.json);
    if args.print || report.files.is_empty() {
        exit = Exit::Done;
    } else if nobody {
        // Said here, since a request that waits would be one more thing to answer.
        app.printer
            .error("nothing is written: nobody can be asked\n  next: run `agentos init --yes`");
        exit = Exit::ConsentNeeded;
    } else {
        let outcome = write(app, args, run, &report.files)?;
        exit = Exit::from(outcome.cause);
        if !app.printer.json {
            app.finish(&outcome)?;
            if outcome.is_done() {
                app.printer
                    .note("  next: read these files, change what does not fit, and commit them; a policy is in force once it is committed");
                if report.files.iter().any(|file| file.path.starts_with(POLICY_DIR)) {
                    app.printer.note(&format!("  {}", consequence(args.preset)));
                }
            }
        }
        report.outcome = Some(outcome);
    }
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    }
    Ok(exit)
}

fn propose(app: &App, args: &InitArgs, repo: &Repository) -> Result<InitReport, EffectError> {
    let target = repo
        .resolve(&TargetSpec::AtHead)
        .map_err(|error| unusable(&error))?;
    let base = repo.base(&target).map_err(|error| unusable(&error))?;
    let there = There {
        base: &base,
        work_dir: repo.work_dir(),
    };
    let tools = Tools::read(app, repo.work_dir())?;
    if let Some(provider) = &args.provider {
        tools.known(provider)?;
    }
    let servers = match args.offline {
        true => Vec::new(),
        false => servers(app, &tools)?,
    };
    let mut report = InitReport {
        version: 1,
        servers,
        keys: keys_found(app, &tools),
        files: Vec::new(),
        kept: Vec::new(),
        outcome: None,
    };
    if there.has_policy(&app.env)? {
        report.kept.push(POLICY_DIR.to_owned());
    } else {
        report.files.push(policy_file(args.preset));
    }
    if let Some(provider) = chosen(args, &report) {
        let file = profile_file(app, &tools, &provider, &report.servers)?;
        if there.has(&file.path)? {
            report.kept.push(file.path);
        } else {
            report.files.push(file);
        }
    }
    Ok(report)
}

/// What is committed or lies in the work tree.
struct There<'a> {
    base: &'a dyn Base,
    work_dir: Option<&'a Path>,
}

impl There<'_> {
    fn has(&self, path: &str) -> Result<bool, EffectError> {
        let entry = self.base.entry(path);
        let committed = entry.map_err(|error| unreadable(&error))?.is_some();
        let in_work_tree = self
            .work_dir
            .is_some_and(|dir| std::fs::symlink_metadata(dir.join(path)).is_ok());
        Ok(committed || in_work_tree)
    }

    fn has_policy(&self, env: &Env) -> Result<bool, EffectError> {
        let committed = self.base.list(POLICY_DIR).map_err(|error| unreadable(&error))?;
        let in_work_tree = match self.work_dir {
            Some(dir) => policy::rule_files(env, &dir.join(POLICY_DIR))?,
            None => None,
        };
        let is_rules = |name: &[u8]| name.ends_with(b".toml");
        Ok(committed.iter().any(|found| is_rules(&found.name))
            || in_work_tree.is_some_and(|files| !files.is_empty()))
    }
}

fn unreadable(error: &agentos_landing::BaseError) -> EffectError {
    EffectError::new(Cause::Repository, "unreadable-base", error.to_string())
}

/// The profiles that lead to this machine, all asked at once; each takes at most 5 seconds.
fn servers(app: &App, tools: &Tools) -> Result<Vec<FoundServer>, EffectError> {
    let local = |name: &&str| {
        let resolved = tools.resolved(app, name, &OverrideFlags::default());
        let url = resolved.ok().and_then(|resolved| resolved.profile.base_url);
        url.is_some_and(|url| HttpUrl::parse(url.as_str()).is_ok_and(|url| url.is_loopback()))
    };
    let names: Vec<String> = tools.profiled().filter(local).map(str::to_owned).collect();
    let found = health::asked(app, tools, &names, &OverrideFlags::default())?;
    Ok(found.into_iter().filter_map(answering).collect())
}

/// A server that lists models is there, whichever model its profile names.
fn answering(tool: ToolHealth) -> Option<FoundServer> {
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
            // The configured one first: it is loaded.
            (HealthStatus::Connected, Some(model)) => {
                let others = tool.models.into_iter().filter(|other| *other != model);
                std::iter::once(model.clone()).chain(others).collect()
            }
            (_, _) => tool.models,
        },
    })
}

fn keys_found(app: &App, tools: &Tools) -> Vec<FoundKey> {
    let found = tools.providers().filter_map(|provider| {
        Some(FoundKey {
            provider: provider.to_owned(),
            variable: keys::variable(app, provider)?,
        })
    });
    found.collect()
}

/// The one that was named, else the first local server, else the first key.
fn chosen(args: &InitArgs, report: &InitReport) -> Option<String> {
    let server = report.servers.first().map(|server| server.provider.clone());
    let key = report.keys.first().map(|key| key.provider.clone());
    args.provider.clone().or(server).or(key)
}

fn policy_file(preset: PresetArg) -> ProposedFile {
    let preset = match preset {
        PresetArg::Default => Preset::Default,
        PresetArg::Solo => Preset::Solo,
        PresetArg::Team => Preset::Team,
        PresetArg::Strict => Preset::Strict,
    };
    ProposedFile {
        path: format!("{POLICY_DIR}/{}.toml", preset.as_str()),
        content: preset.text().unwrap_or_default().to_owned(),
    }
}

/// What a preset means for the next change.
fn consequence(preset: PresetArg) -> &'static str {
    match preset {
        PresetArg::Default | PresetArg::Solo => {
            "this policy lets an ordinary edit land without a question, and asks about what runs by itself"
        }
        PresetArg::Team => {
            "on main this policy asks about every change: answer it, or give `--yes`; \
             `agentos init --preset solo` writes one that does not"
        }
        PresetArg::Strict => {
            "this policy lets small edits of sources, documents and tests land, and asks about or denies all else"
        }
    }
}

#[derive(Serialize)]
struct NewProfile<'a> {
    provider: &'a str,
    model: Option<String>,
}

/// No more than what differs from the built-in profile: no address, so that the repository sends nothing anywhere.
fn profile_file(
    app: &App,
    tools: &Tools,
    provider: &str,
    servers: &[FoundServer],
) -> Result<ProposedFile, EffectError> {
    let server = servers.iter().find(|server| server.provider == provider);
    let listed = server.and_then(|server| server.models.first().cloned());
    let model = match listed {
        Some(model) => Some(model),
        None => {
            tools
                .resolved(app, provider, &OverrideFlags::default())?
                .profile
                .model
        }
    };
    let text = serde_json::to_string_pretty(&NewProfile { provider, model }).unwrap_or_default();
    Ok(ProposedFile {
        path: format!("{PROFILE_DIR}/{provider}.json"),
        content: text + "\n",
    })
}

/// Lands the files in index and work tree, as a diff: it goes the way of every change.
fn write(app: &App, args: &InitArgs, run: &RunId, files: &[ProposedFile]) -> Result<Outcome, EffectError> {
    let wanted = Wanted {
        no_commit: true,
        yes: args.yes,
        ..Wanted::default()
    };
    let mut session = Session::open(app, &wanted, run)?;
    let answer: String = files.iter().map(new_file).collect();
    let instruction = "Begin with a policy and a provider's profile";
    let proposal = Proposal {
        run,
        answer: answer.as_bytes(),
        seen: Vec::new(),
        tool: patch_facts(),
        reported_model: None,
        message: instruction.to_owned(),
        trailers: Vec::new(),
        attempt: 1,
        partial: false,
        answers: None,
        proved: None,
    };
    let outcome = settle::apply(&mut session.deps(), "init", instruction, &proposal);
    session.seal(app);
    Ok(outcome)
}

fn new_file(file: &ProposedFile) -> String {
    let count = file.content.lines().count();
    let lines: String = file.content.lines().map(|line| format!("+{line}\n")).collect();
    format!(
        "--- /dev/null\n+++ b/{}\n@@ -0,0 +1,{count} @@\n{lines}",
        file.path
    )
}

//! Policy without a landing: what the rules are, and what they answer.
//!
//! Owns: which rules are asked, and about what. Never: lands a change.

use std::path::{Path, PathBuf};

use agentos_api::{PolicyTest, ProposedFile, TestedFile};
use agentos_engine::Cause;
use agentos_engine::ports::{EffectError, Repository as _, TargetInfo};
use agentos_executor::{ExecError, TargetSpec};
use agentos_landing::{Base, BaseError, EntryKind, LandError, LandOptions, LandedChange, ResultFacts, land};
use agentos_policy::{
    Decision, Explanation, Layer, LayerPreset, LintAdvice, PolicySet, PolicySource, Preset, RuleRef,
    ToolFacts,
};
use agentos_tool::ExecutionMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::usage;
use crate::host::Host;
use crate::init::new_file;
use crate::options::SessionOptions;
use crate::policy::{self, POLICY_DIR, rule_files};
use crate::repository::{self, RepositoryPort};
use crate::run::{ConsentMode, RunSpec, RunWork};
use crate::tasks::{AnswerSpec, patch_facts};

/// What `policy check --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyCheck {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// How many rules are in force.
    pub rules: usize,
    /// The answer; none when nothing was to be judged.
    pub decision: Option<Decision>,
}

/// What `policy explain --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyExplain {
    /// Version of this shape: 1.
    pub version: u32,
    /// The decision and the way to it.
    pub explanation: Explanation,
}

/// What `policy show --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyShow {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// The layers that must themselves allow what is to go ahead.
    pub stands: Vec<LayerPreset>,
    /// Every rule.
    pub rules: Vec<ShownRule>,
}

/// A rule, and whether it has a say.
#[derive(Serialize, JsonSchema)]
pub struct ShownRule {
    /// Which rule.
    pub rule: RuleRef,
    /// False for an allow in a layer that names no preset.
    pub counts: bool,
}

/// What `policy lint --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct PolicyLint {
    /// Version of this shape: 1.
    pub version: u32,
    /// What to look at.
    pub advice: Vec<LintAdvice>,
}

/// Which rules are asked.
#[derive(Debug, Clone, Default)]
pub struct RulesSpec {
    /// Policy files that narrow what is allowed in this call.
    pub policies: Vec<PathBuf>,
    /// A folder whose files are tried as the repository's own.
    pub folder: Option<PathBuf>,
}

/// What the rules are asked about, and as whom.
#[derive(Debug, Clone, Default)]
pub struct JudgeSpec {
    /// Which rules are asked.
    pub rules: RulesSpec,
    /// What is judged. `None` only loads the rules.
    pub subject: Option<JudgeSubject>,
    /// The provider that is asked as.
    pub provider: String,
    /// Its model.
    pub model: Option<String>,
    /// It works in the cloud.
    pub is_cloud: bool,
    /// The branch that it would land on; the target's where there is none.
    pub branch: Option<String>,
    /// The change has passed a check.
    pub is_checked: bool,
}

/// What the rules are asked about.
#[derive(Debug, Clone)]
pub enum JudgeSubject {
    /// A diff, or a model's whole answer.
    Answer(Vec<u8>),
    /// A commit that is there.
    Commit(String),
    /// A path that is to be shown to a tool.
    Reading(String),
}

/// What the rules answered.
#[derive(Debug)]
pub struct Judgement {
    /// The rules.
    pub set: PolicySet,
    /// The answer and the way to it. `None` where nothing was to be judged.
    pub explanation: Option<Explanation>,
}

impl Judgement {
    /// Writes the answer as it is published.
    #[must_use]
    pub fn to_check(&self) -> PolicyCheck {
        PolicyCheck {
            version: 1,
            policy_sha256: self.set.sha256().to_owned(),
            rules: self.set.rules().len(),
            decision: self
                .explanation
                .as_ref()
                .map(|explained| explained.decision.clone()),
        }
    }
}

impl Host {
    /// Lists the policy files of the repository and of the user, as far as they can be listed.
    #[must_use]
    pub fn policy_files(&self) -> Vec<PathBuf> {
        let repo = repository::open(self).ok();
        let of_repo = repo
            .as_ref()
            .and_then(|repo| repo.work_dir())
            .map(|dir| dir.join(POLICY_DIR));
        let of_user = self.environment().config_dir().map(|dir| dir.join("policy"));
        let folders = of_repo.into_iter().chain(of_user);
        let files = folders.filter_map(|folder| rule_files(self.environment(), &folder).ok().flatten());
        files.flatten().collect()
    }
}

impl Host {
    /// Asks the rules.
    ///
    /// # Errors
    /// If the rules cannot be read, the answer does not land, or the commit is not there.
    pub fn judge(&self, spec: &JudgeSpec) -> Result<Judgement, EffectError> {
        judge(self, spec)
    }

    /// Returns the rules in force for HEAD, or those that would be with the files of a folder.
    ///
    /// # Errors
    /// If the rules cannot be read.
    pub fn rules(&self, spec: &RulesSpec) -> Result<PolicySet, EffectError> {
        let port = port(self, spec)?;
        let target = port.target()?;
        in_force(self, spec, &port, &target)
    }
}

/// Lists every rule of a set with its layer.
#[must_use]
pub fn show_rules(set: &PolicySet) -> PolicyShow {
    let shown = set.rules().iter().map(|rule| ShownRule {
        rule: rule.to_rule_ref(),
        counts: rule.counts(),
    });
    PolicyShow {
        version: 1,
        policy_sha256: set.sha256().to_owned(),
        stands: set.layer_presets().to_vec(),
        rules: shown.collect(),
    }
}

/// Counts the examples of a set by file. They were tried when the set was loaded.
#[must_use]
pub fn count_examples(set: &PolicySet) -> PolicyTest {
    let files = set.examples().into_iter();
    PolicyTest {
        version: 1,
        files: files
            .map(|(source, (matched, not_matched))| TestedFile {
                source: source.to_owned(),
                matched,
                not_matched,
            })
            .collect(),
    }
}

/// Makes the file of a preset.
#[must_use]
pub fn preset_file(preset: Preset) -> ProposedFile {
    ProposedFile {
        path: format!("{POLICY_DIR}/{}.toml", preset.as_str()),
        content: preset.text().unwrap_or_default().to_owned(),
    }
}

/// Makes the run that writes a preset's file into index and working tree. Whoever asks for a policy has agreed to having one.
#[must_use]
pub fn preset_run(preset: Preset, who: String) -> RunSpec {
    let instruction = format!("Begin with the policy preset {}", preset.as_str());
    let session = SessionOptions {
        no_commit: true,
        ..SessionOptions::default()
    };
    let answer = AnswerSpec {
        verb: "policy init".to_owned(),
        answer: new_file(&preset_file(preset)).into_bytes(),
        message: instruction.clone(),
        instruction,
        partial: false,
    };
    RunSpec {
        consent: ConsentMode::Beforehand {
            who,
            how: "policy init".to_owned(),
        },
        ..RunSpec::new(session, RunWork::Answer(answer))
    }
}

fn judge(host: &Host, spec: &JudgeSpec) -> Result<Judgement, EffectError> {
    let repo = repository::open(host)?;
    let committed = match &spec.subject {
        Some(JudgeSubject::Commit(revision)) => {
            Some(repo.committed(revision).map_err(|error| match &error {
                ExecError::Repo(error) => repository::unusable(error),
                other => repository::failed(other),
            })?)
        }
        Some(JudgeSubject::Answer(_) | JudgeSubject::Reading(_)) | None => None,
    };
    let port = port(host, &spec.rules)?;
    let target = match &committed {
        Some((target, _)) => repository::info(target),
        None => port.target()?,
    };
    let tool = as_if(spec, &target);
    let set = in_force(host, &spec.rules, &port, &target)?;
    let base = port.base(&target)?;
    let explanation = match (&committed, &spec.subject) {
        (Some((_, change)), _) => {
            let facts = ResultFacts::read(change, base.as_ref()).map_err(|error| unreadable_base(&error))?;
            Some(set.explain(change, &facts, &tool))
        }
        (None, Some(JudgeSubject::Reading(path))) => Some(explain_read(&set, path, base.as_ref(), &tool)),
        (None, Some(JudgeSubject::Answer(answer))) => {
            let landed = landed(answer, base.as_ref())?;
            Some(set.explain(&landed.change, &landed.facts, &tool))
        }
        (None, Some(JudgeSubject::Commit(_)) | None) => None,
    };
    drop(base);
    Ok(Judgement { set, explanation })
}

/// Returns the facts of the tool and the branch that are asked as.
fn as_if(spec: &JudgeSpec, target: &TargetInfo) -> ToolFacts {
    let branch = spec.branch.as_ref().map(|name| format!("refs/heads/{name}"));
    ToolFacts {
        provider: spec.provider.clone(),
        model: spec.model.clone(),
        execution_mode: if spec.is_cloud {
            ExecutionMode::Cloud
        } else {
            ExecutionMode::Local
        },
        target_ref: Some(branch.unwrap_or_else(|| target.refname.clone())),
        checked: spec.is_checked,
        ..patch_facts()
    }
}

/// Reads what is there; a file that is not there is judged by its name.
fn explain_read(set: &PolicySet, path: &str, base: &dyn Base, tool: &ToolFacts) -> Explanation {
    let content = match base.entry(path) {
        Ok(Some(entry)) if matches!(entry.kind, EntryKind::File(_)) => base.read(&entry.id).ok(),
        Ok(Some(_) | None) | Err(_) => None,
    };
    let content = content.as_deref().unwrap_or_default();
    let tool = ToolFacts {
        context_bytes: content.len() as u64,
        ..tool.clone()
    };
    set.explain_read(path, content, &tool)
}

fn landed(answer: &[u8], base: &dyn Base) -> Result<LandedChange, EffectError> {
    match land(answer, base, &LandOptions::default()) {
        Ok(found) => Ok(found),
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.unwrap_or_else(|| {
                agentos_landing::Refusal::new(
                    agentos_landing::RefusalCode::Malformed,
                    "the diff does not land",
                )
            });
            let effect = EffectError::new(Cause::Landing, refusal.code.as_str(), refusal.message);
            Err(match refusal.hint {
                Some(hint) => effect.hint(hint),
                None => effect,
            })
        }
        Err(LandError::Base(error)) => Err(unreadable_base(&error)),
    }
}

fn unreadable_base(error: &BaseError) -> EffectError {
    EffectError::from_error(Cause::Repository, "unreadable-base", error)
}

fn port(host: &Host, spec: &RulesSpec) -> Result<RepositoryPort, EffectError> {
    let layers = policy::outer_layers(host, &spec.policies)?;
    let repo = repository::open(host)?;
    Ok(RepositoryPort::new(host, repo, TargetSpec::AtHead, layers))
}

/// The rules in force, or those that would be if a folder's files were committed.
fn in_force(
    host: &Host,
    spec: &RulesSpec,
    port: &RepositoryPort,
    target: &TargetInfo,
) -> Result<PolicySet, EffectError> {
    let Some(folder) = &spec.folder else {
        return Ok(port.policy(target)?.set.clone());
    };
    let mut sources = policy::outer_layers(host, &spec.policies)?;
    sources.extend(tried(host.environment(), &host.environment().cwd.join(folder))?);
    let set = PolicySet::load(&sources).map_err(|error| policy::wrong(&error))?;
    Ok(set.with_hooks_path(port.repo().hooks_path().as_deref()))
}

/// A folder's files, as the repository's.
fn tried(environment: &Environment, folder: &Path) -> Result<Vec<PolicySource>, EffectError> {
    let missing = || {
        usage(format!("there is no folder `{}`", environment.shown(folder)))
            .hint("name a folder with rule files, as `.agentos/policy`")
    };
    policy::rule_files(environment, folder)?
        .ok_or_else(missing)?
        .into_iter()
        .map(|file| policy::source(environment, Layer::Repository, &file))
        .collect()
}

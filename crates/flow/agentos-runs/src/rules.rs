//! Policy without a landing: listing the rules, and asking them about a change.
//!
//! Owns: which rules are asked, and about which subject. Never: lands a change.

use std::path::{Path, PathBuf};

use agentos_api::{PolicyTest, ProposedFile, TestedFile};
use agentos_engine::Cause;
use agentos_engine::ports::{EffectError, Repository as _, TargetInfo};
use agentos_engine::withheld::{WITHHELD_FILE, land_watched, list_readers};
use agentos_executor::{ExecError, TargetSpec};
use agentos_landing::{Base, EntryKind, LandOptions, LandedChange, ResultFacts};
use agentos_policy::{
    Decision, Explanation, Layer, LayerPreset, LintAdvice, PolicySet, PolicySource, Preset, RuleRef,
    ToolFacts,
};
use agentos_tool::ExecutionMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Runs;
use crate::init::new_file;
use crate::run::{ConsentMode, RunSpec, RunWork};
use agentos_ground::Ground;
use agentos_ground::answer_spec::AnswerSpec;
use agentos_ground::environment::Environment;
use agentos_ground::error;
use agentos_ground::error::usage_error;
use agentos_ground::options::SessionOptions;
use agentos_ground::policy::{self, POLICY_DIR, rule_files};
use agentos_ground::proposals::patch_facts;
use agentos_ground::repository;
use agentos_ground::repository_port::RepositoryPort;

/// The output of `policy check --json`.
#[derive(Serialize, JsonSchema)]
pub struct PolicyCheck {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// Number of active rules.
    pub rules: usize,
    /// The decision. `None` if nothing was to be judged.
    pub decision: Option<Decision>,
}

/// The output of `policy explain --json`.
#[derive(Serialize, JsonSchema)]
pub struct PolicyExplain {
    /// Version of this shape: 1.
    pub version: u32,
    /// The decision, with the rules that led to it.
    pub explanation: Explanation,
}

/// The output of `policy show --json`.
#[derive(Serialize, JsonSchema)]
pub struct PolicyShow {
    /// Version of this shape: 1.
    pub version: u32,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// The layers that must each allow a change, with their presets.
    pub stands: Vec<LayerPreset>,
    /// Every rule.
    pub rules: Vec<ShownRule>,
}

/// A rule, with whether it can affect a decision.
#[derive(Serialize, JsonSchema)]
pub struct ShownRule {
    /// The rule.
    pub rule: RuleRef,
    /// False for an allow in a layer that names no preset.
    pub counts: bool,
}

/// The output of `policy lint --json`.
#[derive(Serialize, JsonSchema)]
pub struct PolicyLint {
    /// Version of this shape: 1.
    pub version: u32,
    /// Findings about the rules.
    pub advice: Vec<LintAdvice>,
}

/// The choice of rules.
#[derive(Debug, Clone, Default)]
pub struct RulesSpec {
    /// Policy files that restrict this call further.
    pub policies: Vec<PathBuf>,
    /// A folder whose files replace the repository's own. `None` keeps those.
    pub folder: Option<PathBuf>,
}

/// A question to the rules: its subject, and the tool in whose name it is asked.
#[derive(Debug, Clone, Default)]
pub struct JudgeSpec {
    /// The rules to ask.
    pub rules: RulesSpec,
    /// The subject. `None` only loads the rules.
    pub subject: Option<JudgeSubject>,
    /// The tool's provider.
    pub provider: String,
    /// The tool's model. `None` if it has none.
    pub model: Option<String>,
    /// True if the tool works in the cloud.
    pub is_cloud: bool,
    /// The branch to land on. `None` means the target's.
    pub branch: Option<String>,
    /// True if the change has passed the user's check.
    pub is_checked: bool,
    /// True if the asker is the tool itself, which must not learn what is in a file that policy withholds from it.
    pub is_told_to_tool: bool,
}

/// The subject of a question to the rules.
#[derive(Debug, Clone)]
pub enum JudgeSubject {
    /// A diff, or a model's whole answer.
    Answer(Vec<u8>),
    /// An existing commit.
    Commit(String),
    /// A path that a tool wants to read.
    Reading(String),
}

/// The answer of the rules.
#[derive(Debug)]
pub struct Judgement {
    /// The rules.
    pub set: PolicySet,
    /// The decision, with the rules that led to it. `None` if nothing was to be judged.
    pub explanation: Option<Explanation>,
}

impl Judgement {
    /// Returns the answer in its published form.
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

impl Runs<'_> {
    /// Lists the policy files of the repository and of the user. Folders that cannot be read are left out.
    #[must_use]
    pub fn policy_files(self) -> Vec<PathBuf> {
        let repo = repository::open(self.ground).ok();
        let of_repo = repo
            .as_ref()
            .and_then(|repo| repo.work_dir())
            .map(|dir| dir.join(POLICY_DIR));
        let of_user = self
            .ground
            .environment()
            .config_dir()
            .map(|dir| dir.join("policy"));
        let folders = of_repo.into_iter().chain(of_user);
        let files =
            folders.filter_map(|folder| rule_files(self.ground.environment(), &folder).ok().flatten());
        files.flatten().collect()
    }
}

impl Runs<'_> {
    /// Asks the rules about a subject.
    ///
    /// # Errors
    /// If the rules cannot be read, the answer does not land, or the commit is not there.
    pub fn judge_subject(self, spec: &JudgeSpec) -> Result<Judgement, EffectError> {
        judge_subject(self.ground, spec)
    }

    /// Returns the rules that are active for HEAD, or would be with the files of a folder.
    ///
    /// # Errors
    /// If the rules cannot be read.
    pub fn active_rules(self, spec: &RulesSpec) -> Result<PolicySet, EffectError> {
        let port = open_port(self.ground, spec)?;
        let target = port.target()?;
        active_set(self.ground, spec, &port, &target)
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

/// Makes the run that writes a preset's file into index and working tree. It consents beforehand: policy asks about changes
/// of policy, and the user has just requested this one.
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
        message: Some(instruction.clone()),
        instruction,
        partial: false,
        author: None,
        trailers: Vec::new(),
    };
    RunSpec {
        consent: ConsentMode::Beforehand {
            who,
            how: "policy init".to_owned(),
        },
        ..RunSpec::new(session, RunWork::Answer(answer))
    }
}

fn judge_subject(ground: &Ground, spec: &JudgeSpec) -> Result<Judgement, EffectError> {
    let repo = repository::open(ground)?;
    let committed = match &spec.subject {
        // An existing commit is judged as if it were landed on its parent again.
        Some(JudgeSubject::Commit(revision)) => {
            Some(repo.committed(revision).map_err(|error| match &error {
                ExecError::Repo(error) => error::repo_error(error),
                other => repository::exec_error(other),
            })?)
        }
        Some(JudgeSubject::Answer(_) | JudgeSubject::Reading(_)) | None => None,
    };
    let port = open_port(ground, &spec.rules)?;
    let target = match &committed {
        Some((target, _)) => repository::to_target_info(target),
        None => port.target()?,
    };
    let tool = as_if(spec, &target);
    let set = active_set(ground, &spec.rules, &port, &target)?;
    let base = port.base(&target)?;
    let explanation = match (&committed, &spec.subject) {
        (Some((_, change)), _) => {
            let facts = ResultFacts::read(change, base.as_ref())
                .map_err(|error| agentos_engine::context::unreadable_base(&error))?;
            Some(set.explain(change, &facts, &tool))
        }
        (None, Some(JudgeSubject::Reading(path))) => Some(explain_read(&set, path, base.as_ref(), &tool)),
        (None, Some(JudgeSubject::Answer(answer))) => {
            let readers = list_readers(&tool, None);
            let readers = if spec.is_told_to_tool { readers } else { Vec::new() };
            let landed = place_answer(answer, base.as_ref(), (&set, &readers))?;
            Some(set.explain(&landed.change, &landed.facts, &tool))
        }
        (None, Some(JudgeSubject::Commit(_)) | None) => None,
    };
    drop(base);
    Ok(Judgement { set, explanation })
}

/// Returns the facts about the tool and the branch of a question.
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
        // The branch need not exist: the question is only what the rules say about it.
        target_ref: Some(branch.unwrap_or_else(|| target.refname.clone())),
        checked: spec.is_checked,
        ..patch_facts()
    }
}

/// Explains a read of the base's file. A file that does not exist is judged by its name.
fn explain_read(set: &PolicySet, path: &str, base: &dyn Base, tool: &ToolFacts) -> Explanation {
    let content = match base.entry(path) {
        Ok(Some(entry)) if matches!(entry.kind, EntryKind::File(_)) => base.read(&entry.id).ok(),
        Ok(Some(_) | None) | Err(_) => None,
    };
    let content = content.as_deref().unwrap_or_default();
    let tool = ToolFacts {
        // Rules can limit how much a tool is shown. Here the question is about one file alone.
        context_bytes: content.len() as u64,
        ..tool.clone()
    };
    set.explain_read(path, content, &tool)
}

/// Places an answer, for its change.
///
/// # Errors
/// If it has no place, or a file was opened for it that policy withholds from one of the readers.
fn place_answer(
    answer: &[u8],
    base: &dyn Base,
    asked: (&PolicySet, &[ToolFacts]),
) -> Result<LandedChange, EffectError> {
    let watched = land_watched(answer, base, &LandOptions::default(), asked)?;
    if !watched.opened.is_empty() {
        let message = "the change is about a file that policy withholds; a person decides about it";
        return Err(EffectError::new(Cause::Consent, WITHHELD_FILE, message));
    }
    match watched.placed {
        Ok(found) => Ok(found),
        Err(report) => {
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
    }
}

fn open_port(ground: &Ground, spec: &RulesSpec) -> Result<RepositoryPort, EffectError> {
    let layers = policy::outer_layers(ground, &spec.policies)?;
    let repo = repository::open(ground)?;
    Ok(RepositoryPort::new(ground, repo, TargetSpec::AtHead, layers))
}

/// Returns the active rules, or those that would be active if a folder's files were committed.
fn active_set(
    ground: &Ground,
    spec: &RulesSpec,
    port: &RepositoryPort,
    target: &TargetInfo,
) -> Result<PolicySet, EffectError> {
    let Some(folder) = &spec.folder else {
        return Ok(port.policy(target)?.set.clone());
    };
    let mut sources = policy::outer_layers(ground, &spec.policies)?;
    // The folder replaces the repository's layer only: the other layers must still allow a change.
    sources.extend(read_folder(
        ground.environment(),
        &ground.environment().cwd.join(folder),
    )?);
    let set = PolicySet::load(&sources).map_err(|error| policy::policy_error(&error))?;
    policy::in_repository(set, port.repo(), &target.base_tree)
}

/// Reads a folder's files as if they were the repository's.
fn read_folder(environment: &Environment, folder: &Path) -> Result<Vec<PolicySource>, EffectError> {
    let missing = || {
        usage_error(format!(
            "there is no folder `{}`",
            environment.shorten_path(folder)
        ))
        .hint("name a folder with rule files, such as `.agentos/policy`")
    };
    policy::rule_files(environment, folder)?
        .ok_or_else(missing)?
        .into_iter()
        .map(|file| policy::read_source(environment, Layer::Repository, &file))
        .collect()
}

//! The policies of repositories to which the user agreed: `agreed-policies.json` in the folder of the user's settings.
//!
//! A preset that a repository names is added to the preset `default`. It replaces `default` only if the user agreed to the exact
//! text of the repository's policy, in this repository. An agreement is a policy source of the user (`agreed = [SHA256]`), so the
//! evidence of a run contains it, and a replay decides as the run did.
//!
//! Owns: the file, and the difference between the text that the user was shown and the text of now. Never: agrees by itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_api::{NextStep, Notice, ProposedFile};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::{Repository, TargetSpec};
use agentos_landing::{Change, FileState, RepoPath};
use agentos_policy::{DefaultState, Layer, PolicySet, PolicySource, repository_digest};
use serde::{Deserialize, Serialize};

use crate::Ground;
use crate::environment::Environment;
use crate::error::repo_error;
use crate::error::usage_error;
use crate::own_file::{lock_own_text, read_own_text, write_own_text};
use crate::policy::policy_error;
use crate::repository;
use crate::repository_key::{KnownFolders, RepositoryKey};

/// Name of the file.
const FILE: &str = "agreed-policies.json";
/// Code of its errors.
const CODE: &str = "bad-policies";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 32 << 20;
/// Version of the file.
const VERSION: u32 = 1;
/// Texts that are kept of one repository: its branches may have several.
const MOST_TEXTS: usize = 16;

/// The file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgreedPolicies {
    version: u32,
    /// Agreed texts of each repository, the newest last. The key is the repository's id, or its git directory in an entry from before
    /// there were ids.
    repositories: BTreeMap<String, Vec<PolicyText>>,
    /// Git directory of each id.
    #[serde(default)]
    folders: KnownFolders,
}

/// The files of a repository's policy, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct PolicyText(BTreeMap<String, String>);

impl PolicyText {
    fn of_sources(sources: &[PolicySource]) -> Self {
        let files = sources.iter().filter(|source| source.layer == Layer::Repository);
        Self(
            files
                .map(|source| (source.name.clone(), source.text.clone()))
                .collect(),
        )
    }

    fn to_sources(&self) -> Vec<PolicySource> {
        let files = self.0.iter().map(|(name, text)| PolicySource {
            layer: Layer::Repository,
            name: name.clone(),
            text: text.clone(),
        });
        files.collect()
    }

    fn digest(&self) -> Option<String> {
        repository_digest(&self.to_sources())
    }
}

/// Agreement of the user to the policy of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyTrust {
    /// The user agreed to this text.
    Agreed,
    /// The user agreed to another text.
    Changed,
    /// The user was not asked yet.
    New,
    /// No agreement is needed: the repository names no preset.
    NotNeeded,
}

/// The policy of a repository as the user is asked about it. Texts are untrusted.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReview {
    /// Version of this shape: 1.
    pub version: u32,
    /// The repository's git directory.
    pub repository: String,
    /// Agreement of the user.
    pub trust: PolicyTrust,
    /// SHA-256 of the policy's text. `None` if the repository has no policy.
    pub sha256: Option<String>,
    /// Difference from the text to which the user agreed last, as one git diff.
    pub diff: String,
    #[serde(skip)]
    text: PolicyText,
    #[serde(skip)]
    key: RepositoryKey,
}

/// A repository with agreed policies.
#[derive(Debug, Clone, Serialize)]
pub struct TrustedPolicy {
    /// The repository's git directory.
    pub repository: String,
    /// SHA-256 of each agreed text, the newest last.
    pub sha256: Vec<String>,
}

impl Ground {
    /// Compares the policy of the repository at HEAD with the text to which the user agreed.
    ///
    /// # Errors
    /// If no repository is open, or its policy or the file of agreements cannot be read.
    pub fn review_policy(&self) -> Result<PolicyReview, EffectError> {
        let repo = repository::open(self)?;
        let target = repo
            .resolve(&TargetSpec::AtHead)
            .map_err(|error| repo_error(&error))?;
        let files = repo.policy_files(&target).map_err(|error| repo_error(&error))?;
        let text = PolicyText(files.into_iter().collect());
        // A policy with a mistake cannot be agreed to.
        let set = PolicySet::load(&text.to_sources()).map_err(|error| policy_error(&error))?;
        let known = read_agreed(self.environment())?;
        let key = RepositoryKey::of(self, &repo);
        let agreed = key.find(&known.repositories, &known.folders);
        let agreed = agreed.map(Vec::as_slice).unwrap_or_default();
        let before = agreed.last().cloned().unwrap_or_default();
        let trust = if set.default_state() == DefaultState::InForce {
            PolicyTrust::NotNeeded
        } else if agreed.contains(&text) {
            PolicyTrust::Agreed
        } else if agreed.is_empty() {
            PolicyTrust::New
        } else {
            PolicyTrust::Changed
        };
        Ok(PolicyReview {
            version: 1,
            repository: key.folder(),
            trust,
            sha256: text.digest(),
            diff: compare_texts(&before, &text)?,
            text,
            key,
        })
    }

    /// Records that the user agreed to exactly the policy that a review shows.
    ///
    /// # Errors
    /// If the file of agreements cannot be read or written.
    pub fn agree_to_policy(&self, review: &PolicyReview) -> Result<(), EffectError> {
        record_text(self, &review.key, review.text.clone())
    }

    /// Records that the user agreed to a policy file that they write with their own command. The agreement is to this file alone:
    /// with another file next to it, the user is asked.
    ///
    /// # Errors
    /// If no repository is open, or the file of agreements cannot be read or written.
    pub fn agree_to_new_file(&self, file: &ProposedFile) -> Result<(), EffectError> {
        let repo = repository::open(self)?;
        let files = [(file.path.clone(), file.content.clone())];
        record_text(self, &RepositoryKey::of(self, &repo), PolicyText(files.into()))
    }

    /// Lists the repositories with agreed policies.
    ///
    /// # Errors
    /// If the file of agreements cannot be read.
    pub fn list_agreed_policies(&self) -> Result<Vec<TrustedPolicy>, EffectError> {
        let mut known = read_agreed(self.environment())?;
        let all = known.repositories.into_iter().map(|(key, texts)| TrustedPolicy {
            sha256: texts.iter().filter_map(PolicyText::digest).collect(),
            repository: known.folders.remove(&key).map_or(key, |folder| folder.path),
        });
        Ok(all.collect())
    }

    /// Forgets every agreement to the repository's policy. Returns false if there was none.
    ///
    /// # Errors
    /// If no repository is open, or the file of agreements cannot be read or written.
    pub fn clear_agreed_policy(&self) -> Result<bool, EffectError> {
        let key = RepositoryKey::of(self, &repository::open(self)?);
        edit_agreed(self, |known| {
            key.remove(&mut known.repositories, &mut known.folders)
        })
    }
}

/// Returns the user's agreement to the repository's policy among these sources, as a source of the user. `None` if the user did
/// not agree to this text.
///
/// # Errors
/// If the file of agreements cannot be read.
pub(crate) fn find_agreement(
    ground: &Ground,
    repo: &Repository,
    sources: &[PolicySource],
) -> Result<Option<PolicySource>, EffectError> {
    let text = PolicyText::of_sources(sources);
    let Some(digest) = text.digest() else {
        return Ok(None);
    };
    let known = read_agreed(ground.environment())?;
    // A repository is given an id only where an entry could be its own.
    if known.repositories.is_empty() {
        return Ok(None);
    }
    let agreed = RepositoryKey::of(ground, repo);
    let agreed = agreed.find(&known.repositories, &known.folders);
    let is_agreed = agreed.is_some_and(|texts| texts.contains(&text));
    Ok(is_agreed.then(|| PolicySource {
        layer: Layer::User,
        // Not the path: the evidence of one text is the same on every machine.
        name: FILE.to_owned(),
        text: format!("version = 1\nagreed = [\"{digest}\"]\n"),
    }))
}

/// Makes the notice about a repository's policy that does not replace the default. `None` if it does, or is not meant to.
pub(crate) fn not_agreed_notice(set: &PolicySet) -> Option<Notice> {
    let named = set
        .layer_presets()
        .iter()
        .find(|standing| standing.layer == Layer::Repository)?;
    (set.default_state() == DefaultState::NotAgreed).then(|| {
        let message = format!(
            "this repository's policy names the preset `{}`; the preset `default` stays active besides it, and the stricter answer \
             wins",
            named.preset.as_str()
        );
        Notice {
            next: vec![NextStep::ReviewPolicy],
            ..Notice::new("policy-not-agreed", message)
        }
    })
}

fn record_text(ground: &Ground, key: &RepositoryKey, text: PolicyText) -> Result<(), EffectError> {
    edit_agreed(ground, |known| {
        let texts = key.claim(&mut known.repositories, &mut known.folders);
        texts.retain(|other| *other != text);
        texts.push(text);
        let surplus = texts.len().saturating_sub(MOST_TEXTS);
        texts.drain(..surplus);
    })
}

/// Compares two texts of a policy.
fn compare_texts(before: &PolicyText, after: &PolicyText) -> Result<String, EffectError> {
    let state = |text: &PolicyText, name: &str| {
        text.0
            .get(name)
            .map(|content| FileState::regular(content.as_bytes()))
    };
    let mut names: Vec<&String> = before.0.keys().chain(after.0.keys()).collect();
    names.sort();
    names.dedup();
    let failed = |message: String| EffectError::new(Cause::Internal, CODE, message);
    let mut states = Vec::new();
    for name in names {
        let path = RepoPath::new(name).map_err(|refusal| failed(refusal.message))?;
        states.push((path, state(before, name), state(after, name)));
    }
    let change = Change::new(states).map_err(|error| failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(change.canonical_diff()).into_owned())
}

fn file_path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir()?.join(FILE))
}

fn read_agreed(environment: &Environment) -> Result<AgreedPolicies, EffectError> {
    let Some(path) = file_path(environment) else {
        return Ok(AgreedPolicies::default());
    };
    let Some(text) = read_own_text(environment, &path, CODE, LARGEST_FILE)? else {
        return Ok(AgreedPolicies::default());
    };
    let name = environment.shorten_path(&path);
    let wrong = |message: String| {
        EffectError::new(Cause::Usage, CODE, message)
            .hint("correct or remove the named file, and agree again")
            .suggest_steps([NextStep::ReviewPolicy])
    };
    let known: AgreedPolicies =
        serde_json::from_str(&text).map_err(|error| wrong(format!("`{name}` cannot be read: {error}")))?;
    if known.version != VERSION {
        return Err(wrong(format!(
            "`{name}` has the version {}, not {VERSION}",
            known.version
        )));
    }
    Ok(known)
}

/// Reads the file, changes it and writes it, while no other process does.
fn edit_agreed<T>(ground: &Ground, edit: impl FnOnce(&mut AgreedPolicies) -> T) -> Result<T, EffectError> {
    let environment = ground.environment();
    let path = file_path(environment)
        .ok_or_else(|| usage_error("there is no home folder for settings").hint("set `HOME`"))?;
    let _lock = lock_own_text(&path, CODE)?;
    let mut known = read_agreed(environment)?;
    known.version = VERSION;
    let done = edit(&mut known);
    let text = serde_json::to_string_pretty(&known)
        .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
    write_own_text(&path, &(text + "\n"), CODE)?;
    Ok(done)
}

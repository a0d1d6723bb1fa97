//! A pool of another program as a profile of the user.
//!
//! Owns: the name and the file of the new pool. Never: takes a key from the imported file.

use std::path::{Path, PathBuf};

use agentos_engine::ports::EffectError;
use agentos_pool::{ImportedLimit, LimitShare, check_pool, read_pool};
use agentos_profile::{AdapterKind, PoolFile, ProfileFile, builtin_profiles};
use agentos_store::{BudgetGroup, BudgetLimit, BudgetScope, ZoneOffset, parse_amount};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ListedMember, LoadedPool, bad_pool, load_chain};
use crate::Calls;
use agentos_ground::error::usage_error;
use agentos_ground::files::read_text_file;
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::tools::bad_profile;

/// Largest file that is imported, in bytes.
const LARGEST_FILE: u64 = 4 << 20;

/// Order to import a pool.
#[derive(Debug, Clone, Default)]
pub struct PoolImportSpec {
    /// File with the other program's pool.
    pub file: PathBuf,
    /// Name of the new pool. `None` means the file's name.
    pub name: Option<String>,
    /// Leave for turns to go from this machine to the cloud.
    pub allow_cloud: bool,
    /// Replace a profile of this name.
    pub may_replace: bool,
    /// Time zone in which the periods of imported limits begin.
    pub zone: ZoneOffset,
}

/// The output of `agentos pool import --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PoolImport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// File of its profile.
    pub file: String,
    /// Members that were taken. Empty if the pool has a problem.
    pub members: Vec<ListedMember>,
    /// Budgets that were set, from the limits of the file.
    pub budgets: Vec<BudgetLimit>,
    /// Parts that have no place in a pool. Untrusted.
    pub notes: Vec<String>,
    /// Entries that were not taken, each with its reason. Untrusted.
    pub skipped: Vec<String>,
    /// Reason why the pool cannot be used yet. `None` if it can.
    pub problem: Option<String>,
}

impl Calls<'_> {
    /// Writes a pool of another program as a profile of the user.
    ///
    /// # Errors
    /// If the file has no known form or no model, the name is taken, or the profile cannot be written.
    pub fn import_pool(self, spec: &PoolImportSpec) -> Result<PoolImport, EffectError> {
        let text = read_text_file(self.ground.environment(), &spec.file, LARGEST_FILE)?;
        let name = match &spec.name {
            Some(name) => name.clone(),
            None => name_pool(&spec.file),
        };
        let imported = read_pool(&text).map_err(|fault| bad_pool(&name, &fault))?;
        let imported = imported.ok_or_else(|| {
            usage_error(format!("`{}` has no known form of a pool", spec.file.display()))
                .hint("it is JSON: a list of models with `alias`, `provider` and `model_name`, a `models` object, or LiteLLM's `model_list`")
        })?;
        let (mut pool, mut notes) = (imported.pool, imported.notes);
        pool.allow_cloud = spec.allow_cloud.then_some(true);
        check_pool(&pool).map_err(|fault| bad_pool(&name, &fault))?;
        let known = builtin_profiles().map_err(|error| bad_profile(&error))?;
        if known.contains_key(&name) {
            return Err(bad_pool(&name, &agentos_pool::PoolFault::NameTaken(name.clone())));
        }
        let path = Providers::of(self.ground).new_profile_path(&name, spec.may_replace)?;
        let profile = ProfileFile {
            schema: Some("../profile.schema.json".to_owned()),
            provider: name.clone(),
            adapter: Some(AdapterKind::Pool),
            pool: Some(pool.clone()),
            ..ProfileFile::default()
        };
        let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
        Providers::of(self.ground).save_profile(&path, &text)?;
        // Written in any case: a provider that is missing can be added afterwards, and the message names it.
        let (loaded, problem) = match load_chain(self.ground, &read_tools(self.ground)?, &name) {
            Ok(chain) => (chain.into_iter().next(), None),
            Err(error) => (None, Some(error.message)),
        };
        let mut budgets = Vec::new();
        for limit in &imported.limits {
            match make_budget(limit, &pool, loaded.as_ref(), spec.zone) {
                Some(budget) => budgets.push(budget),
                None => notes.push(format!(
                    "`{}`: its limit `{}` was left out",
                    limit.alias, limit.amount
                )),
            }
        }
        if !budgets.is_empty() {
            self.put_budgets(budgets.clone())?;
        }
        let skipped = imported.skipped.into_iter();
        Ok(PoolImport {
            version: 1,
            pool: name,
            file: self.ground.environment().shorten_below_home(&path),
            members: loaded.as_ref().map(LoadedPool::list_members).unwrap_or_default(),
            budgets,
            notes,
            skipped: skipped
                .map(|entry| format!("`{}`: {}", entry.entry, entry.reason))
                .collect(),
            problem,
        })
    }
}

/// Makes the budget of a limit: it is about the member's model, in whichever way that is asked. `None` if there is no such amount.
fn make_budget(
    limit: &ImportedLimit,
    pool: &PoolFile,
    loaded: Option<&LoadedPool>,
    zone: ZoneOffset,
) -> Option<BudgetLimit> {
    let (amount, period) = parse_amount(&limit.amount).ok()?;
    let known = loaded.and_then(|loaded| {
        loaded
            .members
            .iter()
            .find(|member| member.model.alias == limit.alias)
    });
    let (provider, model) = match known {
        Some(member) => (member.model.provider.clone(), member.model.model.clone()),
        // A pool that cannot be used yet: the names of the file are what its profiles will have.
        None => {
            let member = pool.members.iter().find(|member| member.alias == limit.alias)?;
            let (provider, model) = member.model.split_once('/')?;
            (provider.to_owned(), Some(model.to_owned()))
        }
    };
    Some(BudgetLimit {
        amount,
        period,
        zone,
        scope: BudgetScope {
            provider: Some(provider),
            model,
            ..BudgetScope::default()
        },
        each: match limit.shared_by {
            LimitShare::All => None,
            LimitShare::Guild => Some(BudgetGroup::Guild),
            LimitShare::Session => Some(BudgetGroup::Session),
        },
    })
}

/// Returns the name of a file as a provider's name: other characters than those of names become `-`.
fn name_pool(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let letters = stem.unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    letters
        .chars()
        .map(|c| if is_name(c) { c } else { '-' })
        .collect()
}

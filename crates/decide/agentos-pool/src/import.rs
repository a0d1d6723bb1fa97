//! Pools that other programs describe, as members of a pool here.
//!
//! Owns: the forms that are read. Never: takes a key, or an address: both belong to a provider's profile.
//!
//! | form | recognized by |
//! |---|---|
//! | `ModelConfig` objects: `alias`, `provider`, `model_name`, `capabilities` | a list, or `models` with a list |
//! | a `models.json` of a bot: models by name, with limits and fallback chains | `llm_models`, or `models` with an object |
//! | LiteLLM's configuration | `model_list` |

mod fallback;
mod limits;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use agentos_profile::{MemberFile, PoolFile, PriceFile};
use agentos_select::AbilityValue;
use serde_json::{Map, Value};

use self::fallback::{read_fallback, strings_in};
use crate::PoolFault;
use crate::chain::name_alias;

pub use limits::{ImportedLimit, LimitShare};

/// Pool that was read, with remarks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedPool {
    /// The pool.
    pub pool: PoolFile,
    /// Limits of the members, which are budgets here.
    pub limits: Vec<ImportedLimit>,
    /// Parts that have no place in a pool, one sentence each. Untrusted.
    pub notes: Vec<String>,
    /// Entries that were not taken.
    pub skipped: Vec<SkippedMember>,
}

/// Entry that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedMember {
    /// Name of the entry, or its position from 1. Untrusted.
    pub entry: String,
    /// Reason.
    pub reason: String,
}

/// Fields of an entry that are read by name, and so are no abilities.
const ENTRY_FIELDS: [&str; 24] = [
    "alias",
    "provider",
    "backend",
    "model_name",
    "api_model_name",
    "model",
    "name",
    "id",
    "api_key",
    "base_url",
    "capabilities",
    "extra_config",
    "daily_limit",
    "scope",
    "rpm",
    "tpm",
    "max_budget",
    "budget_duration",
    "fallback",
    "fallback_alias",
    "description",
    "litellm_params",
    "model_info",
    "display_name",
];
/// Parts of the names of fields with secrets.
const SECRET_NAMES: [&str; 9] = [
    "key",
    "secret",
    "token",
    "passw",
    "credential",
    "auth",
    "header",
    "cookie",
    "bearer",
];
/// Beginnings of well-known keys.
const SECRET_STARTS: [&str; 7] = ["sk-", "sk_", "ghp_", "AKIA", "AIza", "xox", "Bearer "];
/// Longest word that describes a model, in bytes.
const LONGEST_WORD: usize = 64;
/// Longest beginning of an alias that is given a number.
const LONGEST_STEM: usize = 44;
/// Ability that the members of a list of image models have.
const MAKES_IMAGES: &str = "generates_images";

/// Reads a pool in one of the known forms. `None` if the text has none of them.
///
/// # Errors
/// [`PoolFault::FallbackCircle`] if the fallbacks of its models lead in a circle.
pub fn read_pool(text: &str) -> Result<Option<ImportedPool>, PoolFault> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(mut entries) = list_entries(&value) else {
        return Ok(None);
    };
    let positions: BTreeMap<String, usize> = order::list_names(text).into_iter().zip(0..).collect();
    entries.sort_by_key(|(name, _)| name.as_ref().and_then(|name| positions.get(name)).copied());
    let mut imported = ImportedPool::default();
    if is_pool_of_words(&value) {
        imported.pool.infer_from_words = Some(true);
    }
    let mut renamed = BTreeMap::new();
    let mut aliases = AliasNames::default();
    for (position, (name, entry)) in entries.into_iter().enumerate() {
        let shown = name.clone().unwrap_or_else(|| (position + 1).to_string());
        match read_entry(name.as_deref(), entry, &mut imported.notes) {
            Ok(mut member) => {
                let given = member.alias.clone();
                member.alias = aliases.take_free(&member.alias);
                renamed.entry(given).or_insert_with(|| member.alias.clone());
                let parameters = entry.get("litellm_params").unwrap_or(entry);
                let limits = limits::read_limits(&member.alias, parameters, entry, &mut imported.notes);
                imported.limits.extend(limits);
                imported.pool.members.push(member);
            }
            Err(reason) => imported.skipped.push(SkippedMember { entry: shown, reason }),
        }
    }
    let find = |name: &str| renamed.get(&name_alias(name)).cloned();
    let members = imported.pool.members.iter().enumerate();
    let positions: BTreeMap<String, usize> = members.map(|(at, member)| (member.alias.clone(), at)).collect();
    imported.pool.default = text_of(&value, &["default_alias", "default", "default_model"]).and_then(find);
    read_fallback(&value, &mut imported, &renamed)?;
    let mut left_out = false;
    for name in list_image_models(&value) {
        let position = find(&name).and_then(|alias| positions.get(&alias).copied());
        match position.and_then(|at| imported.pool.members.get_mut(at)) {
            Some(member) => {
                let ability = (MAKES_IMAGES.to_owned(), AbilityValue::Flag(true));
                member.abilities.extend([ability]);
            }
            None => left_out = true,
        }
    }
    if left_out {
        let note = "models that only make images were left out: the members of a pool answer in words";
        imported.notes.push(note.to_owned());
    }
    Ok(Some(imported))
}

/// Returns true for a list of `ModelConfig` objects: the program that has such lists infers needs from words of a message.
fn is_pool_of_words(value: &Value) -> bool {
    let is_list = value.is_array() || value.get("models").is_some_and(Value::is_array);
    is_list && value.get("model_list").is_none()
}

/// Lists the entries of a document with their names. `None` if it has no known form.
fn list_entries(value: &Value) -> Option<Vec<(Option<String>, &Value)>> {
    let listed = match value {
        Value::Array(all) => all,
        // LiteLLM's name first, because its entries have fields of both other forms.
        Value::Object(fields) => match ["model_list", "llm_models", "models"]
            .iter()
            .find_map(|key| fields.get(*key))?
        {
            Value::Array(all) => all,
            Value::Object(named) => {
                return Some(
                    named
                        .iter()
                        .map(|(name, entry)| (Some(name.clone()), entry))
                        .collect(),
                );
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    Some(listed.iter().map(|entry| (None, entry)).collect())
}

/// Reads one entry.
///
/// # Errors
/// With the reason if it names no model.
fn read_entry(name: Option<&str>, entry: &Value, notes: &mut Vec<String>) -> Result<MemberFile, String> {
    let Value::Object(fields) = entry else {
        return Err("it is no object".to_owned());
    };
    // LiteLLM's entries have the model below their own name for it, and limits and prices next to it.
    let parameters = fields.get("litellm_params").unwrap_or(entry);
    let model = text_of(
        parameters,
        &["model", "model_name", "api_model_name", "name", "id"],
    );
    let model = model.or(name).ok_or("it names no model")?;
    let alias = text_of(entry, &["alias", "model_name", "name", "id"]);
    let given = text_of(entry, &["alias"]).or(name).or(alias).unwrap_or(model);
    let provider = text_of(parameters, &["provider", "backend"]).map(str::to_lowercase);
    let model = match (provider, model.split_once('/')) {
        (Some(provider), _) => format!("{provider}/{model}"),
        (None, Some(_)) => model.to_owned(),
        // LiteLLM takes a name without a provider as OpenAI's; others leave it to their defaults, which are not known here.
        (None, None) if fields.contains_key("litellm_params") => format!("openai/{model}"),
        (None, None) => return Err("it names no provider".to_owned()),
    };
    if [model.as_str(), given]
        .iter()
        .any(|name| name.contains("://") || name.contains('@'))
    {
        // Not named in the reason: an address can have a password in it.
        return Err("its name is an address".to_owned());
    }
    note_parts(given, parameters, notes);
    let mut member = MemberFile {
        alias: name_alias(given),
        model,
        ..MemberFile::default()
    };
    for part in ["capabilities", "custom_capabilities", "model_info"] {
        let part = entry.get(part).or_else(|| entry.get("capabilities")?.get(part));
        if let Some(Value::Object(stated)) = part {
            add_abilities(&mut member, stated, notes);
        }
    }
    let own = fields
        .iter()
        .filter(|(field, _)| !ENTRY_FIELDS.contains(&field.as_str()));
    let own: Map<String, Value> = own.map(|(field, value)| (field.clone(), value.clone())).collect();
    add_abilities(&mut member, &own, notes);
    Ok(member)
}

/// Notes the parts of an entry that a pool has no place for.
fn note_parts(alias: &str, parameters: &Value, notes: &mut Vec<String>) {
    if text_of(parameters, &["api_key"]).is_some() {
        notes.push(format!(
            "`{alias}`: its key was left out; a key is stored for a provider"
        ));
    }
    if let Some(url) = text_of(parameters, &["base_url", "api_base"]) {
        notes.push(format!(
            "`{alias}`: its provider needs a profile with the address {}",
            strip_address(url)
        ));
    }
}

/// Adds abilities, and what else describes a member: latency and prices.
fn add_abilities(member: &mut MemberFile, stated: &Map<String, Value>, notes: &mut Vec<String>) {
    for (name, value) in stated {
        if may_be_secret(name, value) {
            // The name alone: whatever the value is, it goes nowhere.
            notes.push(format!(
                "`{}`: `{name}` was left out, because it may be a secret or an address",
                member.alias
            ));
            continue;
        }
        let number = value.as_f64();
        let price = |per: f64| number.map(|number| number * per);
        match name.as_str() {
            "avg_latency_ms" | "latency_ms" => {
                member.latency_ms = number
                    .filter(|ms| (0.0..1e12).contains(ms))
                    .map(|ms| ms.round() as u64);
            }
            // One number for both directions, per 1,000 tokens.
            "cost_per_1k_tokens" => {
                let price = price(1_000.0);
                member.price = Some(PriceFile {
                    input: price,
                    output: price,
                    ..PriceFile::default()
                });
            }
            "input_cost_per_token" => member.price.get_or_insert_default().input = price(1e6),
            "output_cost_per_token" => member.price.get_or_insert_default().output = price(1e6),
            // LiteLLM's `max_input_tokens` is what is a window here.
            "max_input_tokens" => add_ability(member, "context_window", value),
            "custom_capabilities" => {}
            _ => add_ability(member, name, value),
        }
    }
}

fn add_ability(member: &mut MemberFile, name: &str, value: &Value) {
    // `null` and objects say nothing that a need could ask for.
    if let Ok(value) = serde_json::from_value::<AbilityValue>(value.clone()) {
        member.abilities.insert(name.to_owned(), value);
    }
}

/// Lists the names of image models: texts, or objects with a name.
fn list_image_models(value: &Value) -> Vec<String> {
    let keys = ["image_models", "image_model_preferences", "image_model"];
    let found = keys.iter().find_map(|key| value.get(*key));
    let Some(Value::Array(listed)) = found else {
        return found.map(strings_in).unwrap_or_default();
    };
    let named = listed.iter().filter_map(|entry| {
        let name = text_of(
            entry,
            &["alias", "api_model_name", "model_name", "display_name", "name"],
        );
        name.or(entry.as_str()).map(str::to_owned)
    });
    named.collect()
}

/// Returns the first of these fields that is a text. `None` if none is.
fn text_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter()
        .find_map(|key| value.get(*key)?.as_str())
        .filter(|text| !text.is_empty())
}

/// Aliases that are taken.
#[derive(Debug, Default)]
struct AliasNames {
    taken: BTreeSet<String>,
    /// Last number that was given to a name, so that a name that is repeated thousands of times costs no search.
    numbers: BTreeMap<String, u64>,
}

impl AliasNames {
    /// Takes the alias, or one with a number if a member has it. LiteLLM repeats a name for servers that share the work.
    fn take_free(&mut self, wanted: &str) -> String {
        if self.taken.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        let short: String = wanted.chars().take(LONGEST_STEM).collect();
        let number = self.numbers.entry(short.clone()).or_insert(1);
        loop {
            *number += 1;
            let alias = format!("{short}-{number}");
            if self.taken.insert(alias.clone()) {
                return alias;
            }
        }
    }
}

/// Returns whether a field of an entry may be a key, a password or an address, none of which belongs into a pool.
fn may_be_secret(name: &str, value: &Value) -> bool {
    let name = name.to_lowercase();
    let is_named = SECRET_NAMES.iter().any(|part| name.contains(part));
    match value {
        Value::String(text) => {
            let looks_like_key = SECRET_STARTS.iter().any(|start| text.starts_with(start));
            is_named || looks_like_key || text.contains("://") || text.len() > LONGEST_WORD
        }
        Value::Array(all) => all.iter().any(|value| may_be_secret(&name, value)),
        // Counts and prices of tokens have such names too, and objects are taken by nobody.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Returns an address without user, password, query and fragment, any of which may be a secret.
fn strip_address(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (plain, _) = url.split_at(end);
    let (scheme, rest) = plain.split_once("://").unwrap_or(("", plain));
    // The last `@` before the path ends the password, which can have one itself.
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match scheme {
        "" => format!("{host}{path}"),
        scheme => format!("{scheme}://{host}{path}"),
    }
}

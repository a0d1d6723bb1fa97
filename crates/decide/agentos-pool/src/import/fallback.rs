//! Chains of fallbacks of other programs.
//!
//! Owns: which members are asked after which. Never: invents a chain.
//!
//! | form | chains |
//! |---|---|
//! | `fallback_chain`, or another name of it, as a list | the pool's |
//! | the same as an object of lists by model | one for each model |
//! | `fallback` of an entry, as a list or a name | the entry's |
//! | `fallback_alias` of an entry | the entry's: from entry to entry. A circle is refused, as the other program does |

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ImportedPool, list_entries, text_of};
use crate::{MOST_HOPS, PoolFault, name_alias};

/// Names of a circle that an error shows.
const SHOWN_NAMES: usize = 8;

/// Adds the chains of a document to the pool.
///
/// # Errors
/// [`PoolFault::FallbackCircle`] if aliases lead in a circle.
pub(super) fn read_fallback(
    value: &Value,
    imported: &mut ImportedPool,
    renamed: &BTreeMap<String, String>,
) -> Result<(), PoolFault> {
    let stated = ["fallback_chain", "fallback_chains", "fallbacks", "fallback"]
        .iter()
        .find_map(|key| value.get(*key));
    let chains: BTreeMap<String, Vec<String>> = match stated {
        Some(Value::Object(chains)) => {
            let chains = chains
                .iter()
                .map(|(name, chain)| (name_alias(name), strings_in(chain)));
            chains.collect()
        }
        Some(chain) => {
            let (chain, note) = take_chain(None, &strings_in(chain), renamed);
            imported.notes.extend(note);
            imported.pool.fallback = Some(chain).filter(|chain| !chain.is_empty());
            return Ok(());
        }
        None => chains_of_entries(value)?,
    };
    if chains.is_empty() {
        return Ok(());
    }
    let names: BTreeMap<&String, &String> = renamed.iter().map(|(name, alias)| (alias, name)).collect();
    for member in &mut imported.pool.members {
        let chain = names.get(&member.alias).and_then(|name| chains.get(*name));
        let (chain, note) = take_chain(Some(&member.alias), chain.map_or(&[], Vec::as_slice), renamed);
        imported.notes.extend(note);
        // After a model without a chain, the other program asks no other model. An empty chain says the same.
        member.fallback = Some(chain);
    }
    Ok(())
}

/// Returns the members of a chain, and a note about the names that were left out.
fn take_chain(
    of: Option<&str>,
    names: &[String],
    renamed: &BTreeMap<String, String>,
) -> (Vec<String>, Option<String>) {
    let (mut chain, mut left_out, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    for name in names {
        match renamed.get(&name_alias(name)) {
            Some(alias) if of == Some(alias) || !taken.insert(alias) => {}
            Some(alias) if chain.len() < MOST_HOPS => chain.push(alias.clone()),
            Some(_) | None => left_out.push(format!("`{name}`")),
        }
    }
    let whose = of.map_or_else(|| "the pool's chain".to_owned(), |alias| format!("`{alias}`"));
    let shown = left_out
        .iter()
        .take(MOST_HOPS)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let note = (!left_out.is_empty()).then(|| {
        format!(
            "{whose}: of its fallbacks, {} were left out, because the file has no such model or a turn is passed on at most {MOST_HOPS} times: \
             {shown}",
            left_out.len()
        )
    });
    (chain, note)
}

/// Reads the chain of each entry, by its name.
fn chains_of_entries(value: &Value) -> Result<BTreeMap<String, Vec<String>>, PoolFault> {
    let entries = list_entries(value).unwrap_or_default();
    let named = entries.iter().filter_map(|(name, entry)| {
        let name = name.as_deref().or(text_of(entry, &["alias", "name", "id"]))?;
        Some((name_alias(name), *entry))
    });
    let named: BTreeMap<String, &Value> = named.collect();
    refuse_circle(&named)?;
    let mut chains = BTreeMap::new();
    for (name, entry) in &named {
        let own = entry.get("fallback").map(strings_in).unwrap_or_default();
        let chain = match own.is_empty() {
            true => follow_aliases(name, &named),
            false => own,
        };
        if !chain.is_empty() {
            chains.insert(name.clone(), chain);
        }
    }
    Ok(chains)
}

/// Follows `fallback_alias` from an entry on, as far as a turn can be passed on.
fn follow_aliases(from: &str, named: &BTreeMap<String, &Value>) -> Vec<String> {
    let mut way: Vec<String> = Vec::new();
    while way.len() < MOST_HOPS
        && let Some(next) = next_alias(way.last().map_or(from, String::as_str), named)
    {
        way.push(next);
    }
    way
}

fn next_alias(name: &str, named: &BTreeMap<String, &Value>) -> Option<String> {
    text_of(named.get(name)?, &["fallback_alias"]).map(name_alias)
}

/// Refuses a circle of `fallback_alias`. Each entry is visited once, because each has at most one next entry.
fn refuse_circle(named: &BTreeMap<String, &Value>) -> Result<(), PoolFault> {
    let mut visited = BTreeSet::new();
    for start in named.keys() {
        let (mut way, mut next) = (Vec::new(), Some(start.clone()));
        while let Some(name) = next {
            if !visited.insert(name.clone()) {
                // An entry of an earlier way ends this way; an entry of this way closes a circle.
                if let Some(at) = way.iter().position(|known| *known == name) {
                    let mut circle: Vec<String> = way.into_iter().skip(at).chain([name]).collect();
                    if circle.len() > SHOWN_NAMES {
                        circle.splice(SHOWN_NAMES - 2..circle.len() - 1, ["…".to_owned()]);
                    }
                    return Err(PoolFault::FallbackCircle(circle));
                }
                break;
            }
            next = next_alias(&name, named);
            way.push(name);
        }
    }
    Ok(())
}

/// Returns a text, or all texts of a list or an object's values.
pub(super) fn strings_in(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings_in).collect(),
        Value::Object(fields) => fields.values().flat_map(strings_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

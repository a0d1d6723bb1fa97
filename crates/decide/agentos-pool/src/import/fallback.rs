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
            let (chain, notes) = take_chain(None, &strings_in(chain), renamed);
            imported.notes.extend(notes);
            imported.pool.fallback = Some(chain).filter(|chain| !chain.is_empty());
            return Ok(());
        }
        None => chains_of_entries(value)?,
    };
    let first = imported.pool.members.first().map(|member| member.alias.clone());
    let default = imported.pool.default.clone().or(first).unwrap_or_default();
    for (name, chain) in &chains {
        let Some(alias) = renamed.get(name) else { continue };
        let (chain, notes) = take_chain(Some(alias), chain, renamed);
        imported.notes.extend(notes);
        let chain = Some(chain).filter(|chain| !chain.is_empty());
        if *alias == default {
            imported.pool.fallback = chain;
        } else if let Some(member) = imported
            .pool
            .members
            .iter_mut()
            .find(|member| member.alias == *alias)
        {
            member.fallback = chain;
        }
    }
    Ok(())
}

/// Returns the members of a chain, and a note about each name that was left out.
fn take_chain(
    of: Option<&str>,
    names: &[String],
    renamed: &BTreeMap<String, String>,
) -> (Vec<String>, Vec<String>) {
    let (mut chain, mut notes, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    let whose = of.map_or_else(|| "the pool's chain".to_owned(), |alias| format!("`{alias}`"));
    for name in names {
        match renamed.get(&name_alias(name)) {
            None => notes.push(format!(
                "{whose}: the fallback `{name}` is no model of the file, and was left out"
            )),
            Some(alias) if chain.len() == MOST_HOPS && taken.insert(alias) => {
                notes.push(format!("{whose}: the fallback `{alias}` was left out: a turn is passed on at most {MOST_HOPS} times"));
            }
            Some(alias) if of != Some(alias) && taken.insert(alias) => chain.push(alias.clone()),
            Some(_) => {}
        }
    }
    (chain, notes)
}

/// Reads the chain of each entry, by its name.
fn chains_of_entries(value: &Value) -> Result<BTreeMap<String, Vec<String>>, PoolFault> {
    let entries = list_entries(value).unwrap_or_default();
    let named = entries.iter().filter_map(|(name, entry)| {
        let name = name.as_deref().or(text_of(entry, &["alias", "name", "id"]))?;
        Some((name_alias(name), *entry))
    });
    let named: BTreeMap<String, &Value> = named.collect();
    let mut chains = BTreeMap::new();
    for (name, entry) in &named {
        let own = entry.get("fallback").map(strings_in).unwrap_or_default();
        let chain = match own.is_empty() {
            true => follow_aliases(name, &named)?,
            false => own,
        };
        if !chain.is_empty() {
            chains.insert(name.clone(), chain);
        }
    }
    Ok(chains)
}

/// Follows `fallback_alias` from an entry on.
fn follow_aliases(from: &str, named: &BTreeMap<String, &Value>) -> Result<Vec<String>, PoolFault> {
    let mut way = vec![from.to_owned()];
    loop {
        let entry = way.last().and_then(|last| named.get(last));
        let next = entry.and_then(|entry| text_of(entry, &["fallback_alias"]));
        // A chain that is longer than any turn needs no further look: its circle is found from an entry of the circle.
        let Some(next) = next.map(name_alias).filter(|_| way.len() <= named.len()) else {
            way.remove(0);
            return Ok(way);
        };
        if let Some(start) = way.iter().position(|known| *known == next) {
            let circle = way.into_iter().skip(start);
            return Err(PoolFault::FallbackCircle(circle.chain([next]).collect()));
        }
        way.push(next);
    }
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

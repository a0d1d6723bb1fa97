//! Checks of a pool and of the pools that follow it.
//!
//! Owns: the rules about names, cycles, hops and places. Never: knows which providers exist.

use std::collections::{BTreeMap, BTreeSet};

use agentos_profile::PoolFile;
use agentos_tool::ExecutionMode;

use crate::PoolFault;

/// Largest number of hops of one turn: attempts after the first.
pub const MOST_HOPS: usize = 5;
/// Largest number of times that a member's failed call is sent again.
const MOST_RETRIES: u32 = 10;
/// Longest alias, in bytes.
const LONGEST_ALIAS: usize = 64;

/// Members of one pool of a chain, with their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPlaces {
    /// Name of the pool.
    pub pool: String,
    /// True if the pool gives leave for the cloud.
    pub allows_cloud: bool,
    /// Alias and place of each member.
    pub members: Vec<(String, ExecutionMode)>,
}

/// Checks what a pool states about itself.
///
/// # Errors
/// [`PoolFault`] with the first mistake.
pub fn check_pool(pool: &PoolFile) -> Result<(), PoolFault> {
    if pool.members.is_empty() {
        return Err(PoolFault::EmptyPool);
    }
    if let Some(found) = pool.retries.filter(|retries| *retries > MOST_RETRIES) {
        return Err(PoolFault::TooManyRetries {
            found,
            most: MOST_RETRIES,
        });
    }
    let mut aliases = BTreeSet::new();
    for member in &pool.members {
        if !is_alias(&member.alias) {
            return Err(PoolFault::WrongAlias(
                member.alias.chars().take(LONGEST_ALIAS).collect(),
            ));
        }
        if !aliases.insert(member.alias.as_str()) {
            return Err(PoolFault::RepeatedAlias(member.alias.clone()));
        }
    }
    let require_member = |field, alias: &String| match aliases.contains(alias.as_str()) {
        true => Ok(()),
        false => Err(PoolFault::UnknownMember {
            field,
            alias: alias.clone(),
        }),
    };
    if let Some(alias) = &pool.default {
        require_member("default", alias)?;
    }
    let of_members = pool.members.iter().filter_map(|member| member.fallback.as_ref());
    for chain in pool.fallback.iter().chain(of_members) {
        let mut named = BTreeSet::new();
        for alias in chain {
            require_member("fallback", alias)?;
            if !named.insert(alias) {
                return Err(PoolFault::RepeatedFallback(alias.clone()));
            }
        }
    }
    Ok(())
}

/// Returns whether a text can name a member: it needs no quotes in a shell, and no escapes on a screen.
fn is_alias(text: &str) -> bool {
    (1..=LONGEST_ALIAS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.'))
}

/// Makes an alias of a name: other characters than those of aliases become `-`.
#[must_use]
pub fn name_alias(name: &str) -> String {
    let letters = name.to_lowercase().chars().take(64).collect::<String>();
    let alias: String = letters
        .chars()
        .map(|c| {
            if is_alias(c.encode_utf8(&mut [0; 4])) {
                c
            } else {
                '-'
            }
        })
        .collect();
    match alias.is_empty() {
        true => "model".to_owned(),
        false => alias,
    }
}

/// Returns advice about an alias that says nothing about its model. `None` if it says something.
#[must_use]
pub fn advise_alias(alias: &str) -> Option<String> {
    let word = alias.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '.'));
    let says_nothing = matches!(word, "" | "m" | "llm" | "model" | "member");
    says_nothing.then(|| {
        format!("the alias `{alias}` says nothing about the model: a name such as `fast` or `vision` says when it is chosen")
    })
}

/// Lists a pool and those that follow it, in their order. `pools` are the user's pools by name.
///
/// # Errors
/// [`PoolFault`] if one is missing, the chain leads in a circle, or a turn could be passed on too often.
pub fn list_chain<'a>(
    name: &str,
    pools: &'a BTreeMap<String, PoolFile>,
) -> Result<Vec<(&'a str, &'a PoolFile)>, PoolFault> {
    let mut chain: Vec<(&str, &PoolFile)> = Vec::new();
    let (mut from, mut next) = (name.to_owned(), Some(name.to_owned()));
    while let Some(pool) = next.take() {
        let Some((key, file)) = pools.get_key_value(&pool) else {
            return Err(PoolFault::UnknownPool {
                pool: from,
                next: pool,
            });
        };
        if let Some(start) = chain.iter().position(|(known, _)| *known == pool) {
            let circle = chain.iter().skip(start).map(|(known, _)| (*known).to_owned());
            return Err(PoolFault::Cycle(circle.chain([pool]).collect()));
        }
        chain.push((key, file));
        next.clone_from(&file.next_pool);
        from = pool;
    }
    // Without a list the selector chooses again as often as hops are left, so only stated ones can be too many.
    let named = |file: &PoolFile| {
        let of_members = file.members.iter().filter_map(|member| member.fallback.as_ref());
        file.fallback
            .iter()
            .chain(of_members)
            .map(Vec::len)
            .max()
            .unwrap_or(0)
    };
    let found = chain.iter().map(|(_, file)| named(file)).sum::<usize>() + chain.len().saturating_sub(1);
    match found > MOST_HOPS {
        true => Err(PoolFault::TooManyHops {
            found,
            most: MOST_HOPS,
        }),
        false => Ok(chain),
    }
}

/// Checks that no turn can go from this machine to the cloud without leave of the pool that it leaves.
///
/// # Errors
/// [`PoolFault::CloudWithoutLeave`] with the members.
pub fn check_places(chain: &[ChainPlaces]) -> Result<(), PoolFault> {
    let find = |pools: &[ChainPlaces], place| {
        let mut members = pools.iter().flat_map(|pool| &pool.members);
        members
            .find(|(_, found)| *found == place)
            .map(|(alias, _)| alias.clone())
    };
    for (position, pool) in chain.iter().enumerate().filter(|(_, pool)| !pool.allows_cloud) {
        let Some(local) = find(std::slice::from_ref(pool), ExecutionMode::Local) else {
            continue;
        };
        // Also the pools after the next one, because a turn can get there.
        let reached = chain.get(position..).unwrap_or_default();
        if let Some(cloud) = find(reached, ExecutionMode::Cloud) {
            return Err(PoolFault::CloudWithoutLeave {
                pool: pool.pool.clone(),
                local,
                cloud,
            });
        }
    }
    Ok(())
}

//! The models of a pool as one value that is cheap to copy.
//!
//! Owns: the list, and its hash once somebody made it. Never: hashes by itself; `agentos-pool` does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::PoolModel;

/// Models of a pool, in its order.
///
/// A pool may have a thousand of them, and they are the same for every choice until the pool is changed. So copies share them, and share
/// their hash.
#[derive(Debug, Clone, Default)]
pub struct PoolModels(Arc<ModelList>);

#[derive(Debug, Clone, Default)]
struct ModelList {
    models: Vec<PoolModel>,
    hash: OnceLock<String>,
    /// Positions of the models by their aliases. Empty until they are requested.
    by_alias: OnceLock<Vec<usize>>,
}

impl ModelList {
    fn list_by_alias(&self) -> &[usize] {
        self.by_alias.get_or_init(|| {
            let aliases = self.models.iter().map(|model| model.alias.as_str());
            let mut named: Vec<(&str, usize)> = aliases.zip(0..).collect();
            named.sort_unstable();
            named.into_iter().map(|(_, position)| position).collect()
        })
    }
}

impl PoolModels {
    /// Returns the hash of the models, which `make` makes if nobody has requested it yet. It must always be the same function.
    pub fn hash_with(&self, make: impl FnOnce(&[PoolModel]) -> String) -> &str {
        self.0.hash.get_or_init(|| make(&self.0.models))
    }

    /// Finds a value for each model by its alias, in the pool's order. Both orders are known, so each value is passed once.
    pub(crate) fn find_values<T: Copy>(&self, values: &BTreeMap<String, T>) -> Vec<Option<T>> {
        let mut found = vec![None; self.len()];
        if values.is_empty() {
            return found;
        }
        let mut values = values.iter();
        let mut next = values.next();
        for position in self.0.list_by_alias() {
            let Some((model, slot)) = self.get(*position).zip(found.get_mut(*position)) else {
                continue;
            };
            while next.is_some_and(|(alias, _)| *alias < model.alias) {
                next = values.next();
            }
            // Not passed yet: a pool that was not checked may have an alias twice.
            *slot = next
                .filter(|(alias, _)| **alias == model.alias)
                .map(|(_, value)| *value);
        }
        found
    }
}

impl Deref for PoolModels {
    type Target = [PoolModel];

    fn deref(&self) -> &[PoolModel] {
        &self.0.models
    }
}

impl DerefMut for PoolModels {
    /// Gives this value models of its own, without a hash: whoever requests them may change them.
    fn deref_mut(&mut self) -> &mut [PoolModel] {
        let list = Arc::make_mut(&mut self.0);
        list.hash = OnceLock::new();
        list.by_alias = OnceLock::new();
        &mut list.models
    }
}

impl From<Vec<PoolModel>> for PoolModels {
    fn from(models: Vec<PoolModel>) -> Self {
        Self(Arc::new(ModelList {
            models,
            hash: OnceLock::new(),
            by_alias: OnceLock::new(),
        }))
    }
}

impl FromIterator<PoolModel> for PoolModels {
    fn from_iter<I: IntoIterator<Item = PoolModel>>(models: I) -> Self {
        models.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a PoolModels {
    type Item = &'a PoolModel;
    type IntoIter = std::slice::Iter<'a, PoolModel>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for PoolModels {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.models == other.0.models
    }
}

impl Serialize for PoolModels {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.models.serialize(to)
    }
}

impl<'de> Deserialize<'de> for PoolModels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Self::from)
    }
}

impl JsonSchema for PoolModels {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Vec::<PoolModel>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<PoolModel>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(alias: &str) -> PoolModels {
        let text = format!(r#"[{{ "alias": "{alias}", "provider": "p" }}]"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_hash_is_made_once_and_forgotten_with_a_change() {
        let name = |models: &[PoolModel]| models.iter().map(|model| model.alias.clone()).collect();
        let first = models("a");
        assert_eq!(first.hash_with(name), "a");
        let mut second = first.clone();
        assert_eq!(second.hash_with(|_| "made again".to_owned()), "a");
        second[0].alias = "b".to_owned();
        assert_eq!(second.hash_with(name), "b");
        assert_eq!(
            (first.hash_with(name), first == models("a"), first == second),
            ("a", true, false)
        );
    }

    #[test]
    fn values_are_found_by_alias() {
        let text = ["b", "a", "d", "a"].map(|alias| format!(r#"{{ "alias": "{alias}", "provider": "p" }}"#));
        let models: PoolModels = serde_json::from_str(&format!("[{}]", text.join(","))).unwrap();
        let values = |names: &[(&str, u8)]| {
            names
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect()
        };
        let cases = [
            (values(&[]), [None; 4]),
            (
                values(&[("a", 1), ("c", 2), ("d", 3)]),
                [None, Some(1), Some(3), Some(1)],
            ),
            (values(&[("b", 4), ("e", 5)]), [Some(4), None, None, None]),
        ];
        for (values, expected) in cases {
            assert_eq!(models.find_values(&values), expected, "{values:?}");
        }
    }
}

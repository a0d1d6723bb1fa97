//! The order of the models in a file whose models are an object.
//!
//! Owns: the names in the order of the file. Never: keeps a value. A JSON object has no order for most programs, but the one that wrote the
//! file took the first model for its default.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Names of an object, in the order of the text. Empty for any other value.
#[derive(Debug, Default)]
struct NameOrder(Vec<String>);

/// The places of a document in which models are.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    llm_models: NameOrder,
    models: NameOrder,
}

/// Lists the names of the models. Empty if they have no names.
pub(super) fn list_names(text: &str) -> Vec<String> {
    let document: Document = serde_json::from_str(text).unwrap_or_default();
    match document.llm_models.0.is_empty() {
        true => document.models.0,
        false => document.llm_models.0,
    }
}

impl<'de> Deserialize<'de> for NameOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = NameOrder;

    fn expecting(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.write_str("models")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<NameOrder, M::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            names.push(name);
        }
        Ok(NameOrder(names))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<NameOrder, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(NameOrder::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }

    fn visit_unit<E>(self) -> Result<NameOrder, E> {
        Ok(NameOrder::default())
    }
}

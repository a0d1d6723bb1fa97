//! The order of the models in a file whose models are an object.
//!
//! Owns: the names in the order of the file. Never: keeps a value. A JSON object has no order for most programs, but the one that wrote the
//! file took the first model for its default.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// Names of an object, in the order of the text. Empty for any other value.
#[derive(Debug, Default)]
struct NameOrder(Vec<String>);

/// The places of a document in which models are.
#[derive(Debug, Deserialize)]
struct Document {
    llm_models: Option<NameOrder>,
    models: Option<NameOrder>,
}

/// Lists the names of the models. Empty if they have no names.
pub(super) fn list_names(text: &str) -> Vec<String> {
    let document: Option<Document> = serde_json::from_str(text).ok();
    let order = document.and_then(|document| document.llm_models.or(document.models));
    order.unwrap_or_default().0
}

impl<'de> Deserialize<'de> for NameOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = NameOrder;

    fn expecting(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.write_str("models by name")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<NameOrder, M::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            names.push(name);
        }
        Ok(NameOrder(names))
    }
}

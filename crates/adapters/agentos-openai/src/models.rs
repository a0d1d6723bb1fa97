//! The model list, `GET {base}/models`.
//!
//! Owns: reading it strictly and deciding which model would answer. Never: sends.

use agentos_generic_http::{Fault, ProbeFindings, Reason};
use serde_json::Value;

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// The name to ask for.
    pub id: String,
    aliases: Vec<String>,
    state: Option<String>,
    failed: bool,
    context_window: Option<u64>,
}

/// The models a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    models: Vec<ListedModel>,
}

impl ModelList {
    /// Reads the list. A bare list, entries without an id and other JSON are another service's.
    ///
    /// # Errors
    /// `fields` for another shape, `no-models` for an empty list.
    pub fn read(json: &Value) -> Result<Self, Fault> {
        let entries = match json.get("data").ok_or(Reason::Fields)? {
            Value::Null => &[][..],
            Value::Array(entries) => entries,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(Reason::Fields.into());
            }
        };
        if entries.is_empty() {
            return Err(Reason::NoModels.into());
        }
        let models: Option<Vec<_>> = entries.iter().map(ListedModel::read).collect();
        Ok(Self {
            models: models.ok_or(Reason::Fields)?,
        })
    }

    /// The names, in the server's order.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.models.iter().map(|model| model.id.clone()).collect()
    }

    /// The model that would answer: the wanted one, or the only one.
    ///
    /// # Errors
    /// When it is not listed, cannot be loaded, or is still loading.
    pub fn choose(&self, wanted: Option<&str>) -> Result<ProbeFindings, Fault> {
        let model = match (wanted, self.models.as_slice()) {
            (Some(wanted), models) => models
                .iter()
                .find(|model| model.answers_to(wanted))
                .ok_or_else(|| Fault::from(Reason::UnknownModel).listing(self.ids()))?,
            (None, [only]) => only,
            (None, _) => return Err(Fault::from(Reason::MissingModel).listing(self.ids())),
        };
        let remark = model
            .state()
            .map_err(|reason| Fault::from(reason).listing(self.ids()))?;
        Ok(ProbeFindings {
            model: Some(model.id.clone()),
            models: self.ids(),
            context_window: model.context_window,
            remark,
        })
    }
}

impl ListedModel {
    fn read(entry: &Value) -> Option<Self> {
        let id = entry.get("id")?.as_str()?.to_owned();
        let names = entry.get("aliases").and_then(Value::as_array);
        let status = entry.get("status");
        let context = [
            "/meta/n_ctx",
            "/max_model_len",
            "/context_length",
            "/max_input_tokens",
        ]
        .iter()
        .find_map(|field| entry.pointer(field)?.as_u64());
        Some(Self {
            id,
            aliases: names
                .map(|names| {
                    names
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect()
                })
                .unwrap_or_default(),
            state: status
                .and_then(|status| status.get("value")?.as_str())
                .map(str::to_owned),
            failed: status
                .and_then(|status| status.get("failed")?.as_bool())
                .unwrap_or(false),
            context_window: context,
        })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// What a server with several models says of this one (llama.cpp's router).
    fn state(&self) -> Result<Option<Reason>, Reason> {
        if self.failed {
            return Err(Reason::LoadFailed);
        }
        match self.state.as_deref() {
            Some("loading" | "downloading") => Err(Reason::Loading),
            Some("unloaded" | "sleeping") => Ok(Some(Reason::NotLoaded)),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chosen(list: &Value, wanted: Option<&str>) -> Result<(String, Option<Reason>), Reason> {
        ModelList::read(list)
            .and_then(|list| list.choose(wanted))
            .map(|found| (found.model.unwrap(), found.remark))
            .map_err(|fault| fault.reason)
    }

    #[test]
    fn the_list_decides_which_model_answers() {
        let two = json!({"data": [{"id": "a"}, {"id": "b", "aliases": ["c"]}]});
        let state = |value: &str| json!({"data": [{"id": "a", "status": {"value": value}}]});
        let failed = json!({"data": [{"id": "a", "status": {"value": "unloaded", "failed": true}}]});
        let plain = |id: &str| Ok((id.to_owned(), None));
        let cases = [
            (two.clone(), Some("a"), plain("a")),
            (two.clone(), Some("c"), plain("b")),
            (two.clone(), Some("x"), Err(Reason::UnknownModel)),
            (two, None, Err(Reason::MissingModel)),
            (json!({"data": [{"id": "a"}]}), None, plain("a")),
            (json!({"data": []}), None, Err(Reason::NoModels)),
            (json!({"data": null}), Some("a"), Err(Reason::NoModels)),
            (json!({"data": "none"}), Some("a"), Err(Reason::Fields)),
            (json!({"data": [{"name": "a"}]}), Some("a"), Err(Reason::Fields)),
            (json!([{"id": "a"}]), Some("a"), Err(Reason::Fields)),
            (json!({"status": "UP"}), Some("a"), Err(Reason::Fields)),
            (state("loaded"), None, plain("a")),
            (state("loading"), None, Err(Reason::Loading)),
            (state("downloading"), None, Err(Reason::Loading)),
            (
                state("unloaded"),
                None,
                Ok(("a".to_owned(), Some(Reason::NotLoaded))),
            ),
            (
                state("sleeping"),
                None,
                Ok(("a".to_owned(), Some(Reason::NotLoaded))),
            ),
            (failed, None, Err(Reason::LoadFailed)),
        ];
        for (list, wanted, outcome) in cases {
            assert_eq!(chosen(&list, wanted), outcome, "{list} {wanted:?}");
        }
    }
}

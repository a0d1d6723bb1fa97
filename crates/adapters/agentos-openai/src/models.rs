//! The model list, `GET {base}/models`.
//!
//! Owns: reading the list strictly, and the choice of the model. Never: sends a request.

use agentos_generic_http::{Fault, ProbeFindings, Reason};
use serde_json::Value;

/// Entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Name of the model in requests.
    pub id: String,
    aliases: Vec<String>,
    state: Option<String>,
    failed: bool,
    /// Exit code of the process that was to load it. `None` if the server gives no exit code.
    exit_code: Option<i64>,
    context_window: Option<u64>,
}

/// Models that a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    models: Vec<ListedModel>,
}

impl ModelList {
    /// Reads the list. Together AI sends the array alone. Entries without an id, and other JSON, come from another kind of server.
    ///
    /// # Errors
    /// `fields` for another shape, `no-models` for an empty list.
    pub fn read(json: &Value) -> Result<Self, Fault> {
        let list = if json.is_array() {
            Some(json)
        } else {
            json.get("data")
        };
        let entries = match list.ok_or(Reason::Fields)? {
            // Ollama writes an empty list on this path as `"data": null`.
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

    /// Returns the names in the server's order.
    #[must_use]
    pub fn model_ids(&self) -> Vec<String> {
        self.models.iter().map(|model| model.id.clone()).collect()
    }

    /// Chooses the model that would answer: the wanted one, or the only one.
    ///
    /// # Errors
    /// If the model is not listed, cannot be loaded, or is still loading.
    pub fn choose_model(&self, wanted: Option<&str>) -> Result<ProbeFindings, Fault> {
        let model = match (wanted, self.models.as_slice()) {
            (Some(wanted), models) => models
                .iter()
                .find(|model| model.answers_to(wanted))
                .ok_or_else(|| Fault::from(Reason::UnknownModel).with_models(self.model_ids()))?,
            // With several models nothing is picked: an answer by a model that nobody named would be a surprise.
            (None, [only]) => only,
            (None, _) => return Err(Fault::from(Reason::MissingModel).with_models(self.model_ids())),
        };
        let remark = model
            .read_state()
            .map_err(|fault| fault.with_models(self.model_ids()))?;
        Ok(ProbeFindings {
            model: Some(model.id.clone()),
            models: self.model_ids(),
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
        // llama.cpp, vLLM and others have different fields for it; OpenAI has none.
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
            exit_code: status.and_then(|status| status.get("exit_code")?.as_i64()),
            context_window: context,
        })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.id == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Reads the state of the model, which llama.cpp's router reports. `None` if it is ready.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    fn read_state(&self) -> Result<Option<Reason>, Fault> {
        if self.failed {
            let fault = Fault::from(Reason::LoadFailed);
            return Err(match self.exit_code {
                Some(code) => fault.with_message(&format!("its process ended with exit code {code}")),
                None => fault,
            });
        }
        match self.state.as_deref() {
            Some("loading" | "downloading") => Err(Reason::Loading.into()),
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
            .and_then(|list| list.choose_model(wanted))
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
            (json!([{"id": "a"}, {"id": "n"}]), Some("a"), plain("a")),
            (json!([{"name": "a"}]), Some("a"), Err(Reason::Fields)),
            (json!([]), Some("a"), Err(Reason::NoModels)),
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

//! The two versions of the native model list as one type.
//!
//! Owns: reading `/api/v1/models` and `/api/v0/models`. Never: sends a request.

use agentos_generic_http::{Fault, ProbeFindings, Reason};
use serde_json::Value;

/// Model that can chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModel {
    name: String,
    /// Names of its loaded instances, which requests may use too.
    instances: Vec<String>,
    loaded: bool,
    loaded_context: Option<u64>,
}

/// Models on this machine, loaded or not. Embedding models are left out, because they cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelState {
    models: Vec<LocalModel>,
}

impl ModelState {
    /// Reads `/api/v1/models`.
    ///
    /// # Errors
    /// `fields` for another shape, `no-models` when no model can chat.
    pub fn read_v1(json: &Value) -> Result<Self, Fault> {
        Self::read(json.get("models"), LocalModel::read_v1)
    }

    /// Reads `/api/v0/models`.
    ///
    /// # Errors
    /// `fields` for another shape, `no-models` when no model can chat.
    pub fn read_v0(json: &Value) -> Result<Self, Fault> {
        Self::read(json.get("data"), LocalModel::read_v0)
    }

    fn read(list: Option<&Value>, read: fn(&Value) -> Option<LocalModel>) -> Result<Self, Fault> {
        let entries = list.and_then(Value::as_array).ok_or(Reason::Fields)?;
        let mut models = Vec::new();
        for entry in entries {
            let kind = entry.get("type").and_then(Value::as_str).ok_or(Reason::Fields)?;
            let model = read(entry).ok_or(Reason::Fields)?;
            // The embedding models are `embedding` in v1 and `embeddings` in v0.
            if matches!(kind, "llm" | "vlm") {
                models.push(model);
            }
        }
        if models.is_empty() {
            Err(Reason::NoModels.into())
        } else {
            Ok(Self { models })
        }
    }

    /// Chooses the model that would answer: the named one, else the only loaded one. A request for a model that is not loaded makes
    /// LM Studio load it, so a model that nobody named is never requested unless it is in memory already.
    ///
    /// # Errors
    /// [`Reason::UnknownModel`] if the named model is not in the list, [`Reason::MissingModel`] if several are loaded, and
    /// [`Reason::LoadingOff`] if none is.
    pub fn choose_model(&self, wanted: Option<&str>) -> Result<ProbeFindings, Fault> {
        let names: Vec<String> = self.models.iter().map(|model| model.name.clone()).collect();
        let fault = |reason: Reason| Fault::from(reason).with_models(names.clone());
        let model = match wanted {
            Some(wanted) => {
                let mut all = self.models.iter();
                let found = all.find(|model| model.answers_to(wanted));
                found.ok_or_else(|| fault(Reason::UnknownModel))?
            }
            None => {
                let loaded: Vec<&LocalModel> = self.models.iter().filter(|model| model.loaded).collect();
                match loaded.as_slice() {
                    [only] => *only,
                    [] => return Err(fault(Reason::LoadingOff)),
                    _ => return Err(fault(Reason::MissingModel)),
                }
            }
        };
        Ok(ProbeFindings {
            model: Some(wanted.unwrap_or(&model.name).to_owned()),
            models: names,
            context_window: model.loaded_context,
            remark: (!model.loaded).then_some(Reason::NotLoaded),
        })
    }
}

impl LocalModel {
    fn read_v1(entry: &Value) -> Option<Self> {
        // v1 has no state: a model is loaded if it has an instance.
        let instances = entry.get("loaded_instances")?.as_array()?;
        let name = entry.get("key")?.as_str()?.to_owned();
        let context = |instance: &Value| instance.pointer("/config/context_length")?.as_u64();
        Some(Self {
            name,
            instances: instances
                .iter()
                .filter_map(|instance| instance.get("id")?.as_str())
                .map(str::to_owned)
                .collect(),
            loaded: !instances.is_empty(),
            loaded_context: instances.first().and_then(context),
        })
    }

    fn read_v0(entry: &Value) -> Option<Self> {
        Some(Self {
            name: entry.get("id")?.as_str()?.to_owned(),
            instances: Vec::new(),
            loaded: entry.get("state")?.as_str()? == "loaded",
            loaded_context: entry.get("loaded_context_length").and_then(Value::as_u64),
        })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.instances.iter().any(|instance| instance == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_model_is_loaded_or_chosen_that_nobody_named() {
        let llm = |key: &str, loaded: &[&str]| {
            let instances: Vec<_> = loaded.iter().map(|id| json!({"id": id})).collect();
            json!({"type": "llm", "key": key, "loaded_instances": instances})
        };
        for (models, reason) in [
            (vec![llm("a", &[]), llm("b", &[])], Reason::LoadingOff),
            (vec![llm("a", &[])], Reason::LoadingOff),
            (vec![llm("a", &["a"]), llm("b", &["b"])], Reason::MissingModel),
        ] {
            let names: Vec<String> = models
                .iter()
                .map(|model| model["key"].as_str().unwrap().to_owned())
                .collect();
            let state = ModelState::read_v1(&json!({"models": models})).unwrap();
            let fault = state.choose_model(None).unwrap_err();
            assert_eq!((fault.reason, fault.models), (reason, names));
            assert!(state.choose_model(Some("a")).is_ok());
        }
    }

    #[test]
    fn the_loaded_model_answers_when_none_is_named() {
        let list = json!({"models": [
            {"type": "embedding", "key": "e", "loaded_instances": [{"id": "e"}]},
            {"type": "llm", "key": "a", "loaded_instances": []},
            {"type": "llm", "key": "b", "loaded_instances": [{"id": "b:2", "config": {"context_length": 4096}}]},
        ]});
        let state = ModelState::read_v1(&list).unwrap();
        let cases = [
            (None, Ok(("b", None, Some(4096)))),
            (Some("b"), Ok(("b", None, Some(4096)))),
            (Some("b:2"), Ok(("b:2", None, Some(4096)))),
            (Some("a"), Ok(("a", Some(Reason::NotLoaded), None))),
            (Some("e"), Err(Reason::UnknownModel)),
        ];
        for (wanted, outcome) in cases {
            let found = state.choose_model(wanted);
            let found = found
                .as_ref()
                .map(|found| {
                    (
                        found.model.as_deref().unwrap(),
                        found.remark,
                        found.context_window,
                    )
                })
                .map_err(|fault| fault.reason);
            assert_eq!(found, outcome, "{wanted:?}");
        }
    }

    #[test]
    fn another_services_list_is_not_taken() {
        let cases = [
            (json!({"models": "none"}), Reason::Fields),
            (json!({"models": [{"name": "tags"}]}), Reason::Fields),
            (json!({"data": []}), Reason::Fields),
            (json!({"models": []}), Reason::NoModels),
            (
                json!({"models": [{"type": "embedding", "key": "e", "loaded_instances": []}]}),
                Reason::NoModels,
            ),
        ];
        for (list, reason) in cases {
            assert_eq!(ModelState::read_v1(&list).unwrap_err().reason, reason, "{list}");
        }
    }
}

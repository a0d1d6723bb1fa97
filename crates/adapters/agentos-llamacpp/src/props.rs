//! `GET /props`: the document that only llama.cpp sends, and only for a valid key.
//!
//! Owns: reading it. Never: sends a request.

use agentos_generic_http::{Fault, Reason};
use serde_json::Value;

/// Properties of a server that the adapter uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerProps {
    pub(crate) context_window: Option<u64>,
    /// True if the server is a router over several models, each of which has properties of its own.
    pub(crate) is_router: bool,
    /// True if the router loads a model on its first request.
    pub(crate) loads_on_demand: bool,
    /// True if the server has unloaded its model (`--sleep-idle-seconds`). Any request for an answer would load it.
    pub(crate) is_sleeping: bool,
}

impl ServerProps {
    /// Reads the properties of one model's server, or of a router over several.
    pub(crate) fn read(json: &Value) -> Result<Self, Fault> {
        let is_router = json.get("role").and_then(Value::as_str) == Some("router");
        let settings = json
            .get("default_generation_settings")
            .filter(|value| value.is_object());
        if settings.is_none() && !is_router {
            return Err(Reason::Fields.into());
        }
        let context_window = settings
            .and_then(|settings| settings.get("n_ctx")?.as_u64())
            .filter(|window| !is_router && *window > 0);
        // Loading on demand is the router's default; `--no-models-autoload` switches it off.
        let loads_on_demand = json.get("models_autoload").and_then(Value::as_bool) != Some(false);
        Ok(Self {
            context_window,
            is_router,
            loads_on_demand,
            is_sleeping: json.get("is_sleeping").and_then(Value::as_bool) == Some(true),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_are_llamas_or_not() {
        let cases = [
            (
                json!({"default_generation_settings": {"n_ctx": 4096}}),
                Ok(Some(4096)),
            ),
            (json!({"default_generation_settings": {}}), Ok(None)),
            (json!({"role": "router"}), Ok(None)),
            (json!({"status": "ok"}), Err(Reason::Fields)),
            (json!([1]), Err(Reason::Fields)),
        ];
        for (props, outcome) in cases {
            let read = ServerProps::read(&props);
            assert_eq!(
                read.map(|p| p.context_window).map_err(|f| f.reason),
                outcome,
                "{props}"
            );
        }
    }
}

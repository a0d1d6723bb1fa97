//! Models of Ollama that this machine computes, and models that Ollama passes on to its paid service.
//!
//! Owns: when two names mean the same model for Ollama. Never: takes a missing statement as proof that a model is free.

use serde_json::Value;

/// Beginnings of a name that Ollama adds if they are missing, the outer one first.
const USUAL_BEGINNINGS: [&str; 4] = ["https://", "http://", "registry.ollama.ai/", "library/"];
/// Tag of a name without a tag.
const USUAL_TAG: &str = "latest";

/// Returns true for a model that Ollama passes on to its paid service, such as `gpt-oss:120b-cloud` (docs.ollama.com/cloud).
pub(crate) fn is_hosted_model(model: &str) -> bool {
    let name = write_full_name(model);
    name.ends_with("-cloud") || name.ends_with(":cloud") || name.ends_with("-cloud:latest")
}

/// Returns true if a list of Ollama has the model, and Ollama computes its answers here. `None` for the model means that the
/// list has models, and all are computed here. A model of the paid service stands in the list with the host that answers, under any name.
pub(super) fn runs_model(tags: &Value, model: Option<&str>) -> bool {
    let Some(entries) = tags.get("models").and_then(Value::as_array) else {
        return false;
    };
    let wanted = model.map(write_full_name);
    let is_asked = |entry: &&Value| {
        let names = [entry.get("name"), entry.get("model")].into_iter().flatten();
        let mut names = names.filter_map(Value::as_str).map(write_full_name);
        wanted
            .as_ref()
            .is_none_or(|wanted| names.any(|name| name == *wanted))
    };
    let mut asked = entries.iter().filter(is_asked).peekable();
    asked.peek().is_some() && asked.all(|entry| !is_elsewhere(entry))
}

/// Returns true if an entry names another host for its model, or has the name of a model of the paid service.
fn is_elsewhere(entry: &Value) -> bool {
    let stated = |field: &str| match entry.get(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        // Of a form that no version has: certainly no proof.
        Some(_) => true,
    };
    let name = entry.get("name").and_then(Value::as_str);
    stated("remote_host") || stated("remote_model") || name.is_none_or(is_hosted_model)
}

/// Writes a name as Ollama compares it: in small letters, with a tag, and without the usual beginnings.
fn write_full_name(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let mut rest = lower.as_str();
    for beginning in USUAL_BEGINNINGS {
        rest = rest.strip_prefix(beginning).unwrap_or(rest);
    }
    let last = rest.rsplit('/').next().unwrap_or(rest);
    match last.contains(':') {
        true => rest.to_owned(),
        false => format!("{rest}:{USUAL_TAG}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_is_computed_here_only_if_the_list_has_it_without_another_host() {
        let remote = "https://ollama.com:443";
        let tags = json!({ "models": [
            { "name": "mine:latest", "model": "mine:latest", "remote_host": remote },
            { "name": "odd:latest", "remote_model": { "name": "gpt-oss:120b" } },
            { "name": "small:latest", "model": "small:latest", "remote_host": "" },
            { "name": "Qwen3:30b" },
            { "name": "me/own:1" },
            { "name": "gpt-oss:120b-cloud" },
        ] });
        let cases = [
            ("small", true),
            ("small:latest", true),
            ("Small", true),
            (" small ", true),
            ("library/small", true),
            ("registry.ollama.ai/library/small:LATEST", true),
            ("qwen3:30B", true),
            ("me/own:1", true),
            ("registry.ollama.ai/me/own:1", true),
            // Under every spelling, the model of another host.
            ("mine", false),
            ("Mine", false),
            ("MINE:Latest", false),
            ("library/mine", false),
            ("https://registry.ollama.ai/library/mine", false),
            ("odd", false),
            ("gpt-oss:120b-cloud", false),
            // What the list does not have.
            ("qwen3", false),
            ("own:1", false),
            ("me/own", false),
            ("other", false),
            ("", false),
        ];
        for (model, expected) in cases {
            assert_eq!(runs_model(&tags, Some(model)), expected, "{model:?}");
        }
        assert!(!runs_model(&tags, None), "any of them can answer");
    }

    #[test]
    fn a_list_without_the_model_is_no_proof() {
        let lists = [
            json!({ "models": [] }),
            json!([]),
            json!({}),
            json!({ "models": {} }),
            json!({ "models": [{}] }),
            json!({ "models": [null, "small"] }),
        ];
        for list in lists {
            assert!(!runs_model(&list, None), "{list}");
            assert!(!runs_model(&list, Some("small")), "{list}");
        }
        let own = json!({ "models": [{ "name": "small:latest" }] });
        assert!(runs_model(&own, None));
    }

    #[test]
    fn the_paid_services_names_are_known_in_any_case() {
        let hosted = [
            "gpt-oss:120b-cloud",
            "gpt-oss:120b-CLOUD",
            "gpt-oss:Cloud",
            " gpt-oss:cloud ",
            "gpt-oss-cloud",
        ];
        for model in hosted {
            assert!(is_hosted_model(model), "{model:?}");
        }
        for model in ["gpt-oss:120b", "cloud", "cloud:20b", "my-cloud:20b"] {
            assert!(!is_hosted_model(model), "{model:?}");
        }
    }
}

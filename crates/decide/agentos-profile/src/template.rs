//! Checks the wire that a profile describes before it is used.
//!
//! Owns: the rules for a path, a request and a pointer. Never: fills a placeholder.

use serde_json::Value;

use crate::HttpFile;

/// Placeholders of a request.
const PLACES: [&str; 10] = [
    "prompt",
    "system",
    "user",
    "model",
    "max_tokens",
    "temperature",
    "top_p",
    "seed",
    "thinking",
    "stop",
];

/// Returns the first wrong field, with the requirement that it does not meet. `None` if all are right.
pub(crate) fn find_fault(http: &HttpFile) -> Option<(&'static str, String)> {
    let wrong = |field, must: &str| Some((field, must.to_owned()));
    let steps = http.path.split('/');
    // `..` would leave the base URL's path, and `?` and `#` would end it. URL parsers may read `\` as `/` (WHATWG URL).
    if http.path.is_empty() || http.path.contains(['?', '#', '\\']) || steps.clone().any(|step| step == "..")
    {
        return wrong("http.path", "must be a path without `..`, `?` and `#`");
    }
    let mut used = Vec::new();
    if let Err(unknown) = collect_placeholders(&http.request, &mut used) {
        let known = PLACES.join(", ");
        return Some((
            "http.request",
            format!("must not contain `{{{{{unknown}}}}}`; the placeholders are {known}"),
        ));
    }
    let has = |name: &str| used.iter().any(|place| place == name);
    if !has("prompt") && !has("user") {
        return wrong("http.request", "must contain `{{prompt}}` or `{{user}}`");
    }
    if !is_pointer(&http.answer) {
        return wrong("http.answer", "must be a JSON pointer such as `/choices/0/text`");
    }
    if http.finish.as_deref().is_some_and(|at| !is_pointer(at)) {
        return wrong("http.finish", "must be a JSON pointer such as `/stop_reason`");
    }
    if http.whole.is_some() && http.finish.is_none() {
        return wrong("http.whole", "requires `http.finish`");
    }
    None
}

fn is_pointer(text: &str) -> bool {
    // RFC 6901: `~` begins an escape, and only `~0` and `~1` exist.
    let escapes_are_known = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.starts_with('/') && escapes_are_known
}

/// Collects the placeholders that are used.
///
/// # Errors
/// The name of an unknown placeholder.
fn collect_placeholders(template: &Value, used: &mut Vec<String>) -> Result<(), String> {
    match template {
        Value::String(text) => {
            for piece in text.split("{{").skip(1) {
                let Some((name, _)) = piece.split_once("}}") else {
                    continue;
                };
                if !PLACES.contains(&name) {
                    return Err(name.chars().take(40).collect());
                }
                used.push(name.to_owned());
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect_placeholders(item, used)),
        Value::Object(fields) => fields
            .values()
            .try_for_each(|value| collect_placeholders(value, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wire_is_checked_before_it_is_used() {
        let good = HttpFile {
            path: "api/generate".to_owned(),
            request: json!({"input": "{{system}} {{user}}", "n": ["{{max_tokens}}"]}),
            answer: "/out/0".to_owned(),
            finish: Some("/a~1b".to_owned()),
            whole: Some(vec!["stop".to_owned()]),
        };
        assert_eq!(find_fault(&good), None);
        type Change = fn(&mut HttpFile);
        let wrong: [(&str, Change); 8] = [
            ("http.path", |http| http.path = "../admin".to_owned()),
            ("http.path", |http| http.path = "a?key=1".to_owned()),
            ("http.request", |http| http.request = json!({"input": "{{key}}"})),
            ("http.request", |http| http.request = json!({"input": "hello"})),
            ("http.answer", |http| http.answer = "out".to_owned()),
            ("http.answer", |http| http.answer = "/a~2".to_owned()),
            ("http.finish", |http| http.finish = Some("why".to_owned())),
            ("http.whole", |http| http.finish = None),
        ];
        for (field, change) in wrong {
            let mut http = good.clone();
            change(&mut http);
            assert_eq!(find_fault(&http).map(|(field, _)| field), Some(field));
        }
    }
}

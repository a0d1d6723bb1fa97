//! Checks that a printed `ToolResult` is complete and consistent.
//!
//! Owns: the check against the schema, and rules that a schema cannot express. Never: judges the answer in the result.

use agentos_schema::SchemaName;
use agentos_tool::{OutputKind, ResultStatus, ToolResult};
use agentos_verdict::ProviderSpec;
use serde_json::Value;

/// Returns everything that is wrong with a printed result.
pub(crate) fn problems_of(spec: &ProviderSpec, value: &Value) -> Vec<String> {
    let mut problems = against_schema(value);
    match serde_json::from_value::<ToolResult>(value.clone()) {
        Ok(result) => problems.extend(beyond_schema(spec, &result)),
        Err(error) => problems.push(format!("the result is not a ToolResult: {error}")),
    }
    problems
}

/// Returns the violations of the schema.
fn against_schema(value: &Value) -> Vec<String> {
    match agentos_schema::validate_value(SchemaName::ToolResult, value) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the contradictions that a schema cannot express.
fn beyond_schema(spec: &ProviderSpec, result: &ToolResult) -> Vec<String> {
    let worked = has_succeeded(result);
    let is_diff = result.output_kind == OutputKind::Diff;
    let has_diff = result.diff.as_deref().is_some_and(|diff| !diff.is_empty());
    let host_and_port = result
        .endpoint
        .as_ref()
        .map(|endpoint| is_host_and_port(endpoint.as_str()));
    let rules = [
        // The schema states types and allowed values of single fields; these rules are about two fields or
        // about the chosen provider.
        (result.tool == spec.id, "`tool` is not the chosen provider"),
        (
            result.provider.as_str() == spec.place,
            "`provider` is not the provider's location",
        ),
        (
            host_and_port.unwrap_or(false),
            "`endpoint` is not a host and a port",
        ),
        (
            !worked || result.model_id.as_deref().is_some_and(|id| !id.is_empty()),
            "`model_id` is missing",
        ),
        (
            is_diff == has_diff,
            "`output_kind` is `diff` without a diff, or there is a diff with a different `output_kind`",
        ),
        (
            worked != result.error_category.is_some(),
            "`error_category` does not fit the status",
        ),
        (
            worked != result.error_message.is_some(),
            "`error_message` does not fit the status",
        ),
    ];
    rules
        .iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, problem)| (*problem).to_owned())
        .collect()
}

/// Returns true if a result claims that the task was done, at least in part.
pub(crate) fn has_succeeded(result: &ToolResult) -> bool {
    matches!(
        result.status,
        ResultStatus::Success | ResultStatus::PartialSuccess
    )
}

/// Returns true for `host:port` without anything else, such as credentials or a path.
fn is_host_and_port(text: &str) -> bool {
    // From the right: an IPv6 address contains colons itself.
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let host_is_plain = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
    host_is_plain && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        for good in ["localhost:1234", "127.0.0.1:8080", "[::1]:80"] {
            assert!(is_host_and_port(good), "{good}");
        }
        for bad in [
            "localhost",
            ":80",
            "http://localhost:80",
            "u@h:80",
            "h:0",
            "h:80/v1",
            "h:99999",
            "",
        ] {
            assert!(!is_host_and_port(bad), "{bad}");
        }
    }
}

//! Answers of a person to forms, for scenarios that ask one. The product's own client refuses such questions.
//!
//! Owns: the usual answers of a form. Never: in a product.

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleClient};
use serde_json::{Map, Value, json};

/// Client with a person who accepts every form.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SuiteClient;

impl ClientHandler for SuiteClient {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let form = FormElicitationCapability::new().with_schema_validation(true);
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        ClientConfig::new(
            capabilities,
            Implementation::new("suite", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap_or_default();
        let answer = json!({ "action": "accept", "content": fill_form(&request) });
        serde_json::from_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// Fills a form: with the usual answers that it names, and with something of the right type where an answer is required.
fn fill_form(request: &Value) -> Map<String, Value> {
    let schema = request.get("requestedSchema").cloned().unwrap_or_default();
    // Optional fields without a usual answer are left out, as a person in a hurry does.
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut content = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let usual = field.get("default").cloned();
        let value = usual.or_else(|| {
            let kind = field.get("type").and_then(Value::as_str);
            required.contains(&name.as_str()).then(|| match kind {
                Some("boolean") => json!(true),
                Some("integer" | "number") => json!(1),
                Some(_) | None => json!("test"),
            })
        });
        if let Some(value) = value {
            content.insert(name.clone(), value);
        }
    }
    content
}

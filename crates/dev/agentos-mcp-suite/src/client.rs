//! The client that the suite's scenarios start, on the client code of the product.
//!
//! Owns: what each scenario does, and the answers of a person that some of them need. Never: a line of the protocol.

mod person;
mod sign_in;

use std::error::Error;

use agentos_mcp_client::{McpConnection, NetWire};
use agentos_net::{Auth, HttpClient, HttpUrl, Method, NetConfig, Request};
use agentos_tool::Secret;
use rmcp::model::{ProtocolVersion, Tool};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use serde_json::{Map, Value, json};

use person::SuiteClient;
use sign_in::SignIn;

/// Most attempts to sign in again after a refusal: more would ask a person without end.
const MOST_SIGN_INS: usize = 3;

/// Failure of a scenario. Some scenarios expect one.
pub type ScenarioError = Box<dyn Error + Send + Sync>;

/// Order of the suite, as its environment variables say it.
#[derive(Debug, Clone, Default)]
pub struct SuiteOrder {
    /// Name of the scenario.
    pub scenario: String,
    /// Address of the suite's server.
    pub url: String,
    /// Version of the protocol. Empty for the one before 2026-07-28.
    pub version: String,
    /// Calls, and the credentials of a client that is known to the server.
    pub context: Value,
}

impl SuiteOrder {
    fn begin(&self) -> ClientLifecycleMode {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        let version = known.clone().find(|version| version.as_str() == self.version);
        match version {
            Some(version) if *version >= ProtocolVersion::V_2026_07_28 => ClientLifecycleMode::Discover {
                preferred_versions: vec![version.clone()],
            },
            Some(_) | None => ClientLifecycleMode::Initialize,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.context.get(name)?.as_str()
    }
}

/// Does what a scenario expects of a client.
///
/// # Errors
/// If the server refuses something. Some scenarios expect it.
pub async fn run_scenario(order: &SuiteOrder) -> Result<(), ScenarioError> {
    // The wire of the product: what passes here passes there.
    let wire = NetWire::new(HttpClient::new(NetConfig::default())?, Auth::None);
    match order.scenario.as_str() {
        // Its server knows no other handshake, in every version.
        "json-schema-ref-no-deref" => call_tools(order, wire, ClientLifecycleMode::Initialize).await,
        "auth/authorization-server-migration" => follow_migration(order).await,
        "auth/scope-retry-limit" | "auth/scope-step-up" => sign_in_again(order, wire).await,
        scenario if scenario.starts_with("auth/") => {
            // The servers of these scenarios check the newest handshake in every version.
            let newest = ClientLifecycleMode::Discover {
                preferred_versions: list_versions(order),
            };
            let begin = match scenario {
                "auth/pre-registration" => order.begin(),
                _ => newest,
            };
            if needs_foreign_code(scenario) {
                let signed_in = SignIn::run(order, wire, None, &[]).await?;
                return call_tools(order, signed_in, begin).await;
            }
            let signed_in = sign_in::sign_in_as_product(order, &[]).await?;
            call_tools(order, signed_in, begin).await
        }
        _ => call_tools(order, wire, order.begin()).await,
    }
}

/// Returns true for scenarios with what the product refuses: addresses that no metadata names, and a secret in a profile.
fn needs_foreign_code(scenario: &str) -> bool {
    scenario.starts_with("auth/2025-03-26-") || scenario == "auth/pre-registration"
}

fn list_versions(order: &SuiteOrder) -> Vec<ProtocolVersion> {
    let mut versions: Vec<ProtocolVersion> = ProtocolVersion::KNOWN_VERSIONS.iter().rev().cloned().collect();
    // The version of the order first, so that both sides choose it.
    versions.sort_by_key(|version| version.as_str() != order.version);
    versions
}

/// Lists the tools and calls each, or those of the order.
async fn call_tools(
    order: &SuiteOrder,
    wire: impl StreamableHttpClient + Sync,
    begin: ClientLifecycleMode,
) -> Result<(), ScenarioError> {
    let connection = McpConnection::open_wire(SuiteClient, wire, &order.url, begin).await?;
    let tools = connection.list_tools().await?;
    let ordered = order
        .context
        .get("toolCalls")
        .or_else(|| order.context.get("tool_calls"));
    match ordered.and_then(Value::as_array) {
        Some(calls) if !calls.is_empty() => {
            for call in calls {
                let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                let arguments = call.get("arguments").and_then(Value::as_object).cloned();
                connection.call_tool(name, arguments.unwrap_or_default()).await?;
            }
        }
        Some(_) | None => {
            for tool in &tools {
                let arguments = make_arguments(tool, &tools);
                connection.call_tool(&tool.name, arguments).await?;
            }
        }
    }
    connection.close().await;
    Ok(())
}

/// Makes arguments that fit a tool's schema.
fn make_arguments(tool: &Tool, tools: &[Tool]) -> Map<String, Value> {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let kind_of = |name: &str| {
        let kind = tool.input_schema.get("properties")?.get(name)?.get("type")?;
        kind.as_str()
    };
    let value = |name: &str| match kind_of(name) {
        Some("number") => json!(1.0),
        Some("integer") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => json!("test"),
        // One scenario wants back the schema of its other tool, to see what a client makes of it.
        Some("object") => tools
            .first()
            .map_or(Value::Null, |first| Value::Object((*first.input_schema).clone())),
        Some(_) | None => Value::Null,
    };
    names.map(|name| (name.to_owned(), value(name))).collect()
}

/// Signs in when a server refuses something, each time with the scopes of every refusal so far, and a few times at most.
async fn sign_in_again(order: &SuiteOrder, wire: NetWire) -> Result<(), ScenarioError> {
    let mut scopes: Vec<String> = Vec::new();
    let mut refused = call_tools(order, wire.clone(), order.begin()).await;
    for _ in 0..MOST_SIGN_INS {
        let Err(error) = refused else { return Ok(()) };
        let challenge = sign_in::find_challenge(error.as_ref());
        let challenge = challenge.ok_or(error)?;
        for scope in sign_in::list_scopes(&challenge) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let signed_in = sign_in::sign_in_as_product(order, &scopes).await?;
        refused = call_tools(order, signed_in, order.begin()).await;
    }
    Ok(())
}

/// Sends requests to a server whose authorization server changes, and signs in again when it does.
async fn follow_migration(order: &SuiteOrder) -> Result<(), ScenarioError> {
    let client = HttpClient::new(NetConfig::default())?;
    let mut tokens = sign_in::MovingTokens::new(order);
    let mut token = tokens.next_token(&client).await?;
    for _ in 0..MOST_SIGN_INS {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let request = Request {
            method: Method::Post,
            derived_headers: vec![("mcp-protocol-version".to_owned(), order.version.clone())],
            ..Request::post(
                HttpUrl::parse(&order.url)?,
                Auth::Bearer(Secret::new(&token)),
                message,
            )
        };
        let deadline = agentos_net::Deadline::after(std::time::Duration::from_secs(20));
        if client.send(&request, &deadline).await?.status == 401 {
            token = tokens.next_token(&client).await?;
        }
    }
    Ok(())
}

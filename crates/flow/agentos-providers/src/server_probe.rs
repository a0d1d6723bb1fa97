//! Which server answers at an address: its kind, its models, and the window that it has loaded.
//!
//! Owns: the documents by which servers differ, and the limits on what is taken from them. Never: sends a key, or trusts a number, a name or
//! a length that a server states.
//!
//! | server | document that no other server has | models | window |
//! |---|---|---|---|
//! | llama.cpp | `/props` with `default_generation_settings` | `/v1/models` | `n_ctx` of the model, else of `/props` |
//! | Ollama | `/api/version` | `/api/tags` | `/api/ps`, else `/api/show` |
//! | LM Studio | `/api/v1/models` or `/api/v0/models` | the same | `context_length` of the loaded instance |
//! | vLLM | `/v1/models` with the owner `vllm` | the same | `max_model_len` |
//! | SGLang | `/v1/models` with the owner `sglang` | the same | `max_model_len` |
//! | another one with OpenAI's wire | – | `/v1/models` | `max_model_len`, `context_length` |

use std::time::Duration;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_net::{Auth, Deadline, HttpClient, HttpUrl, NetConfig, Request};
use agentos_profile::AdapterKind;
use serde_json::{Value, json};

mod ollama_models;

pub(crate) use ollama_models::is_hosted_model;
use ollama_models::runs_model;

/// Longest time for one document.
const DOCUMENT_TIME: Duration = Duration::from_secs(5);
/// Largest document, in bytes.
const LARGEST_DOCUMENT: usize = 4 << 20;
/// Most models that are taken from a list.
const MOST_MODELS: usize = 1_000;
/// Longest name of a model, in characters.
const LONGEST_NAME: usize = 200;
/// Lists of LM Studio with the state of its models, the newest form first.
const LMSTUDIO_LISTS: [&str; 2] = ["api/v1/models", "api/v0/models"];
/// Windows that a server can state, in tokens. Other numbers are mistakes.
const WINDOWS: std::ops::RangeInclusive<u64> = 128..=100_000_000;

/// Kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSort {
    LlamaCpp,
    Ollama,
    LmStudio,
    Vllm,
    Sglang,
    OpenAi,
}

impl ServerSort {
    /// Returns the name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::OpenAi => "a server with OpenAI's wire",
        }
    }

    /// Returns the usual name of its provider. `None` if the address names it.
    pub fn provider(self) -> Option<&'static str> {
        match self {
            Self::LlamaCpp => Some("llamacpp"),
            Self::Ollama => Some("ollama"),
            Self::LmStudio => Some("lmstudio"),
            Self::Vllm => Some("vllm"),
            Self::Sglang => Some("sglang"),
            Self::OpenAi => None,
        }
    }

    /// Returns the adapter that speaks its wire.
    pub fn adapter(self) -> AdapterKind {
        match self {
            Self::LlamaCpp => AdapterKind::Llamacpp,
            Self::Ollama => AdapterKind::Ollama,
            Self::LmStudio => AdapterKind::Lmstudio,
            Self::Vllm | Self::Sglang | Self::OpenAi => AdapterKind::Openai,
        }
    }

    /// Returns true if the server runs its models itself, so that its calls cost nothing on this machine. Any other server can pass the
    /// calls on to a paid service.
    pub fn runs_models(self) -> bool {
        match self {
            Self::LlamaCpp | Self::Ollama | Self::LmStudio | Self::Vllm | Self::Sglang => true,
            Self::OpenAi => false,
        }
    }

    /// Returns true if the server constrains an answer to a grammar.
    pub fn takes_grammar(self) -> bool {
        match self {
            Self::LlamaCpp | Self::Vllm => true,
            Self::Ollama | Self::LmStudio | Self::Sglang | Self::OpenAi => false,
        }
    }
}

/// Server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenServer {
    pub sort: ServerSort,
    /// Address as its adapter wants it.
    pub base_url: String,
    /// Models, those that are loaded first.
    pub models: Vec<SeenModel>,
}

/// Model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenModel {
    pub name: String,
    pub window: Option<u64>,
}

/// Asks an address which server it is. Sends no key and changes nothing there.
///
/// # Errors
/// If nothing answers, the server wants a key, or it is no known server of models.
pub(crate) async fn look_at(address: &HttpUrl) -> Result<SeenServer, EffectError> {
    let look = Look::new(address)?;
    let root = address.without_last("v1");
    // The list goes first: it is the document that most servers have, and shows whether anything answers at all.
    let list = look.read(&root.join("v1/models")).await;
    if let Ok(props) = look.read(&root.join("props")).await
        && let Some(models) = read_llamacpp(&props, list.as_ref().unwrap_or(&Value::Null))
    {
        return Ok(look.found(ServerSort::LlamaCpp, &root, models));
    }
    if let Some(models) = look.read_ollama(&root).await {
        return Ok(look.found(ServerSort::Ollama, &root, models));
    }
    for path in LMSTUDIO_LISTS {
        if let Ok(document) = look.read(&root.join(path)).await
            && let Some(models) = read_lmstudio(&document)
        {
            return Ok(look.found(ServerSort::LmStudio, &root.join("v1"), models));
        }
    }
    if let Some((sort, models)) = list.as_ref().ok().and_then(read_openai) {
        return Ok(look.found(sort, &root.join("v1"), models));
    }
    // A wire below another path than `/v1`.
    let own = look.read(&address.join("models")).await;
    match own.as_ref().ok().and_then(read_openai) {
        Some((sort, models)) => Ok(look.found(sort, address, models)),
        None => Err(look.describe_failure(list.err().or(own.err()))),
    }
}

/// Outcome of the question whether a server computes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelfProof {
    /// The server does.
    Proved,
    /// Another server answers, or the server does not have the model.
    Other,
    /// Nothing answers, for this reason in words.
    Silent(String),
}

impl SelfProof {
    /// Judges a document of the server.
    fn judge(document: Result<Value, LookFault>, is_own: impl FnOnce(&Value) -> bool) -> Self {
        match document {
            Ok(document) if is_own(&document) => Self::Proved,
            Ok(_) | Err(LookFault::Status(_) | LookFault::NoJson) => Self::Other,
            Err(LookFault::Silent(words)) => Self::Silent(words),
        }
    }
}

/// Asks the server at an address whether it computes the answers of a model itself. `None` for the model means that any of
/// its models can answer. Sends no key.
pub(crate) async fn computes_itself(
    address: &HttpUrl,
    adapter: AdapterKind,
    model: Option<&str>,
) -> SelfProof {
    let Ok(look) = Look::new(address) else {
        return SelfProof::Other;
    };
    let root = address.without_last("v1");
    match adapter {
        AdapterKind::Llamacpp => {
            let props = look.read(&root.join("props")).await;
            let by_props = SelfProof::judge(props, |props| read_llamacpp(props, &Value::Null).is_some());
            if by_props != SelfProof::Other {
                return by_props;
            }
            // A server that wants a key shows its list without the key, and nothing else.
            let list = look.read(&root.join("v1/models")).await;
            SelfProof::judge(list, |list| are_all_of(list, "llamacpp"))
        }
        AdapterKind::Ollama => {
            let version = look.read(&root.join("api/version")).await;
            let by_version = SelfProof::judge(version, states_version);
            if by_version != SelfProof::Proved {
                return by_version;
            }
            let tags = look.read(&root.join("api/tags")).await;
            SelfProof::judge(tags, |tags| runs_model(tags, model))
        }
        AdapterKind::Lmstudio => {
            for path in LMSTUDIO_LISTS {
                // An earlier version answers the newer path with an error and the status 200.
                let document = look.read(&root.join(path)).await;
                let by_list = SelfProof::judge(document, |document| read_lmstudio(document).is_some());
                if by_list != SelfProof::Other {
                    return by_list;
                }
            }
            SelfProof::Other
        }
        AdapterKind::Openai => {
            let list = look.read(&address.join("models")).await;
            SelfProof::judge(list, |list| {
                are_all_of(list, "vllm") || are_all_of(list, "sglang")
            })
        }
        AdapterKind::Anthropic
        | AdapterKind::Gemini
        | AdapterKind::GenericHttp
        | AdapterKind::Agent
        | AdapterKind::Acp
        | AdapterKind::Tool
        | AdapterKind::Toolbox
        | AdapterKind::Mcp
        | AdapterKind::Pool => SelfProof::Other,
    }
}

/// Reason why a document cannot be read.
enum LookFault {
    /// Nothing answers, in words.
    Silent(String),
    /// The server answers with this status.
    Status(u16),
    /// The answer is not JSON.
    NoJson,
}

struct Look<'a> {
    client: HttpClient,
    address: &'a HttpUrl,
}

impl<'a> Look<'a> {
    fn new(address: &'a HttpUrl) -> Result<Self, EffectError> {
        let client = HttpClient::new(NetConfig {
            connect_timeout: DOCUMENT_TIME,
            max_body_bytes: LARGEST_DOCUMENT,
            ..NetConfig::default()
        });
        let client = client.map_err(|error| EffectError::from_error(Cause::Internal, "no-server", &error))?;
        Ok(Self { client, address })
    }

    fn found(&self, sort: ServerSort, base: &HttpUrl, models: Vec<SeenModel>) -> SeenServer {
        SeenServer {
            sort,
            base_url: base.to_string().trim_end_matches('/').to_owned(),
            models,
        }
    }

    async fn read(&self, url: &HttpUrl) -> Result<Value, LookFault> {
        self.send(&Request::get(url.clone(), Auth::None)).await
    }

    async fn send(&self, request: &Request) -> Result<Value, LookFault> {
        let deadline = Deadline::after(DOCUMENT_TIME);
        let answer = self.client.send(request, &deadline).await;
        let answer = answer.map_err(|error| LookFault::Silent(error.to_string()))?;
        if answer.status != 200 {
            return Err(LookFault::Status(answer.status));
        }
        serde_json::from_slice(&answer.body).map_err(|_| LookFault::NoJson)
    }

    /// Returns if an Ollama server states its version. `None` if another server answers.
    async fn read_version(&self, root: &HttpUrl) -> Option<()> {
        let version = self.read(&root.join("api/version")).await.ok()?;
        states_version(&version).then_some(())
    }

    /// Reads the models of an Ollama server, with the window of the first. `None` if it is another server.
    async fn read_ollama(&self, root: &HttpUrl) -> Option<Vec<SeenModel>> {
        self.read_version(root).await?;
        let tags = self.read(&root.join("api/tags")).await.ok()?;
        let loaded = self.read(&root.join("api/ps")).await.unwrap_or_default();
        let mut models = read_ollama(&tags, &loaded)?;
        if let Some(first) = models.first_mut().filter(|first| first.window.is_none()) {
            let show = Request::post(root.join("api/show"), Auth::None, json!({ "model": first.name }));
            let show = self.send(&show).await.unwrap_or_default();
            first.window = read_longest(&show);
        }
        Some(models)
    }

    fn describe_failure(&self, fault: Option<LookFault>) -> EffectError {
        let address = self.address;
        match fault {
            Some(LookFault::Silent(words)) => EffectError::new(
                Cause::Tool,
                "no-server",
                format!("nothing answers at {address}: {words}"),
            )
            .hint("start the server, and check the address and the port"),
            Some(LookFault::Status(status @ (401 | 403))) => EffectError::new(
                Cause::Tool,
                "no-server",
                format!(
                    "the server at {address} wants a key (status {status}), and none is sent to a new address"
                ),
            )
            .hint("make a profile with this address, and store the key for it"),
            Some(LookFault::Status(_) | LookFault::NoJson) | None => EffectError::new(
                Cause::Tool,
                "no-server",
                format!("the server at {address} has no list of models of a known form"),
            )
            .hint("name the address below which `/models` or `/v1/models` is, as in `http://127.0.0.1:8080`"),
        }
    }
}

/// Returns true for the version of an Ollama server.
fn states_version(version: &Value) -> bool {
    version.get("version").is_some_and(Value::is_string)
}

/// Takes a name from a server. `None` if it cannot be the name of a model.
fn take_name(value: &Value, field: &str) -> Option<String> {
    let name = value.get(field)?.as_str()?;
    let is_fit = !name.trim().is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name
            .chars()
            .any(|letter| letter.is_control() || letter.is_whitespace());
    is_fit.then(|| name.to_owned())
}

/// Takes the first window that one of these places states.
fn take_window(value: &Value, places: &[&str]) -> Option<u64> {
    let stated = places.iter().filter_map(|place| value.pointer(place)?.as_u64());
    stated.filter(|window| WINDOWS.contains(window)).max_by_key(|_| 0)
}

fn entries<'v>(document: &'v Value, field: &str) -> Option<impl Iterator<Item = &'v Value> + use<'v>> {
    let list = document.get(field).unwrap_or(document);
    Some(list.as_array()?.iter().take(MOST_MODELS))
}

fn read_list(list: &Value, window: Option<u64>) -> Option<Vec<SeenModel>> {
    const PLACES: [&str; 4] = [
        "/meta/n_ctx",
        "/max_model_len",
        "/context_length",
        "/max_input_tokens",
    ];
    let models = entries(list, "data")?.filter_map(|entry| {
        let is_unloaded = matches!(
            entry.pointer("/status/value").and_then(Value::as_str),
            Some("unloaded" | "sleeping")
        );
        let seen = SeenModel {
            name: take_name(entry, "id")?,
            window: take_window(entry, &PLACES).or(window),
        };
        Some((is_unloaded, seen))
    });
    let mut models: Vec<(bool, SeenModel)> = models.collect();
    models.sort_by_key(|(is_unloaded, _)| *is_unloaded);
    Some(models.into_iter().map(|(_, seen)| seen).collect())
}

/// Reads the models of a llama.cpp server. `None` if the document is not its own.
fn read_llamacpp(props: &Value, list: &Value) -> Option<Vec<SeenModel>> {
    props.get("default_generation_settings")?.as_object()?;
    let window = take_window(props, &["/default_generation_settings/n_ctx"]);
    Some(read_list(list, window).unwrap_or_default())
}

/// Reads the models of an Ollama server: those that are loaded first. `None` if the list has another form.
fn read_ollama(tags: &Value, loaded: &Value) -> Option<Vec<SeenModel>> {
    let running: Vec<SeenModel> = entries(loaded, "models")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(SeenModel {
                name: take_name(entry, "name")?,
                window: take_window(entry, &["/context_length"]),
            })
        })
        .collect();
    let installed = entries(tags, "models")?.filter_map(|entry| take_name(entry, "name"));
    let others = installed.filter(|name| !running.iter().any(|model| model.name == *name));
    let others = others.map(|name| SeenModel { name, window: None });
    let others: Vec<SeenModel> = others.collect();
    Some(running.into_iter().chain(others).collect())
}

/// Returns the longest window of a model, as Ollama's description of it states. `None` if it states none.
fn read_longest(show: &Value) -> Option<u64> {
    let facts = show.get("model_info")?.as_object()?;
    let mut stated = facts.iter().filter(|(key, _)| key.ends_with(".context_length"));
    stated.find_map(|(_, value)| take_window(value, &[""]))
}

/// Reads the models of LM Studio: those that are loaded first. `None` if the document is not its own.
fn read_lmstudio(document: &Value) -> Option<Vec<SeenModel>> {
    let field = if document.get("models").is_some() {
        "models"
    } else {
        "data"
    };
    let mut all = Vec::new();
    // An empty list has no form.
    let mut entries = entries(document, field)?.peekable();
    entries.peek()?;
    for entry in entries {
        // Other servers have such lists without these fields.
        let sort = entry.get("type")?.as_str()?;
        let instances = entry.get("loaded_instances").and_then(Value::as_array);
        let state = entry.get("state").and_then(Value::as_str);
        if instances.is_none() && state.is_none() {
            return None;
        }
        if sort.starts_with("embedding") {
            continue;
        }
        let first = instances.and_then(|instances| instances.first());
        let is_loaded = first.is_some() || state == Some("loaded");
        let name = first.and_then(|first| take_name(first, "id"));
        let name = name
            .or_else(|| take_name(entry, "key"))
            .or_else(|| take_name(entry, "id"));
        let window = first.and_then(|first| take_window(first, &["/config/context_length"]));
        if let Some(name) = name {
            let window = window.or_else(|| take_window(entry, &["/loaded_context_length"]));
            all.push((!is_loaded, SeenModel { name, window }));
        }
    }
    all.sort_by_key(|(is_unloaded, _)| *is_unloaded);
    Some(all.into_iter().map(|(_, seen)| seen).collect())
}

/// Returns true if a list has models, and one owner has them all.
fn are_all_of(list: &Value, owner: &str) -> bool {
    let Some(mut entries) = entries(list, "data") else {
        return false;
    };
    let is_of = |entry: &Value| entry.get("owned_by").and_then(Value::as_str) == Some(owner);
    entries.next().is_some_and(is_of) && entries.all(is_of)
}

/// Reads the models of a server with OpenAI's wire. `None` if the document has another form.
fn read_openai(list: &Value) -> Option<(ServerSort, Vec<SeenModel>)> {
    let models = read_list(list, None)?;
    // A gateway lists the models of several owners, and passes some on to a paid service.
    let sort = if are_all_of(list, "vllm") {
        ServerSort::Vllm
    } else if are_all_of(list, "sglang") {
        ServerSort::Sglang
    } else {
        ServerSort::OpenAi
    };
    (!models.is_empty()).then_some((sort, models))
}

#[cfg(test)]
mod tests;

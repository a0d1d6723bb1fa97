//! The format of a profile file: JSON without unknown fields, most of them optional.
//!
//! Owns: the names and types of the fields, and the position and hint of a mistake. Never: fills in a default.

use agentos_tool::{Constrain, DiffQuality, EditFormat, ExecutionMode, ThinkingLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PoolFile, ProfileError, ProgramFile};

/// Profile file. Fields that it leaves out come from the layers below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// Address of this file's JSON Schema, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Name of the provider, such as `lmstudio`: lower-case letters, digits and `-`.
    pub provider: String,
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Adapter to use. Default: the provider's own, or `openai` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterKind>,
    /// Base URL of the server: http or https, without user and query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name under which the key is stored; never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_ref: Option<String>,
    /// True if the server refuses to answer without a key. Default: derived from the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_key: Option<bool>,
    /// Name of the model on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Protocol of the adapter, if it has several. Default: the adapter's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Seconds of silence after which a call ends, 1 to 86400: the default of `timeouts.first_byte_seconds` and
    /// `timeouts.idle_seconds` in the same file. For a program it is the time limit of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
    /// Time limits, one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<TimeoutsFile>,
    /// Edit format that the model is asked to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_format: Option<EditFormat>,
    /// Format to which the server is asked to constrain the answer. It decides the edit format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constrain: Option<Constrain>,
    /// Name of the field that limits the answer's tokens. Default: the adapter's usual name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_field: Option<LimitField>,
    /// Optional fields that requests leave out, because the server does not take them, such as `stream_options`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omit: Option<Vec<String>>,
    /// Organization that pays, for keys that belong to several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Id of a client that the authorization server of an MCP server knows, for `agentos tool auth sign-in`. Default: a client is
    /// registered there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Wire format, for the adapter `generic-http`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpFile>,
    /// Program to start, for the adapters `agent`, `acp`, `tool`, `toolbox` and `mcp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFile>,
    /// Prices of tokens. Without any, they are 0 for a server of this machine that shows itself as llama.cpp, LM Studio or Ollama (or, as
    /// the provider of this name, `vllm` or `sglang`), and unknown for every other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceFile>,
    /// Sampling parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<ParamsFile>,
    /// Declared abilities of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesFile>,
    /// Models to choose from, for the adapter `pool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolFile>,
}

/// Time limits in seconds, each 1 to 86400.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutsFile {
    /// Time for the name lookup, the connection and the TLS handshake. Default: 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub connect_seconds: Option<u64>,
    /// Time from sending the task to the first byte of the answer, in which the server reads the prompt. Default: 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub first_byte_seconds: Option<u64>,
    /// Time between two pieces of the answer. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub idle_seconds: Option<u64>,
    /// Time for the whole call. Default: 7200 for a server, 1800 for a program, for a toolbox that of its `program.class`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub total_seconds: Option<u64>,
}

/// Wire format that a profile describes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpFile {
    /// Path below the base URL to which a task is sent.
    pub path: String,
    /// Request: JSON in whose strings `{{prompt}}` (or `{{system}}` and `{{user}}`) and `{{model}}` are replaced. A string
    /// that consists of `{{model}}`, `{{max_tokens}}`, `{{temperature}}`, `{{top_p}}`, `{{seed}}`, `{{thinking}}` or `{{stop}}` alone becomes
    /// that value; its field is left out if there is no value.
    pub request: serde_json::Value,
    /// JSON pointer to the answer's text, such as `/choices/0/text`.
    pub answer: String,
    /// JSON pointer to the reason why the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Reasons that mean that the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Vec<String>>,
}

/// Prices in US dollars per million tokens; 0 or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceFile {
    /// Price of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub input: Option<f64>,
    /// Price of the part of the prompt that is read from a cache. Default: the price of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cached: Option<f64>,
    /// Price of the part of the prompt that is written to a cache. Default: the price of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cache_write: Option<f64>,
    /// Price of the answer, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub output: Option<f64>,
}

/// Sampling parameters, sent unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamsFile {
    /// Temperature: 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// Nucleus sampling: above 0, at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// Maximum tokens of the answer; 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// Seed for repeatable answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the answer ends; at most 16, none empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub stop: Option<Vec<String>>,
    /// Thinking that is requested of the model. Default: the server decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

/// Declared abilities. An ability that is left out is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilitiesFile {
    /// Location of the model: `local` or `cloud`. Default: derived from the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    /// Ability to answer with a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_diff: Option<bool>,
    /// Ability to answer with a patch in another edit format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_patch: Option<bool>,
    /// Ability to be probed without cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_health_check: Option<bool>,
    /// Ability to read chat messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<bool>,
    /// Ability to call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Ability to read images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Ability to stream the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Ability to constrain the answer to a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_mode: Option<bool>,
    /// Ability to constrain the answer to a grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<bool>,
    /// Tokens of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Usual quality of its diffs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_quality: Option<DiffQuality>,
}

/// Adapter of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterKind {
    /// OpenAI's chat completions, at OpenAI or a compatible server.
    Openai,
    /// LM Studio.
    Lmstudio,
    /// llama.cpp's own server.
    Llamacpp,
    /// Ollama's own API.
    Ollama,
    /// Anthropic messages.
    Anthropic,
    /// Gemini's generateContent.
    Gemini,
    /// The wire that the profile's `http` describes.
    GenericHttp,
    /// A program of the profile's `program` that changes files in a copy of its own; the difference is its answer.
    Agent,
    /// A program that changes files in a copy and receives its task over the Agent Client Protocol.
    Acp,
    /// A program of the profile's `program` that reads a task and writes an answer, line by line.
    Tool,
    /// A program of the profile's `program` that offers tools to the models of conversations. It answers no task.
    Toolbox,
    /// A server of the Model Context Protocol that offers tools to the models of conversations: the profile's `program`, or the address
    /// in `base_url`. It answers no task.
    Mcp,
    /// Models of the profile's `pool`, one of which is chosen for each turn.
    Pool,
}

impl AdapterKind {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Lmstudio => "lmstudio",
            Self::Llamacpp => "llamacpp",
            Self::Ollama => "ollama",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GenericHttp => "generic-http",
            Self::Agent => "agent",
            Self::Acp => "acp",
            Self::Tool => "tool",
            Self::Toolbox => "toolbox",
            Self::Mcp => "mcp",
            Self::Pool => "pool",
        }
    }

    /// Returns true if the profile's program answers, false if a server does.
    #[must_use]
    pub fn is_program(self) -> bool {
        match self {
            Self::Agent | Self::Acp | Self::Tool | Self::Toolbox | Self::Mcp => true,
            Self::Openai
            | Self::Lmstudio
            | Self::Llamacpp
            | Self::Ollama
            | Self::Anthropic
            | Self::Gemini
            | Self::GenericHttp
            | Self::Pool => false,
        }
    }

    /// Returns true if the provider offers tools to models, and answers no task.
    #[must_use]
    pub fn offers_tools(self) -> bool {
        matches!(self, Self::Toolbox | Self::Mcp)
    }

    /// Returns the adapter of a provider whose profile names none.
    #[must_use]
    pub fn of_provider(provider: &str) -> Self {
        match provider {
            "lmstudio" => Self::Lmstudio,
            "llamacpp" => Self::Llamacpp,
            "ollama" => Self::Ollama,
            "anthropic" => Self::Anthropic,
            "gemini" => Self::Gemini,
            "generic-http" => Self::GenericHttp,
            "aider" | "claude-code" | "codex" | "gemini-cli" | "goose" | "opencode" => Self::Agent,
            "gemini-cli-acp" | "opencode-acp" => Self::Acp,
            // Most servers that users add speak this wire.
            _ => Self::Openai,
        }
    }
}

/// The names of the limit of an answer on the OpenAI wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    /// The older name, which most compatible servers read.
    MaxTokens,
    /// The newer name, which OpenAI's newer models require.
    MaxCompletionTokens,
}

impl LimitField {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Protocol of a server whose adapter has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// llama.cpp's `/completion`.
    LlamacppCompletion,
    /// `/v1/chat/completions`.
    OpenaiCompatible,
    /// OpenAI's `/v1/responses`, for the adapter `openai`.
    OpenaiResponses,
}

impl Mode {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlamacppCompletion => "llamacpp_completion",
            Self::OpenaiCompatible => "openai_compatible",
            Self::OpenaiResponses => "openai_responses",
        }
    }
}

/// Parses a profile. `file` is its name for error messages.
///
/// # Errors
/// [`ProfileError::Syntax`] if it is not JSON, or has an unknown field or a value of the wrong type.
pub fn parse_profile(file: &str, text: &str) -> Result<ProfileFile, ProfileError> {
    serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let message = whole
            // serde_json appends the position, which the error has in fields of its own.
            .rsplit_once(" at line ")
            .map_or(whole.as_str(), |(message, _)| message)
            .to_owned();
        ProfileError::Syntax {
            file: file.to_owned(),
            line: error.line(),
            column: error.column(),
            hint: hint(&message),
            is_key: key_field(&message).is_some(),
            message: in_words(&message),
        }
    })
}

/// Words the parser's message without the names of Rust types.
fn in_words(message: &str) -> String {
    if let Some(name) = key_field(message) {
        return format!("unknown field `{name}`: a profile must not contain a key");
    }
    // serde names Rust types in its messages, which mean nothing to a user.
    let words = [
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected f64", "expected a number"),
        ("expected struct ProfileFile", "expected an object"),
        ("expected struct ParamsFile", "expected an object"),
        ("expected struct CapabilitiesFile", "expected an object"),
        ("expected struct HttpFile", "expected an object"),
        ("expected struct ProgramFile", "expected an object"),
        ("expected struct PriceFile", "expected an object"),
        ("expected struct TimeoutsFile", "expected an object"),
        ("expected struct PoolFile", "expected an object"),
        ("expected struct MemberFile", "expected an object"),
        (
            "data did not match any variant of untagged enum AbilityValue",
            "an ability is true, false, a number, a word or a list of words",
        ),
        ("expected a sequence", "expected a list"),
    ];
    words
        .into_iter()
        .fold(message.to_owned(), |message, (name, word)| {
            message.replace(name, word)
        })
}

/// Suggests the known field nearest to the unknown one, from a message such as "unknown field `modle`, expected one of `model`,
/// `mode`". `None` if none is similar.
fn hint(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") || key_field(message).is_some() {
        return None;
    }
    // serde_json puts the unknown name first in backquotes, and the known ones after it.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest_word(unknown, quoted).map(|known| format!("did you mean `{known}`?"))
}

/// Returns the name of an unknown field that looks like one for a key. `None` if the message is about something else.
fn key_field(message: &str) -> Option<&str> {
    let field = message.strip_prefix("unknown field `")?.split('`').next()?;
    // Profiles are committed and shared, so a user who tries to put a key there needs another advice than a spelling.
    matches!(field, "api_key" | "apikey" | "key" | "token" | "secret").then_some(field)
}

/// Returns the known word nearest to an unknown one. `None` if none is similar.
#[must_use]
pub fn nearest_word<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|word| {
            (
                strsim::osa_distance(unknown, word),
                unknown.len().abs_diff(word.len()),
                word,
            )
        })
        .min()
        // One mistake, and one more for every three characters: a short word is similar to too many others.
        .filter(|(distance, _, word)| *distance <= 1 + word.chars().count() / 3)
        .map(|(_, _, word)| word)
}

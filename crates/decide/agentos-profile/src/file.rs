//! A profile as it is written: JSON, every field known, nearly all of them optional.
//!
//! Owns: the names and types of the fields, and turning a mistake into place and hint. Never: fills in a default.

use agentos_tool::{Constrain, DiffQuality, EditFormat, ExecutionMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ProfileError, ProgramFile};

/// A profile file. What it leaves out comes from the layers below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// Where the schema of this file is, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The provider, as in `lmstudio`: small letters, digits and `-`.
    pub provider: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The wire to speak. From the provider unless stated; `openai` for a provider that has no wire of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterKind>,
    /// Where the server is: http or https, no user, no query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name under which the key is stored. Never the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_ref: Option<String>,
    /// Whether the server refuses to answer without a key. From the address unless stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_key: Option<bool>,
    /// The model's name on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which of the adapter's protocols to use. From the adapter unless stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Seconds for a whole answer: 1 to 86400.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<u64>,
    /// The form in which edits are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_format: Option<EditFormat>,
    /// What the server is asked to hold an answer to. It decides the edit format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constrain: Option<Constrain>,
    /// How the server calls the limit of an answer, where it has another name for it than its wire usually has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_field: Option<LimitField>,
    /// The organization that pays, for keys that belong to several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The wire itself, for the adapter `generic-http`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpFile>,
    /// The program to start, for the adapters `agent` and `tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFile>,
    /// What tokens cost. What is left out is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceFile>,
    /// Sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<ParamsFile>,
    /// What the model can do, as declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitiesFile>,
}

/// A wire in the words of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpFile {
    /// Where a task is sent, below the base URL.
    pub path: String,
    /// The request: JSON in whose texts `{{prompt}}` (or `{{system}}` and `{{user}}`) and `{{model}}` are filled in. A
    /// text that is nothing but `{{model}}`, `{{max_tokens}}`, `{{temperature}}`, `{{top_p}}`, `{{seed}}` or
    /// `{{stop}}` becomes that value; its field is left out where there is none.
    pub request: serde_json::Value,
    /// JSON pointer to the answer's text, as in `/choices/0/text`.
    pub answer: String,
    /// JSON pointer to the word for how the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The words there that mean that the answer is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Vec<String>>,
}

/// US dollars for a million tokens; 0 or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceFile {
    /// Of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub input: Option<f64>,
    /// Of the prompt, where it is read from a cache; as the rest of the prompt unless stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cached: Option<f64>,
    /// Of the answer, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub output: Option<f64>,
}

/// Sampling parameters, sent as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParamsFile {
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// Above 0, at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// Tokens the answer may have; 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// For answers that can be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the answer ends; at most 16, none empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub stop: Option<Vec<String>>,
}

/// Declared abilities. What is left out is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilitiesFile {
    /// Where the work is done. From the address unless stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    /// It can answer with a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_diff: Option<bool>,
    /// It can answer with a patch in another edit format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_patch: Option<bool>,
    /// It can be probed without cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supports_health_check: Option<bool>,
    /// It takes chat messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<bool>,
    /// It takes tool definitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// It takes pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// It streams its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// It can be held to JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_mode: Option<bool>,
    /// It can be held to a grammar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<bool>,
    /// Tokens that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How well-formed its diffs usually are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_quality: Option<DiffQuality>,
}

/// The wires there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterKind {
    /// OpenAI chat completions, at OpenAI or at any compatible server.
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
    /// A program that changes files in a copy and hears its task over the Agent Client Protocol.
    Acp,
    /// A program of the profile's `program` that reads a task and writes an answer, line by line.
    Tool,
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
        }
    }

    /// Returns true if the profile's program answers, false if a server does.
    #[must_use]
    pub fn is_program(self) -> bool {
        match self {
            Self::Agent | Self::Acp | Self::Tool => true,
            Self::Openai
            | Self::Lmstudio
            | Self::Llamacpp
            | Self::Ollama
            | Self::Anthropic
            | Self::Gemini
            | Self::GenericHttp => false,
        }
    }

    /// The wire that a provider speaks when its profile does not say.
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
    /// The newer name, which OpenAI's newer models demand.
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

/// The protocols of local servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// llama.cpp's `/completion`.
    LlamacppCompletion,
    /// `/v1/chat/completions`.
    OpenaiCompatible,
}

impl Mode {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlamacppCompletion => "llamacpp_completion",
            Self::OpenaiCompatible => "openai_compatible",
        }
    }
}

/// Reads a profile. `file` is its name, for messages.
///
/// # Errors
/// When it is not JSON, holds an unknown field or a value of the wrong kind.
pub fn parse(file: &str, text: &str) -> Result<ProfileFile, ProfileError> {
    serde_json::from_str(text).map_err(|error| {
        let whole = error.to_string();
        let message = whole
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

/// The parser's message without the names of this program's types.
fn in_words(message: &str) -> String {
    if let Some(name) = key_field(message) {
        return format!("unknown field `{name}`: a profile holds no key");
    }
    let words = [
        ("expected u64", "expected a whole number of 0 or more"),
        ("expected f64", "expected a number"),
        ("expected struct ProfileFile", "expected an object"),
        ("expected struct ParamsFile", "expected an object"),
        ("expected struct CapabilitiesFile", "expected an object"),
        ("expected struct HttpFile", "expected an object"),
        ("expected struct ProgramFile", "expected an object"),
        ("expected struct PriceFile", "expected an object"),
        ("expected a sequence", "expected a list"),
    ];
    words
        .into_iter()
        .fold(message.to_owned(), |message, (name, word)| {
            message.replace(name, word)
        })
}

/// From "unknown field `modle`, expected one of `model`, `mode`": the known name nearest to the unknown one.
fn hint(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") || key_field(message).is_some() {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest(unknown, quoted).map(|known| format!("did you mean `{known}`?"))
}

/// Returns the unknown field under which somebody put a key. `None` if the message is about something else.
fn key_field(message: &str) -> Option<&str> {
    let field = message.strip_prefix("unknown field `")?.split('`').next()?;
    matches!(field, "api_key" | "apikey" | "key" | "token" | "secret").then_some(field)
}

/// The known word that an unknown one was probably meant to be.
#[must_use]
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|word| {
            (
                strsim::osa_distance(unknown, word),
                unknown.len().abs_diff(word.len()),
                word,
            )
        })
        .min()
        .filter(|(distance, _, word)| *distance <= 1 + word.chars().count() / 3)
        .map(|(_, _, word)| word)
}

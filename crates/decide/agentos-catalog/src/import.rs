//! Tables of models that others keep, as entries of a user.
//!
//! Owns: the three forms of a table that are read, and which entries of one are not taken. Never: reads a file, or takes an entry
//! whose values it would have to guess.
//!
//! | form | known by | kept by |
//! |---|---|---|
//! | `agentos` | a list `models` | this program: the user's own file, or a part of it |
//! | `models.dev` | objects `models` below each provider | <https://models.dev/api.json> |
//! | `litellm` | entries with `litellm_provider` | LiteLLM: `model_prices_and_context_window.json` |

use agentos_tool::{Ability, TokenPrice};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::registry::{UserModel, UserPrices};

/// Form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableForm {
    /// The user's own file.
    Agentos,
    /// The table of models.dev.
    #[serde(rename = "models.dev")]
    ModelsDev,
    /// LiteLLM's table.
    Litellm,
}

/// Entry of a table that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedEntry {
    /// Name of the entry in the table; its number if it has none. Untrusted.
    pub entry: String,
    /// Reason, as a fragment without a full stop. It can quote the table, which is untrusted.
    pub reason: String,
}

/// Entries of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTable {
    /// Form of the table.
    pub form: TableForm,
    /// Entries that can be used, in the order of the table.
    pub models: Vec<UserModel>,
    /// Entries with a mistake.
    pub skipped: Vec<SkippedEntry>,
    /// Number of entries that are no models for conversations, such as those for embeddings.
    pub other_kinds: usize,
}

/// Error for a text that is no table of models.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON.
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The text has no known form.
    #[error("it has none of the known forms: a list `models`, the table of models.dev, or LiteLLM's")]
    Form,
}

/// Reads a table. `source` is the file's name and hash, which every entry states.
///
/// # Errors
/// If the text is not JSON, or has none of the known forms. A wrong entry is no error: it is listed among the skipped ones.
pub fn read_table(text: &str, source: &str) -> Result<ImportedTable, ImportError> {
    let json: Value = serde_json::from_str(text)?;
    let root = match &json {
        Value::Object(root) => root,
        Value::Array(entries) => return Ok(read_own(entries, source)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(ImportError::Form),
    };
    if let Some(Value::Array(entries)) = root.get("models") {
        return Ok(read_own(entries, source));
    }
    let has = |field: &str, is_fitting: fn(&Value) -> bool| {
        root.values()
            .any(|entry| entry.get(field).is_some_and(is_fitting))
    };
    if has("litellm_provider", Value::is_string) {
        return Ok(read_litellm(root, source));
    }
    if has("models", Value::is_object) {
        return Ok(read_models_dev(root, source));
    }
    Err(ImportError::Form)
}

impl ImportedTable {
    fn empty(form: TableForm) -> Self {
        Self {
            form,
            models: Vec::new(),
            skipped: Vec::new(),
            other_kinds: 0,
        }
    }

    fn add_entry(&mut self, entry: &str, read: Result<UserModel, String>) {
        let checked = read.and_then(|model| match model.check_entry() {
            Ok(()) => Ok(model),
            Err(fault) => Err(fault.to_string()),
        });
        match checked {
            Ok(model) => self.models.push(model),
            Err(reason) => self.skipped.push(SkippedEntry {
                entry: entry.to_owned(),
                reason,
            }),
        }
    }
}

fn read_own(entries: &[Value], source: &str) -> ImportedTable {
    let mut table = ImportedTable::empty(TableForm::Agentos);
    for (at, entry) in entries.iter().enumerate() {
        let name = entry.get("id").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("entry {}", at + 1), str::to_owned);
        let read = serde_json::from_value::<UserModel>(with_price_texts(entry.clone()));
        let read = read.map_err(|error| word_mistake(&error)).map(|model| UserModel {
            // Whatever the table says about itself: what is known of an imported value is where it was found.
            source: source.to_owned(),
            ..model
        });
        table.add_entry(&name, read);
    }
    table
}

/// Returns the entry with its prices as texts. People write numbers, and only a text is exact.
fn with_price_texts(mut entry: Value) -> Value {
    if let Some(Value::Object(prices)) = entry.get_mut("price") {
        for price in prices.values_mut().filter(|price| price.is_number()) {
            *price = Value::String(price.to_string());
        }
    }
    entry
}

/// Words a mistake without the names of Rust types, which mean nothing to a user.
fn word_mistake(error: &serde_json::Error) -> String {
    let words = [
        ("expected struct UserModel", "expected an object"),
        ("expected struct UserPrices", "expected an object"),
    ];
    words
        .into_iter()
        .fold(error.to_string(), |text, (name, word)| text.replace(name, word))
}

fn read_models_dev(root: &Map<String, Value>, source: &str) -> ImportedTable {
    let mut table = ImportedTable::empty(TableForm::ModelsDev);
    for (theirs, provider) in root {
        // The only provider whose name here is another one.
        let ours = if theirs == "google" { "gemini" } else { theirs };
        let Some(Value::Object(models)) = provider.get("models") else {
            table.add_entry(theirs, Err("it has no object `models`".to_owned()));
            continue;
        };
        for (name, model) in models {
            let kinds = |of: &str| {
                model
                    .pointer(&format!("/modalities/{of}"))
                    .and_then(Value::as_array)
            };
            let has = |of: &str, kind: &str| kinds(of).map(|all| all.iter().any(|one| one == kind));
            if has("output", "text") == Some(false) {
                table.other_kinds += 1;
                continue;
            }
            let read = read_fields(FieldNames::MODELS_DEV, model).map(|fields| UserModel {
                id: format!("{ours}/{name}"),
                vision: has("input", "image").map(Ability::from),
                source: source.to_owned(),
                ..fields
            });
            table.add_entry(&format!("{theirs}/{name}"), read);
        }
    }
    table
}

fn read_litellm(root: &Map<String, Value>, source: &str) -> ImportedTable {
    let mut table = ImportedTable::empty(TableForm::Litellm);
    for (key, model) in root {
        let mode = model.get("mode").and_then(Value::as_str);
        // The table's first entry describes its fields.
        if key == "sample_spec" || mode.is_some_and(|mode| !matches!(mode, "chat" | "responses")) {
            table.other_kinds += 1;
            continue;
        }
        let Some(theirs) = model.get("litellm_provider").and_then(Value::as_str) else {
            table.add_entry(key, Err("it has no `litellm_provider`".to_owned()));
            continue;
        };
        let provider = theirs.replace('_', "-");
        let name = key
            .strip_prefix(theirs)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(key);
        let read = read_fields(FieldNames::LITELLM, model).map(|fields| UserModel {
            id: format!("{provider}/{name}"),
            source: source.to_owned(),
            ..fields
        });
        table.add_entry(key, read);
    }
    table
}

/// Names of fields in a table that others keep, as JSON pointers.
struct FieldNames {
    window: &'static str,
    output: &'static str,
    tools: &'static str,
    vision: &'static str,
    json: &'static str,
    reasoning: &'static str,
    /// Prompt, read from the cache, written to the cache, answer.
    prices: [&'static str; 4],
    /// Factor that turns a price of the table into one per million tokens.
    scale: f64,
}

impl FieldNames {
    const MODELS_DEV: Self = Self {
        window: "/limit/context",
        output: "/limit/output",
        tools: "/tool_call",
        // A list of kinds, which the caller reads.
        vision: "",
        json: "/structured_output",
        reasoning: "/reasoning",
        prices: [
            "/cost/input",
            "/cost/cache_read",
            "/cost/cache_write",
            "/cost/output",
        ],
        scale: 1.0,
    };
    const LITELLM: Self = Self {
        window: "/max_input_tokens",
        output: "/max_output_tokens",
        tools: "/supports_function_calling",
        vision: "/supports_vision",
        json: "/supports_response_schema",
        reasoning: "/supports_reasoning",
        prices: [
            "/input_cost_per_token",
            "/cache_read_input_token_cost",
            "/cache_creation_input_token_cost",
            "/output_cost_per_token",
        ],
        scale: 1e6,
    };
}

/// Reads the values of an entry. The id is the caller's.
///
/// # Errors
/// With the field whose value does not fit.
fn read_fields(names: FieldNames, model: &Value) -> Result<UserModel, String> {
    if !model.is_object() {
        return Err("it is not an object".to_owned());
    }
    let number = |field: &str| match model.pointer(field) {
        None | Some(Value::Null) => Ok(None),
        // Tables write 0 where a limit is not known.
        Some(value) => match value.as_u64() {
            Some(0) => Ok(None),
            Some(tokens) => Ok(Some(tokens)),
            None => Err(format!("`{field}` is not a whole number of tokens")),
        },
    };
    let ability = |field: &str| match model.pointer(field).filter(|_| !field.is_empty()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(can)) => Ok(Some(Ability::from(*can))),
        Some(_) => Err(format!("`{field}` is neither true nor false")),
    };
    let price = |field: &str| match model.pointer(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_f64()
            .and_then(|price| TokenPrice::from_number(price * names.scale))
            .map(Some)
            .ok_or_else(|| format!("`{field}` is not a price of 0 or more")),
    };
    let [input, cached, cache_write, output] = names.prices;
    let prices = UserPrices {
        input: price(input)?,
        cached: price(cached)?,
        cache_write: price(cache_write)?,
        output: price(output)?,
    };
    let window = number(names.window)?;
    // A table can count the prompt alone as the window, so a longer answer is no mistake; such a limit says nothing here.
    let output_limit = number(names.output)?.filter(|limit| window.is_none_or(|window| *limit <= window));
    Ok(UserModel {
        context_window: window,
        output_limit,
        tools: ability(names.tools)?,
        vision: ability(names.vision)?,
        json_mode: ability(names.json)?,
        reasoning: ability(names.reasoning)?,
        price: (prices != UserPrices::default()).then_some(prices),
        ..UserModel::default()
    })
}

#[cfg(test)]
mod tests;

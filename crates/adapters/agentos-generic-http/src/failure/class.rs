//! The class of a failure, from codes and words.
//!
//! Owns: the one table of codes and phrases. Never: reads a document; advice follows from the class in `wording`.

use super::ServerFailure;

/// Class of a failure. The health state and the advice follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// The request is longer than the context window.
    ContextLength,
    /// The server rejected the key.
    Key,
    /// The server refuses this request for this key, place or account.
    Permission,
    /// The model is still being loaded.
    Loading,
    /// The server failed to load the model.
    LoadFailed,
    /// The model is not loaded, and the server does not load models on request.
    NotLoaded,
    /// The server does not know the model.
    ModelMissing,
    /// Another request at the same time is in the way: too many of them, or too much work.
    Overload,
    /// Credit, budget or a quota of hours is used up.
    Quota,
    /// Requests come too fast.
    RateLimit,
    /// An error inside the server.
    Internal,
    /// The server does not take a field of the request. The name may be one of another case.
    UnsupportedField(String),
    /// Words alone.
    Other,
}

/// Row of the table: one code or one phrase is enough.
struct ClassRow {
    class: FailureClass,
    codes: &'static [&'static str],
    phrases: &'static [&'static str],
}

/// The classes that codes and phrases alone decide. The first row that fits wins, so the rows with the more special words come first.
const TABLE: [ClassRow; 11] = [
    ClassRow {
        class: FailureClass::Key,
        codes: &[
            "invalid_api_key",
            "authentication_error",
            "AuthenticationError",
            "API_KEY_INVALID",
            "no_db_connection",
            "UNAUTHENTICATED",
        ],
        phrases: &["api key not valid", "invalid api key", "incorrect api key"],
    },
    ClassRow {
        class: FailureClass::LoadFailed,
        codes: &[],
        phrases: &["failed to load", "requires more system memory"],
    },
    ClassRow {
        class: FailureClass::NotLoaded,
        codes: &[],
        phrases: &["no models loaded", "model is not loaded"],
    },
    ClassRow {
        class: FailureClass::Loading,
        codes: &[],
        phrases: &[
            "loading model",
            "is currently loading",
            "is still loading",
            "model is loading",
        ],
    },
    ClassRow {
        class: FailureClass::ContextLength,
        codes: &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
        ],
        phrases: &[
            "context window",
            "context length",
            "context size",
            "prompt is too long",
            "request too large",
            "input is too long",
            "maximum number of tokens allowed",
            "max_new_tokens` must be <=",
        ],
    },
    ClassRow {
        class: FailureClass::Quota,
        codes: &[
            "insufficient_quota",
            "credit_balance_exhausted",
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "enforced_spend_limit_reached",
        ],
        phrases: &[
            "budget has been exceeded",
            "budget exceeded",
            "exceeded budget",
            "over budget",
            "insufficient balance",
            "usage limit",
            "insufficient credit",
            "credit balance",
            "out of credit",
        ],
    },
    ClassRow {
        class: FailureClass::Overload,
        codes: &[
            "overloaded_error",
            "UNAVAILABLE",
            "engine_overloaded",
            "server_overloaded",
        ],
        phrases: &["overloaded", "at capacity"],
    },
    ClassRow {
        class: FailureClass::RateLimit,
        codes: &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "RESOURCE_EXHAUSTED",
            "ThrottlingException",
        ],
        phrases: &["rate limit", "too many requests"],
    },
    ClassRow {
        class: FailureClass::Permission,
        codes: &[
            "permission_error",
            "PermissionDeniedError",
            "PERMISSION_DENIED",
            "unsupported_country_region_territory",
            "request_forbidden",
        ],
        phrases: &[],
    },
    ClassRow {
        class: FailureClass::ModelMissing,
        codes: &["model_not_found"],
        phrases: &["invalid model name"],
    },
    ClassRow {
        class: FailureClass::Internal,
        codes: &[
            "api_error",
            "server_error",
            "internal_server_error",
            "InternalServerError",
            "INTERNAL",
        ],
        phrases: &[],
    },
];

pub(super) fn classify(failure: &ServerFailure, status: Option<u16>) -> FailureClass {
    // Named fields come first: the words of such a refusal may quote anything.
    if let Some(field) = find_field(failure, status) {
        return FailureClass::UnsupportedField(field);
    }
    let row = TABLE.iter().find(|row| {
        failure.codes.has_any(row.codes) || row.phrases.iter().any(|phrase| failure.mentions(phrase))
    });
    match row.map(|row| &row.class) {
        Some(FailureClass::Internal) | None if is_model_missing(failure) => FailureClass::ModelMissing,
        Some(FailureClass::Internal) | None if is_model_unloaded(failure) => FailureClass::NotLoaded,
        Some(class) => class.clone(),
        None => FailureClass::Other,
    }
}

/// Name of any field that asks for thinking, for refusals that do not name the field.
pub(crate) const THINKING: &str = "thinking";

/// Phrases by which servers refuse to think, or a level of it: Ollama, Anthropic and Gemini, in this order.
const REFUSED_THINKING: [&str; 9] = [
    "does not support thinking",
    "think value ",
    "thinking is not supported",
    "thinking.type",
    "does not support the effort parameter",
    "thinking level",
    "thinking_level",
    "thinking budget",
    "thinking mode",
];

/// Returns the path of the field that the server does not take. `None` if the failure is about something else.
fn find_field(failure: &ServerFailure, status: Option<u16>) -> Option<String> {
    const CODES: [&str; 4] = [
        "unsupported_parameter",
        "unknown_parameter",
        "extra_forbidden",
        "unsupported_value",
    ];
    /// Phrases directly before the field's name.
    const BEFORE: [&str; 7] = [
        "unsupported parameter: ",
        "unsupported parameter ",
        "unknown parameter: ",
        "unrecognized request argument supplied: ",
        "unrecognized request arguments supplied: ",
        "unknown field ",
        "unknown name ",
    ];
    /// Phrases directly after it.
    const AFTER: [&str; 6] = [
        " is unsupported",
        " is not supported",
        " is deprecated",
        ": extra inputs are not permitted",
        ": extra fields not permitted",
        " is not permitted",
    ];
    if status.is_some_and(|status| !matches!(status, 400 | 422 | 500)) {
        return None;
    }
    if failure.codes.has_any(&CODES)
        && let Some(param) = failure.codes.param()
    {
        return Some(param.to_owned());
    }
    if REFUSED_THINKING.iter().any(|phrase| failure.mentions(phrase)) {
        return Some(THINKING.to_owned());
    }
    let before = BEFORE
        .iter()
        .find_map(|phrase| first_name(failure.searched.split_once(phrase)?.1));
    before.or_else(|| {
        AFTER.iter().find_map(|phrase| {
            let (front, _) = failure.searched.split_once(phrase)?;
            let mut words = front.rsplit(char::is_whitespace);
            let (word, before) = (words.next()?, words.next());
            let name = clean_name(word)?;
            // Without quotes and underlines every word of a sentence could be the field.
            let is_quote = |c: char| matches!(c, '`' | '\'' | '"');
            // A quoted word after `model` is the name of a model.
            let is_quoted = word.starts_with(is_quote) && word.ends_with(is_quote) && before != Some("model");
            (is_quoted || name.contains('_') || failure.codes.param() == Some(&name)).then_some(name)
        })
    })
}

fn first_name(text: &str) -> Option<String> {
    clean_name(text.split(|c: char| c.is_whitespace() || c == ',').next()?)
}

/// Returns a name without the quotes around it. `None` for a text that is not a field's name.
fn clean_name(word: &str) -> Option<String> {
    let name = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    is_name.then(|| name.to_owned())
}

fn is_model_unloaded(failure: &ServerFailure) -> bool {
    failure.searched.starts_with("model ") && failure.mentions(" is not loaded")
}

/// Returns true if the words say that a model is unknown. Servers use different statuses and codes for it.
fn is_model_missing(failure: &ServerFailure) -> bool {
    let words = &failure.searched;
    (failure.codes.has_any(&["not_found_error"]) && words.starts_with("model:"))
        || (failure.codes.has_any(&["NotFoundError"]) && failure.codes.param() == Some("model"))
        || (words.starts_with("models/") && words.contains("is not found"))
        || says_that_a_model_is_unknown(words)
}

/// Returns true for `model 'x' not found` and similar messages: the word, a name, and that it does not exist. In `path
/// /models not found` the same words are about a path.
fn says_that_a_model_is_unknown(message: &str) -> bool {
    /// Maximum words that are searched, because each is compared with those after it.
    const WORDS: usize = 150;
    let words: Vec<&str> = message.split_whitespace().take(WORDS).collect();
    words.iter().enumerate().any(|(at, word)| {
        let after = words.iter().skip(at + 1);
        let after = after.skip_while(|word| matches!(**word, "with" | "name" | "named" | "id"));
        let after: Vec<&str> = after.copied().collect();
        word.trim_end_matches(':') == "model" && says_that_a_name_is_unknown(&after)
    })
}

fn says_that_a_name_is_unknown(words: &[&str]) -> bool {
    /// Maximum words between a quoted name and the verb.
    const BETWEEN: usize = 3;
    const QUOTES: [char; 5] = ['\'', '"', '`', '“', '‘'];
    let is_missing = |words: &[&str]| {
        let words = words.join(" ");
        ["", "is ", "was "]
            .iter()
            .filter_map(|verb| words.strip_prefix(verb))
            .any(|rest| rest.starts_with("not found") || rest.starts_with("does not exist"))
    };
    match words {
        [name, rest @ ..] if name.starts_with(QUOTES) => {
            (0..=BETWEEN).any(|at| rest.get(at..).is_some_and(is_missing))
        }
        // Without quotes, any word could follow `model`, so only a word that looks like a model's name counts.
        [name, rest @ ..] if is_model_name(name) => is_missing(rest),
        _ => is_missing(words),
    }
}

fn is_model_name(word: &str) -> bool {
    !word.starts_with('/')
        && word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | ':' | '/'))
}

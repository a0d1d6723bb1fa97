//! Merges the layers of a profile: flag, environment, repository, user, built-in.
//!
//! Owns: the defaults and the ranges of the fields. Never: reads anything.

use std::collections::BTreeMap;

use agentos_tool::{BaseUrl, Constrain, EditFormat, ExecutionMode};

use crate::abilities::collect_abilities;
use crate::key::{always_wants_key, collect_keys};
use crate::stack::{LayerStack, LayeredValue, check_value, note_origin};
use crate::timeouts::pick_timeouts;
use crate::{
    AdapterKind, CapabilitiesFile, HttpFile, Mode, Origin, Params, ParamsFile, PriceFile, Profile,
    ProfileError, ProfileFile, ProfileFlags, ProgramFile, ResolvedProfile, pool, program, template,
};

/// Values that a user states about one model. They override what profiles say about all models of their provider.
#[derive(Debug, Clone, Default)]
pub struct ModelLayer {
    /// Source that the entry states.
    pub source: String,
    /// Abilities.
    pub capabilities: CapabilitiesFile,
    /// Prices. If one is stated, those of the profile do not hold.
    pub price: PriceFile,
    /// Maximum tokens of an answer. `None` if the entry does not state it.
    pub max_tokens: Option<u64>,
}

impl ModelLayer {
    /// Returns the values as a profile file of this provider.
    pub(crate) fn into_file(self, provider: &str) -> ProfileFile {
        ProfileFile {
            provider: provider.to_owned(),
            capabilities: Some(self.capabilities),
            price: Some(self.price).filter(|price| *price != PriceFile::default()),
            params: Some(ParamsFile {
                max_tokens: self.max_tokens,
                ..ParamsFile::default()
            }),
            ..ProfileFile::default()
        }
    }
}

/// Layers above the built-in profile.
#[derive(Debug, Clone, Default)]
pub struct ProfileLayers {
    /// The user's own file for the provider.
    pub user: Option<ProfileFile>,
    /// The repository's file for the provider. Untrusted.
    pub project: Option<ProfileFile>,
    /// The user's own entry about the model. `None` if there is none.
    pub model: Option<ModelLayer>,
    /// Environment variables, at least those that [`crate::env_names`] names. Empty ones count as not set.
    pub env: BTreeMap<String, String>,
    /// The command line.
    pub flags: ProfileFlags,
}

/// Resolves the profile of a provider.
///
/// # Errors
/// [`ProfileError`] if no layer has the provider, or a value is out of its range.
pub fn resolve_profile(provider: &str, layers: &ProfileLayers) -> Result<ResolvedProfile, ProfileError> {
    let stack = LayerStack::new(provider, layers)?;
    let mut origins = BTreeMap::new();
    let base_url = pick_base_url(&stack)?;
    let model = pick_model(&stack, base_url.as_ref())?;
    let keys = collect_keys(provider, &stack, layers, base_url.as_ref());
    let adapter = pool::pick_adapter(provider, &stack)?;
    let (edit_format, constrain) = pick_format(&stack)?;
    let http = pick_http(&stack, adapter.value)?;
    let program = pick_program(&stack, adapter.value)?;
    let pool = pool::pick_pool(&stack, adapter.value)?;
    let mode = stack.pick_or(|file| file.mode, usual_mode(adapter.value));
    // Compatible and local servers often need no key, so only the vendors' own hosts require one by default.
    let wants_key = base_url.as_ref().is_some_and(|url| always_wants_key(&url.value));
    let requires_key = stack.pick_or(|file| file.requires_key, wants_key);
    let adapter_kind = adapter.value;
    let class = program.as_ref().and_then(|program| program.value.class);
    let model_name = model.as_ref().map(|model| model.value.clone());
    let profile = Profile {
        provider: provider.to_owned(),
        name: note_origin(&mut origins, "name", pick_name(provider, &stack)?),
        adapter: note_origin(&mut origins, "adapter", adapter),
        capabilities: collect_abilities(&stack, base_url.as_ref(), &mut origins),
        base_url: base_url.map(|url| note_origin(&mut origins, "base_url", url)),
        api_key_ref: note_origin(&mut origins, "api_key_ref", pick_key_ref(provider, &stack)?),
        requires_key: note_origin(&mut origins, "requires_key", requires_key),
        model: model.map(|model| note_origin(&mut origins, "model", model)),
        mode: note_origin(&mut origins, "mode", mode),
        edit_format: note_origin(&mut origins, "edit_format", edit_format),
        constrain: note_origin(&mut origins, "constrain", constrain),
        limit_field: stack
            .pick(|file| file.limit_field)
            .map(|field| note_origin(&mut origins, "limit_field", field)),
        omit: stack
            .pick(|file| file.omit.clone())
            .map(|names| note_origin(&mut origins, "omit", names))
            .unwrap_or_default(),
        organization: pick_organization(&stack)?.map(|name| note_origin(&mut origins, "organization", name)),
        client_id: pick_client_id(&stack)?.map(|id| note_origin(&mut origins, "client_id", id)),
        http: http.map(|http| note_origin(&mut origins, "http", http)),
        program: program.map(|program| note_origin(&mut origins, "program", program)),
        pool: pool.map(|pool| note_origin(&mut origins, "pool", pool)),
        price: pick_price(&stack, model_name.as_deref(), &mut origins)?,
        timeouts: pick_timeouts(&stack, adapter_kind, class, &mut origins)?,
        retries: layers.flags.retries,
        params: pick_params(&stack, &mut origins)?,
    };
    if adapter_kind == AdapterKind::Pool {
        // A pool has no server: its members' own profiles have the address, the key and the limits.
        origins.retain(|field, _| pool::FIELDS.contains(field));
    }
    Ok(ResolvedProfile {
        profile,
        origins,
        given_keys: keys.given,
        stored_key: keys.stored,
        left_out: stack.left_out,
    })
}

fn usual_mode(adapter: AdapterKind) -> Mode {
    match adapter {
        AdapterKind::Llamacpp => Mode::LlamacppCompletion,
        AdapterKind::Openai
        | AdapterKind::Lmstudio
        | AdapterKind::Ollama
        | AdapterKind::Anthropic
        | AdapterKind::Gemini
        | AdapterKind::GenericHttp
        | AdapterKind::Agent
        | AdapterKind::Acp
        | AdapterKind::Tool
        | AdapterKind::Toolbox
        | AdapterKind::Mcp
        | AdapterKind::Pool => Mode::OpenaiCompatible,
    }
}

/// Decides the edit format and the constraint. If they do not fit together, the stronger layer's value wins.
fn pick_format(
    stack: &LayerStack,
) -> Result<(LayeredValue<EditFormat>, LayeredValue<Constrain>), ProfileError> {
    let constrain = stack.pick_or(|file| file.constrain, Constrain::Off);
    let stated = stack.pick(|file| file.edit_format);
    let Some(demanded) = constrain.value.edit_format() else {
        let format = stated.unwrap_or(LayeredValue {
            value: EditFormat::default(),
            origin: Origin::Derived,
        });
        return Ok((format, constrain));
    };
    match stated {
        // Only a weaker layer's format is replaced. A stronger one was set on purpose, and the user must see the conflict.
        Some(format) if format.value != demanded && format.origin >= constrain.origin => {
            Err(ProfileError::Value {
                field: "edit_format",
                origin: format.origin,
                message: format!(
                    "must be `{}` if `constrain` is `{}`",
                    demanded.as_str(),
                    constrain.value.as_str()
                ),
            })
        }
        Some(_) | None => {
            // The constraint is the reason for this format, so its origin is shown.
            let origin = constrain.origin.clone();
            Ok((
                LayeredValue {
                    value: demanded,
                    origin,
                },
                constrain,
            ))
        }
    }
}

/// Picks the organization that pays. A repository's value is ignored.
fn pick_organization(stack: &LayerStack) -> Result<Option<LayeredValue<String>>, ProfileError> {
    // A repository could otherwise make another organization of the user's pay.
    let name = stack.pick_trusted(|file| file.organization.clone());
    check_value(
        name.as_ref(),
        "organization",
        |text| plain_name(text),
        "must be 1 to 128 letters, digits, `.`, `-` and `_`",
    )?;
    Ok(name)
}

fn pick_client_id(stack: &LayerStack) -> Result<Option<LayeredValue<String>>, ProfileError> {
    // A repository could otherwise choose the program in whose name the user signs in.
    let id = stack.pick_trusted(|file| file.client_id.clone());
    // An id may be the address of a document about the client, so it is not a plain name.
    check_value(
        id.as_ref(),
        "client_id",
        |text| (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()),
        "must be 1 to 512 visible ASCII characters",
    )?;
    Ok(id)
}

fn pick_http(
    stack: &LayerStack,
    adapter: AdapterKind,
) -> Result<Option<LayeredValue<HttpFile>>, ProfileError> {
    let http = stack.pick(|file| file.http.clone());
    match (&http, adapter) {
        (Some(http), AdapterKind::GenericHttp) => match template::find_fault(&http.value) {
            None => {}
            Some((field, message)) => {
                return Err(ProfileError::Value {
                    field,
                    origin: http.origin.clone(),
                    message,
                });
            }
        },
        (None, AdapterKind::GenericHttp) => {
            return Err(ProfileError::Value {
                field: "http",
                origin: Origin::Derived,
                message: "is required for the adapter `generic-http`".to_owned(),
            });
        }
        (
            _,
            AdapterKind::Openai
            | AdapterKind::Lmstudio
            | AdapterKind::Llamacpp
            | AdapterKind::Ollama
            | AdapterKind::Anthropic
            | AdapterKind::Gemini
            | AdapterKind::Agent
            | AdapterKind::Acp
            | AdapterKind::Tool
            | AdapterKind::Toolbox
            | AdapterKind::Mcp
            | AdapterKind::Pool,
            // Other adapters ignore the field, so a layer below that has it does no harm.
        ) => return Ok(None),
    }
    Ok(http)
}

/// Picks the program to start. A repository's value is ignored: it would run code on this machine.
fn pick_program(
    stack: &LayerStack,
    adapter: AdapterKind,
) -> Result<Option<LayeredValue<ProgramFile>>, ProfileError> {
    if !adapter.is_program() {
        return Ok(None);
    }
    let stated = stack.pick(|file| file.program.clone());
    // Picked twice, so that the error can say that the repository's program was ignored.
    let trusted = stack.pick_trusted(|file| file.program.clone());
    let wrong = |field, origin, message| {
        Err(ProfileError::Value {
            field,
            origin,
            message,
        })
    };
    match (trusted, stated) {
        (Some(program), _) => match program::find_fault(&program.value, adapter) {
            Some((field, message)) => wrong(field, program.origin, message),
            None => Ok(Some(program)),
        },
        (None, Some(stated)) => {
            let message =
                "must be in your own profile: a repository cannot name a program to start".to_owned();
            wrong("program", stated.origin, message)
        }
        // Its server can also be at an address.
        (None, None) if adapter == AdapterKind::Mcp => Ok(None),
        (None, None) => {
            let message = format!("is required for the adapter `{}`", adapter.as_str());
            wrong("program", Origin::Derived, message)
        }
    }
}

/// Picks the prices of a model. Prices that no file states are unknown here.
/// A file that names a model has the prices of that model alone: else a client could use an expensive model at the price of a cheap one.
fn pick_price(
    stack: &LayerStack,
    model: Option<&str>,
    origins: &mut BTreeMap<&'static str, Origin>,
) -> Result<PriceFile, ProfileError> {
    let is_about = |file: &ProfileFile| file.model.is_none() || file.model.as_deref() == model;
    let own = stack.pick_by(|origin, file| file.price.filter(|_| matches!(origin, Origin::UserModel(_))));
    let mut one = |field, of: fn(&PriceFile) -> Option<f64>| {
        let value = match &own {
            // The prices of two sources are never mixed: one of them can have other ideas of what the others include.
            Some(own) => of(&own.value).map(|value| LayeredValue {
                value,
                origin: own.origin.clone(),
            }),
            // A repository could otherwise make an expensive model look cheap.
            None => stack.pick_trusted(|file| file.price.as_ref().filter(|_| is_about(file)).and_then(of)),
        };
        check_value(
            value.as_ref(),
            field,
            |price| price.is_finite() && *price >= 0.0,
            "must be 0 or more",
        )?;
        Ok(value.map(|value| note_origin(origins, field, value)))
    };
    Ok(PriceFile {
        input: one("price.input", |price| price.input)?,
        cached: one("price.cached", |price| price.cached)?,
        cache_write: one("price.cache_write", |price| price.cache_write)?,
        output: one("price.output", |price| price.output)?,
    })
}

fn pick_name(provider: &str, stack: &LayerStack) -> Result<LayeredValue<String>, ProfileError> {
    let name = stack.pick_or(|file| file.name.clone(), provider.to_owned());
    let must = "must be 1 to 64 characters, none of them a control character";
    check_value(Some(&name), "name", |text| is_short(text, 64), must)?;
    Ok(name)
}

fn pick_key_ref(provider: &str, stack: &LayerStack) -> Result<LayeredValue<String>, ProfileError> {
    let name = stack.pick_or(|file| file.api_key_ref.clone(), format!("{provider}.api_key"));
    let must = "must be 1 to 128 letters, digits, `.`, `-` and `_`, and not end with `.sign-in`";
    // Entries of such names hold the tokens of a sign-in, which would be sent as a key.
    let is_key_name = |text: &String| plain_name(text) && !text.ends_with(".sign-in");
    check_value(Some(&name), "api_key_ref", is_key_name, must)?;
    Ok(name)
}

fn pick_base_url(stack: &LayerStack) -> Result<Option<LayeredValue<BaseUrl>>, ProfileError> {
    let Some(text) = stack.pick(|file| file.base_url.clone()) else {
        return Ok(None);
    };
    match BaseUrl::parse(&text.value) {
        Ok(value) => Ok(Some(LayeredValue {
            value,
            origin: text.origin,
        })),
        Err(fault) => Err(ProfileError::BaseUrl {
            origin: text.origin,
            fault,
        }),
    }
}

/// Picks the model. A built-in name is a name on the vendor's server, so it is not used at another address.
fn pick_model(
    stack: &LayerStack,
    base_url: Option<&LayeredValue<BaseUrl>>,
) -> Result<Option<LayeredValue<String>>, ProfileError> {
    let Some(model) = stack.pick(|file| file.model.clone()) else {
        return Ok(None);
    };
    check_value(
        Some(&model),
        "model",
        |text| is_short(text, 256),
        "must be 1 to 256 characters, none of them a control character",
    )?;
    let home = stack
        .pick_by(|origin, file| file.base_url.clone().filter(|_| *origin == Origin::BuiltIn))
        .and_then(|text| BaseUrl::parse(&text.value).ok());
    // A local server's built-in address is only the usual one: its model names apply at any address.
    let elsewhere = match (&home, base_url) {
        (Some(home), Some(now)) => {
            home.execution_mode() == ExecutionMode::Cloud && !home.same_place(&now.value)
        }
        (None, _) | (_, None) => false,
    };
    Ok((model.origin != Origin::BuiltIn || !elsewhere).then_some(model))
}

fn pick_params(
    stack: &LayerStack,
    origins: &mut BTreeMap<&'static str, Origin>,
) -> Result<Params, ProfileError> {
    fn pick_param<T>(stack: &LayerStack, get: impl Fn(&ParamsFile) -> Option<T>) -> Option<LayeredValue<T>> {
        stack.pick(|file| file.params.as_ref().and_then(&get))
    }
    let temperature = pick_param(stack, |params| params.temperature);
    check_value(
        temperature.as_ref(),
        "params.temperature",
        |t| (0.0..=2.0).contains(t),
        "must be 0 to 2",
    )?;
    let top_p = pick_param(stack, |params| params.top_p);
    check_value(
        top_p.as_ref(),
        "params.top_p",
        |p| *p > 0.0 && *p <= 1.0,
        "must be above 0 and at most 1",
    )?;
    let max_tokens = pick_param(stack, |params| params.max_tokens);
    check_value(
        max_tokens.as_ref(),
        "params.max_tokens",
        |n| *n > 0,
        "must be 1 or more",
    )?;
    let stop = pick_param(stack, |params| params.stop.clone());
    let fits = |stop: &Vec<String>| stop.len() <= 16 && stop.iter().all(|text| !text.is_empty());
    check_value(
        stop.as_ref(),
        "params.stop",
        fits,
        "must be at most 16 texts, none of them empty",
    )?;
    Ok(Params {
        temperature: temperature.map(|value| note_origin(origins, "params.temperature", value)),
        top_p: top_p.map(|value| note_origin(origins, "params.top_p", value)),
        max_tokens: max_tokens.map(|value| note_origin(origins, "params.max_tokens", value)),
        seed: pick_param(stack, |params| params.seed).map(|value| note_origin(origins, "params.seed", value)),
        stop: stop
            .map(|value| note_origin(origins, "params.stop", value))
            .unwrap_or_default(),
        thinking: pick_param(stack, |params| params.thinking)
            .map(|value| note_origin(origins, "params.thinking", value)),
    })
}

fn is_short(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.trim().len()) && !text.chars().any(char::is_control)
}

fn plain_name(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

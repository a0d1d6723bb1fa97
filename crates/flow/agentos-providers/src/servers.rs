//! Adapters for servers, made from a profile and a key.
//!
//! Owns: the only function that turns a wire into its adapter. Never: looks up a key, or sends anything.

use std::sync::Arc;
use std::time::Duration;

use agentos_anthropic::AnthropicService;
use agentos_api::WindowSource;
use agentos_catalog::Catalog;
use agentos_engine::Cause;
use agentos_engine::context_search::ModelWindow;
use agentos_engine::ports::EffectError;
use agentos_gemini::GeminiService;
use agentos_generic_http::{HttpAdapter, PlainServer, ServerSettings, TemplateWire, ToolCaller};
use agentos_llamacpp::{LlamaCppMode, LlamaCppService};
use agentos_lmstudio::LmStudioService;
use agentos_net::{HttpClient, Names, NetConfig};
use agentos_ollama::OllamaService;
use agentos_openai::{OpenAiApi, OpenAiService};
use agentos_profile::{
    AdapterKind, HttpFile, LimitField, Mode, Origin, Profile, ResolvedProfile, known_model,
};
use agentos_tool::{ExecutionMode, KeyObstacle, Secret};

use agentos_ground::error::usage_error;

/// Time for which a confined adapter keeps a connection: well below the 5 seconds after which servers close one.
const KEPT_CONNECTION: Duration = Duration::from_secs(2);

/// The ingredients of a server's adapter, here or in the sandbox.
#[derive(Clone)]
pub struct Hosting {
    /// The profile.
    pub profile: Profile,
    /// The key. `None` if none is sent.
    pub key: Option<Secret>,
    /// The reason why no key is sent although there may be one. `None` if there is no such reason.
    pub key_obstacle: Option<KeyObstacle>,
}

impl Hosting {
    /// Makes the adapter. A new wire is one crate and one line here.
    ///
    /// # Errors
    /// If the profile names a program, or its wire is invalid.
    pub fn make_adapter(&self, names: Names) -> Result<Box<dyn ToolCaller>, EffectError> {
        let config = NetConfig {
            names,
            connect_timeout: Duration::from_secs(self.profile.timeouts.connect_seconds),
            // Only the process of a conversation's adapter asks more than once. Its parent counts the connections that wait.
            keep_idle: (names == Names::Loopback).then_some(KEPT_CONNECTION),
            ..NetConfig::default()
        };
        let http = HttpClient::new(config)
            .map_err(|error| EffectError::new(Cause::Internal, "http", error.to_string()))?;
        let profile = &self.profile;
        let settings = server_settings(profile, self.key.clone(), self.key_obstacle.clone());
        Ok(match profile.adapter {
            AdapterKind::Openai => Box::new(HttpAdapter::new(settings, openai_service(profile), http)),
            AdapterKind::Lmstudio => Box::new(HttpAdapter::new(settings, LmStudioService, http)),
            AdapterKind::Llamacpp => Box::new(HttpAdapter::new(
                settings,
                LlamaCppService::new(llamacpp_mode(profile.mode)),
                http,
            )),
            AdapterKind::Ollama => Box::new(HttpAdapter::new(settings, OllamaService, http)),
            AdapterKind::Anthropic => Box::new(HttpAdapter::new(settings, AnthropicService, http)),
            AdapterKind::Gemini => Box::new(HttpAdapter::new(settings, GeminiService, http)),
            AdapterKind::GenericHttp => generic_adapter(settings, profile, http)?,
            // Callers ask `is_program` first, so this is a bug and not the user's mistake.
            AdapterKind::Agent
            | AdapterKind::Acp
            | AdapterKind::Tool
            | AdapterKind::Toolbox
            | AdapterKind::Mcp
            | AdapterKind::Pool => {
                return Err(EffectError::new(
                    Cause::Internal,
                    "adapter",
                    "a program or pool is not a server",
                ));
            }
        })
    }
}

fn openai_service(profile: &Profile) -> OpenAiService {
    let base_url = profile.base_url.as_ref().map(ToString::to_string);
    let service =
        OpenAiService::at_address(base_url.as_deref()).of_organization(profile.organization.clone());
    let service = match profile.mode {
        Mode::OpenaiResponses => service.with_api(OpenAiApi::Responses),
        Mode::OpenaiCompatible | Mode::LlamacppCompletion => service,
    };
    match profile.limit_field {
        Some(LimitField::MaxTokens) => service.with_limit(agentos_openai::LimitField::MaxTokens),
        Some(LimitField::MaxCompletionTokens) => {
            service.with_limit(agentos_openai::LimitField::MaxCompletionTokens)
        }
        // `at_address` has chosen: OpenAI's own servers read the newer name, compatible ones the older.
        None => service,
    }
}

fn generic_adapter(
    settings: ServerSettings,
    profile: &Profile,
    http: HttpClient,
) -> Result<Box<dyn ToolCaller>, EffectError> {
    let HttpFile {
        path,
        request,
        answer,
        finish,
        whole,
    } = profile
        .http
        .clone()
        .ok_or_else(|| usage_error("the adapter `generic-http` needs `http` in its profile"))?;
    let wire = TemplateWire {
        request,
        answer,
        finish,
        whole: whole.unwrap_or_default(),
    };
    Ok(Box::new(HttpAdapter::new(
        settings,
        PlainServer::new(&path, Arc::new(wire)),
        http,
    )))
}

fn llamacpp_mode(mode: Mode) -> LlamaCppMode {
    match mode {
        Mode::LlamacppCompletion => LlamaCppMode::Completion,
        // Builds of the server without `/responses` are common, and its chat wire carries the same.
        Mode::OpenaiCompatible | Mode::OpenaiResponses => LlamaCppMode::OpenAi,
    }
}

fn server_settings(
    profile: &Profile,
    key: Option<Secret>,
    key_obstacle: Option<KeyObstacle>,
) -> ServerSettings {
    let usual = ServerSettings::new(&profile.provider, profile.execution_mode());
    ServerSettings {
        base_url: profile.base_url.as_ref().map(ToString::to_string),
        model: profile.model.clone(),
        key,
        key_obstacle,
        requires_key: profile.requires_key,
        diff_quality: profile.capabilities.diff_quality,
        max_tokens: profile.params.max_tokens,
        temperature: profile.params.temperature,
        top_p: profile.params.top_p,
        seed: profile.params.seed,
        stop: profile.params.stop.clone(),
        thinking: profile.params.thinking,
        omit: profile.omit.clone(),
        constrain: profile.constrain,
        context_window: stated_window(profile).map(|window| window.tokens),
        // A health check generates nothing, so a server that needs longer hangs, whatever a task may take.
        probe_timeout: Duration::from_secs(profile.timeouts.first_byte_seconds.min(5)),
        first_byte_timeout: Duration::from_secs(profile.timeouts.first_byte_seconds),
        idle_timeout: Duration::from_secs(profile.timeouts.idle_seconds),
        total_timeout: Duration::from_secs(profile.timeouts.total_seconds),
        retries: profile.retries.unwrap_or(usual.retries),
        ..usual
    }
}

/// Returns the window that the user's entry, the profile or the catalogue states, with its source. `None` if none of them does.
pub fn sourced_window(resolved: &ResolvedProfile) -> Option<ModelWindow> {
    let window = stated_window(&resolved.profile)?;
    Some(match resolved.origin_of("capabilities.context_window") {
        Some(Origin::UserModel(_)) => ModelWindow {
            source: WindowSource::UserModel,
            ..window
        },
        Some(_) | None => window,
    })
}

/// Returns the largest window that the user or the catalogue states: no request with a longer prompt is answered, and so none is billed.
/// `None` if neither states one. A repository or the server itself could state a small window to make the bound of a call small.
pub fn bounding_window(resolved: &ResolvedProfile) -> Option<u64> {
    let profile = &resolved.profile;
    if let Some(tokens) = profile.capabilities.context_window {
        let is_users = resolved.origin_of("capabilities.context_window") != Some(&Origin::ProjectFile);
        return is_users.then_some(tokens);
    }
    // Another address may serve another model under this name.
    if resolved.origin_of("base_url") != Some(&Origin::BuiltIn) {
        return None;
    }
    let name = profile.model.as_deref()?;
    let known = known_model(name).filter(|model| model.provider == profile.provider);
    let id = format!("{}/{name}", profile.provider);
    let listed = Catalog::built_in_model(&id).ok();
    let listed = listed.and_then(|catalog| catalog.find_model(&id)?.largest_window());
    known.map(|model| model.context_window).max(listed)
}

/// Returns the window that the profile or the catalogue states. `None` if neither does.
fn stated_window(profile: &Profile) -> Option<ModelWindow> {
    let stated = |tokens, source| ModelWindow { tokens, source };
    let of_profile = profile.capabilities.context_window;
    of_profile
        .map(|tokens| stated(tokens, WindowSource::Profile))
        .or_else(|| known_window(profile).map(|tokens| stated(tokens, WindowSource::Catalogue)))
}

/// Returns the context window of a vendor's own model. `None` for other servers: a local server decides by itself how much of a
/// model's window it loads.
fn known_window(profile: &Profile) -> Option<u64> {
    if profile.execution_mode() != ExecutionMode::Cloud {
        return None;
    }
    let name = profile.model.as_deref()?;
    if let Some(model) = known_model(name).filter(|model| model.provider == profile.provider) {
        return Some(model.context_window);
    }
    // Without the catalogue the window is assumed, which is reported; so a fault of the catalogue is no fault of the task.
    let id = format!("{}/{name}", profile.provider);
    let catalog = Catalog::built_in_model(&id).ok()?;
    catalog.find_model(&id)?.smallest_window()
}

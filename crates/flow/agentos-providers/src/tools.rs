//! Tools made from profiles and keys.
//!
//! Owns: the layers of a profile, and the tool that is made of them. Never: sends anything by itself, or gives a key to an
//! address the user did not choose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agentos_api::{Activity, NextStep, Notice, WindowSource};
use agentos_catalog::ModelRegistry;
use agentos_durable::LinkRule;
use agentos_engine::context_search::{ASSUMED_WINDOW, ModelWindow};
use agentos_engine::ports::EffectError;
use agentos_engine::{Cause, ReplayAdapter};
use agentos_net::Names;
use agentos_profile::{
    AdapterKind, ProfileError, ProfileFile, ProfileFlags, ProfileLayers, ResolvedProfile, builtin_profiles,
    nearest_word, parse_profile, resolve_profile,
};
use agentos_tool::{Adapter, Constrain, EditFormat, TokenPrices};

use crate::learned_windows::{self, RememberedWindow};
use crate::prices::{self, UnprovedServer};
use crate::programs;
use crate::servers::{Hosting, bounding_window, sourced_window};
use crate::tool_notices;
use crate::user_model_file::{find_layer, read_models};
use agentos_ground::Ground;
use agentos_ground::environment::Environment;
use agentos_ground::error::usage_error;
use agentos_ground::files;
use agentos_ground::keys;
use agentos_ground::options::{ProviderOverrides, Recording};
use agentos_ground::provider_kind::ProviderKind;

/// Largest profile file that is read, in bytes.
const LARGEST_PROFILE: u64 = 1 << 20;

/// A tool that is ready to be called.
pub struct Tool {
    /// The adapter.
    pub adapter: Box<dyn Adapter>,
    /// The configured model. `None` if there is none.
    pub model: Option<String>,
    /// Price of tokens.
    pub price: TokenPrices,
    /// Server, if it gave no answer when it was asked whether its calls cost nothing.
    pub silent: Option<UnprovedServer>,
    /// Most tokens of an answer. `None` if the profile sets no limit.
    pub max_tokens: Option<u64>,
    /// The model's window as the profile or the catalogue states it. `None` if neither does.
    pub window: Option<ModelWindow>,
    /// Largest window that the user or the catalogue states, which bounds what a call can be billed. `None` if neither states one.
    pub bounding_window: Option<u64>,
    /// True if the server reports how much of a model's window it has loaded.
    pub reports_window: bool,
    /// Seconds for one answer.
    pub timeout_seconds: u64,
    /// The edit format in which the tool is asked to answer.
    pub edit_format: EditFormat,
    /// The format to which the server constrains the answer.
    pub constrain: Constrain,
    /// Notices for a person before anything is sent.
    pub notices: Vec<Notice>,
    /// Facts about the key that is sent. `None` if none is sent.
    pub key: Option<KeySent>,
    /// True if the tool works on a copy of all files, and needs none of them in its task.
    pub in_copy: bool,
    /// True if it reads the repository itself, with tools.
    pub has_tools: bool,
    /// The ingredients of its adapter. `None` if the tool is not a server, or the adapter was confined.
    pub hosting: Option<Hosting>,
    /// The model in its server's memory. `None` if the tool is not a server, or no model is named.
    pub served: Option<ServedModel>,
    /// Address of the server. `None` if the tool is not a server, or its address is fixed.
    pub address: Option<String>,
}

/// Model in the memory of a server.
#[derive(Debug, Clone)]
pub struct ServedModel {
    /// Address of the server. `None` if it has none.
    pub address: Option<String>,
    /// Model, as the server names it.
    pub model: String,
    /// Longest time for one answer, in seconds.
    pub total_seconds: u64,
}

impl Tool {
    /// Returns the activity of a run that waits for this tool.
    pub fn activity(&self) -> Activity {
        match self.in_copy {
            true => Activity::RunningProgram,
            false => Activity::AskingTool,
        }
    }
}

/// Facts about a key that may be shown.
#[derive(Debug, Clone)]
pub struct KeySent {
    /// The environment variable of the key. `None` if it came from elsewhere.
    pub variable: Option<String>,
    /// The last four characters. `None` if the key is too short to show them.
    pub ending: Option<String>,
}

/// All known providers and their profile folders.
pub struct Tools {
    user_dir: Option<PathBuf>,
    project_dir: Option<PathBuf>,
    providers: BTreeMap<String, ProviderKind>,
    /// The user's own models.
    /// Providers of which only the repository has a profile.
    of_repository: BTreeSet<String>,
    models: ModelRegistry,
    /// The environment, for naming files in messages.
    environment: Environment,
}

impl Tools {
    /// Lists the profiles: built-in, the user's, and the repository's.
    ///
    /// # Errors
    /// If a profile folder cannot be read.
    pub fn read(ground: &Ground, work_dir: Option<&Path>) -> Result<Self, EffectError> {
        let mut providers: BTreeMap<String, ProviderKind> = ProviderKind::WITHOUT_PROFILE
            .map(|kind| (kind.name().to_owned(), kind))
            .into();
        let mut names: Vec<String> = builtin_profiles()
            .map_err(|error| bad_profile(&error))?
            .into_keys()
            .collect();
        let user_dir = ground.environment().config_dir().map(|dir| dir.join("profiles"));
        let project_dir = work_dir.map(|dir| dir.join(".agentos").join("profiles"));
        if let Some(dir) = &user_dir {
            names.extend(profile_names(dir)?);
        }
        let mut of_repository = BTreeSet::new();
        if let Some(dir) = &project_dir {
            of_repository.extend(profile_names(dir)?);
        }
        of_repository.retain(|name| !names.contains(name) && !providers.contains_key(name));
        for name in names.into_iter().chain(of_repository.iter().cloned()) {
            // A profile named `replay`, `command` or `tool` has no effect: these names belong to providers without a profile.
            let kind = ProviderKind::from(name.as_str());
            providers.insert(name, kind);
        }
        Ok(Self {
            user_dir,
            project_dir,
            providers,
            of_repository,
            models: read_models(ground.environment())?,
            environment: ground.environment().clone(),
        })
    }

    /// Returns the providers, sorted.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Returns the providers that the product or the user has, sorted: a repository's own is asked only by its name alone.
    pub fn own_provider_names(&self) -> impl Iterator<Item = &str> {
        self.provider_names()
            .filter(|name| !self.of_repository.contains(*name))
    }

    /// Returns true if only the repository has a profile of the provider.
    pub fn is_of_repository(&self, provider: &str) -> bool {
        self.of_repository.contains(provider)
    }

    /// Returns the providers that have a profile, sorted: all except a recording, which is named with its task, and the programs
    /// of a command line.
    pub fn profiled_names(&self) -> impl Iterator<Item = &str> {
        self.provider_names().filter(|name| self.has_profile(name))
    }

    /// Returns true if the provider has a profile.
    pub fn has_profile(&self, provider: &str) -> bool {
        matches!(self.providers.get(provider), Some(ProviderKind::Profile(_)))
    }

    /// Makes the tool of a provider, for a health check.
    ///
    /// # Errors
    /// If there is no such provider, or its profile is invalid.
    pub fn make_probed(
        &self,
        ground: &Ground,
        provider: &ProviderKind,
        over: &ProviderOverrides,
    ) -> Result<Tool, EffectError> {
        match provider {
            ProviderKind::Replay => make_replay(ground, None),
            ProviderKind::AnyProgram | ProviderKind::ToolProgram => programs::make_unnamed(ground, provider),
            ProviderKind::Profile(name) => {
                let resolved = self.resolve_profile(ground, name, over)?;
                match resolved.profile.adapter.is_program() {
                    true => programs::make_probed(ground, &resolved),
                    false => make_server_tool(ground, &resolved),
                }
            }
        }
    }

    /// Resolves the profile of a provider from its layers, with the origin of each value.
    ///
    /// # Errors
    /// If there is no such provider, or a layer of its profile is invalid.
    pub fn resolve_profile(
        &self,
        ground: &Ground,
        provider: &str,
        over: &ProviderOverrides,
    ) -> Result<ResolvedProfile, EffectError> {
        self.require_known(provider)?;
        let layers = self.read_layers(ground, provider, over)?;
        let resolve =
            |layers: &ProfileLayers| resolve_profile(provider, layers).map_err(|error| bad_profile(&error));
        let resolved = resolve(&layers)?;
        // Which model is meant is known only now, so its entry is added in a second pass.
        let Some(model) = find_layer(&self.models, &resolved) else {
            return Ok(resolved);
        };
        resolve(&ProfileLayers {
            model: Some(model),
            ..layers
        })
    }

    fn read_layers(
        &self,
        ground: &Ground,
        provider: &str,
        over: &ProviderOverrides,
    ) -> Result<ProfileLayers, EffectError> {
        Ok(ProfileLayers {
            user: read_layer(
                &self.environment,
                self.user_dir.as_deref(),
                LinkRule::Followed,
                provider,
            )?,
            project: match over.without_repository {
                true => None,
                false => read_layer(
                    &self.environment,
                    self.project_dir.as_deref(),
                    LinkRule::Refused,
                    provider,
                )?,
            },
            model: None,
            env: ground.environment().vars().clone(),
            flags: ProfileFlags {
                base_url: over.base_url.clone(),
                model: over.model.clone(),
                timeout_seconds: over.timeout_seconds,
                timeouts: over.timeouts,
                retries: over.retries,
                thinking: over.thinking,
                api_key: None,
                send_key: over.send_key,
            },
        })
    }

    /// Returns the user's own models.
    pub fn user_models(&self) -> &ModelRegistry {
        &self.models
    }

    /// Returns the adapter of a provider by its profile, or the usual one of such a name.
    pub fn adapter_of(&self, ground: &Ground, provider: &str) -> AdapterKind {
        // A list of models is no place to report a mistake in a profile: using the provider reports it.
        self.resolve_profile(ground, provider, &ProviderOverrides::default())
            .map_or(AdapterKind::of_provider(provider), |resolved| {
                resolved.profile.adapter
            })
    }

    /// Returns the layer whose file defines a provider, in words. `None` if only built-in values exist. The repository's file of a
    /// provider that is built in defines nothing.
    pub fn own_layer(&self, provider: &str) -> Option<&'static str> {
        let has = |dir: &Option<PathBuf>| {
            let file = dir.as_ref().map(|dir| dir.join(format!("{provider}.json")));
            file.is_some_and(|file| file.is_file())
        };
        let is_built_in = || builtin_profiles().is_ok_and(|known| known.contains_key(provider));
        match (has(&self.user_dir), has(&self.project_dir)) {
            (true, _) => Some("profile of yours"),
            (false, true) if !is_built_in() => Some("profile of the repository"),
            (false, true | false) => None,
        }
    }

    /// Returns what sets a provider up: a profile that is not built in, a key in the environment, or the user's choice of
    /// it as the default. `None` if nobody began to set it up.
    ///
    /// A keyring is not asked, because that can take seconds.
    pub fn set_up_by(&self, ground: &Ground, provider: &str, default: Option<&str>) -> Option<String> {
        match (self.own_layer(provider), keys::key_variable(ground, provider)) {
            (Some(layer), _) => Some(layer.to_owned()),
            (None, Some(variable)) => Some(format!("environment {variable}")),
            (None, None) if default == Some(provider) => Some("the default provider".to_owned()),
            (None, None) => None,
        }
    }

    /// Reads the user's own profile of a provider. `None` if there is none.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn user_file(&self, provider: &str) -> Result<Option<ProfileFile>, EffectError> {
        read_layer(
            &self.environment,
            self.user_dir.as_deref(),
            LinkRule::Followed,
            provider,
        )
    }

    /// Checks that a provider is known.
    ///
    /// # Errors
    /// If it is not. The error names the known ones.
    pub fn require_known(&self, provider: &str) -> Result<(), EffectError> {
        if self.providers.contains_key(provider) {
            return Ok(());
        }
        let known: Vec<&str> = self.provider_names().collect();
        // Twenty names help only if none of them is similar.
        let hint = match nearest_word(provider, self.provider_names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known providers: {}", known.join(", ")),
        };
        let make = NextStep::MakeProfile {
            provider: provider.to_owned(),
        };
        Err(usage_error(format!("there is no provider `{provider}`"))
            .hint(hint)
            .suggest_steps([make]))
    }
}

/// Makes the tool of a profile that names a server.
///
/// # Errors
/// If the profile names a program, or its wire is invalid.
pub fn make_server_tool(ground: &Ground, resolved: &ResolvedProfile) -> Result<Tool, EffectError> {
    let profile = &resolved.profile;
    if profile.adapter.is_pool() {
        return Err(usage_error(format!(
            "`{}` is a pool of models, and this needs one model",
            profile.provider
        ))
        .hint("name a provider, or a member's model as in `openai/gpt-4o`"));
    }
    let usable = keys::find_usable_key(ground, resolved);
    let notices = tool_notices::collect_notices(ground.environment(), resolved, &usable);
    let key = usable.key.as_ref().map(|key| KeySent {
        variable: usable.variable.clone(),
        ending: key.hint(),
    });
    let learned = RememberedWindow::of_profile(ground, profile).recall();
    let hosting = Hosting {
        profile: learned_windows::lower_profile(profile.clone(), learned),
        key: usable.key,
        key_obstacle: usable.obstacle,
    };
    let served = profile.model.clone().map(|model| ServedModel {
        address: profile.base_url.as_ref().map(ToString::to_string),
        model,
        total_seconds: profile.timeouts.total_seconds,
    });
    Ok(Tool {
        served,
        address: profile.base_url.as_ref().map(ToString::to_string),
        adapter: hosting.make_adapter(Names::System)?,
        model: profile.model.clone(),
        price: prices::find_prices(resolved)?,
        silent: None,
        max_tokens: profile.params.max_tokens,
        reports_window: matches!(profile.adapter, AdapterKind::Llamacpp | AdapterKind::Lmstudio),
        bounding_window: bounding_window(resolved),
        window: learned_windows::lower_window(
            sourced_window(resolved).or_else(|| adapter_window(profile.adapter)),
            learned,
        ),
        timeout_seconds: profile.timeouts.total_seconds,
        edit_format: profile.edit_format,
        constrain: profile.constrain,
        notices,
        key,
        in_copy: false,
        has_tools: false,
        hosting: Some(hosting),
    })
}

/// Returns the window for an adapter that decides itself how much of a window is loaded. `None` for all others.
fn adapter_window(adapter: AdapterKind) -> Option<ModelWindow> {
    // Ollama reserves memory for the length that a request states, so the length that a model could have is no size to fill.
    (adapter == AdapterKind::Ollama).then_some(ModelWindow {
        tokens: ASSUMED_WINDOW,
        source: WindowSource::Assumed,
    })
}

/// Makes the tool that answers with a recording.
///
/// # Errors
/// If the recording cannot be read.
pub fn make_replay(ground: &Ground, recording: Option<&Recording>) -> Result<Tool, EffectError> {
    let recording = match recording {
        Some(Recording::File(file)) => Some(files::read_text_file(
            ground.environment(),
            file,
            files::LARGEST_ANSWER,
        )?),
        Some(Recording::Text(text)) => Some(text.clone()),
        None => None,
    };
    Ok(Tool {
        model: Some("recorded".to_owned()),
        timeout_seconds: 60,
        ..programs::default_tool(Box::new(ReplayAdapter::new(recording)), false)
    })
}

/// Reads one layer of a provider's profile. `None` if there is no file. A user's own file may be a link, because some users keep
/// their settings in another place. A link in the repository is refused: whoever wrote it could make it lead to any file of
/// the user's.
fn read_layer(
    environment: &Environment,
    dir: Option<&Path>,
    links: LinkRule,
    provider: &str,
) -> Result<Option<ProfileFile>, EffectError> {
    let Some(dir) = dir else { return Ok(None) };
    let path = dir.join(format!("{provider}.json"));
    // Also finds a dangling link, which must be reported and not taken for a missing profile.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let text = files::read_settings_file(environment, &path, links, LARGEST_PROFILE)?;
    let name = environment.shorten_path(&path);
    parse_profile(&name, &text)
        .map(Some)
        .map_err(|error| bad_profile(&error))
}

fn profile_names(dir: &Path) -> Result<Vec<String>, EffectError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let message = format!("cannot read the profile folder `{}`: {error}", dir.display());
            return Err(EffectError::from_source(Cause::Usage, "usage", message, &error));
        }
    };
    let names = entries.filter_map(|entry| {
        // An entry that cannot be read is only missing from the list. Naming its provider gives the error.
        let path = entry.ok()?.path();
        let is_profile = path.extension().is_some_and(|extension| extension == "json");
        is_profile.then(|| path.file_stem()?.to_str().map(str::to_owned))?
    });
    // A file name that no provider can have is left out of the list. Naming it gives an error with the reason.
    Ok(names
        .filter(|name| {
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
        .collect())
}

/// Makes the error of a profile that cannot be used.
pub fn bad_profile(error: &ProfileError) -> EffectError {
    let mut effect = match error {
        ProfileError::BaseUrl { .. } => EffectError::from_error(Cause::Tool, "bad-url", error),
        _ => EffectError::from_error(Cause::Usage, "bad-profile", error),
    };
    effect.hint = error.hint().map(str::to_owned);
    effect.suggest_steps(error.next_steps())
}

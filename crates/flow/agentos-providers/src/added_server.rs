//! `agentos models add URL`: a server of models as a provider in the user's own settings.
//!
//! Owns: the provider's name and file, and the first default. Never: writes into a repository, or replaces a profile that exists.

use agentos_api::FoundServer;
use agentos_engine::ports::EffectError;
use agentos_net::HttpUrl;
use agentos_profile::{CapabilitiesFile, PriceFile, builtin_profiles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Providers;
use crate::profile_file::{NewProfile, own_key_name};
use crate::server_probe::{SeenModel, SeenServer, look_at};
use crate::tools::bad_profile;
use agentos_ground::error::usage_error;
use agentos_ground::provider_kind::ProviderKind;

/// Order to add a server of models.
#[derive(Debug, Clone, Default)]
pub struct AddServerSpec {
    /// Address of the server, with or without `/v1`.
    pub url: String,
    /// Name of the provider. `None` means the usual name of such a server.
    pub provider: Option<String>,
    /// Model to use. `None` means the one that is loaded, else the first.
    pub model: Option<String>,
}

/// The output of `agentos models add URL --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AddedServer {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the provider.
    pub provider: String,
    /// Kind of the server, for people.
    pub server: String,
    /// Adapter that speaks its wire.
    pub adapter: String,
    /// Address.
    pub base_url: String,
    /// Model that is used. `None` if the server lists none.
    pub model: Option<String>,
    /// All models that the server lists.
    pub models: Vec<String>,
    /// Tokens of the model's window as the server states them. `None` if it states none.
    pub context_window: Option<u64>,
    /// True if the server constrains answers to a grammar.
    pub takes_grammar: bool,
    /// File that was written.
    pub file: String,
    /// True if it became the default, because there was none.
    pub is_default: bool,
}

impl Providers<'_> {
    /// Asks an address which server it is, and adds it to the user's own providers. The first one becomes the default. Must be awaited on a
    /// thread with a runtime that has timers and sockets; see [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If no known server answers, it lacks the model, or the profile cannot be written.
    pub async fn add_server(self, spec: &AddServerSpec) -> Result<AddedServer, EffectError> {
        let address = HttpUrl::parse(&spec.url).map_err(|error| usage_error(error.to_string()))?;
        let seen = look_at(&address).await?;
        let model = choose_model(&seen, spec.model.as_deref())?.cloned();
        let (provider, path) = self.name_server(&seen, &address, spec.provider.as_deref())?;
        let window = model.as_ref().and_then(|model| model.window);
        // A limit on what a call can cost follows from a stated window, so the word of a server elsewhere is not written down.
        let stated = window
            .filter(|_| address.is_loopback() && seen.sort.adapter() == agentos_profile::AdapterKind::Openai);
        // The servers of the other adapters are asked again before each call, so nothing is written down for them.
        let is_free = address.is_loopback()
            && seen.sort.runs_models()
            && seen.sort.adapter() == agentos_profile::AdapterKind::Openai;
        let price = is_free.then(|| PriceFile {
            input: Some(0.0),
            output: Some(0.0),
            ..PriceFile::default()
        });
        let text = self.compose_profile(&NewProfile {
            price,
            provider: provider.clone(),
            base_url: Some(seen.base_url.clone()),
            model: model.as_ref().map(|model| model.name.clone()),
            adapter: Some(seen.sort.adapter()),
            // The other adapters read the window that is loaded with each task.
            capabilities: stated.map(|window| CapabilitiesFile {
                context_window: Some(window),
                ..CapabilitiesFile::default()
            }),
            // A key that was stored for an earlier server of this name is not sent to this one.
            api_key_ref: own_key_name(
                &provider,
                &seen.base_url,
                self.profile_defaults(&provider)?.base_url.as_deref(),
            ),
        })?;
        self.save_profile(&path, &text)?;
        crate::learned_windows::forget(self.ground, &provider);
        let is_default = model.is_some() && self.read_settings()?.default_provider().is_none();
        if is_default {
            self.use_provider(&provider, None)?;
        }
        Ok(AddedServer {
            version: 1,
            provider,
            server: seen.sort.title().to_owned(),
            adapter: seen.sort.adapter().as_str().to_owned(),
            base_url: seen.base_url,
            model: model.map(|model| model.name),
            models: seen.models.into_iter().map(|model| model.name).collect(),
            context_window: window,
            takes_grammar: seen.sort.takes_grammar(),
            file: self.ground.environment().shorten_path(&path).to_string(),
            is_default,
        })
    }

    /// Adds a server that a search on this machine found, as [`Providers::add_server`] does. `None` if the user has a profile of it already.
    ///
    /// # Errors
    /// As [`Providers::add_server`].
    pub async fn add_found_server(
        self,
        found: &FoundServer,
        model: Option<&str>,
    ) -> Result<Option<AddedServer>, EffectError> {
        let has_profile = self.new_profile_path(&found.provider, false).is_err();
        let Some(endpoint) = found.endpoint.as_deref().filter(|_| !has_profile) else {
            return Ok(None);
        };
        let spec = AddServerSpec {
            url: format!("http://{endpoint}"),
            provider: None,
            model: model.map(str::to_owned),
        };
        self.add_server(&spec).await.map(Some)
    }

    /// Returns the name of the new provider and the path of its file: the named one, the usual one, or the usual one with the port. A server
    /// elsewhere never gets the name of a provider that the product has: what is sent to that provider would go there.
    fn name_server(
        self,
        seen: &SeenServer,
        address: &HttpUrl,
        named: Option<&str>,
    ) -> Result<(String, std::path::PathBuf), EffectError> {
        if let Some(named) = named {
            return Ok((named.to_owned(), self.new_profile_path(named, false)?));
        }
        let usual = match seen.sort.provider() {
            Some(usual) => usual.to_owned(),
            None if address.is_loopback() => "local".to_owned(),
            None => name_host(address.host()),
        };
        let usual = match address.is_loopback() {
            true => usual,
            false => match (is_built_in(&usual)?, name_host(address.host())) {
                (false, _) => usual,
                (true, host) => format!("{usual}-{host}"),
            },
        };
        if let Ok(path) = self.new_profile_path(&usual, false) {
            return Ok((usual, path));
        }
        let with_port = format!("{usual}-{}", address.port());
        let path = self
            .new_profile_path(&with_port, false)
            .map_err(|error| EffectError {
                next: Vec::new(),
                ..error.hint("name the new provider with `-p NAME`, or edit the profile")
            })?;
        Ok((with_port, path))
    }
}

/// Returns true if the product has a provider of this name.
///
/// # Errors
/// If the built-in profiles cannot be read.
fn is_built_in(name: &str) -> Result<bool, EffectError> {
    let known = builtin_profiles().map_err(|error| bad_profile(&error))?;
    let is_kind = ProviderKind::WITHOUT_PROFILE
        .iter()
        .any(|kind| kind.name() == name);
    Ok(is_kind || known.contains_key(name))
}

/// Returns the model that is used. `None` if the server lists none.
fn choose_model<'s>(seen: &'s SeenServer, named: Option<&str>) -> Result<Option<&'s SeenModel>, EffectError> {
    let Some(named) = named else {
        return Ok(seen.models.first());
    };
    let found = seen.models.iter().find(|model| model.name == named);
    let names: Vec<&str> = seen
        .models
        .iter()
        .take(10)
        .map(|model| model.name.as_str())
        .collect();
    found.map(Some).ok_or_else(|| {
        usage_error(format!("the server has no model `{named}`")).hint(format!("it has {}", names.join(", ")))
    })
}

/// Makes the name of a provider from the name of a host: the part before the last one.
fn name_host(host: &str) -> String {
    let parts: Vec<&str> = host.split('.').collect();
    let main = parts
        .iter()
        .rev()
        .nth(1)
        .or(parts.first())
        .copied()
        .unwrap_or("server");
    let letters = main.to_ascii_lowercase();
    let letters: String = letters
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect();
    // An address of digits is no name.
    match letters.chars().any(|letter| letter.is_ascii_alphabetic()) {
        true => letters,
        false => "server".to_owned(),
    }
}

#[cfg(test)]
mod tests;

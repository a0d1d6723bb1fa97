//! Profile files in the user's settings.
//!
//! Owns: their content and their location. Never: asks a person or a server, or writes a key.

use std::path::{Path, PathBuf};

use agentos_api::NextStep;
use agentos_credentials::replace_own_file;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{
    AdapterKind, CapabilitiesFile, PriceFile, ProfileFile, ProfileLayers, builtin_profiles, resolve_profile,
};
use agentos_tool::BaseUrl;

use crate::Providers;
use crate::tools::bad_profile;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::schema_text::{format_schema, generate_schema};

/// File name of the schema next to the profiles, for editors.
const SCHEMA: &str = "profile.schema.json";

/// The values of a new profile.
#[derive(Debug, Clone, Default)]
pub struct NewProfile {
    /// The provider: small letters, digits and `-`.
    pub provider: String,
    /// Address of the service.
    pub base_url: Option<String>,
    /// Model to use.
    pub model: Option<String>,
    /// The wire. `None` means the provider's own, or `openai` for a new provider.
    pub adapter: Option<AdapterKind>,
    /// The name of a stored key that the profile shares with another. `None` if it has its own.
    pub api_key_ref: Option<String>,
    /// Abilities of the server. `None` if nothing is known about them.
    pub capabilities: Option<CapabilitiesFile>,
    /// Prices. `None` if they are the usual ones of such a server.
    pub price: Option<PriceFile>,
}

/// The built-in values of a provider.
#[derive(Debug, Clone, Default)]
pub struct ProfileDefaults {
    /// Address of the service.
    pub base_url: Option<String>,
    /// Model to use.
    pub model: Option<String>,
}

impl Providers<'_> {
    /// Returns the built-in values of a provider; there are none for a new one.
    ///
    /// # Errors
    /// If the built-in profiles cannot be read.
    pub fn profile_defaults(self, provider: &str) -> Result<ProfileDefaults, EffectError> {
        let known = builtin_profiles().map_err(|error| bad_profile(&error))?;
        let usual = known.get(provider);
        Ok(ProfileDefaults {
            base_url: usual.and_then(|profile| profile.base_url.clone()),
            model: usual.and_then(|profile| profile.model.clone()),
        })
    }

    /// Returns the path of a provider's new profile.
    ///
    /// # Errors
    /// If the name cannot be a provider's, there is no home folder, or a profile is there and `may_replace` is false.
    pub fn new_profile_path(self, provider: &str, may_replace: bool) -> Result<PathBuf, EffectError> {
        let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if provider.is_empty() || !provider.bytes().all(is_name) {
            return Err(usage_error(format!("`{provider}` cannot name a provider"))
                .hint("use small letters, digits and `-`"));
        }
        let folder = self.ground.environment().config_dir().ok_or_else(|| {
            EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings")
                .hint("set `HOME`")
        })?;
        let path = folder.join("profiles").join(format!("{provider}.json"));
        // A profile may contain settings that this program did not write.
        if path.exists() && !may_replace {
            let shown = self.ground.environment().shorten_path(&path);
            return Err(usage_error(format!("there is a profile already: `{shown}`"))
                .hint("edit it")
                .suggest_steps([NextStep::ReplaceProfile]));
        }
        Ok(path)
    }

    /// Composes the text of a profile, and checks that it can be read back.
    ///
    /// # Errors
    /// If it has no address, or a value is wrong.
    pub fn compose_profile(self, new: &NewProfile) -> Result<String, EffectError> {
        let usual = self.profile_defaults(&new.provider)?;
        if new.base_url.is_none() && usual.base_url.is_none() {
            let example = Some("http://localhost:8000/v1".to_owned());
            return Err(usage_error(format!("`{}` needs an address", new.provider))
                .suggest_steps([NextStep::NameBaseUrl { example }]));
        }
        let is_new = !builtin_profiles()
            .map_err(|error| bad_profile(&error))?
            .contains_key(&new.provider);
        let own_key = new
            .base_url
            .as_deref()
            .zip(usual.base_url.as_deref())
            .and_then(|(url, usual)| own_key_name(&new.provider, url, Some(usual)));
        let profile = ProfileFile {
            // The profile is in `profiles/`, one folder below the schema.
            schema: Some(format!("../{SCHEMA}")),
            provider: new.provider.clone(),
            adapter: new.adapter.or_else(|| is_new.then_some(AdapterKind::Openai)),
            base_url: new.base_url.clone(),
            api_key_ref: new.api_key_ref.clone().or(own_key),
            model: new.model.clone(),
            capabilities: new.capabilities.clone(),
            price: new.price,
            ..ProfileFile::default()
        };
        let layers = ProfileLayers {
            user: Some(profile.clone()),
            ..ProfileLayers::default()
        };
        // Resolved with the built-in values: some values are valid only together with others.
        resolve_profile(&new.provider, &layers).map_err(|error| bad_profile(&error))?;
        Ok(serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n")
    }

    /// Writes a profile's text to its place, and the schema next to it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_profile(self, path: &Path, text: &str) -> Result<(), EffectError> {
        if let Some(folder) = self.ground.environment().config_dir() {
            let schema = format_schema(&generate_schema::<ProfileFile>());
            write(&folder.join(SCHEMA), &schema)?;
        }
        write(path, text)
    }
}

/// Saves the best edit format of a model in the user's own profile.
pub fn save_edit_format(
    ground: &Ground,
    provider: &str,
    user: Option<ProfileFile>,
    format: agentos_tool::EditFormat,
) -> Result<PathBuf, EffectError> {
    let folder = ground
        .environment()
        .config_dir()
        .ok_or_else(|| usage_error("there is no home folder for settings"))?;
    let path = folder.join("profiles").join(format!("{provider}.json"));
    let profile = ProfileFile {
        provider: provider.to_owned(),
        edit_format: Some(format),
        ..user.unwrap_or_default()
    };
    let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
    write(&path, &text)?;
    Ok(path)
}

/// Replaces a file of the user's settings.
fn write(path: &Path, text: &str) -> Result<(), EffectError> {
    replace_own_file(path, text)
        .map_err(|error| EffectError::from_error(Cause::Usage, "profile-not-written", &error))
}

/// Returns the name of a separate key for an address other than the built-in one, so that the vendor's key is not sent there.
/// `None` if the address is the built-in one. Without a built-in one, every address has a key of its own.
pub(crate) fn own_key_name(provider: &str, url: &str, usual: Option<&str>) -> Option<String> {
    let url = BaseUrl::parse(url).ok()?;
    let usual = usual.and_then(|usual| BaseUrl::parse(usual).ok());
    let place = url
        .endpoint()
        .as_str()
        .replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    let is_usual = usual.is_some_and(|usual| url.same_place(&usual));
    (!is_usual).then(|| format!("{provider}.{place}.api_key"))
}

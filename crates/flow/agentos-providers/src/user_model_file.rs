//! The file of the user's own models: `models.json` in the folder of the user's settings.
//!
//! Owns: reading and writing the file, and what an entry changes for a run. Never: takes an entry from a repository, or lets an
//! entry apply at an address that a repository chose.

use std::path::{Path, PathBuf};

use agentos_catalog::ModelRegistry;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{CapabilitiesFile, ModelLayer, Origin, PriceFile, ResolvedProfile};
use agentos_tool::{Ability, TokenPrice};

use agentos_ground::environment::Environment;
use agentos_ground::own_file::{read_own_text, write_own_text};

/// Name of the file.
const FILE: &str = "models.json";
/// Largest file of models that is read, in bytes. The table of models.dev has 3 MB.
pub(crate) const LARGEST_FILE: u64 = 32 << 20;

pub(crate) fn find_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir()?.join(FILE))
}

/// Reads the user's own models. Without a file the list is empty.
///
/// # Errors
/// If the file contains a mistake, or other users can write to it.
pub(crate) fn read_models(environment: &Environment) -> Result<ModelRegistry, EffectError> {
    let Some(path) = find_file(environment) else {
        return Ok(ModelRegistry::default());
    };
    let Some(text) = read_own_text(environment, &path, "bad-models", LARGEST_FILE)? else {
        return Ok(ModelRegistry::default());
    };
    ModelRegistry::parse_json(&text).map_err(|error| {
        let name = environment.shorten_below_home(&path);
        EffectError::from_error(Cause::Usage, "bad-models", &error).in_message(&name)
    })
}

pub(crate) fn save_models(path: &Path, registry: &ModelRegistry) -> Result<(), EffectError> {
    let text = registry
        .format_json()
        .map_err(|error| EffectError::from_error(Cause::Internal, "models-not-written", &error))?;
    write_own_text(path, &text, "models-not-written")
}

/// Puts the name of a file before the message.
pub(crate) trait InFile {
    fn in_message(self, file: &str) -> Self;
}

impl InFile for EffectError {
    fn in_message(self, file: &str) -> Self {
        Self {
            message: format!("`{file}`: {}", self.message),
            ..self
        }
    }
}

/// Returns the user's entry about the model of a profile as a layer. `None` if the file has no such entry, or the entry does not apply.
pub(crate) fn find_layer(models: &ModelRegistry, resolved: &ResolvedProfile) -> Option<ModelLayer> {
    // Another server than the user's: a repository could make an expensive model look cheap.
    if resolved.origin_of("base_url") == Some(&Origin::ProjectFile) {
        return None;
    }
    let profile = &resolved.profile;
    let model = models.find_served(&profile.provider, profile.model.as_deref()?)?;
    let known = |ability: Option<Ability>| match ability {
        Some(Ability::Yes) => Some(true),
        Some(Ability::No) => Some(false),
        Some(Ability::Unknown) | None => None,
    };
    let price = model.price.unwrap_or_default();
    // Exact: a price has at most six digits after the point, and these are read back from the number's text.
    let number = |price: Option<TokenPrice>| price.and_then(|price| price.to_string().parse().ok());
    Some(ModelLayer {
        source: model.source.clone(),
        capabilities: CapabilitiesFile {
            tools: known(model.tools),
            vision: known(model.vision),
            json_mode: known(model.json_mode),
            context_window: model.context_window,
            ..CapabilitiesFile::default()
        },
        price: PriceFile {
            input: number(price.input),
            cached: number(price.cached),
            cache_write: number(price.cache_write),
            output: number(price.output),
        },
        // A smaller limit of the profile stays: the entry says what the model can do, the profile what is wanted.
        max_tokens: model
            .output_limit
            .filter(|limit| profile.params.max_tokens.is_none_or(|own| own > *limit)),
    })
}

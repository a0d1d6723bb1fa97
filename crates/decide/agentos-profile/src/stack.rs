//! The layers of one profile, strongest first.
//!
//! Owns: the order, and finding the strongest layer's value. Never: knows what a field means.

use std::collections::BTreeMap;

use agentos_tool::{Secret, ThinkingLevel};

use crate::repository::{LeftOutFields, ProviderOwner, admit_profile};
use crate::{
    Origin, ParamsFile, ProfileError, ProfileFile, ProfileLayers, TimeoutsFile, builtin_profiles, env_names,
    file,
};

/// Value with its origin.
#[derive(Debug, Clone)]
pub(crate) struct LayeredValue<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

pub(crate) fn derived_value<T>(value: T) -> LayeredValue<T> {
    LayeredValue {
        value,
        origin: Origin::Derived,
    }
}

pub(crate) fn note_origin<T>(
    origins: &mut BTreeMap<&'static str, Origin>,
    field: &'static str,
    value: LayeredValue<T>,
) -> T {
    origins.insert(field, value.origin);
    value.value
}

/// Layers as profile files, strongest first. Environment and flags become files with few fields.
pub(crate) struct LayerStack {
    layers: Vec<(Origin, ProfileFile)>,
    /// Fields of the repository's file that are not active. `None` if all are.
    pub(crate) left_out: Option<LeftOutFields>,
}

impl LayerStack {
    pub(crate) fn new(provider: &str, layers: &ProfileLayers) -> Result<Self, ProfileError> {
        let known = builtin_profiles()?;
        let names = env_names(provider);
        let owner = if layers.user.is_some() || !set_variables(&names.base_url, &layers.env).is_empty() {
            ProviderOwner::User
        } else if known.contains_key(provider) {
            ProviderOwner::Product
        } else {
            ProviderOwner::Repository
        };
        let project = layers.project.clone();
        let project = project.map(|file| admit_profile(file, owner));
        let (project, left_out) = project.unzip();
        let files = [
            // Above the user's file: what is left of it then makes rules stricter.
            (Origin::ProjectFile, project),
            (Origin::UserFile, layers.user.clone()),
            (Origin::BuiltIn, known.get(provider).cloned()),
        ];
        let mut stack = above_files(provider, layers);
        // A provider without any profile can be used if a flag or variable gives its address.
        let addressed = stack.iter().any(|(_, file)| file.base_url.is_some());
        if !addressed && files.iter().all(|(_, file)| file.is_none()) {
            let near = file::nearest_word(provider, known.keys().map(String::as_str));
            return Err(ProfileError::Unknown {
                provider: provider.to_owned(),
                hint: near.map(|name| format!("did you mean `{name}`?")),
            });
        }
        // An entry about a model makes no provider, so it is no file of one.
        if let Some(model) = layers.model.clone() {
            let origin = Origin::UserModel(model.source.clone());
            stack.push((origin, model.into_file(provider)));
        }
        for (origin, file) in files {
            let Some(file) = file else { continue };
            // A renamed copy of a profile would otherwise send this provider's key to the other's address.
            if file.provider != provider {
                return Err(ProfileError::OtherProvider {
                    origin,
                    found: file.provider,
                    wanted: provider.to_owned(),
                });
            }
            stack.push((origin, file));
        }
        Ok(Self {
            layers: stack,
            left_out: left_out.flatten(),
        })
    }

    /// Picks the strongest layer's value. `None` if no layer has one.
    pub(crate) fn pick<T>(&self, of: impl Fn(&ProfileFile) -> Option<T>) -> Option<LayeredValue<T>> {
        self.pick_by(|_, file| of(file))
    }

    /// Picks the strongest layer's value, or a default derived from other values.
    pub(crate) fn pick_or<T>(&self, of: impl Fn(&ProfileFile) -> Option<T>, other: T) -> LayeredValue<T> {
        self.pick(of).unwrap_or_else(|| derived_value(other))
    }

    /// Picks the value of the strongest layer except the repository's, which is untrusted. `None` if no other has one.
    pub(crate) fn pick_trusted<T>(&self, of: impl Fn(&ProfileFile) -> Option<T>) -> Option<LayeredValue<T>> {
        self.pick_by(|origin, file| of(file).filter(|_| *origin != Origin::ProjectFile))
    }

    /// Picks the first value that `of` returns, from the strongest layer down. `None` if it returns none.
    pub(crate) fn pick_by<T>(
        &self,
        of: impl Fn(&Origin, &ProfileFile) -> Option<T>,
    ) -> Option<LayeredValue<T>> {
        self.layers.iter().find_map(|(origin, file)| {
            of(origin, file).map(|value| LayeredValue {
                value,
                origin: origin.clone(),
            })
        })
    }
}

/// Values from the command line.
#[derive(Debug, Clone, Default)]
pub struct ProfileFlags {
    /// `--base-url`.
    pub base_url: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--timeout`, in seconds.
    pub timeout_seconds: Option<u64>,
    /// `--connect-timeout`, `--first-byte-timeout`, `--idle-timeout` and `--total-timeout`.
    pub timeouts: TimeoutsFile,
    /// Number of times that a failed call is sent again.
    pub retries: Option<u32>,
    /// `--thinking`.
    pub thinking: Option<ThinkingLevel>,
    /// Key from `--api-key` or standard input.
    pub api_key: Option<Secret>,
    /// `--send-key`: allows sending a key to an address that it was not stored for.
    pub send_key: bool,
}

/// Converts flags and environment to layers.
fn above_files(provider: &str, layers: &ProfileLayers) -> Vec<(Origin, ProfileFile)> {
    let flags = ProfileFile {
        base_url: layers.flags.base_url.clone(),
        model: layers.flags.model.clone(),
        timeout_seconds: layers.flags.timeout_seconds,
        timeouts: Some(layers.flags.timeouts),
        params: layers.flags.thinking.map(|level| ParamsFile {
            thinking: Some(level),
            ..ParamsFile::default()
        }),
        ..ProfileFile::default()
    };
    let names = env_names(provider);
    // The order is the strength: flags first, then the variables in the order of their names.
    let mut above = vec![(Origin::Flag, flags)];
    for (name, text) in set_variables(&names.base_url, &layers.env) {
        let file = ProfileFile {
            base_url: Some(text.clone()),
            ..ProfileFile::default()
        };
        above.push((Origin::Environment(name.clone()), file));
    }
    for (name, text) in set_variables(&names.model, &layers.env) {
        let file = ProfileFile {
            model: Some(text.clone()),
            ..ProfileFile::default()
        };
        above.push((Origin::Environment(name.clone()), file));
    }
    above
}

/// Finds the variables that are set and not empty.
pub(crate) fn set_variables<'a>(
    names: &[String],
    env: &'a BTreeMap<String, String>,
) -> Vec<(&'a String, &'a String)> {
    names
        .iter()
        .filter_map(|name| env.get_key_value(name))
        // An empty variable counts as unset, as usual in shells.
        .filter(|(_, text)| !text.trim().is_empty())
        .collect()
}

/// Checks a value.
///
/// # Errors
/// [`ProfileError::Value`] with the requirement if the value does not fit.
pub(crate) fn check_value<T>(
    value: Option<&LayeredValue<T>>,
    field: &'static str,
    fits: impl Fn(&T) -> bool,
    must: &str,
) -> Result<(), ProfileError> {
    match value {
        Some(value) if !fits(&value.value) => Err(ProfileError::Value {
            field,
            origin: value.origin.clone(),
            message: must.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

//! Changes of the settings file.
//!
//! Owns: setting and removing a value, with every other line and comment kept as it is. Never: writes a file that could not be
//! read back, or one that contains a mistake already.

use std::ops::Range;

use agentos_api::NextStep;
use agentos_engine::ports::EffectError;
use toml::de::DeTable;

use super::{DefaultProvider, SettingValue, Settings, bad_settings, file, known_setting};
use crate::Providers;
use crate::model_name::{ModelName, ModelNames, NamedModel};
use crate::tools::Tools;
use agentos_ground::own_file::write_own_text;
use agentos_ground::repository;

impl Providers<'_> {
    /// Sets a value in the settings file, which is created if it is missing.
    ///
    /// # Errors
    /// If there is no such setting or provider, the value is wrong, or the file cannot be read or written.
    pub fn set_setting(self, key: &str, text: &str) -> Result<(), EffectError> {
        let known = known_setting(key)?;
        let value = known
            .check_text(text)
            .map_err(|fault| bad_settings(fault).suggest_steps([NextStep::ListSettings]))?;
        if known.key == "provider" {
            if ModelName::parse(text).model.is_some() {
                return self.use_provider(text, None).map(|_| ());
            }
            self.require_provider(text)?;
        }
        self.edit_settings(|written| set_value(written, key, &value))
    }

    /// Removes a value from the settings file. Returns false if it was not set there.
    ///
    /// # Errors
    /// If there is no such setting, or the file cannot be read or written.
    pub fn unset_setting(self, key: &str) -> Result<bool, EffectError> {
        let known = known_setting(key)?;
        let is_set = file::read_values(self.ground.environment())?.contains_key(known.key);
        if is_set {
            self.edit_settings(|written| remove_value(written, key))?;
        }
        Ok(is_set)
    }

    /// Makes a provider the default of tasks that name none: `openai`, or with a model `openai/gpt-4o`. Without a model, the
    /// profile's is used again.
    ///
    /// # Errors
    /// As [`Providers::set_setting`].
    pub fn use_provider(self, name: &str, model: Option<&str>) -> Result<DefaultProvider, EffectError> {
        let names = ModelNames::read(self.ground)?;
        let named = ModelName::parse(name);
        if model.is_none() && named.model.is_some() {
            names.split_id(name, self.read_usual()?.as_ref())?;
        }
        let provider = named.provider.name();
        let meant = names.find_model(NamedModel {
            provider: Some(named.clone()),
            model,
            usual: None,
        })?;
        // An id of the user's own needs no provider of its name.
        let meant = meant.unwrap_or_else(|| named.clone());
        self.require_provider(meant.provider.name())?;
        // Kept as it was typed: the entry of an own id can change.
        let model = named.model.clone().or(model.map(str::to_owned));
        let model = model
            .map(|model| known_setting("model")?.check_text(&model).map_err(bad_settings))
            .transpose()?;
        let name = SettingValue::Text(provider.to_owned());
        self.edit_settings(|written| {
            let written = set_value(written, "provider", &name);
            match &model {
                Some(model) => set_value(&written, "model", model),
                None => remove_value(&written, "model"),
            }
        })?;
        // Read from the file alone: a variable may name another provider, which does not change what was stored.
        let stored = Settings {
            file: file::read_values(self.ground.environment())?,
            ..Settings::default()
        };
        stored
            .default_provider()
            .ok_or_else(|| bad_settings("the settings file changed while it was written"))
    }

    /// Returns the user's default provider with its model. `None` if none is chosen.
    ///
    /// # Errors
    /// If the settings cannot be read.
    pub fn read_usual(self) -> Result<Option<ModelName>, EffectError> {
        let default = self.read_settings()?.default_provider();
        Ok(default.map(|default| ModelName {
            provider: default.provider.into(),
            model: default.model,
        }))
    }

    /// Refuses the name of a provider that is not known here.
    fn require_provider(self, provider: &str) -> Result<(), EffectError> {
        // Outside of a repository, the user's own profiles and the built-in ones are known.
        let repo = repository::open(self.ground).ok();
        Tools::read(self.ground, repo.as_ref().and_then(|repo| repo.work_dir()))?.require_known(provider)
    }

    fn edit_settings(self, edit: impl FnOnce(&str) -> String) -> Result<(), EffectError> {
        let path = self.settings_path()?;
        let written = file::read_text(self.ground.environment(), &path)?.unwrap_or_default();
        let name = self.ground.environment().shorten_below_home(&path);
        // A file with a mistake is not edited: a value could land in a part that means something else.
        file::parse_values(&name, &written)?;
        let edited = edit(&written);
        file::parse_values(&name, &edited)?;
        write_own_text(&path, &edited, "settings-not-written")
    }
}

/// Returns the text with a value set: in its place, or on a new last line. Settings files have no tables, so a last line is
/// always at the top level.
pub(super) fn set_value(text: &str, key: &str, value: &SettingValue) -> String {
    let spelled = match value {
        SettingValue::Text(text) => toml::Value::String(text.clone()).to_string(),
        SettingValue::Number(number) => number.to_string(),
    };
    let mut out = text.to_owned();
    if let Some((_, old)) = find_spans(text, key) {
        out.replace_range(old, &spelled);
        return out;
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&format!("{key} = {spelled}\n"));
    out
}

/// Returns the text without the lines of a value.
pub(super) fn remove_value(text: &str, key: &str) -> String {
    let Some((name, value)) = find_spans(text, key) else {
        return text.to_owned();
    };
    let before = text.get(..name.start).unwrap_or_default();
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let after = text.get(value.end..).unwrap_or_default();
    let end = after.find('\n').map_or(text.len(), |at| value.end + at + 1);
    let mut out = text.to_owned();
    out.replace_range(begin..end, "");
    out
}

/// Finds the bytes of a key and of its value. `None` if the key is not set.
fn find_spans(text: &str, key: &str) -> Option<(Range<usize>, Range<usize>)> {
    let table = DeTable::parse(text).ok()?;
    let mut entries = table.get_ref().iter();
    let (name, value) = entries.find(|(name, _)| name.get_ref().as_ref() == key)?;
    Some((name.span(), value.span()))
}

//! The user's settings: defaults for options that a call leaves out.
//!
//! Owns: the table of settings, their values and where each value comes from. Never: chooses a provider that the user did not
//! name, takes a value from a repository, or overrides an option of the call.
//!
//! A value comes from the call itself, else from an environment variable, else from the one file of the user
//! ([`file`]), else there is none. A repository has no such file: whoever can write to a repository could otherwise choose
//! where tasks are sent, and which program shows text.

mod edit;
mod file;
mod report;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use agentos_api::NextStep;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{env_names, nearest_word};
use serde::Serialize;

use crate::Providers;
use crate::model_name::{ModelName, ModelNames, NamedModel};
use agentos_ground::Ground;
use agentos_ground::environment::Environment;
use agentos_ground::options::{BaseRule, ChoiceOrigin, ProviderChoice};
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::task_spec::ContextMode;

pub use report::settings_schema;
pub use report::{SettingsReport, ShownSetting};
pub use table::SETTINGS;

/// Kind of value that a setting has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// A name, which is not empty.
    Name,
    /// A command line. An empty one switches off what it is for.
    Command,
    /// Word out of this list.
    Word(&'static [&'static str]),
    /// A whole number between these two, both included.
    Number(u64, u64),
}

/// A setting that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownSetting {
    /// Name in the file.
    pub key: &'static str,
    /// Kind of value.
    pub kind: SettingKind,
    /// Effect, as a fragment without a full stop.
    pub meaning: &'static str,
    /// Environment variable that takes precedence over the file. `None` if there is none.
    pub variable: Option<&'static str>,
    /// Value if nothing is set. `None` if there is none.
    pub usual: Option<&'static str>,
}

/// Returns a setting by its key.
///
/// # Errors
/// If there is none. The error names a similar key.
pub fn known_setting(key: &str) -> Result<&'static KnownSetting, EffectError> {
    let found = SETTINGS.iter().find(|known| known.key == key);
    found.ok_or_else(|| unknown_setting(format!("there is no setting `{key}`"), key))
}

/// Makes the error of a key that is not in the table.
fn unknown_setting(message: String, key: &str) -> EffectError {
    let error = bad_settings(message).suggest_steps([NextStep::ListSettings]);
    // Files of other tools spell a key with `-`.
    let typed = key.replace('-', "_");
    match nearest_word(&typed, SETTINGS.iter().map(|known| known.key)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn bad_settings(message: impl Into<String>) -> EffectError {
    EffectError::new(Cause::Usage, "bad-settings", message)
}

/// Value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A name, a command line or a word.
    Text(String),
    /// A number.
    Number(u64),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl KnownSetting {
    /// Checks a value that a person typed or a file contains.
    ///
    /// # Errors
    /// A sentence with the values that are possible.
    fn check_text(&self, text: &str) -> Result<SettingValue, String> {
        let wrong = |possible: String| Err(format!("`{text}` is no value for `{}`: {possible}", self.key));
        match self.kind {
            SettingKind::Name if text.trim().is_empty() => Err(format!("`{}` must not be empty", self.key)),
            // A line break in a name would reach messages and the records of runs.
            SettingKind::Name | SettingKind::Command if text.chars().any(char::is_control) => {
                Err(format!("`{}` must not contain control characters", self.key))
            }
            SettingKind::Name | SettingKind::Command => Ok(SettingValue::Text(text.to_owned())),
            SettingKind::Word(words) if words.contains(&text) => Ok(SettingValue::Text(text.to_owned())),
            SettingKind::Word(words) => wrong(format!("write one of {}", words.join(", "))),
            SettingKind::Number(least, most) => match text.parse() {
                Ok(number) if (least..=most).contains(&number) => Ok(SettingValue::Number(number)),
                Ok(_) | Err(_) => wrong(format!("write a whole number from {least} to {most}")),
            },
        }
    }
}

/// Source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// An environment variable.
    Variable(&'static str),
    /// A line of the user's file.
    File {
        /// The file, as a person would write it.
        name: String,
        /// Line number; the first line is 1.
        line: u32,
    },
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
        }
    }
}

/// Value of a setting, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetValue {
    /// The value.
    pub value: SettingValue,
    /// The source.
    pub origin: SettingOrigin,
}

/// Values of one source, by key.
type SetValues = BTreeMap<&'static str, SetValue>;

/// The settings of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    variables: SetValues,
    file: SetValues,
}

/// Provider that is used if a task names none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DefaultProvider {
    /// Name of the provider.
    pub provider: String,
    /// Model that the settings name for it. `None` if its profile decides.
    pub model: Option<String>,
    /// Source of the provider's name: `environment NAME`, or file and line.
    pub origin: String,
}

impl Providers<'_> {
    /// Reads the settings of the user: environment variables and the settings file.
    ///
    /// # Errors
    /// If the file or a variable contains a mistake, or other users can write to the file.
    pub fn read_settings(self) -> Result<Settings, EffectError> {
        Ok(Settings {
            variables: read_variables(self.ground.environment())?,
            file: file::read_values(self.ground.environment())?,
        })
    }
}

fn read_variables(environment: &Environment) -> Result<SetValues, EffectError> {
    let mut values = SetValues::new();
    for known in SETTINGS {
        let Some(variable) = known.variable else { continue };
        let Some(text) = environment.vars().get(variable) else {
            continue;
        };
        // An empty variable means that nothing is set, except where an empty value has a meaning.
        if text.is_empty() && known.kind != SettingKind::Command {
            continue;
        }
        let value = known
            .check_text(text)
            .map_err(|fault| bad_settings(format!("environment variable {variable}: {fault}")))?;
        let origin = SettingOrigin::Variable(variable);
        values.insert(known.key, SetValue { value, origin });
    }
    split_provider(&mut values)?;
    Ok(values)
}

/// Splits a provider that is set with a model, as `openai/gpt-4o`, into the two settings.
fn split_provider(values: &mut SetValues) -> Result<(), EffectError> {
    let Some(set) = values.get_mut("provider") else {
        return Ok(());
    };
    let named = ModelName::parse(text_of(set).unwrap_or_default());
    set.value = SettingValue::Text(named.provider.name().to_owned());
    let origin = set.origin.clone();
    let provider = named.provider;
    let other = values.get("model").and_then(text_of);
    if let (Some(named), Some(other)) = (&named.model, other)
        && named != other
    {
        let provider = provider.name();
        return Err(bad_settings(format!(
            "{origin}: the call names two models of `{provider}`: `{named}` and `{other}`"
        )));
    }
    if let (Some(model), None) = (named.model, other) {
        let value = SettingValue::Text(model);
        values.insert("model", SetValue { value, origin });
    }
    Ok(())
}

impl Settings {
    /// Returns the value of a setting. `None` if it is not set.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&SetValue> {
        self.variables.get(key).or_else(|| self.file.get(key))
    }

    /// Returns the text of a setting. `None` if it is not set.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        text_of(self.get(key)?)
    }

    /// Returns the number of a setting. `None` if it is not set.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        match &self.get(key)?.value {
            SettingValue::Number(number) => Some(*number),
            SettingValue::Text(_) => None,
        }
    }

    /// Returns the number of a setting, or the usual one if it is not set; 0 for a setting that has neither.
    #[must_use]
    pub fn number_or_usual(&self, key: &str) -> u64 {
        let usual = || {
            let known = SETTINGS.iter().find(|known| known.key == key)?;
            known.usual?.parse().ok()
        };
        self.number(key).or_else(usual).unwrap_or_default()
    }

    /// Returns the usual search for context. `None` if it is not set.
    #[must_use]
    pub fn context_mode(&self) -> Option<ContextMode> {
        match self.text("context")? {
            "auto" => Some(ContextMode::Auto),
            _ => Some(ContextMode::Named),
        }
    }

    /// Returns true if the repository's hooks run before a commit.
    #[must_use]
    pub fn runs_hooks(&self) -> bool {
        self.text("hooks") == Some("run")
    }

    /// Returns the usual rule about a check that fails without a change.
    #[must_use]
    pub fn base_rule(&self) -> BaseRule {
        match self.text("check_base") {
            Some("skip") => BaseRule::Skip,
            Some(_) | None => BaseRule::Require,
        }
    }

    /// Returns the default check command. `None` if there is none, or it is switched off.
    #[must_use]
    pub fn check_command(&self) -> Option<&str> {
        self.text("check").filter(|command| !command.trim().is_empty())
    }

    /// Returns the provider for a task that names none. `None` if the user has chosen none.
    #[must_use]
    pub fn default_provider(&self) -> Option<DefaultProvider> {
        let chosen = self.get("provider")?;
        let provider = text_of(chosen)?;
        Some(DefaultProvider {
            provider: provider.to_owned(),
            model: self.model_of(provider).map(str::to_owned),
            origin: chosen.origin.to_string(),
        })
    }

    /// Returns the model that the settings name for a provider. `None` if its profile decides.
    ///
    /// A model belongs to the default provider: another provider does not have it, and would refuse every task.
    fn model_of(&self, provider: &str) -> Option<&str> {
        let names = |values: &SetValues| {
            values
                .get("provider")
                .and_then(text_of)
                .map(|name| name == provider)
        };
        let is_default = names(&self.variables).or_else(|| names(&self.file));
        let from_variable = self.variables.get("model").filter(|_| is_default.unwrap_or(true));
        // A model in the file is meant for the provider in the file, also while a variable names another one.
        let from_file = self.file.get("model").filter(|_| names(&self.file) == Some(true));
        from_variable.or(from_file).and_then(text_of)
    }

    /// Returns the model that the settings name for a provider, unless its own variable names one. `None` if its profile decides.
    pub fn usual_model(&self, environment: &Environment, provider: &ProviderKind) -> Option<String> {
        let ProviderKind::Profile(name) = provider else {
            return None;
        };
        // The provider's own variable says more than a file that it is meant to override.
        let own = env_names(name).model;
        let is_own_set = own.iter().any(|name| environment.get(name).is_some());
        let is_from_variable = self.variables.contains_key("model");
        self.model_of(name)
            .filter(|_| is_from_variable || !is_own_set)
            .map(str::to_owned)
    }

    /// Completes a choice as [`Settings::complete_choice`] does, with the providers and models that exist here.
    ///
    /// # Errors
    /// Those of [`Settings::complete_choice`], and if a file of the providers or models cannot be read.
    pub fn complete_for(
        &self,
        ground: &Ground,
        named: CallNames<'_>,
        choice: ProviderChoice,
    ) -> Result<ProviderChoice, EffectError> {
        let names = ModelNames::read(ground)?;
        self.complete_choice((ground.environment(), &names), named, choice)
    }

    /// Completes a choice: the provider and the model that the call leaves out, and time limits.
    ///
    /// # Errors
    /// If the call names no provider and the user has chosen none, or the call names two models, or a name that two providers list.
    pub fn complete_choice(
        &self,
        (environment, names): (&Environment, &ModelNames),
        named: CallNames<'_>,
        mut choice: ProviderChoice,
    ) -> Result<ProviderChoice, EffectError> {
        let over = &mut choice.overrides;
        let is_named = named.provider.is_some()
            || named.remembered.is_some()
            || over
                .model
                .as_deref()
                .is_some_and(|model| names.names_provider(model));
        let default = self.text("provider").map(ModelName::parse);
        let default = default.map(|default| ModelName {
            model: default
                .model
                .or_else(|| self.usual_model(environment, &default.provider)),
            ..default
        });
        let found = names.find_model(NamedModel {
            provider: named.provider.map(ModelName::parse),
            model: over.model.as_deref(),
            usual: named.remembered.map(ModelName::parse).or(default),
        })?;
        let found = found.ok_or_else(missing_provider)?;
        let meant = match found.model {
            Some(_) => found,
            None => names.resolve_alias(ModelName {
                model: self.usual_model(environment, &found.provider),
                ..found
            }),
        };
        over.model = meant.model;
        choice.provider = meant.provider;
        choice.origin = match is_named {
            true => ChoiceOrigin::Named,
            false => ChoiceOrigin::Usual,
        };
        over.timeout_seconds = over.timeout_seconds.or(self.number("timeout"));
        let timeouts = &mut over.timeouts;
        timeouts.connect_seconds = timeouts.connect_seconds.or(self.number("connect_timeout"));
        timeouts.first_byte_seconds = timeouts.first_byte_seconds.or(self.number("first_byte_timeout"));
        timeouts.idle_seconds = timeouts.idle_seconds.or(self.number("idle_timeout"));
        timeouts.total_seconds = timeouts.total_seconds.or(self.number("total_timeout"));
        Ok(choice)
    }
}

/// Names of the provider of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallNames<'a> {
    /// Provider that the call names, perhaps with a model. `None` if it names no provider.
    pub provider: Option<&'a str>,
    /// Provider of the session, perhaps with a model. `None` if there is no session, or nobody named one in it.
    pub remembered: Option<&'a str>,
}

fn text_of(set: &SetValue) -> Option<&str> {
    match &set.value {
        SettingValue::Text(text) => Some(text),
        SettingValue::Number(_) => None,
    }
}

/// Makes the error of a task without a provider.
fn missing_provider() -> EffectError {
    EffectError::new(
        Cause::Usage,
        "missing-provider",
        "no provider is named, and none is set as the default",
    )
    .suggest_steps([
        NextStep::NameProvider,
        NextStep::SetDefaultProvider { provider: None },
    ])
}

#[cfg(test)]
mod tests;

//! The settings file of the user: `config.toml` in the folder of the user's settings.
//!
//! Owns: its place and its form. Never: reads another file, or one that other users can write.

use std::path::{Path, PathBuf};

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use toml::de::{DeTable, DeValue};

use super::{
    KnownSetting, SETTINGS, SetValue, SetValues, SettingKind, SettingOrigin, bad_settings, split_provider,
    unknown_setting,
};
use crate::Providers;
use agentos_ground::environment::Environment;
use agentos_ground::own_file::read_own_text;

/// Name of the file.
const FILE: &str = "config.toml";
/// Largest settings file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

impl Providers<'_> {
    /// Returns the path of the settings file, which may not exist yet.
    ///
    /// # Errors
    /// If there is no home folder.
    pub fn settings_path(self) -> Result<PathBuf, EffectError> {
        find_file(self.ground.environment()).ok_or_else(|| {
            EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings")
                .hint("set `HOME`")
        })
    }
}

fn find_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.config_dir()?.join(FILE))
}

/// Reads the values of the settings file. Without a file there are none.
pub(super) fn read_values(environment: &Environment) -> Result<SetValues, EffectError> {
    let Some(path) = find_file(environment) else {
        return Ok(SetValues::new());
    };
    let Some(text) = read_text(environment, &path)? else {
        return Ok(SetValues::new());
    };
    parse_values(&environment.shorten_below_home(&path), &text)
}

/// Reads the text of the settings file. `None` if there is no file.
pub(super) fn read_text(environment: &Environment, path: &Path) -> Result<Option<String>, EffectError> {
    read_own_text(environment, path, "bad-settings", LARGEST_FILE)
}

/// Parses the text of a settings file.
pub(super) fn parse_values(name: &str, text: &str) -> Result<SetValues, EffectError> {
    let at = |offset: usize| {
        let (line, column) = line_and_column(text, offset);
        format!("{name}:{line}:{column}")
    };
    let table = DeTable::parse(text).map_err(|error| {
        let place = at(error.span().map_or(0, |span| span.start));
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        bad_settings(format!("{place}: {what}")).hint("write one `key = \"value\"` on each line")
    })?;
    let mut values = SetValues::new();
    for (key, value) in table.get_ref() {
        let written: &str = key.get_ref().as_ref();
        let Some(known) = SETTINGS.iter().find(|known| known.key == written) else {
            let place = at(key.span().start);
            return Err(unknown_setting(
                format!("{place}: there is no setting `{written}`"),
                written,
            ));
        };
        let value_text = spell_value(known, value.get_ref());
        let value = value_text
            .and_then(|text| known.check_text(&text))
            .map_err(|fault| bad_settings(format!("{}: {fault}", at(value.span().start))))?;
        let origin = SettingOrigin::File {
            name: name.to_owned(),
            line: line_and_column(text, key.span().start).0,
        };
        values.insert(known.key, SetValue { value, origin });
    }
    split_provider(&mut values)?;
    Ok(values)
}

/// Returns a value of the file as a person would type it.
fn spell_value(known: &KnownSetting, value: &DeValue<'_>) -> Result<String, String> {
    match (known.kind, value) {
        (SettingKind::Number(..), DeValue::Integer(number)) => Ok(number.to_string()),
        (SettingKind::Name | SettingKind::Command | SettingKind::Word(_), DeValue::String(text)) => {
            Ok(text.clone().into_owned())
        }
        (SettingKind::Number(..), _) => Err(format!("`{}` must be a whole number", known.key)),
        (_, _) => Err(format!("`{}` must be a text in quotes", known.key)),
    }
}

/// Returns line and column of a byte offset; the first of both is 1.
pub(super) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
    (number(line), number(column))
}

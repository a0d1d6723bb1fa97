//! The settings file of the user: `config.toml` in the folder of the user's settings.
//!
//! Owns: its place, its form and the check of its owner and mode. Never: reads another file, or one that other users can write.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use agentos_durable::{LinkRule, open_regular_file};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use toml::de::{DeTable, DeValue};

use super::{
    KnownSetting, SETTINGS, SetValue, SetValues, SettingKind, SettingOrigin, bad_settings, split_provider,
    unknown_setting,
};
use crate::environment::Environment;
use crate::files::{read_bounded, unreadable_file};
use crate::host::Host;

/// Name of the file.
const FILE: &str = "config.toml";
/// Largest settings file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

impl Host {
    /// Returns the path of the settings file, which may not exist yet.
    ///
    /// # Errors
    /// If there is no home folder.
    pub fn settings_path(&self) -> Result<PathBuf, EffectError> {
        find_file(self.environment()).ok_or_else(|| {
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
    // Also finds a dangling link, which must be reported and not taken for a missing file.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let name = environment.shorten_below_home(path);
    let failed = |error: std::io::Error| EffectError {
        code: "bad-settings".to_owned(),
        ..unreadable_file(&name, &error)
    };
    // A link is followed, because some users keep their settings in another place.
    let file = open_regular_file(path, LinkRule::Followed).map_err(failed)?;
    // The opened file is examined, and not its name, which could lead to another file by then.
    let found = file.metadata().map_err(failed)?;
    let folder = path.parent().unwrap_or(path).metadata().map_err(failed)?;
    if let Some((fault, fix)) = find_exposure(&found, &folder) {
        return Err(bad_settings(format!("`{name}` {fault}")).hint(format!("{fix} {}", path.display())));
    }
    let bytes = read_bounded(file, &name, LARGEST_FILE)?;
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| bad_settings(format!("`{name}` is not UTF-8 text")).hint("save it as UTF-8"))
}

/// Returns how other users can change the file, and the command that prevents it. `None` if they cannot. The rule is that of
/// the key file, except that others may read settings.
#[cfg(unix)]
fn find_exposure(file: &Metadata, folder: &Metadata) -> Option<(String, &'static str)> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let mode = file.mode() & 0o777;
    if mode & OTHERS_WRITE != 0 {
        let fault = format!("has mode {mode:03o}: other users can write to it");
        return Some((fault, "chmod go-w"));
    }
    // The superuser can open everybody's files, so the owner says whose settings these are.
    let is_foreign = file.uid() != folder.uid();
    is_foreign.then(|| {
        let fault = "belongs to a different user than its folder".to_owned();
        (fault, "chown $USER")
    })
}

/// Returns `None`: this system closes the folder of a user's settings to others, and files have no mode.
#[cfg(not(unix))]
fn find_exposure(_: &Metadata, _: &Metadata) -> Option<(String, &'static str)> {
    None
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

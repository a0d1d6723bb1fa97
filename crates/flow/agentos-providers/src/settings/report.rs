//! Settings as a report, and the schema of the settings file.
//!
//! Owns: the shape of `agentos config --json`. Never: adds a setting; both come from the table.

use agentos_engine::ports::EffectError;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{KnownSetting, SETTINGS, SettingKind, SettingValue, known_setting};

use crate::Providers;

/// The output of `agentos config --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SettingsReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Settings file, which may not exist yet. `None` without a home folder.
    pub file: Option<String>,
    /// Settings, in the order of the table.
    pub settings: Vec<ShownSetting>,
}

/// A setting with its value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownSetting {
    /// Name in the file.
    pub key: String,
    /// Value. `None` if it is not set.
    #[schemars(with = "Option<Value>")]
    pub value: Option<SettingValue>,
    /// Source of the value: `environment NAME`, or file and line. `None` if it is not set.
    pub origin: Option<String>,
    /// Value that is used if nothing is set. `None` if there is none.
    pub default: Option<String>,
    /// Values that are possible, in words.
    pub kind: String,
    /// Effect of the setting.
    pub meaning: String,
    /// Environment variable that takes precedence over the file. `None` if there is none.
    pub variable: Option<String>,
}

impl Providers<'_> {
    /// Reports the settings, or one of them.
    ///
    /// # Errors
    /// If there is no setting of this name, or the settings cannot be read.
    pub fn settings_report(self, key: Option<&str>) -> Result<SettingsReport, EffectError> {
        let wanted = key.map(known_setting).transpose()?;
        let settings = self.read_settings()?;
        let shown = |known: &KnownSetting| {
            let set = settings.get(known.key);
            ShownSetting {
                key: known.key.to_owned(),
                value: set.map(|set| set.value.clone()),
                origin: set.map(|set| set.origin.to_string()),
                default: known.usual.map(str::to_owned),
                kind: describe_kind(known.kind),
                meaning: known.meaning.to_owned(),
                variable: known.variable.map(str::to_owned),
            }
        };
        let listed = SETTINGS
            .iter()
            .filter(|known| wanted.is_none_or(|wanted| wanted.key == known.key));
        Ok(SettingsReport {
            version: 1,
            file: self.settings_path().ok().map(|path| path.display().to_string()),
            settings: listed.map(shown).collect(),
        })
    }
}

fn describe_kind(kind: SettingKind) -> String {
    match kind {
        SettingKind::Name => "a name".to_owned(),
        SettingKind::Command => "a command; an empty one switches it off".to_owned(),
        SettingKind::Word(words) => format!("one of {}", words.join(", ")),
        SettingKind::Number(least, most) => format!("a number from {least} to {most}"),
    }
}

/// Returns the schema of the settings file, for editors.
pub fn settings_schema() -> Schema {
    let describe = |known: &KnownSetting| {
        let mut shape = match known.kind {
            SettingKind::Name => json!({ "type": "string", "minLength": 1 }),
            SettingKind::Command => json!({ "type": "string" }),
            SettingKind::Word(words) => json!({ "type": "string", "enum": words }),
            SettingKind::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
        };
        if let Some(object) = shape.as_object_mut() {
            object.insert("description".to_owned(), known.meaning.into());
        }
        (known.key.to_owned(), shape)
    };
    let properties: Map<String, Value> = SETTINGS.iter().map(describe).collect();
    let mut schema = Map::new();
    for (key, value) in [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("title", json!("Settings")),
        ("description", json!("Settings file of a user, `config.toml`.")),
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("additionalProperties", json!(false)),
    ] {
        schema.insert(key.to_owned(), value);
    }
    Schema::from(schema)
}

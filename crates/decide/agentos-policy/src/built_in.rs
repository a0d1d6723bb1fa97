//! Built-in rules, in the form in which the program reads them.
//!
//! Parsing their TOML took a quarter of the time that loading the rules takes, and every start of the program loads
//! them. So a test converts each `policy/*.toml` into a `policy/*.json`, and the program reads the JSON.
//!
//! Owns: `policy/*.json`. Never: the text that is hashed or shown; that is the TOML.

use serde::Deserialize;

use crate::file::RuleText;
use crate::{PolicyError, Preset};

/// TOML text of the floor, which is hashed and shown.
pub(crate) const FLOOR: &str = include_str!("../policy/floor.toml");

/// JSON form of the floor, which the program reads.
pub(crate) const FLOOR_JSON: &str = include_str!("../policy/floor.json");

/// Rule with the line of the TOML on which it begins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuiltInRule {
    pub(crate) line: u32,
    pub(crate) rule: RuleText,
}

/// Returns the rules of a preset as JSON. [`Preset::None`] has no rules.
pub(crate) fn preset_json(preset: Preset) -> &'static str {
    match preset {
        Preset::None => "[]",
        Preset::Default => include_str!("../policy/default.json"),
        Preset::Solo => include_str!("../policy/solo.json"),
        Preset::Team => include_str!("../policy/team.json"),
        Preset::Strict => include_str!("../policy/strict.json"),
    }
}

/// Parses the built-in rules of `name`.
///
/// # Errors
/// If the JSON is damaged. A test parses every file, so a released program does not fail here.
pub(crate) fn read(name: &str, json: &str) -> Result<Vec<BuiltInRule>, PolicyError> {
    serde_json::from_str(json).map_err(|error| PolicyError::Syntax {
        source_name: name.to_owned(),
        line: u32::try_from(error.line()).unwrap_or(u32::MAX),
        column: u32::try_from(error.column()).unwrap_or(u32::MAX),
        message: error.to_string(),
        hint: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{derived, file};

    fn files() -> Vec<(&'static str, &'static str, &'static str)> {
        let preset = |preset: Preset| (preset.as_str(), preset.text().unwrap(), preset_json(preset));
        let presets = Preset::WITH_RULES.into_iter().map(preset);
        std::iter::once(("floor", FLOOR, FLOOR_JSON))
            .chain(presets)
            .collect()
    }

    fn lines(name: &str, toml: &str) -> Vec<u32> {
        let rules = file::parse(name, toml).unwrap().rule.into_iter();
        rules
            .map(|rule| file::line_and_column(toml, rule.span().start).0)
            .collect()
    }

    /// A rule a line, so that a change of one is read as one.
    fn written(name: &str, toml: &str) -> String {
        let value: serde_json::Value = toml::from_str(toml).unwrap();
        let rules = value["rule"].as_array().unwrap().iter();
        let rules: Vec<String> = rules
            .zip(lines(name, toml))
            .map(|(rule, line)| serde_json::json!({ "line": line, "rule": rule }).to_string())
            .collect();
        format!("[\n{}\n]\n", rules.join(",\n"))
    }

    #[test]
    fn the_committed_rules_are_those_of_the_toml() {
        for (name, toml, json) in files() {
            let derived = written(name, toml);
            // The order of the fields is another where a crate of the workspace asks the library to keep it.
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            let is_fresh = value(json) == value(&derived);
            derived::check_derived(&format!("policy/{name}.json"), is_fresh, &derived);
        }
    }

    #[test]
    fn both_forms_give_the_same_rules() {
        for (name, toml, json) in files() {
            let from_toml = file::parse(name, toml).unwrap().rule.into_iter();
            let from_toml: Vec<_> = from_toml
                .zip(lines(name, toml))
                .map(|(rule, line)| (line, rule.into_inner()))
                .collect();
            let from_json = read(name, json).unwrap().into_iter();
            let from_json: Vec<_> = from_json.map(|one| (one.line, one.rule)).collect();
            assert!(!from_toml.is_empty(), "{name}");
            assert_eq!(format!("{from_json:?}"), format!("{from_toml:?}"), "{name}");
        }
    }

    #[test]
    fn a_built_in_file_names_no_preset_of_its_own() {
        for (name, toml, _) in files() {
            let preset = file::parse(name, toml).unwrap().preset;
            let preset = preset.map_or(Preset::None, toml::Spanned::into_inner);
            assert_eq!(preset, Preset::None, "{name}");
        }
    }
}

//! Settings, as text for people.
//!
//! Owns: the table and the words. Never: reads a setting.

use agentos_host::{DefaultProvider, SettingsReport, ShownSetting};

use super::format_columns;
use crate::escape;

/// Describes the default provider in one line.
pub fn describe_default(chosen: &DefaultProvider) -> String {
    let model = match &chosen.model {
        Some(model) => format!(", model {model}"),
        None => String::new(),
    };
    format!("{}{model} ({})", chosen.provider, chosen.origin)
}

/// Returns the settings as a table: those that are set first, then the others with their usual values.
pub fn format_settings(report: &SettingsReport, with_origin: bool) -> String {
    let (set, unset): (Vec<&ShownSetting>, Vec<&ShownSetting>) = report
        .settings
        .iter()
        .partition(|setting| setting.value.is_some());
    let row = |setting: &&ShownSetting| {
        let value = match (&setting.value, &setting.default) {
            // An empty command switches something off. An empty cell would look as if nothing was set.
            (Some(value), _) if value.to_string().is_empty() => "\"\"".to_owned(),
            (Some(value), _) => escape::line(&value.to_string()),
            (None, Some(usual)) => format!("({usual})"),
            (None, None) => "-".to_owned(),
        };
        let mut cells = vec![setting.key.clone(), value];
        if with_origin {
            let origin = setting.origin.as_deref().unwrap_or("-");
            cells.push(escape::line(origin));
        }
        cells.push(setting.meaning.clone());
        cells
    };
    let rows: Vec<Vec<String>> = set.iter().map(row).chain(unset.iter().map(row)).collect();
    format_columns(&rows)
}

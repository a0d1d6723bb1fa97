//! The committed tables.
//!
//! Owns: reading them. Never: changes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CatalogModel;

/// The committed data, about 150 KB.
const DATA: &str = include_str!("../data/catalog.json");

/// Error for data that is not in the form of the catalogue.
#[derive(Debug, thiserror::Error)]
#[error("the catalogue of models cannot be read: {0}")]
pub struct CatalogError(#[from] serde_json::Error);

/// Public table from which rows come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogSource {
    /// Name of the table, as in the rows.
    pub name: String,
    /// Address of the project that keeps it.
    pub url: String,
    /// Commit or release that was read.
    pub revision: String,
    /// Day of that commit; for a release, the day on which it was taken. As in `2026-11-23`.
    pub date: String,
}

/// All known models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// The tables, by name.
    pub sources: Vec<CatalogSource>,
    /// The models, by id.
    pub models: Vec<CatalogModel>,
}

impl Catalog {
    /// Reads the committed data.
    ///
    /// # Errors
    /// If the data does not have the form of the catalogue. A test reads it, so a released program never sees this.
    pub fn built_in() -> Result<Self, CatalogError> {
        Self::parse_json(DATA)
    }

    /// Reads the tables and one model of the committed data, without the other models. The catalogue is without a model if it
    /// does not have that one.
    ///
    /// # Errors
    /// As [`Self::built_in`].
    pub fn built_in_model(id: &str) -> Result<Self, CatalogError> {
        // The script writes one line for each model, and a test finds every model in this way.
        let (head, models) = DATA.split_once("\"models\": [\n").unwrap_or((DATA, ""));
        let begin = format!("{{\"id\":{},", serde_json::Value::from(id));
        let found = models
            .lines()
            .map(str::trim_start)
            .find(|line| line.starts_with(&begin));
        let model = found.map_or("", |line| line.trim_end_matches(','));
        Self::parse_json(&format!("{head}\"models\": [{model}]}}"))
    }

    /// Reads a catalogue from JSON.
    ///
    /// # Errors
    /// If it is not JSON, or has another form.
    pub fn parse_json(text: &str) -> Result<Self, CatalogError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Returns the model with this id, such as `openai/gpt-4o`. `None` if it is not known.
    #[must_use]
    pub fn find_model(&self, id: &str) -> Option<&CatalogModel> {
        // The script sorts the models by id, and a test checks that.
        let at = self.models.binary_search_by(|model| model.id.as_str().cmp(id));
        self.models.get(at.ok()?)
    }

    /// Returns the table with this name. `None` if there is none.
    #[must_use]
    pub fn find_source(&self, name: &str) -> Option<&CatalogSource> {
        self.sources.iter().find(|source| source.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PriceKind;

    #[test]
    fn the_committed_data_is_whole() {
        let catalog = Catalog::built_in().unwrap();
        let ids: Vec<&str> = catalog.models.iter().map(|model| model.id.as_str()).collect();
        assert!(ids.is_sorted() && ids.len() > 250, "{} models", ids.len());
        for model in &catalog.models {
            assert!(model.id.contains('/'), "{}", model.id);
            for row in &model.rows {
                assert!(catalog.find_source(&row.source).is_some(), "{}", model.id);
                assert!(row.sha256.len() == 64, "{}", model.id);
                assert!(row.above.is_sorted_by_key(|long| long.tokens), "{}", model.id);
            }
            assert!(model.price_span(PriceKind::Input).is_some(), "{}", model.id);
            let alone = Catalog::built_in_model(&model.id).unwrap();
            assert_eq!(alone.models, std::slice::from_ref(model));
            assert_eq!(alone.sources, catalog.sources);
        }
        assert!(catalog.find_model("openai/gpt-4o").is_some());
        assert!(
            catalog
                .find_model("openai/gpt-4")
                .is_some_and(|model| model.id == "openai/gpt-4")
        );
        assert!(catalog.find_model("gpt-4o").is_none());
    }

    #[test]
    fn a_model_that_is_not_known_is_not_found_alone() {
        for id in ["openai/gpt", "", "openai/gpt-4o\"", "a\nb"] {
            assert_eq!(Catalog::built_in_model(id).unwrap().models, [], "{id}");
        }
    }

    #[test]
    fn data_of_another_form_is_an_error() {
        for wrong in [
            "",
            "{}",
            r#"{"sources":[],"models":[{"id":"a/b"}]}"#,
            r#"{"sources":[],"models":[{"id":"a/b","rows":[{"source":"x","sha256":"","input":"-1"}]}]}"#,
            r#"{"sources":[],"models":[{"id":"a/b","rows":[{"source":"x","sha256":"","input":2.5}]}]}"#,
        ] {
            assert!(Catalog::parse_json(wrong).is_err(), "{wrong}");
        }
    }
}

//! One model, as the tables state it.
//!
//! Owns: what holds when tables agree, disagree or are silent. Never: invents a value.

use agentos_tool::{Ability, LongPrices, TokenPrice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogModel {
    /// Provider, `/`, and the model's name on its server, such as `openai/gpt-4o`.
    pub id: String,
    /// Rows of the tables that have it.
    pub rows: Vec<CatalogRow>,
}

/// Row of one table. A value is `None` if the table does not state it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogRow {
    /// Name of the table.
    pub source: String,
    /// SHA-256 of the row in the table, by which anyone can find out whether it still says the same.
    pub sha256: String,
    /// Maximum tokens of prompt and answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Maximum tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// True if the model can call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// True if the model reads images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// True if answers can be constrained to a JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<bool>,
    /// True if the model reasons before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// Price of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<TokenPrice>,
    /// Price of the part of the prompt that is read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<TokenPrice>,
    /// Price of the part of the prompt that is written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<TokenPrice>,
    /// Price of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<TokenPrice>,
    /// Prices of calls with longer prompts, the shortest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<LongPrices>,
}

/// Ability of which the tables speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelAbility {
    /// Calling tools.
    Tools,
    /// Reading images.
    Vision,
    /// Answers constrained to a JSON Schema.
    Json,
    /// Reasoning before the answer.
    Reasoning,
}

impl ModelAbility {
    fn stated_in(self, row: &CatalogRow) -> Option<bool> {
        match self {
            Self::Tools => row.tools,
            Self::Vision => row.vision,
            Self::Json => row.json,
            Self::Reasoning => row.reasoning,
        }
    }
}

impl CatalogModel {
    /// Returns an ability if all tables that state it agree, and unknown otherwise.
    #[must_use]
    pub fn agreed_ability(&self, ability: ModelAbility) -> Ability {
        // A wrong yes makes a request fail, and a wrong no hides an ability; unknown lets the server answer.
        let mut stated = self.rows.iter().filter_map(|row| ability.stated_in(row));
        match stated.next() {
            Some(first) if stated.all(|other| other == first) => match first {
                true => Ability::Yes,
                false => Ability::No,
            },
            Some(_) | None => Ability::Unknown,
        }
    }

    /// Returns the smallest stated window in tokens. `None` if no table states one.
    #[must_use]
    pub fn smallest_window(&self) -> Option<u64> {
        // One table counts prompt and answer, another the prompt alone (gpt-5.1: 400,000 and 272,000); the smallest fits both.
        self.rows.iter().filter_map(|row| row.window).min()
    }

    /// Returns the largest stated window in tokens. `None` if no table states one.
    #[must_use]
    pub fn largest_window(&self) -> Option<u64> {
        // A table that counts prompt and answer must not make the bound of a prompt too small.
        self.rows.iter().filter_map(|row| row.window).max()
    }

    /// Returns the smallest stated limit of an answer in tokens. `None` if no table states one.
    #[must_use]
    pub fn smallest_output(&self) -> Option<u64> {
        self.rows.iter().filter_map(|row| row.max_output).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(rows: &[(Option<bool>, Option<u64>)]) -> CatalogModel {
        let rows = rows.iter().map(|(tools, window)| CatalogRow {
            tools: *tools,
            window: *window,
            ..CatalogRow::default()
        });
        CatalogModel {
            id: "a/b".to_owned(),
            rows: rows.collect(),
        }
    }

    #[test]
    fn tables_that_disagree_leave_an_ability_unknown() {
        let cases = [
            (&[][..], Ability::Unknown, None),
            (&[(None, None)], Ability::Unknown, None),
            (&[(Some(true), Some(8)), (None, None)], Ability::Yes, Some(8)),
            (
                &[(Some(false), Some(8)), (Some(false), Some(4))],
                Ability::No,
                Some(4),
            ),
            (
                &[(Some(true), None), (Some(false), Some(9))],
                Ability::Unknown,
                Some(9),
            ),
        ];
        for (rows, ability, window) in cases {
            let model = model(rows);
            assert_eq!(model.agreed_ability(ModelAbility::Tools), ability, "{rows:?}");
            assert_eq!(model.smallest_window(), window, "{rows:?}");
        }
    }
}

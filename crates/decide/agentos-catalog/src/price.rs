//! Prices of a model on which several tables may disagree.
//!
//! Owns: which price holds. Never: mixes the prices of one table with those of another.

use agentos_tool::{TokenPrice, TokenPrices};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CatalogModel, CatalogRow, CatalogSource};

/// Kind of tokens that has a price of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceKind {
    /// The prompt.
    Input,
    /// The answer.
    Output,
}

impl PriceKind {
    fn stated_in(self, row: &CatalogRow) -> Option<TokenPrice> {
        match self {
            Self::Input => row.input,
            Self::Output => row.output,
        }
    }
}

/// The lowest and the highest price that tables state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PriceSpan {
    /// The lowest.
    pub low: TokenPrice,
    /// The highest.
    pub high: TokenPrice,
}

impl PriceSpan {
    /// Returns true if the tables state different prices.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.low != self.high
    }
}

impl CatalogModel {
    /// Returns the span of a price. `None` if no table states it.
    #[must_use]
    pub fn price_span(&self, kind: PriceKind) -> Option<PriceSpan> {
        let stated = self.rows.iter().filter_map(|row| kind.stated_in(row));
        let low = stated.clone().min()?;
        let high = stated.max()?;
        Some(PriceSpan { low, high })
    }

    /// Returns the row whose prices hold: those that most tables state, and of equally many the highest. `None` if no table
    /// states both the price of the prompt and that of the answer.
    #[must_use]
    pub fn chosen_row(&self) -> Option<&CatalogRow> {
        // A row with half of the prices would make every cost unknown, although another table knows it.
        let complete = |row: &&CatalogRow| row.input.is_some() && row.output.is_some();
        let alike = |row: &CatalogRow| {
            let same = |other: &&CatalogRow| (other.input, other.output) == (row.input, row.output);
            self.rows.iter().filter(same).count()
        };
        // `max_by_key` would return the last of equal rows; the first is the one that readers see first.
        let complete = self.rows.iter().filter(complete).rev();
        complete.max_by_key(|row| (alike(row), row.output, row.input, row.above.len()))
    }

    /// Returns the prices that hold, with the row that states them as their source. `None` as in [`Self::chosen_row`].
    #[must_use]
    pub fn choose_prices(&self, sources: &[CatalogSource]) -> Option<TokenPrices> {
        let row = self.chosen_row()?;
        let date = sources.iter().find(|source| source.name == row.source);
        let date = date.map_or("", |source| source.date.as_str());
        Some(TokenPrices {
            input: row.input,
            cached: row.cached,
            cache_write: row.cache_write,
            output: row.output,
            above: row.above.clone(),
            source: Some(format!("{} {date} sha256:{}", row.source, row.sha256)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    fn row(source: &str, input: &str, output: &str) -> CatalogRow {
        CatalogRow {
            source: source.to_owned(),
            input: input.parse().ok(),
            output: output.parse().ok(),
            ..CatalogRow::default()
        }
    }

    #[test]
    fn most_tables_win_and_otherwise_the_highest_price() {
        let cases = [
            (vec![], None),
            (vec![row("a", "1", "")], None),
            (vec![row("a", "1", "2")], Some("a")),
            (vec![row("a", "1", "2"), row("b", "3", "4")], Some("b")),
            (
                vec![row("a", "1", "2"), row("b", "3", "4"), row("c", "1", "2")],
                Some("a"),
            ),
            (
                vec![row("a", "0", "0"), row("b", "3", "4"), row("c", "", "9")],
                Some("b"),
            ),
        ];
        for (rows, source) in cases {
            let model = CatalogModel {
                id: "x/y".to_owned(),
                rows,
            };
            let chosen = model.chosen_row().map(|row| row.source.as_str());
            assert_eq!(chosen, source, "{:?}", model.rows);
        }
    }

    #[test]
    fn prices_name_the_row_that_states_them() {
        let catalog = Catalog::built_in().unwrap();
        let model = catalog.find_model("gemini/gemini-2.5-pro").unwrap();
        let span = model.price_span(PriceKind::Output).unwrap();
        assert!(!span.is_open(), "{span:?}");
        let prices = model.choose_prices(&catalog.sources).unwrap();
        insta::assert_json_snapshot!(prices, @r#"
        {
          "input": "1.25",
          "cached": "0.125",
          "output": "10",
          "above": [
            {
              "tokens": 200000,
              "input": "2.5",
              "cached": "0.25",
              "output": "15"
            }
          ],
          "source": "models.dev 2026-07-02 sha256:9f56536fd979b9799d0bd14d11bfa4d1f5d67819ce1eff47b908dcebc3495fdc"
        }
        "#);
    }
}

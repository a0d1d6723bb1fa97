//! The catalogue of models: their abilities, limits and prices, each with the public tables that state it.
//!
//! Owns: the committed data, and the one rule for tables that disagree. Never: asks a server, or claims that one has a model.
//!
//! `data/catalog.json` has one row for each model and table, in the words of that table; `scripts/catalog/import.py` makes it
//! from models.dev, genai-prices and LiteLLM's table. Nothing in it is written by hand.
//!
//! | question | answer |
//! |---|---|
//! | an ability that the tables state alike | that |
//! | an ability on which they disagree, or that none states | unknown |
//! | window, longest answer | the smallest that is stated: a request must fit in any case |
//! | a price | the one that most tables state; of equally many, the highest, so that a cost is not understated |
//! | the span of a price | the lowest and the highest that are stated |

mod data;
mod model;
mod price;

pub use data::{Catalog, CatalogError, CatalogSource};
pub use model::{CatalogModel, CatalogRow, ModelAbility};
pub use price::{PriceKind, PriceSpan};

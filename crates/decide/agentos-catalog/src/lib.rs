//! The catalogue of models: their abilities, limits and prices, each with the public tables that state it, and the models that a
//! user adds.
//!
//! Owns: the committed data, the one rule for tables that disagree, and the form of a user's models. Never: asks a server, claims
//! that one has a model, or reads a file.
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

//!
//! [`ModelRegistry`] has the models of a user. An entry wins over the catalogue for the values that it states; its prices hold
//! together, so that those of two sources are never mixed. [`read_table`] makes entries of tables that others keep.

mod data;
mod import;
mod model;
mod price;
mod registry;

pub use data::{Catalog, CatalogError, CatalogSource};
pub use import::{ImportError, ImportedTable, SkippedEntry, TableForm, read_table};
pub use model::{CatalogModel, CatalogRow, ModelAbility};
pub use price::{PriceKind, PriceSpan};
pub use registry::{EntryFault, ModelRegistry, ModelsFile, RegistryError, UserModel, UserPrices};

//! The known models: built in, of the catalogue, the user's own, and those that servers list.
//!
//! Owns: the list's published shape and its choices. Never: claims that a server has a model without having asked it.

use std::collections::BTreeMap;

use agentos_catalog::{Catalog, CatalogModel, CatalogRow, CatalogSource, PriceSpan};
use agentos_engine::ports::EffectError;
use agentos_profile::{AdapterKind, known_model, known_models, nearest_word};
use agentos_tool::{Ability, HealthStatus, TokenPrices};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use crate::health::{HealthReport, HealthSpec};
use crate::model_values::{ModelFacts, catalog_id};
use agentos_ground::error::catalog_error;
use agentos_providers::known_tools::read_tools;

/// The output of `agentos models list --json`, and with one model of `models show --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModelList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The models, by id.
    pub models: Vec<ListedModel>,
    /// The public tables from which prices come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<CatalogSource>,
    /// Servers that did not say which models they have, with `--available`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<SilentProvider>,
}

/// Server that did not say which models it has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SilentProvider {
    /// Name of the provider.
    pub provider: String,
    /// Health state.
    pub status: HealthStatus,
    /// Observation, in one sentence.
    pub details: String,
}

/// Model with its limits, abilities and prices.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedModel {
    /// Id in this program: provider, `/`, model.
    pub id: String,
    /// Provider whose profile reaches the model.
    pub provider: String,
    /// Name on that server.
    pub name: String,
    /// Adapter for the model.
    pub api: AdapterKind,
    /// Maximum tokens of prompt and answer together. `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Maximum tokens of one answer. `None` if the vendor states no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Ability to call tools.
    pub tools: Ability,
    /// Ability to read images.
    pub vision: Ability,
    /// Ability to constrain answers to a JSON Schema.
    pub json_mode: Ability,
    /// Ability to reason before the answer.
    pub reasoning: Ability,
    /// True for the models that are known without the catalogue.
    pub built_in: bool,
    /// True for the user's own models.
    pub own: bool,
    /// Abilities of the user's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abilities: BTreeMap<String, String>,
    /// Source of each value that is known, by its name: `built-in`, the names of public tables, `server`, or the source of the user's
    /// entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// Prices in US dollars per million tokens, from which costs are computed. `None` if no table states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrices>,
    /// The lowest and the highest price of the prompt, if the tables disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_span: Option<PriceSpan>,
    /// The lowest and the highest price of the answer, if the tables disagree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_span: Option<PriceSpan>,
    /// Rows of the public tables that have the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<CatalogRow>,
}

/// Models of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelChoice {
    /// The models that are known without the catalogue, and the user's own.
    BuiltIn,
    /// All models.
    All,
    /// The models on whose price the public tables disagree.
    Disputed,
}

impl Calls<'_> {
    /// Lists the known models, by id.
    ///
    /// # Errors
    /// If the catalogue or the user's models cannot be read.
    pub fn list_models(self, choice: ModelChoice) -> Result<ModelList, EffectError> {
        let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
        let tools = read_tools(self.ground)?;
        let facts = ModelFacts::new(self.ground, &tools, &catalog);
        let built_in = known_models().iter().map(|known| facts.describe_known(known));
        let is_known =
            |model: &CatalogModel| known_models().iter().any(|known| catalog_id(known) == model.id);
        let others = catalog.models.iter().filter(|model| !is_known(model));
        let others = others.filter_map(|model| facts.describe_listed(model));
        let listed: Vec<ListedModel> = match choice {
            ModelChoice::BuiltIn => built_in.collect(),
            ModelChoice::All | ModelChoice::Disputed => built_in.chain(others).collect(),
        };
        let mut models: BTreeMap<String, ListedModel> = BTreeMap::new();
        for model in listed {
            models.insert(model.id.clone(), model);
        }
        for entry in tools.user_models().iter_models() {
            models.insert(entry.id.clone(), facts.describe_own(entry));
        }
        if choice == ModelChoice::Disputed {
            models.retain(|_, model| model.input_span.is_some() || model.output_span.is_some());
        }
        Ok(ModelList {
            version: 1,
            models: models.into_values().collect(),
            sources: catalog.sources,
            silent: Vec::new(),
        })
    }

    /// Finds a model by its id, or by its name on a provider's server. `None` if it is not known.
    ///
    /// # Errors
    /// If the catalogue or the user's models cannot be read.
    pub fn find_model(self, name: &str) -> Result<Option<ModelList>, EffectError> {
        let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
        let tools = read_tools(self.ground)?;
        let facts = ModelFacts::new(self.ground, &tools, &catalog);
        let own = tools.user_models();
        let entry = own.find(name).or_else(|| {
            // Without a `/`, a name on any provider's server is meant.
            let mut all = own.iter_models();
            all.find(|entry| entry.server_name() == name && !name.contains('/'))
        });
        let found = match (entry, known_model(name)) {
            (Some(entry), _) => Some(facts.describe_own(entry)),
            (None, Some(known)) => Some(facts.describe_known(known)),
            (None, None) => {
                let has_name =
                    |model: &&CatalogModel| model.id.split_once('/').is_some_and(|(_, own)| own == name);
                let model = catalog
                    .find_model(name)
                    .or_else(|| catalog.models.iter().find(has_name));
                model.and_then(|model| facts.describe_listed(model))
            }
        };
        Ok(found.map(|model| ModelList {
            version: 1,
            models: vec![model],
            sources: catalog.sources,
            silent: Vec::new(),
        }))
    }

    /// Returns the id of a known model that is nearest to an unknown name. `None` if none is similar.
    ///
    /// # Errors
    /// If the catalogue or the user's models cannot be read.
    pub fn nearest_model(self, name: &str) -> Result<Option<String>, EffectError> {
        let all = self.list_models(ModelChoice::All)?.models;
        let names = all
            .iter()
            .flat_map(|model| [model.id.as_str(), model.name.as_str()]);
        Ok(nearest_word(name, names).map(str::to_owned))
    }

    /// Lists the models that servers have now, by id: those of one provider, or of all that are set up. Where a health check asks for
    /// one model, as at Anthropic and Gemini if the profile names one, that one is listed. Must be awaited on a thread with a runtime
    /// that has timers and sockets; see [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If there is no such provider, or the catalogue or the user's models cannot be read.
    pub async fn list_available(self, provider: Option<&str>) -> Result<ModelList, EffectError> {
        let spec = HealthSpec {
            providers: provider.map(str::to_owned).into_iter().collect(),
            ..HealthSpec::default()
        };
        let seen = self.watch_health(spec)?.check_once().await?;
        self.describe_available(provider, seen)
    }

    fn describe_available(
        self,
        provider: Option<&str>,
        seen: HealthReport,
    ) -> Result<ModelList, EffectError> {
        let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
        let tools = read_tools(self.ground)?;
        let facts = ModelFacts::new(self.ground, &tools, &catalog);
        let mut models = BTreeMap::new();
        let mut silent = Vec::new();
        for tool in seen.tools {
            // Programs have no list of models, and nobody waits for a server that was never set up.
            let is_named = provider.is_some();
            let is_absent = seen.not_set_up.contains(&tool.provider);
            if tools.adapter_of(self.ground, &tool.provider).is_program() || (is_absent && !is_named) {
                continue;
            }
            if tool.models.is_empty() {
                silent.push(SilentProvider {
                    provider: tool.provider,
                    status: tool.status,
                    details: tool.details,
                });
                continue;
            }
            for name in &tool.models {
                let model = facts.describe_served(&tool.provider, name);
                models.insert(model.id.clone(), model);
            }
        }
        Ok(ModelList {
            version: 1,
            models: models.into_values().collect(),
            sources: catalog.sources,
            silent,
        })
    }
}

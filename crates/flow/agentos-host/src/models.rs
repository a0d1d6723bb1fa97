//! The models that are known without asking a server.
//!
//! Owns: the list's published shape, from the built-in models and the catalogue. Never: claims that a server has a model; a health
//! check asks the server.

use agentos_catalog::{
    Catalog, CatalogError, CatalogModel, CatalogRow, CatalogSource, ModelAbility, PriceKind, PriceSpan,
};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{AdapterKind, KnownModel, known_model, known_models, nearest_word};
use agentos_tool::{Ability, TokenPrices};
use schemars::JsonSchema;
use serde::Serialize;

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
    /// The models that are known without the catalogue.
    BuiltIn,
    /// All models.
    All,
    /// The models on whose price the public tables disagree.
    Disputed,
}

/// Lists the known models, by id.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn list_models(choice: ModelChoice) -> Result<ModelList, EffectError> {
    let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
    let built_in = known_models().iter().map(|known| describe_known(known, &catalog));
    let is_known = |model: &CatalogModel| known_models().iter().any(|known| catalog_id(known) == model.id);
    let others = catalog.models.iter().filter(|model| !is_known(model));
    let others = others.filter_map(|model| describe_listed(model, &catalog));
    let mut models: Vec<ListedModel> = match choice {
        ModelChoice::BuiltIn => built_in.collect(),
        ModelChoice::All => built_in.chain(others).collect(),
        ModelChoice::Disputed => {
            let all = built_in.chain(others);
            all.filter(|model| model.input_span.is_some() || model.output_span.is_some())
                .collect()
        }
    };
    if choice != ModelChoice::BuiltIn {
        models.sort_by(|one, other| one.id.cmp(&other.id));
    }
    Ok(ModelList {
        version: 1,
        models,
        sources: catalog.sources,
    })
}

/// Finds a model by its id, or by its name on a provider's server. `None` if it is not known.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn find_model(name: &str) -> Result<Option<ModelList>, EffectError> {
    let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
    let found = match known_model(name) {
        Some(known) => Some(describe_known(known, &catalog)),
        None => {
            let has_name =
                |model: &&CatalogModel| model.id.split_once('/').is_some_and(|(_, own)| own == name);
            let model = catalog
                .find_model(name)
                .or_else(|| catalog.models.iter().find(has_name));
            model.and_then(|model| describe_listed(model, &catalog))
        }
    };
    Ok(found.map(|model| ModelList {
        version: 1,
        models: vec![model],
        sources: catalog.sources,
    }))
}

/// Returns the id of a known model that is nearest to an unknown name. `None` if none is similar.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn nearest_model(name: &str) -> Result<Option<String>, EffectError> {
    let all = list_models(ModelChoice::All)?.models;
    let names = all
        .iter()
        .flat_map(|model| [model.id.as_str(), model.name.as_str()]);
    Ok(nearest_word(name, names).map(str::to_owned))
}

/// Returns the id under which the catalogue has a built-in model.
fn catalog_id(known: &KnownModel) -> String {
    format!("{}/{}", known.provider, known.name)
}

/// Describes a built-in model, with the prices of the catalogue.
fn describe_known(known: &KnownModel, catalog: &Catalog) -> ListedModel {
    let listed = ListedModel {
        id: known.id.to_owned(),
        provider: known.provider.to_owned(),
        name: known.name.to_owned(),
        api: known.api,
        context_window: Some(known.context_window),
        max_output: known.max_output,
        tools: known.tools,
        vision: known.vision,
        json_mode: known.json_mode,
        reasoning: known.reasoning,
        built_in: true,
        price: None,
        input_span: None,
        output_span: None,
        rows: Vec::new(),
    };
    match catalog.find_model(&catalog_id(known)) {
        Some(model) => add_prices(listed, model, catalog),
        None => listed,
    }
}

/// Describes a model of the catalogue. `None` if no adapter speaks its provider's wire.
fn describe_listed(model: &CatalogModel, catalog: &Catalog) -> Option<ListedModel> {
    let (provider, name) = model.id.split_once('/')?;
    let api = match provider {
        "anthropic" => AdapterKind::Anthropic,
        "gemini" => AdapterKind::Gemini,
        "deepseek" | "mistral" | "openai" | "xai" | "zai" => AdapterKind::Openai,
        _ => return None,
    };
    let listed = ListedModel {
        id: model.id.clone(),
        provider: provider.to_owned(),
        name: name.to_owned(),
        api,
        context_window: model.smallest_window(),
        max_output: model.smallest_output(),
        tools: model.agreed_ability(ModelAbility::Tools),
        vision: model.agreed_ability(ModelAbility::Vision),
        json_mode: model.agreed_ability(ModelAbility::Json),
        reasoning: model.agreed_ability(ModelAbility::Reasoning),
        built_in: false,
        price: None,
        input_span: None,
        output_span: None,
        rows: Vec::new(),
    };
    Some(add_prices(listed, model, catalog))
}

fn add_prices(listed: ListedModel, model: &CatalogModel, catalog: &Catalog) -> ListedModel {
    let open = |kind| model.price_span(kind).filter(PriceSpan::is_open);
    ListedModel {
        price: model.choose_prices(&catalog.sources),
        input_span: open(PriceKind::Input),
        output_span: open(PriceKind::Output),
        rows: model.rows.clone(),
        ..listed
    }
}

pub(crate) fn catalog_error(error: &CatalogError) -> EffectError {
    EffectError::from_source(Cause::Internal, "catalogue", error.to_string(), error)
}

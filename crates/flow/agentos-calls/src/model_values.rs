//! The values of one model, from the built-in list, the catalogue and the user's own entry.
//!
//! Owns: which source a value comes from. Never: mixes the prices of two sources.

use std::cell::RefCell;
use std::collections::BTreeMap;

use agentos_catalog::{Catalog, CatalogModel, CatalogRow, ModelAbility, PriceKind, PriceSpan, UserModel};
use agentos_profile::{AdapterKind, KnownModel, known_models};
use agentos_tool::{Ability, TokenPrices};

use crate::models::ListedModel;
use agentos_ground::Ground;
use agentos_providers::tools::Tools;

/// Sources of what is known about models.
pub(crate) struct ModelFacts<'a> {
    ground: &'a Ground,
    tools: &'a Tools,
    catalog: &'a Catalog,
    /// Adapters of providers that were looked up: an imported table has thousands of models of few providers.
    adapters: RefCell<BTreeMap<String, AdapterKind>>,
}

/// Field of a row, and whether the row states it.
type StatedField = (&'static str, fn(&CatalogRow) -> bool);

/// Returns the id under which the catalogue has a built-in model.
pub(crate) fn catalog_id(known: &KnownModel) -> String {
    format!("{}/{}", known.provider, known.name)
}

impl<'a> ModelFacts<'a> {
    /// Collects the sources of values.
    pub(crate) fn new(ground: &'a Ground, tools: &'a Tools, catalog: &'a Catalog) -> Self {
        Self {
            ground,
            tools,
            catalog,
            adapters: RefCell::default(),
        }
    }

    /// Describes a built-in model, with the prices of the catalogue.
    pub(crate) fn describe_known(&self, known: &KnownModel) -> ListedModel {
        let mut listed = ListedModel {
            context_window: Some(known.context_window),
            max_output: known.max_output,
            tools: known.tools,
            vision: known.vision,
            json_mode: known.json_mode,
            reasoning: known.reasoning,
            built_in: true,
            ..empty_model(known.id, known.provider, known.name, known.api)
        };
        for field in [
            "context_window",
            "max_output",
            "tools",
            "vision",
            "json_mode",
            "reasoning",
        ] {
            listed.note_origin(field, "built-in");
        }
        match self.catalog.find_model(&catalog_id(known)) {
            Some(model) => self.add_prices(listed, model),
            None => listed,
        }
    }

    /// Describes a model of the catalogue. `None` if no adapter speaks its provider's wire.
    pub(crate) fn describe_listed(&self, model: &CatalogModel) -> Option<ListedModel> {
        let (provider, name) = model.id.split_once('/')?;
        let api = match provider {
            "anthropic" => AdapterKind::Anthropic,
            "gemini" => AdapterKind::Gemini,
            "deepseek" | "mistral" | "openai" | "xai" | "zai" => AdapterKind::Openai,
            _ => return None,
        };
        let mut listed = ListedModel {
            context_window: model.smallest_window(),
            max_output: model.smallest_output(),
            tools: model.agreed_ability(ModelAbility::Tools),
            vision: model.agreed_ability(ModelAbility::Vision),
            json_mode: model.agreed_ability(ModelAbility::Json),
            reasoning: model.agreed_ability(ModelAbility::Reasoning),
            ..empty_model(&model.id, provider, name, api)
        };
        let stated: [StatedField; 6] = [
            ("context_window", |row| row.window.is_some()),
            ("max_output", |row| row.max_output.is_some()),
            ("tools", |row| row.tools.is_some()),
            ("vision", |row| row.vision.is_some()),
            ("json_mode", |row| row.json.is_some()),
            ("reasoning", |row| row.reasoning.is_some()),
        ];
        for (field, states) in stated {
            let tables = model.rows.iter().filter(|row| states(row));
            let tables: Vec<&str> = tables.map(|row| row.source.as_str()).collect();
            listed.note_origin(field, &tables.join(", "));
        }
        Some(self.add_prices(listed, model))
    }

    /// Describes a model of the user's own. What the entry leaves out is as without it.
    pub(crate) fn describe_own(&self, entry: &UserModel) -> ListedModel {
        let (provider, name) = (entry.served_by(), entry.server_name());
        let base = self.describe_without_entry(provider, name);
        let mut listed = ListedModel {
            id: entry.id.clone(),
            context_window: entry.context_window.or(base.context_window),
            max_output: entry.output_limit.or(base.max_output),
            tools: entry.tools.unwrap_or(base.tools),
            vision: entry.vision.unwrap_or(base.vision),
            json_mode: entry.json_mode.unwrap_or(base.json_mode),
            reasoning: entry.reasoning.unwrap_or(base.reasoning),
            own: true,
            abilities: entry.abilities.clone(),
            ..base
        };
        let stated = [
            ("context_window", entry.context_window.is_some()),
            ("max_output", entry.output_limit.is_some()),
            ("tools", entry.tools.is_some()),
            ("vision", entry.vision.is_some()),
            ("json_mode", entry.json_mode.is_some()),
            ("reasoning", entry.reasoning.is_some()),
            ("price", entry.price.is_some()),
        ];
        for (field, _) in stated.into_iter().filter(|(_, is_stated)| *is_stated) {
            listed.note_origin(field, &entry.source);
        }
        for key in entry.abilities.keys() {
            listed.note_origin(key, &entry.source);
        }
        if let Some(price) = entry.price {
            listed.price = Some(TokenPrices {
                input: price.input,
                cached: price.cached,
                cache_write: price.cache_write,
                output: price.output,
                above: Vec::new(),
                source: Some(entry.source.clone()),
            });
            // The tables may disagree; whose prices hold is decided.
            (listed.input_span, listed.output_span) = (None, None);
            listed.rows.clear();
        }
        listed
    }

    /// Describes a model that a server lists.
    pub(crate) fn describe_served(&self, provider: &str, name: &str) -> ListedModel {
        let entry = self.tools.user_models().find_served(provider, name);
        let mut listed = match entry {
            Some(entry) => self.describe_own(entry),
            None => self.describe_without_entry(provider, name),
        };
        listed.note_origin("available", "server");
        listed
    }

    /// Describes the model of a provider without the user's own entry.
    fn describe_without_entry(&self, provider: &str, name: &str) -> ListedModel {
        let mut known = known_models().iter();
        if let Some(known) = known.find(|known| known.provider == provider && known.name == name) {
            return self.describe_known(known);
        }
        let id = format!("{provider}/{name}");
        let listed = self.catalog.find_model(&id);
        let listed = listed.and_then(|model| self.describe_listed(model));
        listed.unwrap_or_else(|| empty_model(&id, provider, name, self.adapter_of(provider)))
    }

    fn adapter_of(&self, provider: &str) -> AdapterKind {
        if let Some(known) = self.adapters.borrow().get(provider) {
            return *known;
        }
        let found = self.tools.adapter_of(self.ground, provider);
        self.adapters.borrow_mut().insert(provider.to_owned(), found);
        found
    }

    fn add_prices(&self, mut listed: ListedModel, model: &CatalogModel) -> ListedModel {
        let open = |kind| model.price_span(kind).filter(PriceSpan::is_open);
        if let Some(row) = model.chosen_row() {
            listed.note_origin("price", &row.source);
        }
        ListedModel {
            price: model.choose_prices(&self.catalog.sources),
            input_span: open(PriceKind::Input),
            output_span: open(PriceKind::Output),
            rows: model.rows.clone(),
            ..listed
        }
    }
}

impl ListedModel {
    /// Notes where a value comes from; nothing for a value that is not known.
    fn note_origin(&mut self, field: &str, origin: &str) {
        if !origin.is_empty() {
            self.origins.insert(field.to_owned(), origin.to_owned());
        }
    }
}

/// Makes a model of which nothing is known.
fn empty_model(id: &str, provider: &str, name: &str, api: AdapterKind) -> ListedModel {
    ListedModel {
        id: id.to_owned(),
        provider: provider.to_owned(),
        name: name.to_owned(),
        api,
        context_window: None,
        max_output: None,
        tools: Ability::Unknown,
        vision: Ability::Unknown,
        json_mode: Ability::Unknown,
        reasoning: Ability::Unknown,
        built_in: false,
        own: false,
        abilities: BTreeMap::new(),
        origins: BTreeMap::new(),
        price: None,
        input_span: None,
        output_span: None,
        rows: Vec::new(),
    }
}

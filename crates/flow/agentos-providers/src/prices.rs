//! The prices of a provider's model, from the user's entry about the model, else from the profile, else from the catalogue.
//!
//! Owns: when a price of the catalogue holds, and whose calls cost nothing. Never: computes a cost.
//!
//! | server | prices without an entry and a profile |
//! |---|---|
//! | the vendor's own | the prices of the catalogue |
//! | llama.cpp, LM Studio, Ollama, `vllm` or `sglang` on this machine, if it answers as such a server right before the call | 0 |
//! | any other server, also at the address of such a server | unknown, because it can pass calls on to a paid service |
//!
//! Ollama must have the model in its list, without another host. For vLLM and SGLang under other names, `agentos models add` asks
//! once and writes the price 0 into the user's profile.

use std::time::Duration;

use agentos_catalog::Catalog;
use agentos_engine::ports::EffectError;
use agentos_net::HttpUrl;
use agentos_profile::{AdapterKind, Origin, PriceFile, Profile, ResolvedProfile};
use agentos_tool::{TokenPrice, TokenPrices};

use crate::server_probe::{SelfProof, computes_itself, is_hosted_model};
use agentos_ground::error::catalog_error;
use agentos_ground::runtime::block_on_other_thread;

/// Prices of a model after its server was asked which one it is.
#[derive(Debug, Clone)]
pub struct ProvedPrices {
    /// The prices. Each is `None` if it is not known.
    pub prices: TokenPrices,
    /// Server that could not show that its calls cost nothing, because it gave no answer.
    pub silent: Option<UnprovedServer>,
}

/// Server of this machine that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnprovedServer {
    /// Address.
    pub address: String,
    /// Reason, in words.
    pub why: String,
}

/// Longest time to find out which server answers.
const PROBE_TIME: Duration = Duration::from_secs(2);

/// Returns the prices of the model that a profile names. They are unknown if neither the user nor the catalogue has them.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn find_prices(resolved: &ResolvedProfile) -> Result<TokenPrices, EffectError> {
    let stated = &resolved.profile.price;
    if *stated != PriceFile::default() {
        let number = |price: Option<f64>| price.and_then(TokenPrice::from_number);
        return Ok(TokenPrices {
            input: number(stated.input),
            cached: number(stated.cached),
            cache_write: number(stated.cache_write),
            output: number(stated.output),
            above: Vec::new(),
            source: Some(name_source(resolved)),
        });
    }
    let found = match catalog_id(resolved) {
        Some(id) => {
            let catalog = Catalog::built_in_model(&id).map_err(|error| catalog_error(&error))?;
            catalog
                .find_model(&id)
                .and_then(|model| model.choose_prices(&catalog.sources))
        }
        None => None,
    };
    Ok(found.unwrap_or_default())
}

/// Returns the prices by which members of a pool are compared: as [`find_prices`], and 0 for a server that should compute itself.
/// Nothing is asked, so no limit may rely on them.
///
/// # Errors
/// If the catalogue cannot be read.
pub fn presume_prices(resolved: &ResolvedProfile) -> Result<TokenPrices, EffectError> {
    let known = find_prices(resolved)?;
    let is_free = known.is_unknown() && name_own_server(&resolved.profile).is_some();
    Ok(if is_free { price_of_nothing() } else { known })
}

/// Returns the prices of a model's calls: the known ones, or 0 if its server answers now as one that computes itself. Must be awaited on
/// a thread with a runtime that has timers and sockets.
pub async fn prove_prices(known: TokenPrices, profile: &Profile) -> ProvedPrices {
    let Some((address, model)) = name_own_server(profile).filter(|_| known.is_unknown()) else {
        return ProvedPrices::settled(known);
    };
    let asked = computes_itself(&address, profile.adapter, model);
    let why = match tokio::time::timeout(PROBE_TIME, asked).await {
        Ok(SelfProof::Proved) => return ProvedPrices::settled(price_of_nothing()),
        Ok(SelfProof::Other) => return ProvedPrices::settled(known),
        Ok(SelfProof::Silent(words)) => words,
        Err(_) => format!("no answer within {} seconds", PROBE_TIME.as_secs()),
    };
    let address = address.to_string();
    ProvedPrices {
        prices: known,
        silent: Some(UnprovedServer { address, why }),
    }
}

/// Returns the prices as [`prove_prices`] does, for code that does not await.
pub(crate) fn prove_prices_now(known: TokenPrices, profile: &Profile) -> ProvedPrices {
    if !known.is_unknown() || name_own_server(profile).is_none() {
        return ProvedPrices::settled(known);
    }
    let proved = block_on_other_thread(|| prove_prices(known.clone(), profile));
    proved.unwrap_or_else(|_| ProvedPrices::settled(known))
}

impl ProvedPrices {
    /// Returns prices that no missing answer leaves open.
    fn settled(prices: TokenPrices) -> Self {
        Self { prices, silent: None }
    }
}

fn price_of_nothing() -> TokenPrices {
    TokenPrices {
        input: Some(TokenPrice::default()),
        output: Some(TokenPrice::default()),
        source: Some("own machine".to_owned()),
        ..TokenPrices::default()
    }
}

/// Returns the address and the model of a server on this machine whose kind only runs models itself. `None` for any other: it can be a
/// gateway to a paid service, also on this machine.
fn name_own_server(profile: &Profile) -> Option<(HttpUrl, Option<&str>)> {
    let is_kind = match profile.adapter {
        AdapterKind::Llamacpp | AdapterKind::Lmstudio | AdapterKind::Ollama => true,
        AdapterKind::Openai => matches!(profile.provider.as_str(), "vllm" | "sglang"),
        AdapterKind::Anthropic
        | AdapterKind::Gemini
        | AdapterKind::GenericHttp
        | AdapterKind::Agent
        | AdapterKind::Acp
        | AdapterKind::Tool
        | AdapterKind::Toolbox
        | AdapterKind::Mcp
        | AdapterKind::Pool => false,
    };
    let model = profile.model.as_deref();
    let address = profile
        .base_url
        .as_ref()
        .filter(|url| is_kind && url.is_loopback())?;
    let address = HttpUrl::parse(address.as_str()).ok()?;
    (!model.is_some_and(is_hosted_model)).then_some((address, model))
}

/// Names where the prices of a profile come from.
fn name_source(resolved: &ResolvedProfile) -> String {
    match resolved
        .origin_of("price.input")
        .or(resolved.origin_of("price.output"))
        .or(resolved.origin_of("price.cached"))
        .or(resolved.origin_of("price.cache_write"))
    {
        Some(origin @ Origin::UserModel(_)) => origin.to_string(),
        Some(
            Origin::BuiltIn
            | Origin::Derived
            | Origin::UserFile
            | Origin::ProjectFile
            | Origin::Environment(_)
            | Origin::Flag,
        )
        | None => "profile".to_owned(),
    }
}

/// Returns the id of the model in the catalogue. `None` if it names no model, or its address is not the vendor's: whoever else
/// answers there has other prices.
fn catalog_id(resolved: &ResolvedProfile) -> Option<String> {
    let at_vendor = matches!(resolved.origin_of("base_url"), Some(Origin::BuiltIn));
    let model = resolved.profile.model.as_deref().filter(|_| at_vendor)?;
    Some(format!("{}/{model}", resolved.profile.provider))
}

#[cfg(test)]
mod tests;

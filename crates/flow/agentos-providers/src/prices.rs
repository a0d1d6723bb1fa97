//! The prices of a provider's model: those of the user's entry about it, else of its profile, else of the catalogue.
//!
//! Owns: when a price of the catalogue holds. Never: computes a cost.

use agentos_catalog::Catalog;
use agentos_engine::ports::EffectError;
use agentos_profile::{Origin, PriceFile, ResolvedProfile};
use agentos_tool::{TokenPrice, TokenPrices};

use agentos_ground::error::catalog_error;

/// Returns the prices of the model that a profile names; none if nobody states them.
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

/// Names where the prices of a profile come from.
fn name_source(resolved: &ResolvedProfile) -> String {
    match resolved
        .origin_of("price.input")
        .or(resolved.origin_of("price.output"))
        .or(resolved.origin_of("price.cached"))
        .or(resolved.origin_of("price.cache_write"))
    {
        // A model on the user's own machine costs nothing, unless its profile says otherwise.
        Some(Origin::Derived) => "own machine".to_owned(),
        Some(origin @ Origin::UserModel(_)) => origin.to_string(),
        Some(
            Origin::BuiltIn | Origin::UserFile | Origin::ProjectFile | Origin::Environment(_) | Origin::Flag,
        )
        | None => "profile".to_owned(),
    }
}

/// Returns the id of the model in the catalogue. `None` if it names no model, or its address is not the vendor's: whoever else
/// answers there has prices of their own.
fn catalog_id(resolved: &ResolvedProfile) -> Option<String> {
    let at_vendor = matches!(resolved.origin_of("base_url"), Some(Origin::BuiltIn));
    let model = resolved.profile.model.as_deref().filter(|_| at_vendor)?;
    Some(format!("{}/{model}", resolved.profile.provider))
}

#[cfg(test)]
mod tests {
    use agentos_profile::{ProfileFlags, ProfileLayers, resolve_profile};

    use super::*;

    #[test]
    fn a_price_of_the_catalogue_holds_at_the_vendors_own_address() {
        let profile = r#"{"provider":"openai","price":{"input":3,"output":15}}"#;
        let profile = agentos_profile::parse_profile("x.json", profile).unwrap();
        let gateway = Some("https://gateway.example/v1".to_owned());
        let cases = [
            ("openai", "gpt-5.1", None, None, "1.25 10 models.dev 2026-07-02"),
            ("openai", "no-such-model", None, None, "- - -"),
            // Whoever answers at another address has prices of their own.
            ("openai", "gpt-5.1", gateway, None, "- - -"),
            ("openai", "gpt-5.1", None, Some(profile), "3 15 profile"),
            ("llamacpp", "gpt-5.1", None, None, "0 0 own machine"),
        ];
        for (provider, model, base_url, user, expected) in cases {
            let flags = ProfileFlags {
                model: Some(model.to_owned()),
                base_url,
                ..ProfileFlags::default()
            };
            let layers = ProfileLayers {
                user,
                flags,
                ..ProfileLayers::default()
            };
            let prices = find_prices(&resolve_profile(provider, &layers).unwrap()).unwrap();
            let text =
                |price: Option<TokenPrice>| price.map_or_else(|| "-".to_owned(), |price| price.to_string());
            let source = prices.source.as_deref().unwrap_or("-");
            let source = source.split(" sha256:").next().unwrap_or_default();
            let found = format!("{} {} {source}", text(prices.input), text(prices.output));
            assert_eq!(found, expected, "{provider} {model}");
        }
    }
}

//! Keys from flag and environment, and whether any key may be sent to a profile's server.
//!
//! Owns: the rule that a repository cannot send a person's key to another place. Never: asks a store.

use agentos_tool::Secret;

use crate::stack::{Stack, Value, set_variables};
use crate::{BaseUrl, KeyUse, Layers, Origin, ProvidedKey, env_names};

/// A repository may name a server, but a key goes only where the user, or this program, meant it to go.
pub(crate) fn key_use(provider: &str, stack: &Stack, base_url: Option<&Value<BaseUrl>>) -> KeyUse {
    let usual = || format!("{provider}.api_key");
    let named = stack
        .pick(|file| file.api_key_ref.clone())
        .map_or_else(usual, |key_ref| key_ref.value);
    let meant = stack
        .pick_trusted(|file| file.api_key_ref.clone())
        .map_or_else(usual, |key_ref| key_ref.value);
    if named != meant {
        return KeyUse::Forbidden("the repository's profile names another stored key".to_owned());
    }
    if stack
        .pick(|file| file.http.clone())
        .is_some_and(|http| http.origin == Origin::ProjectFile)
    {
        return KeyUse::Forbidden("the repository's profile writes the request itself".to_owned());
    }
    match base_url {
        Some(url) if url.origin == Origin::ProjectFile => {
            let meant = stack
                .pick_trusted(|file| file.base_url.clone())
                .and_then(|text| BaseUrl::parse(&text.value).ok());
            if meant.is_some_and(|meant| meant.same_place(&url.value)) {
                KeyUse::Allowed
            } else {
                KeyUse::Forbidden(format!(
                    "the repository's profile points to `{}`, which the key was not stored for; \
                     give `--base-url` to send it there",
                    url.value.endpoint()
                ))
            }
        }
        Some(_) | None => KeyUse::Allowed,
    }
}

/// The key that flag or environment gives.
pub(crate) fn provided_key(provider: &str, layers: &Layers) -> Option<ProvidedKey> {
    let by_flag = layers
        .flags
        .api_key
        .clone()
        .filter(|key| !key.is_empty())
        .map(|key| ProvidedKey {
            key,
            origin: Origin::Flag,
        });
    by_flag.or_else(|| {
        let names = env_names(provider).api_key;
        set_variables(&names, &layers.env)
            .first()
            .map(|(name, text)| ProvidedKey {
                key: Secret::new(text),
                origin: Origin::Environment((*name).clone()),
            })
    })
}

//! Profiles: a repository's file never gets a key, a program or the word `local`, and every value is in its range.
//!
//! Owns: the claims about reading and layering profiles. Never: reads a file or the environment.

use agentos_profile::{
    KeyUse, Origin, ProfileError, ProfileFile, ProfileFlags, ProfileLayers, ResolvedProfile, env_names,
    parse_profile, resolve_profile,
};
use agentos_tool::{BaseUrl, ExecutionMode, Secret};

use crate::bytes::{ByteReader, read_text, split_parts};

/// Key that no file contains. A fuzzer learns it from comparisons, so inputs that contain it are skipped.
const KEY: &str = "sk-fuzz-0d1f5c2b7a9e4c68";

/// Reads the first byte as the set of other settings, and the parts between NUL bytes as the provider, the user's
/// file, the repository's file, and the address that a variable or flag names.
///
/// # Panics
/// If a claim does not hold.
pub fn check_profile(data: &[u8]) {
    if data.windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
        return;
    }
    let mut bytes = ByteReader(data);
    let set = bytes.next();
    let parts = split_parts(bytes.0);
    let provider = read_text(parts.first());
    let file = |at: usize| parts.get(at).and_then(|part| read_file(&read_text(Some(part))));
    let address = parts.get(3).map(|part| read_text(Some(part)));
    let mut layers = ProfileLayers {
        user: file(1),
        project: file(2),
        ..ProfileLayers::default()
    };
    let names = env_names(&provider);
    if let (Some(text), Some(name)) = (&address, names.base_url.first().filter(|_| set & 1 != 0)) {
        layers.env.insert(name.clone(), text.clone());
    }
    if let Some(name) = names.api_key.last().filter(|_| set & 2 != 0) {
        layers.env.insert(name.clone(), KEY.to_owned());
    }
    layers.flags = ProfileFlags {
        base_url: address.filter(|_| set & 4 != 0),
        timeout_seconds: (set & 8 != 0).then_some(5),
        api_key: (set & 16 != 0).then(|| Secret::new(KEY)),
        ..ProfileFlags::default()
    };
    let resolved = resolve_profile(&provider, &layers);
    // Resolving must depend on nothing but its arguments.
    let again = resolve_profile(&provider, &layers);
    match (&resolved, &again) {
        (Ok(resolved), Ok(again)) => {
            assert_eq!(
                resolved.profile, again.profile,
                "the same layers give another profile"
            );
            check_ranges(resolved);
            check_repository(&provider, &layers, resolved);
        }
        (Err(error), Err(_)) => check_error(error),
        _ => panic!("the same layers give a profile or none"),
    }
}

/// Reads a file. Whatever can be read must be the same after it was written and read again.
fn read_file(text: &str) -> Option<ProfileFile> {
    match parse_profile("x.json", text) {
        Ok(file) => {
            let written = serde_json::to_string(&file).unwrap_or_default();
            match parse_profile("x.json", &written) {
                Ok(again) => assert_eq!(again, file, "{written}"),
                Err(error) => panic!("what was read is written otherwise: {error}: {written}"),
            }
            Some(file)
        }
        Err(error) => {
            check_error(&error);
            None
        }
    }
}

fn check_error(error: &ProfileError) {
    let words = error.to_string();
    assert!(!words.is_empty() && !words.contains(KEY), "{words}");
}

fn check_ranges(resolved: &ResolvedProfile) {
    let profile = &resolved.profile;
    let timeouts = profile.timeouts;
    let seconds = [
        timeouts.connect_seconds,
        timeouts.first_byte_seconds,
        timeouts.idle_seconds,
        timeouts.total_seconds,
    ];
    assert!(seconds.iter().all(|n| (1..=86_400).contains(n)), "{timeouts:?}");
    let within =
        |value: Option<f64>, from: f64, to: f64| value.is_none_or(|value| (from..=to).contains(&value));
    let params = &profile.params;
    assert!(within(params.temperature, 0.0, 2.0), "{:?}", params.temperature);
    assert!(within(params.top_p, f64::MIN_POSITIVE, 1.0), "{:?}", params.top_p);
    assert!(params.max_tokens != Some(0), "no token at all");
    assert!(
        params.stop.len() <= 16 && !params.stop.iter().any(String::is_empty),
        "{:?}",
        params.stop
    );
    let price = &profile.price;
    for price in [price.input, price.cached, price.output] {
        assert!(within(price, 0.0, f64::MAX), "{price:?}");
    }
    if let Some(url) = &profile.base_url {
        let again = BaseUrl::parse(url.as_str());
        assert_eq!(
            again.as_ref().ok(),
            Some(url),
            "an address is read as another one"
        );
    }
    // Debug output ends in logs and error reports.
    let shown = format!("{resolved:?}");
    assert!(!shown.contains(KEY), "a key is shown");
}

/// The repository's file must not change a provider that exists, name a program, say `local`, or send a key to a server that
/// would not get it without the file.
fn check_repository(provider: &str, layers: &ProfileLayers, resolved: &ResolvedProfile) {
    assert_ne!(
        resolved.origin_of("program"),
        Some(&Origin::ProjectFile),
        "it names a program"
    );
    let built_in = agentos_profile::builtin_profiles().ok();
    let is_built_in = built_in.is_some_and(|known| known.contains_key(provider));
    if layers.user.is_some() || is_built_in {
        let theirs = resolved
            .origins
            .iter()
            .filter(|(_, origin)| **origin == Origin::ProjectFile);
        let mut changed = theirs.filter(|(field, _)| **field != "capabilities.execution_mode");
        assert_eq!(changed.next(), None, "it changes a provider that exists");
    }
    let profile = &resolved.profile;
    let own_mode = resolved.origin_of("capabilities.execution_mode") == Some(&Origin::ProjectFile);
    assert!(
        !(own_mode && profile.execution_mode() == ExecutionMode::Local),
        "it says `local`"
    );
    if resolved.origin_of("base_url") != Some(&Origin::ProjectFile) {
        return;
    }
    // A key may go where the user's own settings or the built-in profile lead, and nowhere else.
    let trusted = ProfileLayers {
        project: None,
        ..layers.clone()
    };
    let usual = resolve_profile(provider, &trusted)
        .ok()
        .and_then(|resolved| resolved.profile.base_url);
    let user = layers.user.as_ref().and_then(|file| file.base_url.as_deref());
    let built_in = agentos_profile::builtin_profiles().ok();
    let built_in = built_in.as_ref().and_then(|known| known.get(provider));
    let homes = user
        .into_iter()
        .chain(built_in.and_then(|file| file.base_url.as_deref()))
        .filter_map(|text| BaseUrl::parse(text).ok())
        .chain(usual);
    let is_home = profile
        .base_url
        .as_ref()
        .is_some_and(|url| homes.into_iter().any(|home| home.same_place(url)));
    let uses = resolved.given_keys.iter().map(|given| &given.key_use);
    for key_use in uses.chain([&resolved.stored_key]) {
        assert!(
            is_home || !matches!(key_use, KeyUse::Allowed),
            "a key goes where the repository says: {:?}",
            profile.base_url
        );
    }
}

//! What a repository may say about providers.
//!
//! Whoever can write to a repository writes its profiles, and the user did not read them when they cloned it.
//!
//! | a repository may | how |
//! |---|---|
//! | add a provider of a new name | a profile with a name that neither the user nor the product defines |
//! | say that a model is in the cloud | `capabilities.execution_mode: cloud`, for every provider: rules for the cloud are stricter |
//!
//! It never changes another field of a provider that the user or the product defines, and names no program, key, payer, price or
//! pool for any provider. A name that the user defines later, or a later version of the product, is the user's or the product's.
//!
//! Owns: this table, and taking out of a repository's profile what is not in it. Never: reads a file.

use agentos_tool::ExecutionMode;

use crate::{CapabilitiesFile, ProfileFile};

/// Rule for one field of a repository's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryRule {
    /// The field describes the file, and has no effect.
    NoEffect,
    /// The field counts for a provider that only the repository defines.
    NewProvider,
    /// Field that counts as with `NewProvider`, and whose stricter value counts for every provider.
    Stricter,
    /// The field never counts.
    Never,
}

/// The fields of a profile, each with its rule.
///
/// `api_key_ref` and `http` count for a new provider, and `key` then keeps every key back: the repository would choose which key
/// is sent, or write the request around it.
pub const REPOSITORY_RULES: [(&str, RepositoryRule); 23] = [
    ("$schema", RepositoryRule::NoEffect),
    ("provider", RepositoryRule::NoEffect),
    ("name", RepositoryRule::NewProvider),
    ("adapter", RepositoryRule::NewProvider),
    ("base_url", RepositoryRule::NewProvider),
    ("api_key_ref", RepositoryRule::NewProvider),
    ("requires_key", RepositoryRule::NewProvider),
    ("model", RepositoryRule::NewProvider),
    ("mode", RepositoryRule::NewProvider),
    ("timeout_seconds", RepositoryRule::NewProvider),
    ("timeouts", RepositoryRule::NewProvider),
    ("edit_format", RepositoryRule::NewProvider),
    ("constrain", RepositoryRule::NewProvider),
    ("limit_field", RepositoryRule::NewProvider),
    ("omit", RepositoryRule::NewProvider),
    ("organization", RepositoryRule::Never),
    ("client_id", RepositoryRule::Never),
    ("http", RepositoryRule::NewProvider),
    ("program", RepositoryRule::Never),
    ("price", RepositoryRule::Never),
    ("params", RepositoryRule::NewProvider),
    ("capabilities", RepositoryRule::Stricter),
    ("pool", RepositoryRule::Never),
];

/// Party that defines a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderOwner {
    /// The user: by a profile, or by an address in the environment.
    User,
    /// This program: the profile is built in.
    Product,
    /// The repository alone.
    Repository,
}

/// Fields of a repository's profile that are not active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutFields {
    /// Names in the file.
    pub fields: Vec<&'static str>,
    /// Party that defines the provider.
    pub owner: ProviderOwner,
}

/// Takes out of a repository's profile what is not active. The second value lists it, `None` if everything is.
pub(crate) fn admit_profile(file: ProfileFile, owner: ProviderOwner) -> (ProfileFile, Option<LeftOutFields>) {
    let admitted = match owner {
        ProviderOwner::Repository => admit_new_provider(file.clone()),
        ProviderOwner::User | ProviderOwner::Product => admit_stricter(&file),
    };
    let (before, after) = (list_stated(&file), list_stated(&admitted));
    let differs = |field: &&'static str| before.get(*field) != after.get(*field);
    let fields: Vec<&'static str> = REPOSITORY_RULES
        .iter()
        .filter(|(_, rule)| *rule != RepositoryRule::NoEffect)
        .map(|(field, _)| *field)
        .filter(differs)
        .collect();
    let left_out = (!fields.is_empty()).then_some(LeftOutFields { fields, owner });
    (admitted, left_out)
}

/// Keeps what makes policy stricter.
fn admit_stricter(file: &ProfileFile) -> ProfileFile {
    let mode = file
        .capabilities
        .as_ref()
        .and_then(|stated| stated.execution_mode);
    let capabilities = mode
        .filter(|mode| *mode == ExecutionMode::Cloud)
        .map(|mode| CapabilitiesFile {
            execution_mode: Some(mode),
            ..CapabilitiesFile::default()
        });
    ProfileFile {
        provider: file.provider.clone(),
        capabilities,
        ..ProfileFile::default()
    }
}

/// Leaves out the fields that never count. A program and a pool stay: they are an error, since nothing would be left of the provider.
fn admit_new_provider(file: ProfileFile) -> ProfileFile {
    let ProfileFile {
        schema,
        provider,
        name,
        adapter,
        base_url,
        api_key_ref,
        requires_key,
        model,
        mode,
        timeout_seconds,
        timeouts,
        edit_format,
        constrain,
        limit_field,
        omit,
        organization: _,
        client_id: _,
        http,
        program,
        price: _,
        params,
        mut capabilities,
        pool,
    } = file;
    if let Some(stated) = &mut capabilities {
        // A model that counts as local may read more.
        stated.execution_mode = stated.execution_mode.filter(|mode| *mode == ExecutionMode::Cloud);
    }
    ProfileFile {
        schema,
        provider,
        name,
        adapter,
        base_url,
        api_key_ref,
        requires_key,
        model,
        mode,
        timeout_seconds,
        timeouts,
        edit_format,
        constrain,
        limit_field,
        omit,
        organization: None,
        client_id: None,
        http,
        program,
        price: None,
        params,
        capabilities,
        pool,
    }
}

/// Lists the fields that a profile states.
fn list_stated(file: &ProfileFile) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(file) {
        Ok(serde_json::Value::Object(stated)) => stated,
        Ok(_) | Err(_) => serde_json::Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{ProfileLayers, parse_profile, resolve_profile};

    /// One valid value for each field of a profile.
    fn stated_values() -> serde_json::Value {
        serde_json::json!({
            "$schema": "x",
            "provider": "near",
            "name": "Theirs",
            "adapter": "anthropic",
            "base_url": "http://127.0.0.1:9/theirs",
            "api_key_ref": "openai.api_key",
            "requires_key": true,
            "model": "theirs",
            "mode": "llamacpp_completion",
            "timeout_seconds": 1,
            "timeouts": {"total_seconds": 1},
            "edit_format": "search-replace",
            "constrain": "json-schema",
            "limit_field": "max_completion_tokens",
            "omit": ["seed"],
            "organization": "theirs",
            "client_id": "theirs",
            "http": {"path": "/x", "request": {"x": "{{prompt}}"}, "answer": "/x"},
            "program": {"command": "theirs"},
            "price": {"input": 0},
            "params": {"max_tokens": 1},
            "capabilities": {"execution_mode": "local", "tools": true},
            "pool": {"members": []}
        })
    }

    #[test]
    fn every_field_of_a_profile_has_a_rule() {
        let schema = serde_json::to_value(schemars::schema_for!(ProfileFile)).unwrap();
        let fields: BTreeSet<&str> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let ruled: BTreeSet<&str> = REPOSITORY_RULES.iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, ruled);
        let stated = stated_values();
        let stated: BTreeSet<&str> = stated.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, stated, "the tests state every field");
    }

    #[test]
    fn the_threat_model_names_the_rule_of_every_field() {
        let page = include_str!("../../../../.github/SECURITY.md");
        let row = page
            .lines()
            .find(|line| line.starts_with("| add a provider of a new name |"))
            .unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let quoted = |cell: &str| -> BTreeSet<String> {
            let words = cell.split('`').skip(1).step_by(2).map(str::to_owned);
            words.filter(|word| !word.starts_with('.')).collect()
        };
        let ruled = |rules: &[RepositoryRule]| -> BTreeSet<String> {
            let fields = REPOSITORY_RULES.iter().filter(|(_, rule)| rules.contains(rule));
            fields.map(|(field, _)| (*field).to_owned()).collect()
        };
        assert_eq!(
            quoted(cells[2]),
            ruled(&[RepositoryRule::NewProvider, RepositoryRule::Stricter])
        );
        assert_eq!(quoted(cells[3]), ruled(&[RepositoryRule::Never]));
        // The one part of a field that counts for every provider.
        let stricter = ruled(&[RepositoryRule::Stricter]);
        assert_eq!(stricter, BTreeSet::from(["capabilities".to_owned()]));
        assert!(
            page.contains("\n| say that a model is in the cloud | `capabilities.execution_mode: cloud` ")
        );
    }

    /// The finding: a clone's profile of a provider of the user led the user's conversation to another server.
    #[test]
    fn a_repository_changes_no_field_of_a_provider_that_exists() {
        let values = stated_values();
        for (provider, owner) in [("near", ProviderOwner::User), ("ollama", ProviderOwner::Product)] {
            let user = parse_profile(
                "u",
                r#"{"provider":"near","base_url":"http://localhost:1","model":"mine"}"#,
            )
            .unwrap();
            let layers = ProfileLayers {
                user: (owner == ProviderOwner::User).then_some(user),
                ..ProfileLayers::default()
            };
            let alone = resolve_profile(provider, &layers).unwrap();
            for (field, value) in values.as_object().unwrap() {
                let mut text = serde_json::json!({"provider": provider});
                if field != "provider" {
                    text[field] = value.clone();
                }
                let project = parse_profile("p", &text.to_string());
                let project = project.unwrap_or_else(|error| panic!("{field}: {error}"));
                let with = ProfileLayers {
                    project: Some(project),
                    ..layers.clone()
                };
                let resolved = resolve_profile(provider, &with).unwrap();
                assert_eq!(resolved.profile, alone.profile, "{provider} {field}");
                assert_eq!(resolved.origins, alone.origins, "{provider} {field}");
                let expected = match field.as_str() {
                    "provider" | "$schema" => None,
                    _ => Some(owner),
                };
                let left_out = resolved
                    .left_out
                    .map(|left_out| (left_out.fields.concat(), left_out.owner));
                assert_eq!(
                    left_out,
                    expected.map(|owner| (field.clone(), owner)),
                    "{provider} {field}"
                );
            }
        }
    }

    #[test]
    fn an_address_in_the_environment_makes_a_provider_the_users() {
        let project = r#"{"provider":"near","adapter":"anthropic","base_url":"http://theirs.example","model":"theirs"}"#;
        let mut layers = ProfileLayers {
            project: Some(parse_profile("p", project).unwrap()),
            ..ProfileLayers::default()
        };
        let adapter = |layers: &ProfileLayers| resolve_profile("near", layers).unwrap().profile.adapter;
        assert_eq!(adapter(&layers), crate::AdapterKind::Anthropic);
        layers.env = [(
            "AGENTOS_NEAR_BASE_URL".to_owned(),
            "http://localhost:1".to_owned(),
        )]
        .into();
        assert_eq!(adapter(&layers), crate::AdapterKind::Openai);
    }

    #[test]
    fn a_new_provider_states_no_payer_and_no_price() {
        let project = r#"{"provider":"new","base_url":"https://x.example","model":"m","organization":"theirs",
            "client_id":"theirs","price":{"input":0},"capabilities":{"execution_mode":"local"}}"#;
        let layers = ProfileLayers {
            project: Some(parse_profile("p", project).unwrap()),
            ..ProfileLayers::default()
        };
        let resolved = resolve_profile("new", &layers).unwrap();
        assert_eq!(resolved.profile.model.as_deref(), Some("m"));
        assert_eq!(resolved.profile.execution_mode(), ExecutionMode::Cloud);
        assert_eq!(
            resolved.left_out.unwrap().fields,
            ["organization", "client_id", "price", "capabilities"]
        );
    }

    /// The finding: with an address on this machine, a server that the user called a cloud's counted as local.
    #[test]
    fn a_stricter_declaration_stays_whatever_the_address_looks_like() {
        let cloud =
            r#"{"provider":"near","base_url":"https://x.example","capabilities":{"execution_mode":"cloud"}}"#;
        for address in [
            "http://127.0.0.1:1",
            "http://10.0.0.7",
            "http://gpu.local",
            "http://localhost",
        ] {
            let layers = ProfileLayers {
                user: Some(parse_profile("u", cloud).unwrap()),
                flags: crate::ProfileFlags {
                    base_url: Some(address.to_owned()),
                    ..crate::ProfileFlags::default()
                },
                ..ProfileLayers::default()
            };
            let resolved = resolve_profile("near", &layers).unwrap();
            assert_eq!(
                resolved.profile.execution_mode(),
                ExecutionMode::Cloud,
                "{address}"
            );
            let moved = format!(r#"{{"provider":"near","base_url":"{address}"}}"#);
            let layers = ProfileLayers {
                user: Some(parse_profile("u", cloud).unwrap()),
                project: Some(parse_profile("p", &moved).unwrap()),
                ..ProfileLayers::default()
            };
            let resolved = resolve_profile("near", &layers).unwrap();
            assert_eq!(
                resolved.profile.execution_mode(),
                ExecutionMode::Cloud,
                "{address}"
            );
            assert_eq!(resolved.profile.base_url.unwrap().as_str(), "https://x.example");
        }
    }
}

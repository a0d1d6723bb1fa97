//! A resolved profile as a list of fields and values, for display.
//!
//! Owns: the names of the fields. Never: shows a key.

use std::collections::BTreeMap;

use agentos_api::{ProfileReport, ShownValue};
use agentos_profile::{Origin, ProgramFile, ResolvedProfile};
use agentos_tool::ThinkingLevel;
use serde_json::Value;

/// Lists the values of a profile with their origins.
pub fn describe_profile(provider: &str, resolved: &ResolvedProfile) -> ProfileReport {
    let profile = &resolved.profile;
    let capabilities = serde_json::to_value(&profile.capabilities).unwrap_or_default();
    let mut values = BTreeMap::new();
    for (field, origin) in &resolved.origins {
        let value = match *field {
            "name" => profile.name.clone().into(),
            "adapter" => serde_json::to_value(profile.adapter).unwrap_or_default(),
            "base_url" => profile.base_url.as_ref().map(ToString::to_string).into(),
            "api_key_ref" => profile.api_key_ref.clone().into(),
            "requires_key" => profile.requires_key.into(),
            "model" => profile.model.clone().into(),
            "mode" => serde_json::to_value(profile.mode).unwrap_or_default(),
            "edit_format" => profile.edit_format.as_str().into(),
            "constrain" => profile.constrain.as_str().into(),
            "limit_field" => serde_json::to_value(profile.limit_field).unwrap_or_default(),
            "omit" => profile.omit.clone().into(),
            "organization" => profile.organization.clone().into(),
            "client_id" => profile.client_id.clone().into(),
            "http" => serde_json::to_value(&profile.http).unwrap_or_default(),
            "pool" => serde_json::to_value(&profile.pool).unwrap_or_default(),
            "price.input" => profile.price.input.into(),
            "price.cached" => profile.price.cached.into(),
            "price.cache_write" => profile.price.cache_write.into(),
            "price.output" => profile.price.output.into(),
            "timeouts.connect_seconds" => profile.timeouts.connect_seconds.into(),
            "timeouts.first_byte_seconds" => profile.timeouts.first_byte_seconds.into(),
            "timeouts.idle_seconds" => profile.timeouts.idle_seconds.into(),
            "timeouts.total_seconds" => profile.timeouts.total_seconds.into(),
            "params.temperature" => profile.params.temperature.into(),
            "params.top_p" => profile.params.top_p.into(),
            "params.max_tokens" => profile.params.max_tokens.into(),
            "params.seed" => profile.params.seed.into(),
            "params.stop" => profile.params.stop.clone().into(),
            "params.thinking" => profile.params.thinking.map(ThinkingLevel::as_str).into(),
            other => match other.strip_prefix("capabilities.") {
                Some(ability) => capabilities.get(ability).cloned().unwrap_or_default(),
                None => Value::Null,
            },
        };
        if *field == "program" {
            values.extend(list_program(profile.program.as_ref(), origin));
            continue;
        }
        values.insert(
            (*field).to_owned(),
            ShownValue {
                value,
                origin: origin.to_string(),
            },
        );
    }
    ProfileReport {
        version: 1,
        provider: provider.to_owned(),
        values,
    }
}

/// Lists the fields of a program one by one: what it is started with, what it gets of the home folder, what it may reach.
fn list_program(program: Option<&ProgramFile>, origin: &Origin) -> Vec<(String, ShownValue)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(program) else {
        return Vec::new();
    };
    let shown = fields.into_iter().map(|(field, value)| {
        let shown = ShownValue {
            value,
            origin: origin.to_string(),
        };
        (format!("program.{field}"), shown)
    });
    shown.collect()
}

//! Keys and profiles of providers, as a person manages them.
//!
//! Owns: which provider can have a key, and what may be shown of a profile. Never: asks a provider anything, or shows a key.

use std::collections::BTreeMap;
use std::path::Path;

use agentos_api::{AuthStatus, KeyStatus, Notice, ProfileReport};
use agentos_engine::ports::EffectError;
use agentos_profile::{AdapterKind, env_names, parse_profile};
use agentos_tool::Secret;

use crate::Providers;
use crate::known_tools::read_tools;
use crate::pool_files::is_pool;
use crate::profile_values::describe_profile;
use crate::tool_notices::describe_left_out;
use crate::tools::{Tools, bad_profile};
use crate::{key_checks, sign_in};
use agentos_ground::error::usage_error;
use agentos_ground::options::{KeyStore, ProviderOverrides};
use agentos_ground::{Ground, files, keys};

impl Providers<'_> {
    /// Lists the names of the known providers, sorted.
    ///
    /// # Errors
    /// If a profile folder cannot be read.
    pub fn provider_names(self) -> Result<Vec<String>, EffectError> {
        Ok(read_tools(self.ground)?
            .provider_names()
            .map(str::to_owned)
            .collect())
    }

    /// Returns the source of each provider's key.
    ///
    /// # Errors
    /// If a profile folder cannot be read.
    pub fn key_status(self) -> Result<AuthStatus, EffectError> {
        let tools = read_tools(self.ground)?;
        let mut report = AuthStatus {
            version: 1,
            keys: BTreeMap::new(),
        };
        // A pool has no key: its members' providers have.
        for provider in tools.profiled_names().filter(|name| !is_pool(&tools, name)) {
            let status = match tools.resolve_profile(self.ground, provider, &ProviderOverrides::default()) {
                Ok(resolved) => {
                    let mut status = keys::key_status(self.ground, &resolved);
                    // Without a key, there is nothing that the last check could be about.
                    let has_key = status.source.is_some();
                    if resolved.profile.adapter == AdapterKind::Mcp
                        && let Some((grant, store)) = sign_in::find_grant(self.ground, provider)
                    {
                        status.source = status.source.or(Some(format!("sign-in in the {store}")));
                        status.signed_in = Some(sign_in::describe_grant(&grant));
                    }
                    status.last_check = key_checks::last_check(self.ground, provider, status.hint.as_deref())
                        .filter(|_| has_key);
                    status
                }
                Err(error) => KeyStatus {
                    problems: vec![error.message],
                    ..KeyStatus::default()
                },
            };
            report.keys.insert(provider.to_owned(), status);
        }
        Ok(report)
    }

    /// Checks that a provider can have a key.
    ///
    /// # Errors
    /// If there is no such provider, or it has no profile.
    pub fn check_key_owner(self, provider: &str) -> Result<(), EffectError> {
        key_name(self.ground, &read_tools(self.ground)?, provider).map(drop)
    }

    /// Stores a provider's key. Returns the store, in words.
    ///
    /// # Errors
    /// If there is no such provider, the key is empty, or the store cannot be used.
    pub fn set_key(self, provider: &str, key: &Secret, store: KeyStore) -> Result<String, EffectError> {
        let name = key_name(self.ground, &read_tools(self.ground)?, provider)?;
        if key.is_empty() {
            return Err(usage_error("the key is empty").hint("pipe it in, or type it when asked"));
        }
        // White space around a pasted key is removed before. Inside, it means that something else was pasted with the key, and
        // a header can carry visible ASCII only (RFC 9110, section 5.5).
        if let Some(fault) = find_key_fault(key.expose()) {
            return Err(usage_error(format!("the key contains {fault}"))
                .hint("copy the key alone, without a line break or other text"));
        }
        keys::store_key(self.ground, store, &name, key)?;
        // A sign-in would be used first, and the key that was just set never sent.
        sign_in::clear_sign_in(self.ground, provider)?;
        Ok(match store {
            KeyStore::Keyring => "the system's keyring".to_owned(),
            KeyStore::File => self
                .ground
                .environment()
                .credentials_file()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
        })
    }

    /// Removes a provider's key and sign-in from every store. Returns false if there was none.
    ///
    /// # Errors
    /// If there is no such provider, or a store cannot be asked.
    pub fn clear_key(self, provider: &str) -> Result<bool, EffectError> {
        let name = key_name(self.ground, &read_tools(self.ground)?, provider)?;
        let had_sign_in = sign_in::clear_sign_in(self.ground, provider)?;
        Ok(keys::clear_key(self.ground, &name)? || had_sign_in)
    }

    /// Shows every value of a provider's profile with its origin.
    ///
    /// # Errors
    /// If there is no such provider, or a layer of its profile is invalid.
    pub fn show_profile(self, provider: &str) -> Result<ProfileReport, EffectError> {
        let resolved =
            read_tools(self.ground)?.resolve_profile(self.ground, provider, &ProviderOverrides::default())?;
        if let Some(notice) = describe_left_out(self.ground.environment(), &resolved) {
            self.ground.notify(Notice::new("profile", notice));
        }
        Ok(describe_profile(provider, &resolved))
    }

    /// Checks a profile: a file, or all layers of a provider. Returns the provider's name, and true if it was a file.
    ///
    /// # Errors
    /// If it is invalid, or does not exist.
    pub fn validate_profile(self, file: &Path) -> Result<(String, bool), EffectError> {
        let name = file.display().to_string();
        let is_there = self.ground.environment().cwd.join(file).exists();
        if !is_there && read_tools(self.ground)?.has_profile(&name) {
            read_tools(self.ground)?.resolve_profile(self.ground, &name, &ProviderOverrides::default())?;
            return Ok((name, false));
        }
        let text = files::read_text_file(self.ground.environment(), file, 1 << 20)?;
        // Only parsed: a file that is not in a profile folder has no other layers to be merged with.
        let profile = parse_profile(&name, &text).map_err(|error| bad_profile(&error))?;
        Ok((profile.provider, true))
    }
}

/// Returns the variables in which a provider's key is looked up first.
#[must_use]
pub fn key_variables(provider: &str) -> Vec<String> {
    env_names(provider).api_key
}

/// Returns what no key contains and this one does, in words. `None` if it looks like a key.
fn find_key_fault(key: &str) -> Option<&'static str> {
    key.chars().find_map(|letter| match letter {
        '\r' | '\n' => Some("a line break"),
        letter if letter.is_whitespace() => Some("white space"),
        letter if letter.is_control() => Some("a control character"),
        letter if !letter.is_ascii() => Some("a character that is not ASCII"),
        _ => None,
    })
}

/// Returns the name under which a provider's key is stored.
fn key_name(ground: &Ground, tools: &Tools, provider: &str) -> Result<String, EffectError> {
    tools.require_known(provider)?;
    if !tools.has_profile(provider) {
        return Err(usage_error(format!("`{provider}` has no profile and no key")));
    }
    Ok(tools
        .resolve_profile(ground, provider, &ProviderOverrides::default())?
        .profile
        .api_key_ref)
}

#[cfg(test)]
mod tests {
    use super::find_key_fault;

    #[test]
    fn a_key_is_one_word_of_visible_letters() {
        for (key, fault) in [
            ("sk-abc_123.~/+=", None),
            ("a b\nc", Some("white space")),
            ("a\nb", Some("a line break")),
            ("a\u{7}b", Some("a control character")),
            ("schlüssel", Some("a character that is not ASCII")),
        ] {
            assert_eq!(find_key_fault(key), fault, "{key:?}");
        }
    }
}

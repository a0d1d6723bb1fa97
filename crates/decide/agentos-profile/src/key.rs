//! Keys from flag and environment, and the decision if a key may be sent to a profile's server.
//!
//! Owns: the rule that a key is sent only to the address it was stored for, unless the user allows another. Never: reads a key
//! store.

use agentos_api::NextStep;
use agentos_tool::{BaseUrl, ExecutionMode, KeyObstacle, Secret};

use crate::stack::{LayerStack, LayeredValue, set_variables};
use crate::{KeyUse, Origin, ProfileLayers, ProvidedKey, env_names};

/// Hosts of vendors that never answer without a key.
const VENDORS: [&str; 5] = [
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "api.z.ai",
];

/// Returns true if the server is a vendor's own, which never answers without a key.
pub(crate) fn always_wants_key(url: &BaseUrl) -> bool {
    VENDORS.contains(&url.host())
}

/// Source of a key, which decides the addresses it may be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySource {
    /// The user gave it to this program for this provider, by flag or by this program's own variable.
    Own,
    /// Variable that all of the vendor's programs read.
    Vendor,
    /// Key store, under the name that the profile gives.
    Stored,
}

/// Keys of a profile, each with the decision if it may be sent.
pub(crate) struct ProfileKeys {
    /// Keys from flag and environment; the first one wins.
    pub(crate) given: Vec<ProvidedKey>,
    /// Decision about a stored key.
    pub(crate) stored: KeyUse,
}

/// Collects the keys from flag and environment, and decides for each if it may be sent.
pub(crate) fn collect_keys(
    provider: &str,
    stack: &LayerStack,
    layers: &ProfileLayers,
    base_url: Option<&LayeredValue<BaseUrl>>,
) -> ProfileKeys {
    let rule = KeyRule {
        provider,
        stack,
        base_url,
        says_so: layers.flags.send_key,
    };
    let by_flag = layers
        .flags
        .api_key
        .clone()
        .map(|key| (key, Origin::Flag, KeySource::Own));
    let names = env_names(provider).api_key;
    let by_variable = set_variables(&names, &layers.env)
        .into_iter()
        .map(|(name, text)| {
            // The first name, `AGENTOS_…`, is this program's own: a user who sets it means this provider. Other programs read the
            // vendor's variable too, so that key may only go to the vendor.
            let kind = if names.first() == Some(name) {
                KeySource::Own
            } else {
                KeySource::Vendor
            };
            (Secret::new(text), Origin::Environment(name.clone()), kind)
        });
    let given = by_flag
        .into_iter()
        .chain(by_variable)
        // A variable that is set but empty is how shells and CI systems switch a setting off.
        .filter(|(key, ..)| !key.is_empty());
    ProfileKeys {
        given: given
            .map(|(key, origin, kind)| ProvidedKey {
                key,
                origin,
                key_use: rule.decide_use(kind),
            })
            .collect(),
        stored: rule.decide_use(KeySource::Stored),
    }
}

struct KeyRule<'a> {
    provider: &'a str,
    stack: &'a LayerStack,
    base_url: Option<&'a LayeredValue<BaseUrl>>,
    says_so: bool,
}

impl KeyRule<'_> {
    fn decide_use(&self, kind: KeySource) -> KeyUse {
        if let Some(why) = self.repository_decides() {
            return KeyUse::Forbidden(KeyObstacle::new(why));
        }
        let Some(url) = self.base_url else {
            return KeyUse::Allowed;
        };
        let by_repository = url.origin == Origin::ProjectFile;
        let homes = self.home_addresses(kind);
        let is_home = |home: &BaseUrl| {
            // A key for a server on this machine may go to any port of it: users move local servers between ports. A repository's
            // profile is excluded, because it could name the port of a server that forwards the key.
            let same_machine = home.is_loopback() && url.value.is_loopback();
            home.same_place(&url.value) || (same_machine && !by_repository)
        };
        if homes.iter().any(is_home) {
            return KeyUse::Allowed;
        }
        if by_repository {
            let why = format!(
                "the repository's profile points to `{}`, but the key was not stored for that address",
                url.value.endpoint()
            );
            // The step names the address, so that the consent is to this one and not to whatever the repository names later.
            let base_url = Some(url.value.to_string());
            let obstacle = KeyObstacle::new(why).suggest_steps([NextStep::SendKey { base_url }]);
            return KeyUse::Forbidden(obstacle);
        }
        // Tested only now: consent to send a key is for an address of the user's, never for one that a repository chose.
        if self.says_so || kind == KeySource::Own {
            return KeyUse::Allowed;
        }
        let own = env_names(self.provider)
            .api_key
            .into_iter()
            .next()
            .unwrap_or_default();
        let meant = homes.first().map_or_else(
            || "no profile of yours says where the key belongs".to_owned(),
            |home| {
                format!(
                    "the key is for `{}`, not for `{}`",
                    home.endpoint(),
                    url.value.endpoint()
                )
            },
        );
        let steps = [
            NextStep::SendKey { base_url: None },
            NextStep::SetKeyVariable { variable: own },
        ];
        KeyUse::Forbidden(KeyObstacle::new(meant).suggest_steps(steps))
    }

    /// Returns why a repository's profile forbids every key: it may name a server, but neither the key to send nor the request
    /// around it. `None` if it does neither.
    fn repository_decides(&self) -> Option<&'static str> {
        let usual = || format!("{}.api_key", self.provider);
        let named = self.stack.pick(|file| file.api_key_ref.clone());
        let meant = self.stack.pick_trusted(|file| file.api_key_ref.clone());
        // Another name would make us send the key of another provider.
        if named.map_or_else(usual, |named| named.value) != meant.map_or_else(usual, |meant| meant.value) {
            return Some("the repository's profile names another stored key");
        }
        let http = self.stack.pick(|file| file.http.clone());
        http.is_some_and(|http| http.origin == Origin::ProjectFile)
            .then_some("the repository's profile writes the request itself")
    }

    /// Lists the addresses that a key belongs to.
    fn home_addresses(&self, kind: KeySource) -> Vec<BaseUrl> {
        let address = |origin: Origin| {
            let text = self
                .stack
                .pick_by(|of, file| file.base_url.clone().filter(|_| *of == origin))?;
            BaseUrl::parse(&text.value).ok()
        };
        let (built_in, user) = (address(Origin::BuiltIn), address(Origin::UserFile));
        let has_own_key = self
            .stack
            .pick_by(|of, file| file.api_key_ref.clone().filter(|_| *of == Origin::UserFile))
            .is_some();
        // A local server has no vendor, and its built-in address is only the usual one, so it proves nothing about a key.
        let is_vendors = built_in
            .as_ref()
            .is_some_and(|url| url.execution_mode() == ExecutionMode::Cloud);
        let mut homes = Vec::new();
        match kind {
            KeySource::Stored if has_own_key && user.is_some() => homes.extend(user),
            KeySource::Stored | KeySource::Own | KeySource::Vendor => {
                homes.extend(user.filter(|_| !is_vendors));
                homes.extend(built_in);
            }
        }
        if kind == KeySource::Vendor
            && let Some(url) = self.base_url
            && env_names(self.provider).base_url.get(1..).is_some_and(|vendors| {
                vendors
                    .iter()
                    .any(|name| url.origin == Origin::Environment(name.clone()))
            })
        {
            // Address and key both come from the vendor's own variables, so they belong together.
            homes.push(url.value.clone());
        }
        homes
    }
}

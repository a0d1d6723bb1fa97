//! Keys from flag and environment, and whether a key may be sent to a profile's server.
//!
//! Owns: the rule that a key goes only to the place it was stored for, unless the user says otherwise. Never: asks a
//! store.

use agentos_api::NextStep;
use agentos_tool::{BaseUrl, ExecutionMode, KeyObstacle, Secret};

use crate::stack::{Stack, Value, set_variables};
use crate::{KeyUse, Layers, Origin, ProvidedKey, env_names};

/// Hosts of vendors, which never answer without a key.
const VENDORS: [&str; 4] = [
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
];

/// Returns true if the server is a vendor's own, which never answers without a key.
pub(crate) fn always_wants_key(url: &BaseUrl) -> bool {
    VENDORS.contains(&url.host())
}

/// Whose key it is, which decides where it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Given to this program for this provider, wherever the user says that it is.
    Own,
    /// In the variable that all of the vendor's programs read.
    Vendor,
    /// In a store, under the profile's name for it.
    Stored,
}

/// The keys of a profile.
pub(crate) struct Keys {
    /// From flag and environment, the first wins.
    pub(crate) given: Vec<ProvidedKey>,
    /// Whether one that is stored may be sent.
    pub(crate) stored: KeyUse,
}

/// Where the keys of a profile may go.
pub(crate) fn keys(
    provider: &str,
    stack: &Stack,
    layers: &Layers,
    base_url: Option<&Value<BaseUrl>>,
) -> Keys {
    let rule = Rule {
        provider,
        stack,
        base_url,
        says_so: layers.flags.send_key,
    };
    let by_flag = layers
        .flags
        .api_key
        .clone()
        .map(|key| (key, Origin::Flag, Kind::Own));
    let names = env_names(provider).api_key;
    let by_variable = set_variables(&names, &layers.env)
        .into_iter()
        .map(|(name, text)| {
            // The first name is this program's own.
            let kind = if names.first() == Some(name) {
                Kind::Own
            } else {
                Kind::Vendor
            };
            (Secret::new(text), Origin::Environment(name.clone()), kind)
        });
    let given = by_flag
        .into_iter()
        .chain(by_variable)
        .filter(|(key, ..)| !key.is_empty());
    Keys {
        given: given
            .map(|(key, origin, kind)| ProvidedKey {
                key,
                origin,
                key_use: rule.of(kind),
            })
            .collect(),
        stored: rule.of(Kind::Stored),
    }
}

struct Rule<'a> {
    provider: &'a str,
    stack: &'a Stack,
    base_url: Option<&'a Value<BaseUrl>>,
    says_so: bool,
}

impl Rule<'_> {
    fn of(&self, kind: Kind) -> KeyUse {
        if let Some(why) = self.repository_decides() {
            return KeyUse::Forbidden(KeyObstacle::new(why));
        }
        let Some(url) = self.base_url else {
            return KeyUse::Allowed;
        };
        let by_repository = url.origin == Origin::ProjectFile;
        let homes = self.homes(kind);
        let is_home = |home: &BaseUrl| {
            // What belongs to this machine may go to this machine: a local server's port says nothing of whose it is.
            let same_machine = home.is_loopback() && url.value.is_loopback();
            home.same_place(&url.value) || (same_machine && !by_repository)
        };
        if homes.iter().any(is_home) {
            return KeyUse::Allowed;
        }
        if by_repository {
            let why = format!(
                "the repository's profile points to `{}`, which the key was not stored for",
                url.value.endpoint()
            );
            let base_url = Some(url.value.to_string());
            let obstacle = KeyObstacle::new(why).suggest_steps([NextStep::SendKey { base_url }]);
            return KeyUse::Forbidden(obstacle);
        }
        if self.says_so || kind == Kind::Own {
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

    /// A repository may name a server, but neither which key goes there nor in what it is wrapped.
    fn repository_decides(&self) -> Option<&'static str> {
        let usual = || format!("{}.api_key", self.provider);
        let named = self.stack.pick(|file| file.api_key_ref.clone());
        let meant = self.stack.pick_trusted(|file| file.api_key_ref.clone());
        if named.map_or_else(usual, |named| named.value) != meant.map_or_else(usual, |meant| meant.value) {
            return Some("the repository's profile names another stored key");
        }
        let http = self.stack.pick(|file| file.http.clone());
        http.is_some_and(|http| http.origin == Origin::ProjectFile)
            .then_some("the repository's profile writes the request itself")
    }

    /// The places that a key belongs to.
    fn homes(&self, kind: Kind) -> Vec<BaseUrl> {
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
        // A server of the user's own has no vendor: its built-in address is only a usual one.
        let is_vendors = built_in
            .as_ref()
            .is_some_and(|url| url.execution_mode() == ExecutionMode::Cloud);
        let mut homes = Vec::new();
        match kind {
            Kind::Stored if has_own_key && user.is_some() => homes.extend(user),
            Kind::Stored | Kind::Own | Kind::Vendor => {
                homes.extend(user.filter(|_| !is_vendors));
                homes.extend(built_in);
            }
        }
        if kind == Kind::Vendor
            && let Some(url) = self.base_url
            && env_names(self.provider).base_url.get(1..).is_some_and(|vendors| {
                vendors
                    .iter()
                    .any(|name| url.origin == Origin::Environment(name.clone()))
            })
        {
            // Address and key both in the vendor's own words.
            homes.push(url.value.clone());
        }
        homes
    }
}

//! Names of sessions.
//!
//! Owns: their written form. Never: knows which sessions exist.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Largest number of bytes of each half of a name.
const LONGEST_PART: usize = 64;

/// Name of a session, as in `conversation:default` or `channel:1234`: a scope and an id.
///
/// Both halves are 1 to 64 ASCII letters, digits, `-`, `_` or `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionKey(String);

/// Failure to parse a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the name of a session: use letters, digits, `-`, `_` and `.`, as in `conversation:default`"
)]
pub struct SessionKeyError(String);

impl SessionKey {
    /// Scope of the sessions that people begin on the command line.
    pub const USUAL_SCOPE: &'static str = "conversation";
    /// Id of the session that is used if nobody names one.
    pub const USUAL_ID: &'static str = "default";

    /// Parses `SCOPE:ID`, or `ID` alone, which has the scope `conversation`.
    ///
    /// # Errors
    /// If a half is empty, too long, or has other characters.
    pub fn parse(text: &str) -> Result<Self, SessionKeyError> {
        let (scope, id) = text.split_once(':').unwrap_or((Self::USUAL_SCOPE, text));
        // These characters need no quotes in a shell, and no escapes in a path or an address.
        let fits = |part: &str| {
            (1..=LONGEST_PART).contains(&part.len())
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        if fits(scope) && fits(id) {
            return Ok(Self(format!("{scope}:{id}")));
        }
        Err(SessionKeyError(text.chars().take(LONGEST_PART).collect()))
    }

    /// Returns the whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Beginning of the names of sessions that may belong to a guild.
const CHANNEL: &str = "channel:";

/// Returns the guild of a session: of `channel:GUILD.CHANNEL`, the part before the first dot. `None` if the name has another form, so that
/// the session belongs to no guild.
#[must_use]
pub fn find_guild(session: &str) -> Option<&str> {
    let (guild, _) = session.strip_prefix(CHANNEL)?.split_once('.')?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let fits = (1..=LONGEST_PART).contains(&guild.len()) && guild.bytes().all(is_name);
    fits.then_some(guild)
}

impl Default for SessionKey {
    fn default() -> Self {
        Self(format!("{}:{}", Self::USUAL_SCOPE, Self::USUAL_ID))
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_scope_and_an_id() {
        let cases = [
            ("default", Some("conversation:default")),
            ("channel:12.3", Some("channel:12.3")),
            ("", None),
            (":x", None),
            ("x:", None),
            ("a:b:c", None),
            ("../x", None),
            ("a b", None),
            ("é", None),
        ];
        for (text, name) in cases {
            assert_eq!(
                SessionKey::parse(text).ok().map(|key| key.to_string()).as_deref(),
                name,
                "{text}"
            );
        }
        assert_eq!(SessionKey::default().as_str(), "conversation:default");
        assert!(SessionKey::parse(&"x".repeat(65)).is_err());
    }

    #[test]
    fn a_channel_names_its_guild() {
        let cases = [
            ("channel:81384.1234", Some("81384")),
            ("channel:team.general.old", Some("team")),
            ("channel:1234", None),
            ("channel:.x", None),
            ("conversation:team.general", None),
        ];
        for (session, guild) in cases {
            assert_eq!(find_guild(session), guild, "{session}");
        }
    }
}

//! The last health check of each provider's key.
//!
//! Owns: the small file that remembers it. Never: contains more of a key than its last four characters, or is used for
//! another key than the one it was written for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_api::KeyCheck;
use agentos_credentials::replace_own_file;
use agentos_durable::LinkRule;
use agentos_tool::{HealthStatus, ToolHealth};
use serde::{Deserialize, Serialize};

use crate::tools::Tool;
use agentos_ground::Ground;
use agentos_ground::files;

/// Largest file that is read. A larger one was not written by this program.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
struct KeyChecks {
    version: u32,
    keys: BTreeMap<String, KeyCheck>,
}

/// Saves the results of these checks for keys. Errors are only logged: the file is a convenience for `auth status`.
pub fn save_checks(ground: &Ground, found: &[(&ToolHealth, &Tool)]) {
    let news: Vec<(String, KeyCheck)> = found
        .iter()
        .filter_map(|(health, tool)| to_key_check(health, tool))
        .collect();
    // Without news, a file among the user's settings is not rewritten.
    let Some(path) = path(ground).filter(|_| !news.is_empty()) else {
        return;
    };
    let mut checks = read(ground);
    checks.version = 1;
    checks.keys.extend(news);
    let written = serde_json::to_string_pretty(&checks)
        .map_err(|error| error.to_string())
        .and_then(|text| replace_own_file(&path, &text).map_err(|error| error.to_string()));
    if let Err(why) = written {
        tracing::debug!(%why, "the checks of keys are not remembered");
    }
}

/// Returns the last check of a provider's key. `None` if there is none, or it was of another key.
pub fn last_check(ground: &Ground, provider: &str, ending: Option<&str>) -> Option<KeyCheck> {
    let mut checks = read(ground);
    checks
        .keys
        .remove(provider)
        // Another key may have been stored since the check.
        .filter(|check| check.ending.as_deref() == ending)
}

/// Returns the check of a key. `None` if the health says nothing about it.
fn to_key_check(health: &ToolHealth, tool: &Tool) -> Option<(String, KeyCheck)> {
    let key = tool.key.as_ref()?;
    let accepted = match health.status {
        HealthStatus::Connected | HealthStatus::ModelMissing => true,
        HealthStatus::InvalidToken => false,
        // These states say nothing about the key.
        HealthStatus::NotConfigured | HealthStatus::Unreachable | HealthStatus::SchemaMismatch => {
            return None;
        }
    };
    let check = KeyCheck {
        accepted,
        at: health.checked_at.to_string(),
        endpoint: health.endpoint.as_ref()?.to_string(),
        ending: key.ending.clone(),
    };
    Some((health.provider.clone(), check))
}

fn read(ground: &Ground) -> KeyChecks {
    let text = path(ground).filter(|path| path.exists()).and_then(|path| {
        files::read_settings_file(ground.environment(), &path, LinkRule::Followed, LARGEST).ok()
    });
    let checks = text.and_then(|text| serde_json::from_str::<KeyChecks>(&text).ok());
    // A file in another form is replaced by the next check: nothing in it is lost for good.
    checks.filter(|checks| checks.version == 1).unwrap_or_default()
}

fn path(ground: &Ground) -> Option<PathBuf> {
    Some(
        ground
            .environment()
            .home_dir()?
            .join(".agentos")
            .join("key-checks.json"),
    )
}

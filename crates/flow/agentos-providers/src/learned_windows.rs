//! Windows that refusals of servers stated, remembered for each provider, address and model.
//!
//! Owns: one file in the user's state folder. Never: raises a window, fails a call, or takes part in the bound of what a call can cost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_api::WindowSource;
use agentos_engine::context_search::{ASSUMED_WINDOW, ModelWindow};
use agentos_engine::ports::WindowMemory;
use agentos_profile::Profile;
use agentos_tool::Timestamp;
use serde::{Deserialize, Serialize};

use crate::tools::Tool;
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::own_file::{read_own_text, write_own_text};
use agentos_ground::provider_kind::ProviderKind;

/// Name of the file.
const FILE: &str = "windows.json";
/// Error code of the file. No front end shows it, because nothing here fails a call.
const CODE: &str = "learned-windows";
/// Largest file, in bytes.
const LARGEST: u64 = 1 << 20;
/// Most windows that are kept.
const MOST: usize = 500;
/// Time for which a window is remembered, in seconds: the user may load the model with a longer one.
const KEPT: u64 = 7 * 24 * 3600;

/// Window of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LearnedWindow {
    tokens: u64,
    at: Timestamp,
}

/// Model whose window can be remembered.
pub struct RememberedWindow<'a> {
    /// The ground of the call, which knows the user's folders.
    pub ground: &'a Ground,
    /// Name of the provider.
    pub provider: String,
    /// Address of its server: another server under the same name has another window. `None` if the adapter's is fixed.
    pub address: Option<String>,
    /// Name of the model. `None` if the profile names none.
    pub model: Option<String>,
}

impl<'a> RememberedWindow<'a> {
    /// Names the model of a tool.
    pub fn of_tool(ground: &'a Ground, provider: &ProviderKind, tool: &Tool) -> Self {
        Self {
            ground,
            provider: provider.name().to_owned(),
            address: tool.address.clone(),
            model: tool.model.clone(),
        }
    }

    /// Names the model of a profile.
    pub fn of_profile(ground: &'a Ground, profile: &Profile) -> Self {
        Self {
            ground,
            provider: profile.provider.clone(),
            address: profile.base_url.as_ref().map(ToString::to_string),
            model: profile.model.clone(),
        }
    }

    /// Remembers the window.
    pub fn remember(&self, tokens: u64) {
        let mut windows = read_windows(self.ground);
        let at = clock::now();
        windows.insert(self.key(), LearnedWindow { tokens, at });
        while windows.len() > MOST {
            let oldest = windows.iter().min_by_key(|(_, window)| window.at.clone());
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            windows.remove(&oldest);
        }
        write_windows(self.ground, &windows);
    }

    /// Returns the window. `None` if no refusal stated one lately.
    pub fn recall(&self) -> Option<u64> {
        let window = read_windows(self.ground).remove(&self.key())?;
        let age = clock::now()
            .unix_seconds()
            .saturating_sub(window.at.unix_seconds());
        (u64::try_from(age).ok()? < KEPT).then_some(window.tokens)
    }

    fn key(&self) -> String {
        let address = self.address.as_deref().unwrap_or_default();
        let model = self.model.as_deref().unwrap_or_default();
        format!("{}{address} {model}", start_keys(&self.provider))
    }
}

impl WindowMemory for RememberedWindow<'_> {
    fn remember_window(&self, tokens: u64) {
        self.remember(tokens);
    }
}

/// Lowers the window of a profile to the one that a refusal stated: the adapter checks a request against it before it sends it.
pub(crate) fn lower_profile(mut profile: Profile, learned: Option<u64>) -> Profile {
    if let Some(tokens) = learned {
        let known = profile.capabilities.context_window.unwrap_or(tokens);
        profile.capabilities.context_window = Some(known.min(tokens));
    }
    profile
}

/// Returns the smaller window of the one that is stated and the one that a refusal stated. If none is stated, the refusal counts only
/// below the window that is assumed then.
pub(crate) fn lower_window(stated: Option<ModelWindow>, learned: Option<u64>) -> Option<ModelWindow> {
    let most = stated.map_or(ASSUMED_WINDOW, |window| window.tokens);
    let learned = learned.filter(|tokens| *tokens < most);
    let learned = learned.map(|tokens| ModelWindow {
        tokens,
        source: WindowSource::Server,
    });
    learned.or(stated)
}

/// Forgets the windows of a provider's models, which may be loaded with another one now.
pub fn forget(ground: &Ground, provider: &str) {
    let mut windows = read_windows(ground);
    let count = windows.len();
    let start = start_keys(provider);
    windows.retain(|name, _| !name.starts_with(&start));
    if windows.len() < count {
        write_windows(ground, &windows);
    }
}

/// Returns the beginning of the keys of a provider's models. A name of a provider has no space.
fn start_keys(provider: &str) -> String {
    format!("{provider} ")
}

fn file_of(ground: &Ground) -> Option<PathBuf> {
    Some(ground.environment().state_dir()?.join(FILE))
}

fn read_windows(ground: &Ground) -> BTreeMap<String, LearnedWindow> {
    let read = || {
        let text = read_own_text(ground.environment(), &file_of(ground)?, CODE, LARGEST).ok()??;
        serde_json::from_str(&text).ok()
    };
    // A call goes without a file that cannot be read.
    read().unwrap_or_default()
}

fn write_windows(ground: &Ground, windows: &BTreeMap<String, LearnedWindow>) {
    if let (Some(file), Ok(text)) = (file_of(ground), serde_json::to_string(windows)) {
        // What cannot be remembered is learned again from the next refusal.
        write_own_text(&file, &text, CODE).ok();
    }
}

#[cfg(test)]
mod tests;

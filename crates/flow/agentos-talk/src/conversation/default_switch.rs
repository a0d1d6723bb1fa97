//! A session that follows the user's default to another provider.
//!
//! Owns: when the change is reported, and when a person must agree first. Never: asks; a front end does.

use agentos_api::Notice;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_tool::ExecutionMode;

use super::Conversation;
use agentos_calls::pools;
use agentos_ground::Ground;
use agentos_ground::options::{ChoiceOrigin, ProviderChoice, ProviderOverrides};
use agentos_providers::known_tools::read_tools;
use agentos_providers::tools::Tools;

/// Change of the provider of a session in which no provider was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultSwitch {
    /// Provider that answered last.
    pub from: String,
    /// Provider that is asked now.
    pub to: String,
    /// True if the session was answered on this machine, and would be sent to a cloud now.
    pub is_to_cloud: bool,
}

impl Conversation {
    /// Returns the change of the provider that the user's default makes. `None` if the call or the session names the provider, or the
    /// provider is the one that answered last.
    ///
    /// # Errors
    /// If the profiles cannot be read.
    pub fn find_default_switch(&self, choice: &ProviderChoice) -> Result<Option<DefaultSwitch>, EffectError> {
        if choice.origin == ChoiceOrigin::Named {
            return Ok(None);
        }
        // A summary stands for the messages before it, and is sent in their place.
        let sent = self
            .state
            .messages()
            .iter()
            .rev()
            .filter(|message| !message.is_cleared);
        let last = sent
            .filter_map(|message| message.reference.author.as_ref())
            .next();
        let Some(from) = last.map(|author| author.provider.clone()) else {
            return Ok(None);
        };
        let tools = read_tools(&self.ground)?;
        let to = choice.provider.name().to_owned();
        let members = list_members(&self.ground, &tools, &to)?;
        if members.contains(&from) {
            return Ok(None);
        }
        // What is not known counts against the switch: the earlier provider as local, the next one as a cloud.
        let was_local = find_mode(&self.ground, &tools, &from) != Some(ExecutionMode::Cloud);
        let is_cloud = |name: &String| find_mode(&self.ground, &tools, name) != Some(ExecutionMode::Local);
        Ok(Some(DefaultSwitch {
            is_to_cloud: was_local && members.iter().any(is_cloud),
            from,
            to,
        }))
    }

    /// Reports that the session follows a changed default.
    ///
    /// # Errors
    /// If the session would leave this machine for a cloud and no person agreed.
    pub(super) fn follow_default(&self, choice: &ProviderChoice) -> Result<(), EffectError> {
        let Some(switch) = self.find_default_switch(choice)? else {
            return Ok(());
        };
        let DefaultSwitch { from, to, .. } = &switch;
        if switch.is_to_cloud && choice.origin != ChoiceOrigin::Agreed {
            let message = format!(
                "your default is `{to}` now, in a cloud, and this session was answered by `{from}` on this machine"
            );
            return Err(
                EffectError::new(Cause::Usage, "default-changed", message).hint(format!(
                    "name the provider: `-p {to}` sends the session there, `-p {from}` keeps it here"
                )),
            );
        }
        let message = format!("your default is `{to}` now: it answers, and not `{from}`");
        self.ground.notify(Notice::new("default-changed", message));
        Ok(())
    }
}

/// Returns the providers of a pool's members, or the provider itself.
fn list_members(ground: &Ground, tools: &Tools, name: &str) -> Result<Vec<String>, EffectError> {
    let members = pools::list_providers(ground, tools, name)?;
    Ok(match members {
        Some(kinds) => kinds.iter().map(|kind| kind.name().to_owned()).collect(),
        None => vec![name.to_owned()],
    })
}

/// Returns where a provider computes. `None` if there is no such profile any more.
fn find_mode(ground: &Ground, tools: &Tools, name: &str) -> Option<ExecutionMode> {
    let resolved = tools.resolve_profile(ground, name, &ProviderOverrides::default());
    resolved.ok().map(|resolved| resolved.profile.execution_mode())
}

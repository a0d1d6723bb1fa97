//! The tools that a turn of a conversation offers: those of the repository, and those of toolboxes.
//!
//! Owns: how long each of them lasts. Never: offers a toolbox that the session does not name.

use agentos_engine::ports::EffectError;
use std::sync::Arc;

use super::Conversation;
use agentos_calls::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use agentos_calls::toolbox_session::{OpenToolboxes, SessionTools, ToolboxStates};
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_providers::Providers;
use agentos_runs::proposal_run::ConsentedProposals;
use agentos_runs::run::ConsentMode;

impl Conversation {
    /// Chooses the toolboxes whose tools models are offered from now on.
    ///
    /// # Errors
    /// If the user does not trust one that the session did not name before, or the ledger cannot be written.
    pub fn set_toolboxes(&mut self, names: &[String]) -> Result<(), EffectError> {
        let mut names = names.to_vec();
        // In one order, so that the same choice is the same list of tools and a provider's cache stays valid.
        names.sort();
        names.dedup();
        let mut settings = self.state.settings().clone();
        let added = names.iter().filter(|name| !settings.toolboxes.contains(name));
        // Not the others: one that is trusted no more is left out of turns, and must not keep the user from the rest.
        Providers::of(&self.ground).require_trusted(&added.cloned().collect::<Vec<_>>())?;
        settings.toolboxes = names;
        self.change_settings(settings)
    }

    /// Returns the tools of a turn.
    pub(super) async fn offer_tools(&mut self, author: &ModelFacts) -> Result<SessionTools, EffectError> {
        let toolboxes = self.open_toolboxes().await;
        let receivers = toolboxes.list_receivers();
        self.require_readable_history(author, &receivers)?;
        Ok(SessionTools {
            repository: self.open_tools(author, receivers),
            toolboxes,
        })
    }

    /// Returns the tools that read the session's repository. `None` if the session reads none. They last as long as the model stays: they count what it was sent.
    fn open_tools(&mut self, author: &ModelFacts, receivers: Vec<ModelFacts>) -> Option<RepositoryTools> {
        self.state.settings().repository.as_ref()?;
        if let Some((known, tools)) = &self.repository_tools
            && known == author
            && tools.receivers() == receivers
        {
            return Some(tools.clone());
        }
        let spec = RepositoryToolsSpec {
            session: SessionOptions::default(),
            author: author.clone(),
            receivers,
            // In a conversation a person says when a change lands.
            proposals: Some(Arc::new(ConsentedProposals(ConsentMode::Later))),
            conversation: self.key().to_string(),
        };
        let tools = RepositoryTools::new(&self.ground, spec);
        self.repository_tools = Some((author.clone(), tools.clone()));
        Some(tools)
    }

    /// Returns the toolboxes of a turn. They stay open as long as the session names the same ones, the user trusts them, and their
    /// files are the same.
    async fn open_toolboxes(&mut self) -> OpenToolboxes {
        let names = self.state.settings().toolboxes.clone();
        let now = ToolboxStates::read(&self.ground, &names);
        let known = self.toolboxes.take();
        let known = known.filter(|(known, toolboxes)| *known == now && !toolboxes.have_changed());
        let toolboxes = match known {
            Some((_, toolboxes)) => toolboxes,
            None => {
                self.is_network_reported = false;
                OpenToolboxes::open(&self.ground, &names).await
            }
        };
        // Either may be chosen first: the toolbox, or the right to read the repository.
        let reads = self.state.settings().repository.is_some();
        if reads && !self.is_network_reported {
            toolboxes.warn_of_network(&self.ground);
        }
        self.is_network_reported = reads;
        self.toolboxes = Some((now, toolboxes.clone()));
        toolboxes
    }
}

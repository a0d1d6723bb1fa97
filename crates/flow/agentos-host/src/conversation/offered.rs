//! The tools that a turn of a conversation offers: those of the repository, and those of toolboxes.
//!
//! Owns: how long each of them lasts. Never: offers a toolbox that the session does not name.

use agentos_engine::ports::EffectError;

use super::{Conversation, ToolChoice};
use crate::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use crate::options::SessionOptions;
use crate::proposals::ModelFacts;
use crate::run::ConsentMode;
use crate::toolboxes::session::{OpenToolboxes, SessionTools};

impl Conversation {
    /// Chooses the toolboxes whose tools models are offered from now on.
    ///
    /// # Errors
    /// If the user does not trust one of them, or the ledger cannot be written.
    pub fn set_toolboxes(&mut self, names: &[String]) -> Result<(), EffectError> {
        let mut names = names.to_vec();
        // In one order, so that the same choice is the same list of tools and a provider's cache stays valid.
        names.sort();
        names.dedup();
        self.host.require_trusted(&names)?;
        let mut settings = self.state.settings().clone();
        settings.toolboxes = names;
        self.change_settings(settings)
    }

    /// Returns the tools of a turn.
    pub(super) async fn offer_tools(
        &mut self,
        choice: ToolChoice,
        author: &ModelFacts,
    ) -> Result<SessionTools, EffectError> {
        let toolboxes = self.open_toolboxes().await?;
        let receivers = toolboxes.list_receivers();
        self.require_readable_history(author, &receivers)?;
        Ok(SessionTools {
            repository: self.open_tools(choice, author, receivers),
            toolboxes,
        })
    }

    /// Returns the tools of a turn. Those of the repository last as long as the model stays: they count what it was sent.
    fn open_tools(
        &mut self,
        choice: ToolChoice,
        author: &ModelFacts,
        receivers: Vec<ModelFacts>,
    ) -> Option<RepositoryTools> {
        match choice {
            ToolChoice::Nothing => return None,
            ToolChoice::Repository => {}
        }
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
            consent: ConsentMode::Later,
            conversation: self.key().to_string(),
        };
        let tools = RepositoryTools::new(self.host.clone(), spec);
        self.repository_tools = Some((author.clone(), tools.clone()));
        Some(tools)
    }

    /// Returns the toolboxes of a turn. Their processes last as long as the session names the same ones.
    async fn open_toolboxes(&mut self) -> Result<OpenToolboxes, EffectError> {
        let names = &self.state.settings().toolboxes;
        if let Some((known, toolboxes)) = &self.toolboxes
            && known == names
        {
            return Ok(toolboxes.clone());
        }
        let names = names.clone();
        let toolboxes = OpenToolboxes::open(&self.host, &names).await?;
        if self.state.settings().repository.is_some() {
            toolboxes.warn_of_network(&self.host);
        }
        self.toolboxes = Some((names, toolboxes.clone()));
        Ok(toolboxes)
    }
}

//! A change that a model proposes in a conversation.
//!
//! Owns: what is known about its author, for policy and the commit. Never: shows the model anything, or waits for a person.

use agentos_engine::ports::Clock as _;
use agentos_engine::settle;
use agentos_ledger::Reader;
use agentos_policy::ToolFacts;
use agentos_profile::Profile;
use agentos_tool::ExecutionMode;

use crate::clock::SystemClock;

/// A change that a model proposes.
#[derive(Debug, Clone)]
pub struct ProposalSpec {
    /// The answer with the edits, as the model wrote it.
    pub answer: Vec<u8>,
    /// The commit message. `None` if the names of the changed files are to be the subject.
    pub message: Option<String>,
    /// Description of the conversation for the record, such as its name.
    pub instruction: String,
    /// The model.
    pub author: ModelFacts,
}

/// A model, as far as policy judges by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Name of the provider.
    pub provider: String,
    /// The model. `None` if it is not known.
    pub model: Option<String>,
    /// Place where it works.
    pub execution_mode: ExecutionMode,
    /// Adapter that sends it texts, such as `openai`.
    pub adapter: String,
    /// Address to which its texts are sent. `None` if it is not known.
    pub address: Option<String>,
}

/// Returns the facts for policy about an answer that a person brought: no model, on this machine.
pub fn patch_facts() -> ToolFacts {
    settle::patch_facts(SystemClock.now())
}

impl ModelFacts {
    /// Returns the facts about the model of a profile.
    pub fn of_profile(profile: &Profile) -> Self {
        Self {
            provider: profile.provider.clone(),
            model: profile.model.clone(),
            execution_mode: profile.execution_mode(),
            adapter: profile.adapter.as_str().to_owned(),
            address: profile.base_url.as_ref().map(ToString::to_string),
        }
    }

    /// Returns the model as a reader of texts.
    pub fn to_reader(&self) -> Reader {
        Reader {
            provider: self.provider.clone(),
            model: self.model.clone(),
            execution_mode: self.execution_mode,
            adapter: self.adapter.clone(),
            address: self.address.clone(),
        }
    }

    /// Returns the facts for policy, before anything is sent.
    pub fn tool_facts(&self) -> ToolFacts {
        ToolFacts {
            provider: self.provider.clone(),
            model: self.model.clone(),
            execution_mode: self.execution_mode,
            at: SystemClock.now(),
            // A replay knows the author from the first record of the run alone, which has neither the bytes of the conversation nor
            // the confinement of the adapter. So the decision is made without them as well: with the weaker enforcement.
            ..patch_facts()
        }
    }
}

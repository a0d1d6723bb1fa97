//! Earlier turns of a session, when another model is asked or a program with a network is called.
//!
//! Owns: refusing a turn that would send them files which policy keeps from them. Never: leaves messages out in silence: a model that
//! misses half of a conversation answers wrongly.
//!
//! A local model may read files that a cloud model may not. Its answers and the results of its tools quote them, and are part of the
//! session. So the whole session is judged before it is sent to somebody who has not seen it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agentos_api::Cause;
use agentos_chat::{TranscriptStore as _, read_message};
use agentos_engine::ports::EffectError;
use agentos_model::MessagePart;
use agentos_tool::ExecutionMode;

use super::transcript::LedgerTranscript;
use super::{Conversation, word_store};
use crate::chat_tools::RepositoryTools;
use crate::chat_tools::earlier_reads::find_unshared_file;
use crate::health::read_tools;
use crate::proposals::ModelFacts;

impl Conversation {
    /// Checks that a model, and everybody whom it can send text to, may read what the session has read.
    ///
    /// # Errors
    /// If policy keeps a file from one of them, or the repository cannot be read.
    pub(super) fn require_readable_history(
        &self,
        model: &ModelFacts,
        receivers: &[ModelFacts],
    ) -> Result<(), EffectError> {
        let earlier = self.list_authors();
        let knows_all = |known: &ModelFacts| {
            known.provider == model.provider && (model.model.is_none() || known.model == model.model)
        };
        if receivers.is_empty() && earlier.iter().all(knows_all) {
            return Ok(());
        }
        let results = self.load_results()?;
        if results.is_empty() {
            return Ok(());
        }
        let readers: Vec<ModelFacts> = std::iter::once(model).chain(receivers).cloned().collect();
        let folder = self.find_folder()?;
        let found = find_unshared_file(&self.host, &folder, (&earlier, &readers), &results)?;
        let Some((file, reader)) = found else {
            return Ok(());
        };
        let message =
            format!("the session read `{file}`, and policy withholds it from `{reader}`; nothing was sent");
        Err(EffectError::new(Cause::Policy, "history-withheld", message))
    }

    /// Lists the models that wrote messages of the session, as policy judges by them.
    fn list_authors(&self) -> Vec<ModelFacts> {
        let messages = self.state.messages().iter().filter(|message| !message.is_cleared);
        let authors = messages.filter_map(|message| message.reference.author.as_ref());
        let names: BTreeSet<_> = authors.map(|author| (&author.provider, &author.model)).collect();
        let tools = read_tools(&self.host).ok();
        let place = |provider: &str| {
            let resolved = tools.as_ref()?.resolve_profile(
                &self.host,
                provider,
                &crate::options::ProviderOverrides::default(),
            );
            Some(resolved.ok()?.profile.execution_mode())
        };
        let facts = names.into_iter().map(|(provider, model)| ModelFacts {
            provider: provider.clone(),
            model: model.clone(),
            // A provider that is gone may have been on this machine, where most may be read.
            execution_mode: place(provider).unwrap_or(ExecutionMode::Local),
        });
        facts.collect()
    }

    /// Loads what the tools of the repository returned in this session. Empty if none was called.
    fn load_results(&self) -> Result<Vec<String>, EffectError> {
        let store = LedgerTranscript::new(&self.ledger);
        let names = RepositoryTools::list_names();
        let (mut calls, mut results) = (BTreeSet::new(), Vec::new());
        // Those that a summary replaces too: it can quote them.
        for message in self.state.messages().iter().filter(|message| !message.is_cleared) {
            let sha256 = &message.reference.message_sha256;
            let text = store.load_text(sha256).map_err(word_store)?;
            for part in read_message(&text, sha256).map_err(word_store)?.parts {
                match part {
                    MessagePart::ToolCall(call) if names.contains(&call.name) => {
                        results.push(call.arguments.to_string());
                        calls.insert(call.id);
                    }
                    MessagePart::ToolResult(result) if calls.contains(&result.tool_use_id) => {
                        results.push(result.text);
                    }
                    MessagePart::ToolCall(_)
                    | MessagePart::ToolResult(_)
                    | MessagePart::Text(_)
                    | MessagePart::Image(_)
                    | MessagePart::Thinking(_) => {}
                }
            }
        }
        Ok(results)
    }

    /// Finds the repository that the session reads, or that of the host if the session reads none now.
    fn find_folder(&self) -> Result<PathBuf, EffectError> {
        if let Some(folder) = &self.state.settings().repository {
            return Ok(PathBuf::from(folder));
        }
        let repo = crate::repository::open(&self.host)?;
        Ok(repo.work_dir().unwrap_or_else(|| repo.common_dir()).to_path_buf())
    }
}

//! The tools of the members that a pool chose for a run.
//!
//! Owns: making a member's tool only when it is asked. Never: asks a tool; the engine does.

use std::cell::{Cell, OnceCell};

use agentos_api::Notice;
use agentos_engine::ports::{EffectError, FoundSuccessor, SuccessorTool, ToolSuccession};
use agentos_pool::MOST_HOPS;
use agentos_tool::ToolError;

use crate::task_tool::make_server;
use agentos_calls::model_memory::{FirstLook, await_first_request};
use agentos_calls::pools::{HandOver, PinnedMember, RunPool};
use agentos_ground::Ground;
use agentos_ground::options::ProviderChoice;
use agentos_ground::task_spec::TaskSpec;
use agentos_providers::edit_format::choose_format;
use agentos_providers::known_tools::read_tools;
use agentos_providers::programs::{self, ToolUse};
use agentos_providers::session::SessionFolders;
use agentos_providers::tools::Tool;

/// Answers in a row that did not land, after which another member continues the task.
const MOST_REFUSALS: u32 = 2;

/// Members of a run's pool as the engine asks for them.
pub(crate) struct RunSuccession<'a> {
    ground: &'a Ground,
    folders: SessionFolders<'a>,
    spec: &'a TaskSpec,
    pool: &'a RunPool,
    /// Tools that were made, one for each hop. The engine borrows them until the run ends, so none moves.
    tools: [OnceCell<(Tool, FirstLook)>; MOST_HOPS],
    made: Cell<usize>,
}

impl<'a> RunSuccession<'a> {
    /// Makes the order of the members after the first one. Makes no tool yet.
    pub fn new(
        ground: &'a Ground,
        folders: SessionFolders<'a>,
        spec: &'a TaskSpec,
        pool: &'a RunPool,
    ) -> Self {
        Self {
            ground,
            folders,
            spec,
            pool,
            tools: Default::default(),
            made: Cell::new(0),
        }
    }

    /// Makes the tool of a member.
    ///
    /// # Errors
    /// As for the tool of a provider that the user names.
    fn make_tool(&self, provider: &ProviderChoice) -> Result<Tool, EffectError> {
        let tools = read_tools(self.ground)?;
        let name = provider.provider.name();
        let resolved = tools.resolve_profile(self.ground, name, &provider.overrides)?;
        let tool = make_server(self.ground, &self.folders, self.spec, &resolved, ToolUse::Run)?;
        programs::require_confined(&tool, &self.spec.program)?;
        Ok(tool)
    }

    /// Makes the tool of this member, or of the next member whose tool can be made. `None` if no member is left.
    async fn prepare(&self, pinned: PinnedMember) -> Option<SuccessorTool<'_>> {
        let mut pinned = pinned;
        let tool = loop {
            match self.make_tool(&pinned.provider) {
                Ok(tool) => break tool,
                Err(error) => {
                    // If no other member is left, the run ends with the failure before, which does not say this.
                    let message = format!("`{}` cannot be asked: {}", pinned.alias, error.message);
                    self.ground.notify(Notice::new("pool-failover", message));
                    let code = &error.code;
                    pinned = self
                        .pool
                        .choose_instead(self.ground, &pinned, code, HandOver::NoTool)?;
                }
            }
        };
        self.pool.push_chosen(pinned);
        for notice in &tool.notices {
            self.ground.notify(notice.clone());
        }
        let look = await_first_request(self.ground, &tool).await;
        let place = self
            .tools
            .get(self.made.replace(self.made.get().saturating_add(1)))?;
        let (tool, _) = place.get_or_init(|| (tool, look));
        self.ground.observer().on_model(tool.model.as_deref());
        Some(SuccessorTool {
            adapter: tool.adapter.as_ref(),
            model: tool.model.clone(),
            price: tool.price.clone(),
            // A format that the user names and this member cannot give is no reason to end the run here.
            edit_format: choose_format(self.spec.provider.edit_format, tool).unwrap_or(tool.edit_format),
            has_tools: tool.has_tools,
            timeout_seconds: tool.timeout_seconds,
        })
    }
}

impl ToolSuccession for RunSuccession<'_> {
    fn find_next(&self, failure: &ToolError) -> FoundSuccessor<'_> {
        let code = failure.detail.clone();
        Box::pin(async move {
            let next = self.pool.choose_after(self.ground, &code, HandOver::FailedCall)?;
            self.prepare(next).await
        })
    }

    fn find_abler(&self, refusals: u32, code: &str) -> FoundSuccessor<'_> {
        let code = code.to_owned();
        Box::pin(async move {
            // The report about the first refusal often helps: the same member begins with what it knows.
            if refusals < MOST_REFUSALS {
                return None;
            }
            let next = self
                .pool
                .choose_after(self.ground, &code, HandOver::RefusedAnswers)?;
            self.prepare(next).await
        })
    }

    fn take_back(&self) {
        let Some(refused) = self.pool.take_back() else {
            return;
        };
        let before = self.pool.provider().and_then(|provider| provider.overrides.model);
        self.ground.observer().on_model(before.as_deref());
        let message = format!("policy does not let `{}` be asked", refused.alias);
        self.ground.notify(Notice::new("pool-failover", message));
    }
}

//! A run that a pool answers: the members that were chosen for it, and the tool of each.
//!
//! Owns: making a member's tool only when it is asked. Never: asks a tool; the engine does.

use std::cell::{Cell, OnceCell, RefCell};

use agentos_api::Notice;
use agentos_engine::ports::{EffectError, FoundSuccessor, SuccessorTool, ToolSuccession};
use agentos_pool::MOST_HOPS;
use agentos_tool::ToolError;
use serde_json::Value;

use super::{PinnedMember, PoolQuery, PoolTurn};
use crate::edit_format::choose_format;
use crate::host::Host;
use crate::known_tools::read_tools;
use crate::model_memory::{FirstLook, await_first_request};
use crate::options::ProviderChoice;
use crate::programs::{self, ToolUse};
use crate::session::SessionFolders;
use crate::task_spec::TaskSpec;
use crate::task_tool::make_server;
use crate::tools::Tool;

/// Answers in a row that did not land, after which another member goes on with the task.
const MOST_REFUSALS: u32 = 2;

/// Pool of a run, with the choices so far.
pub(crate) struct RunPool {
    turn: RefCell<PoolTurn>,
    /// Members that were chosen. The last one is asked now.
    chosen: RefCell<Vec<PinnedMember>>,
}

impl RunPool {
    /// Chooses the first member. `None` if the user named no pool.
    ///
    /// # Errors
    /// Those of [`PoolTurn::begin`] and [`PoolTurn::choose_next`].
    pub fn begin(
        host: &Host,
        provider: &ProviderChoice,
        query: PoolQuery,
    ) -> Result<Option<Self>, EffectError> {
        let Some(mut turn) = PoolTurn::begin(host, provider, query)? else {
            return Ok(None);
        };
        let first = turn.choose_next(host)?;
        Ok(Some(Self {
            turn: RefCell::new(turn),
            chosen: RefCell::new(first.into_iter().collect()),
        }))
    }

    /// Returns the name of the pool that the user named.
    pub fn name(&self) -> String {
        self.turn.borrow().name()
    }

    /// Returns the provider of the member that is asked now. `None` if the pool has no member.
    pub fn provider(&self) -> Option<ProviderChoice> {
        let chosen = self.chosen.borrow();
        chosen.last().map(|pinned| pinned.provider.clone())
    }

    /// Lists the records of the choices, in their order.
    pub fn list_choices(&self) -> Vec<Value> {
        let chosen = self.chosen.borrow();
        chosen.iter().map(|pinned| pinned.record.clone()).collect()
    }

    /// Remembers that the last member gave a whole answer.
    pub fn remember_answer(&self, host: &Host) {
        if let Some(last) = self.chosen.borrow().last() {
            self.turn.borrow().remember_answer(host, last);
        }
    }

    /// Chooses the member that goes on after answers of the last one that did not land. `None` if the last one tries again.
    fn choose_abler(&self, host: &Host, code: &str) -> Option<PinnedMember> {
        let last = self.chosen.borrow().last().cloned()?;
        let mut turn = self.turn.borrow_mut();
        match turn.passes_task_on(host, &last, code) {
            true => turn.choose_next(host).ok()?,
            false => None,
        }
    }

    /// Chooses the member that is asked after this failure. `None` if the failure is the end.
    fn choose_after(&self, host: &Host, code: &str) -> Option<PinnedMember> {
        let last = self.chosen.borrow().last().cloned()?;
        let mut turn = self.turn.borrow_mut();
        match turn.passes_call_on(host, &last, code) {
            true => turn.choose_next(host).ok()?,
            false => None,
        }
    }
}

/// Members of a run's pool as the engine asks for them.
pub(crate) struct RunSuccession<'a> {
    host: &'a Host,
    folders: SessionFolders<'a>,
    spec: &'a TaskSpec,
    pool: &'a RunPool,
    /// Tools that were made, one for each hop. The engine borrows them until the run ends, so none moves.
    tools: [OnceCell<(Tool, FirstLook)>; MOST_HOPS],
    made: Cell<usize>,
}

impl<'a> RunSuccession<'a> {
    /// Makes the order of the members after the first one. Makes no tool yet.
    pub fn new(host: &'a Host, folders: SessionFolders<'a>, spec: &'a TaskSpec, pool: &'a RunPool) -> Self {
        Self {
            host,
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
        let tools = read_tools(self.host)?;
        let name = provider.provider.name();
        let resolved = tools.resolve_profile(self.host, name, &provider.overrides)?;
        let tool = make_server(self.host, &self.folders, self.spec, &resolved, ToolUse::Run)?;
        programs::require_confined(&tool, &self.spec.program)?;
        Ok(tool)
    }

    async fn prepare(&self, pinned: PinnedMember) -> Option<SuccessorTool<'_>> {
        let tool = match self.make_tool(&pinned.provider) {
            Ok(tool) => tool,
            Err(error) => {
                // The failure of the call stays the end of the run; without this, nobody would know why nobody else was asked.
                let message = format!("`{}` cannot be asked: {}", pinned.alias, error.message);
                self.host.notify(Notice::new("pool-failover", message));
                return None;
            }
        };
        self.pool.chosen.borrow_mut().push(pinned);
        for notice in &tool.notices {
            self.host.notify(notice.clone());
        }
        let look = await_first_request(self.host, &tool).await;
        let place = self
            .tools
            .get(self.made.replace(self.made.get().saturating_add(1)))?;
        let (tool, _) = place.get_or_init(|| (tool, look));
        self.host.observer().on_model(tool.model.as_deref());
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
            let next = self.pool.choose_after(self.host, &code)?;
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
            let next = self.pool.choose_abler(self.host, &code)?;
            self.prepare(next).await
        })
    }
}

//! What a task's tool would be sent, before it is sent.
//!
//! Owns: the report about the files of a task, and its prompt. Never: sends a task, or records anything.

use agentos_api::{ContextReport, NextStep, RunOption};
use agentos_engine::history::EarlierTurn;
use agentos_engine::ports::EffectError;
use agentos_engine::run::{TaskRequest, preview_task};
use agentos_tool::{RunId, prompt};

use crate::Runs;
use crate::context_choice::{ChosenFiles, ContextOrder, choose_files, names_no_file, refuse_program};
use crate::following::{earlier_files, follow_run};
use crate::hooks::open_session;
use crate::tasks::{make_request, prepare_tool};
use agentos_ground::clock::{self, SystemClock};
use agentos_ground::control::StopFlag;
use agentos_ground::error::usage_error;
use agentos_ground::options::SessionOptions;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::runtime;
use agentos_ground::task_spec::TaskSpec;
use agentos_providers::approver::Approver;
use agentos_providers::programs::ToolUse;
use agentos_providers::session::Session;
use agentos_providers::tools::Tool;

/// A task that is ready to be sent.
struct TaskPreview<'a> {
    session: &'a Session,
    run: &'a RunId,
    spec: &'a TaskSpec,
    tool: &'a Tool,
    task: &'a str,
    history: &'a [EarlierTurn],
    chosen: ChosenFiles,
}

impl Runs<'_> {
    /// Chooses the files that a task's tool would be shown. Sends no task; a local server may be queried for its context window.
    ///
    /// # Errors
    /// If the provider or the repository cannot be used, or the provider is a program, which sees a copy of all files.
    pub fn find_context(self, spec: &TaskSpec) -> Result<ContextReport, EffectError> {
        self.preview_task(spec, |preview| Ok(preview.chosen.report.unwrap_or_default()))
    }

    /// Returns the prompt that the tool of a task would be sent, word for word: the system message, an empty line, and the user's
    /// message. It is the text that [`RunText::Prompt`](agentos_stories::run_story::RunText::Prompt) returns after the run. Sends no task.
    ///
    /// # Errors
    /// As [`Runs::find_context`], and if the provider is sent no prompt: a recording, or a program that reads the task as JSON.
    pub fn preview_prompt(self, spec: &TaskSpec) -> Result<String, EffectError> {
        if matches!(
            spec.provider.provider,
            ProviderKind::Replay | ProviderKind::ToolProgram
        ) {
            let option = RunOption::Context;
            return Err(
                usage_error("this provider is sent no prompt").suggest_steps([NextStep::LeaveOut { option }])
            );
        }
        self.preview_task(spec, |preview| preview.word_prompt())
    }

    fn preview_task<T>(
        self,
        spec: &TaskSpec,
        make: impl FnOnce(TaskPreview<'_>) -> Result<T, EffectError>,
    ) -> Result<T, EffectError> {
        let options = SessionOptions::writing_nothing();
        let run = clock::new_run();
        let session = open_session(
            self.ground,
            &options,
            Approver::nobody(),
            StopFlag::default(),
            &run,
        )?;
        let (tool, task) = prepare_tool(self.ground, &session, spec, ToolUse::Preview)?;
        refuse_program(&tool)?;
        let followed = follow_run(&session, &run, spec)?;
        let history = followed.as_ref().map_or(&[][..], |(_, history)| history);
        let order = ContextOrder {
            task: &task,
            earlier: &match names_no_file(spec) {
                true => earlier_files(&session, spec, history)?,
                false => Vec::new(),
            },
            history,
            look: None,
        };
        let chosen = runtime::block_on(choose_files(self.ground, &session, spec, &tool, &order))??;
        make(TaskPreview {
            session: &session,
            run: &run,
            spec,
            tool: &tool,
            task: &task,
            history,
            chosen,
        })
    }
}

impl TaskPreview<'_> {
    fn word_prompt(self) -> Result<String, EffectError> {
        let request = TaskRequest {
            history: self.history,
            remark: self
                .spec
                .follows
                .as_ref()
                .and_then(|follow| follow.remark.as_deref()),
            outline: &self.chosen.outline,
            ..make_request(self.run, self.spec, self.tool, self.task, &self.chosen.files)?
        };
        let task = preview_task(self.session.port(), &SystemClock, &request)?;
        Ok(prompt::system_and_user(&task))
    }
}

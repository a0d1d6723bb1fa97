//! Budget of a task's context: the tokens of the prompt without files, and the report about the division.
//!
//! Owns: both. Never: chooses a file, or asks for the size of a window.

use agentos_api::{ContextBudgetReport, WindowSource};
use agentos_context::{WindowBudget, estimate_tokens};
use agentos_tool::{RunId, TaskLimits, Timestamp, ToolTask, prompt};

use crate::context_search::ContextQuery;

/// Tokens of the marks with which a server separates the messages of a chat.
const TEMPLATE: u64 = 64;

/// Estimates the tokens of the prompt without files: the instructions, the task, and the earlier tasks and answers.
pub(crate) fn count_prompt(query: &ContextQuery<'_>) -> u64 {
    let task = ToolTask {
        task_id: RunId::new(&Timestamp::from_unix_seconds(0), 1),
        instruction: query.task.to_owned(),
        context: Vec::new(),
        outline: Vec::new(),
        edit_format: query.edit_format,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds: 0,
            max_output_tokens: None,
            loaded_context: None,
        },
        attempt: 1,
        feedback: None,
        history: query.history.iter().map(|turn| turn.past.clone()).collect(),
        remark: query.remark.map(str::to_owned),
        has_tools: false,
    };
    estimate_tokens(&prompt::system(&task)) + estimate_tokens(&prompt::user(&task)) + TEMPLATE
}

/// Reports a division of a window, with the tokens of the files and of the outlines.
pub(crate) fn report_budget(
    division: &WindowBudget,
    source: WindowSource,
    query: &ContextQuery<'_>,
    (used, outline): (u64, u64),
) -> ContextBudgetReport {
    ContextBudgetReport {
        window: division.window,
        source,
        prompt: division.prompt,
        context: division.context,
        used,
        outline,
        answer: division.answer,
        answer_limit: query.max_output_tokens,
        reserve: division.reserve,
    }
}

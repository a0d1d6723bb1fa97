//! Tasks and answers: preparing the tool, the files and the limits, and handing them to the engine.
//!
//! Owns: which tool, which files and which limits a task gets, and the commit message. Never: chooses a model or a provider, or
//! looks inside an answer.

use std::path::Path;

use agentos_api::{Activity, NextStep};
use agentos_engine::Outcome;
use agentos_engine::context::RequestedFile;
use agentos_engine::ports::{CancelSignal, Check, EffectError, Repository as _, ToolSuccession};
use agentos_engine::run::{self as flow, TaskRequest};
use agentos_engine::settle::{self, Proposal};
use agentos_tool::{RunId, TaskLimits};

use crate::check::Checker;
use crate::context_choice::{
    ChosenFiles, ContextOrder, choose_files, find_all_named, has_window, names_no_file,
};
use crate::following::{earlier_files, follow_run};
use crate::pool_succession::RunSuccession;
use crate::recorded_options::record_options;
use crate::task_tool::make_tool;
use agentos_calls::model_memory::look_at_server;
use agentos_calls::pools::RunPool;
use agentos_ground::Ground;
use agentos_ground::answer_spec::AnswerSpec;
use agentos_ground::events::{EventSender, RunEvent};
use agentos_ground::keys;
use agentos_ground::options::{BaseRule, CheckOptions};
use agentos_ground::proposals::patch_facts;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::run_end::{RunEnd, RunOutcome};
use agentos_ground::task_spec::TaskSpec;
use agentos_providers::edit_format::choose_format;
use agentos_providers::learned_windows::RememberedWindow;
use agentos_providers::programs;
use agentos_providers::programs::ToolUse;
use agentos_providers::session::Session;
use agentos_providers::tools::Tool;

/// Takes a task to a commit, or to one clear reason why not.
///
/// # Errors
/// If the run cannot begin: the provider, a file or the sandbox is not there.
pub(crate) async fn run_task(
    ground: &Ground,
    session: &mut Session,
    run: &RunId,
    spec: &TaskSpec,
    pool: Option<&RunPool>,
    events: &EventSender,
    cancel: &mut CancelSignal<'_>,
) -> Result<RunEnd, EffectError> {
    let (tool, task) = prepare_tool(ground, session, spec, ToolUse::Run)?;
    let checker = Checker::prepare_check(
        ground,
        spec.check.as_ref(),
        &spec.program,
        &tool,
        session,
        run.as_str(),
    )?;
    // A target that cannot be resolved ends the run below, on the record.
    if let (Some(checker), Ok(target)) = (&checker, session.port().target())
        && !must_base_pass(spec)
    {
        checker.announce_red_base(&target.base_commit);
    }
    let followed = follow_run(session, run, spec)?;
    let history = followed
        .as_ref()
        .map(|(_, history)| history.as_slice())
        .unwrap_or_default();
    // The files of the earlier run are those that the next task is about, unless the caller wants others.
    let earlier = match names_no_file(spec) && !tool.in_copy {
        true => earlier_files(session, spec, history)?,
        false => Vec::new(),
    };
    // Until the end of the run: other programs wait with their first requests only as long as the model is not loaded.
    let look = look_at_server(ground, &tool, cancel).await;
    let order = ContextOrder {
        task: &task,
        earlier: &earlier,
        history,
        look: Some(&look),
    };
    if has_window(spec, &tool) {
        events.send_event(RunEvent::Began(Activity::SearchingContext));
    }
    let ChosenFiles {
        files,
        outline,
        loaded,
        report,
        differs,
        search,
    } = choose_files(ground, session, spec, &tool, &order).await?;
    if let Some(report) = report.clone().filter(|_| differs) {
        events.send_event(RunEvent::ContextFound(report.into()));
    }
    let query = search
        .as_ref()
        .map(|search| search.make_query(spec, &tool, &order));
    let windows = RememberedWindow::of_tool(ground, &spec.provider.provider, &tool);
    let message = spec.message.clone().unwrap_or_else(|| commit_message(&task));
    let options = record_options(ground, session, spec, pool.map(RunPool::name));
    let (mut effects, folders) = session.split_run();
    let successors = pool.map(|pool| RunSuccession::new(ground, folders, spec, pool));
    let mut request = TaskRequest {
        successors: successors
            .as_ref()
            .map(|successors| successors as &dyn ToolSuccession),
        history,
        remark: spec.follows.as_ref().and_then(|follow| follow.remark.as_deref()),
        follows: followed.as_ref().map(|(earlier, _)| earlier),
        options: Some(&options),
        partial: spec.partial,
        // 0 is the default of the type, and means that the caller has not decided.
        attempts: spec.attempts.max(1),
        answers_once: answers_once(spec),
        check: checker.as_ref().map(|checker| checker as &dyn Check),
        base_must_pass: must_base_pass(spec),
        outline: &outline,
        choice: report.as_ref(),
        search: query.as_ref(),
        windows: Some(&windows),
        ..make_request(run, spec, &tool, &task, &files)?
    };
    request.limits.loaded_context = loaded;
    events.send_event(RunEvent::Began(tool.activity()));
    let mut outcome = flow::run(&mut effects, &request, &message, events, cancel).await;
    // The same proposal as in a health check, which works on this machine.
    keys::name_key_store(ground, outcome.next.iter_mut());
    Ok(name_empty_difference(outcome, &tool).into())
}

/// Asks a tool once and lands nothing.
///
/// # Errors
/// As [`run_task`].
pub(crate) async fn ask_tool(
    ground: &Ground,
    session: &mut Session,
    run: &RunId,
    spec: &TaskSpec,
    events: &EventSender,
    cancel: &mut CancelSignal<'_>,
) -> Result<RunEnd, EffectError> {
    let (tool, task) = prepare_tool(ground, session, spec, ToolUse::Run)?;
    let files = find_all_named(ground, session, spec, &tool)?;
    let request = make_request(run, spec, &tool, &task, &files)?;
    events.send_event(RunEvent::Began(tool.activity()));
    Ok(
        match flow::ask_once(&mut session.run_effects(), &request, events, cancel).await {
            Ok(proposed) => RunEnd::Verdict(Box::new(proposed)),
            Err(outcome) => (*outcome).into(),
        },
    )
}

/// Lands an answer that the caller brings.
pub(crate) async fn land_answer(
    session: &mut Session,
    run: &RunId,
    spec: &AnswerSpec,
    cancel: &mut CancelSignal<'_>,
) -> RunEnd {
    let proposal = Proposal {
        run,
        answer: &spec.answer,
        // Nobody knows which files the author of the answer saw.
        seen: Vec::new(),
        tool: patch_facts(),
        reported_model: None,
        message: spec.message.clone().unwrap_or_default(),
        // No model is known, so there is none for an `Assisted-by` trailer.
        trailers: spec.trailers.clone(),
        author: spec.author.clone(),
        attempt: 1,
        partial: spec.partial,
        answers: None,
        source: None,
        proved: None,
    };
    let outcome = settle::apply_answer(
        &mut session.run_effects(),
        &spec.verb,
        &spec.instruction,
        &proposal,
        cancel,
    )
    .await;
    // An answer that lands has its diff among the blobs of the tape.
    let landed = outcome
        .diff_sha256
        .as_ref()
        .map(|sha256| format!("sha256:{sha256}"));
    let diff = landed.and_then(|id| session.store().get_blob(&id).ok());
    RunEnd::Outcome(Box::new(RunOutcome { outcome, diff }))
}

/// Makes the tool and the task in words, and sends the notices about the tool before anything leaves.
pub(crate) fn prepare_tool(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    tool_use: ToolUse,
) -> Result<(Tool, String), EffectError> {
    let tool = make_tool(ground, session, spec, tool_use)?;
    programs::require_confined(&tool, &spec.program)?;
    for notice in &tool.notices {
        ground.notify(notice.clone());
    }
    Ok((tool, programs::describe_task(spec.task.as_deref(), &spec.program)))
}

/// Makes the engine's request, for one attempt without a check.
pub(crate) fn make_request<'a>(
    run: &'a RunId,
    spec: &'a TaskSpec,
    tool: &'a Tool,
    task: &'a str,
    files: &'a [RequestedFile],
) -> Result<TaskRequest<'a>, EffectError> {
    Ok(TaskRequest {
        run,
        adapter: tool.adapter.as_ref(),
        model: tool.model.clone(),
        instruction: task,
        files,
        outline: &[],
        choice: None,
        history: &[],
        remark: None,
        follows: None,
        options: None,
        // Named without a word about context, files are what the task is about. With one, they may be there to be read only.
        changes_named: spec.context.is_none() && !names_no_file(spec),
        edit_format: choose_format(spec.provider.edit_format, tool)?,
        limits: TaskLimits {
            timeout_seconds: tool.timeout_seconds,
            max_output_tokens: spec.provider.max_output_tokens,
            loaded_context: None,
        },
        partial: false,
        attempts: 1,
        price: tool.price.clone(),
        mock: spec.provider.describe_mock(),
        answers_once: false,
        has_tools: tool.has_tools,
        check: None,
        base_must_pass: false,
        successors: None,
        search: None,
        windows: None,
    })
}

/// Returns true if another call would give the same answer: for a recording, and for a program without a task, which has no
/// text to which feedback could be added.
fn answers_once(spec: &TaskSpec) -> bool {
    match &spec.provider.provider {
        ProviderKind::Replay => true,
        ProviderKind::AnyProgram => spec.task.is_none(),
        ProviderKind::ToolProgram | ProviderKind::Profile(_) => false,
    }
}

/// Returns true if the check must pass on the base before the tool is called.
fn must_base_pass(spec: &TaskSpec) -> bool {
    let requires = |check: &CheckOptions| check.base == BaseRule::Require;
    // A call that gives the same answer every time costs nothing, and a formatter is run because its check fails.
    spec.check.as_ref().is_some_and(requires) && !answers_once(spec)
}

/// Rewords the outcome of a program that changed nothing: "no diff" would not make sense for it.
fn name_empty_difference(mut outcome: Outcome, tool: &Tool) -> Outcome {
    if tool.in_copy && matches!(outcome.code.as_deref(), Some("no-diff" | "empty")) {
        outcome.message = "the program changed nothing".to_owned();
        outcome.hint = None;
        // A silent program, such as a formatter, has no output to show.
        outcome.next = match outcome.output.is_empty() {
            true => Vec::new(),
            false => vec![NextStep::ShowTranscript],
        };
    }
    outcome
}

/// Makes a commit message from a task: its first line, cut at a word if it is long, and the rest below.
pub(crate) fn commit_message(task: &str) -> String {
    let task = task.trim();
    let first = task.lines().next().unwrap_or_default().trim();
    if first.is_empty() {
        return "Change what the tool proposes".to_owned();
    }
    if first.chars().count() <= 72 {
        // git takes everything up to the first blank line as the subject, and a subject has no full stop.
        let subject = first
            .strip_suffix('.')
            .filter(|rest| !rest.ends_with('.'))
            .unwrap_or(first);
        let body = task.lines().skip(1).collect::<Vec<_>>().join("\n");
        return match body.trim() {
            "" => subject.to_owned(),
            body => format!("{subject}\n\n{body}"),
        };
    }
    let mut subject = String::new();
    for word in first.split_whitespace() {
        // 70, so that the subject and its `…` stay within 72 columns, the limit of the common convention for git.
        if !subject.is_empty() && subject.chars().count() + word.chars().count() >= 70 {
            break;
        }
        if !subject.is_empty() {
            subject.push(' ');
        }
        // One word alone can be longer than the line.
        subject.extend(word.chars().take(70));
    }
    format!("{subject}…\n\n{task}")
}

/// Description of an answer that came over standard input.
pub(crate) const FROM_STANDARD_INPUT: &str = "a change from standard input";

/// Describes an answer from a file, for the commit message and the record. Only the file name is used: the folder would reveal
/// more of the machine than the commit needs.
#[must_use]
pub fn describe_answer(file: &Path) -> String {
    match file.file_name() {
        Some(name) if file != Path::new("-") => name
            .to_string_lossy()
            .chars()
            .filter(|c| !c.is_control())
            .take(60)
            .collect(),
        Some(_) | None => FROM_STANDARD_INPUT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_task_becomes_a_short_subject_and_a_whole_body() {
        assert_eq!(commit_message("  fix the typo\n"), "fix the typo");
        assert_eq!(commit_message("Fix the typo."), "Fix the typo");
        assert_eq!(commit_message("wait..."), "wait...");
        assert_eq!(
            commit_message("fix it\nin all files\n\nsoon"),
            "fix it\n\nin all files\n\nsoon"
        );
        assert_eq!(commit_message("  \n"), "Change what the tool proposes");
        let long =
            "rename the function so that its name says what it does and mend every place that calls it";
        let message = commit_message(long);
        let subject = message.lines().next().unwrap();
        assert!(subject.chars().count() <= 72, "{subject}");
        assert!(message.ends_with(long));
    }
}

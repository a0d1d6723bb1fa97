//! The files that the tool of a task is shown.
//!
//! Owns: the files as a person names them, whether more are searched, and the size of the model's window. Never: ranks a file, or
//! sends a task.

use agentos_api::{ContextReport, NextStep, RunOption, WindowSource};
use agentos_engine::context::RequestedFile;
use agentos_engine::context_search::{self, ContextPlan, ContextQuery, ModelWindow};
use agentos_engine::ports::{Clock as _, EffectError};

use crate::clock::SystemClock;
use crate::error::usage_error;
use crate::host::Host;
use crate::paths;
use crate::provider_kind::ProviderKind;
use crate::session::Session;
use crate::tasks::{ContextMode, TaskSpec, choose_format};
use crate::tools::Tool;

/// The files for a task.
pub(crate) struct ChosenFiles {
    /// The files, named ones first.
    pub files: Vec<RequestedFile>,
    /// The report about the choice. `None` if there was nothing to choose.
    pub report: Option<ContextReport>,
    /// True if the tool is shown something else than the files that the user named, as a whole.
    pub differs: bool,
}

/// Reads the files that a person named.
///
/// # Errors
/// If one is outside the repository.
pub(crate) fn read_named(
    host: &Host,
    session: &Session,
    spec: &TaskSpec,
) -> Result<Vec<RequestedFile>, EffectError> {
    let mut files: Vec<RequestedFile> = Vec::new();
    for typed in &spec.files {
        let (path, lines) = split_lines(typed);
        let path = [path.to_owned()];
        for path in paths::paths_inside(&host.repository_dir(), session.work_dir(), &path)? {
            match files.iter_mut().find(|file| file.path == path) {
                // Named twice: once whole shows it whole, and two ranges are both shown.
                Some(known) if lines.is_none() || known.lines.is_empty() => known.lines.clear(),
                Some(known) => known.lines.extend(lines),
                None => files.push(RequestedFile {
                    path,
                    lines: lines.into_iter().collect(),
                }),
            }
        }
    }
    for file in &mut files {
        file.lines.sort_unstable();
    }
    Ok(files)
}

/// Splits `src/a.rs:10-80` into the path and the lines. The lines are `None` if the text has none.
fn split_lines(typed: &str) -> (&str, Option<(u64, u64)>) {
    let Some((path, lines)) = typed.rsplit_once(':') else {
        return (typed, None);
    };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first > 0 && first <= last => (path, Some((first, last))),
        (Ok(_) | Err(_), _) => (typed, None),
    }
}

/// Returns true if the files are chosen to fit a window: for a model. A program has a copy of all files, and a recording exists
/// already.
pub(crate) fn has_window(spec: &TaskSpec, tool: &Tool) -> bool {
    !tool.in_copy && spec.provider.provider != ProviderKind::Replay
}

/// Returns true if files are searched for the task: by default, for a model that was given none.
///
/// # Errors
/// If a search is requested for a program.
pub(crate) fn wants_search(spec: &TaskSpec, tool: &Tool) -> Result<bool, EffectError> {
    match spec.context {
        Some(ContextMode::Auto) => refuse_program(tool).map(|()| true),
        Some(ContextMode::Named) => Ok(false),
        // A program needs no context, so a setting about it is no fault, other than a word of this call.
        None if !has_window(spec, tool) => Ok(false),
        None => Ok(match spec.usual_context {
            Some(ContextMode::Auto) => true,
            Some(ContextMode::Named) => false,
            None => spec.files.is_empty(),
        }),
    }
}

/// Refuses a search for a tool that has a copy of all files.
///
/// # Errors
/// If the tool has one.
pub(crate) fn refuse_program(tool: &Tool) -> Result<(), EffectError> {
    if tool.in_copy {
        let message = "a program sees a copy of all files, so none are searched for it";
        let option = RunOption::Context;
        return Err(usage_error(message).suggest_steps([NextStep::LeaveOut { option }]));
    }
    Ok(())
}

/// Chooses the files of a task: the named ones, and those that a search finds, as far as they fit the model's window. If none is
/// named, those of the earlier run that the task follows count as named.
///
/// # Errors
/// If a file is outside the repository, or the repository cannot be read.
pub(crate) async fn choose_files(
    host: &Host,
    session: &Session,
    spec: &TaskSpec,
    tool: &Tool,
    task: &str,
    earlier: &[String],
) -> Result<ChosenFiles, EffectError> {
    let mut files = read_named(host, session, spec)?;
    let mut searches = wants_search(spec, tool)?;
    if files.is_empty() && !earlier.is_empty() {
        files = earlier.iter().map(RequestedFile::whole).collect();
        searches &= spec.context.is_some();
    }
    if !searches && (files.is_empty() || !has_window(spec, tool)) {
        return Ok(ChosenFiles {
            files,
            report: None,
            differs: false,
        });
    }
    let plan = plan_context(session, spec, tool, task, &files, searches).await?;
    Ok(ChosenFiles {
        differs: searches || plan.files != files,
        files: plan.files,
        report: Some(plan.report),
    })
}

/// Chooses the files for a model.
async fn plan_context(
    session: &Session,
    spec: &TaskSpec,
    tool: &Tool,
    task: &str,
    named: &[RequestedFile],
    searches: bool,
) -> Result<ContextPlan, EffectError> {
    let query = ContextQuery {
        adapter: tool.adapter.as_ref(),
        model: tool.model.as_deref(),
        task,
        named,
        searches,
        window: find_window(tool).await,
        edit_format: choose_format(spec.provider.edit_format, tool)?,
        max_output_tokens: spec.provider.max_output_tokens.or(tool.max_tokens),
    };
    context_search::find_context(session.port(), &SystemClock, &query)
}

/// Returns the size of the model's window. `None` if nobody states it.
///
/// The servers of llama.cpp and LM Studio decide when they start how much of a model's window they load, so they are asked. If
/// profile and server differ, the smaller number is right: a profile may save memory or money, but it cannot enlarge what is
/// loaded.
async fn find_window(tool: &Tool) -> Option<ModelWindow> {
    if !tool.reports_window {
        return tool.window;
    }
    let health = tool.adapter.health_check(SystemClock.now()).await;
    let loaded = health.context_window.map(|tokens| ModelWindow {
        tokens,
        source: WindowSource::Server,
    });
    let known = [loaded, tool.window].into_iter().flatten();
    known.min_by_key(|window| window.tokens)
}

#[cfg(test)]
mod tests {
    use super::split_lines;

    #[test]
    fn lines_are_split_from_a_path() {
        let cases = [
            ("a.rs", ("a.rs", None)),
            ("a.rs:10-80", ("a.rs", Some((10, 80)))),
            ("a.rs:7", ("a.rs", Some((7, 7)))),
            ("a.rs:80-10", ("a.rs:80-10", None)),
            ("a.rs:0", ("a.rs:0", None)),
            ("c:/a.rs", ("c:/a.rs", None)),
        ];
        for (typed, expected) in cases {
            assert_eq!(split_lines(typed), expected, "{typed}");
        }
    }
}

//! The files that the tool of a task is shown.
//!
//! Owns: the files as a person names them, whether more are searched, and the size of the model's window. Never: ranks a file, or
//! sends a task.

use agentos_api::{ContextReport, NextStep, RunOption, WindowSource};
use agentos_engine::context::{OutlinedFile, RequestedFile};
use agentos_engine::context_search::{self, ContextQuery, ModelWindow};
use agentos_engine::history::EarlierTurn;
use agentos_engine::named_files::{NamedFiles, NamedPath, NamedRequest, find_named};
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_tool::EditFormat;

use agentos_calls::model_memory::FirstLook;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::usage_error;
use agentos_ground::paths;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::task_spec::{ContextMode, TaskSpec};
use agentos_providers::edit_format::choose_format;
use agentos_providers::session::Session;
use agentos_providers::tools::Tool;

/// The files for a task.
pub(crate) struct ChosenFiles {
    /// The files, named ones first.
    pub files: Vec<RequestedFile>,
    /// Files of which only the definitions are shown.
    pub outline: Vec<OutlinedFile>,
    /// Tokens of the context that the server has loaded. `None` if it was not asked, or did not say.
    pub loaded: Option<u64>,
    /// The report about the choice. `None` if there was nothing to choose.
    pub report: Option<ContextReport>,
    /// True if the tool is shown something else than the files that the user named, as a whole.
    pub differs: bool,
    /// The search that chose the files, to be repeated for a smaller window. `None` if there was nothing to choose.
    pub search: Option<ChosenSearch>,
}

/// Search for files that a task orders.
pub(crate) struct ChosenSearch {
    named: NamedFiles,
    searches: bool,
    window: Option<ModelWindow>,
    edit_format: EditFormat,
}

impl ChosenSearch {
    /// Makes the query of the search.
    pub fn make_query<'a>(
        &'a self,
        spec: &'a TaskSpec,
        tool: &'a Tool,
        order: &ContextOrder<'a>,
    ) -> ContextQuery<'a> {
        ContextQuery {
            adapter: tool.adapter.as_ref(),
            model: tool.model.as_deref(),
            task: order.task,
            named: &self.named,
            searches: self.searches,
            window: self.window,
            edit_format: self.edit_format,
            max_output_tokens: spec.provider.max_output_tokens.or(tool.max_tokens),
            history: order.history,
            remark: spec.follows.as_ref().and_then(|follow| follow.remark.as_deref()),
        }
    }
}

/// A task as far as the choice of its files depends on it.
pub(crate) struct ContextOrder<'a> {
    /// The task, in the user's words.
    pub task: &'a str,
    /// Files of the earlier run that the task continues. They count as named if the user names none.
    pub earlier: &'a [String],
    /// Earlier tasks and answers that the tool is shown.
    pub history: &'a [EarlierTurn],
    /// Look at the tool's server. `None` if nobody looked yet.
    pub look: Option<&'a FirstLook>,
}

/// Finds the files that a person named.
///
/// # Errors
/// If one is outside the repository, or is not in the base.
pub(crate) fn find_named_files(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    tool: &Tool,
) -> Result<NamedFiles, EffectError> {
    let from = ground.repository_dir();
    let mut request = NamedRequest {
        paths: Vec::new(),
        symbols: spec.symbols.clone(),
    };
    for typed in &spec.files {
        request.paths.push(NamedPath {
            typed: typed.clone(),
            path: paths::place_inside(&from, session.work_dir(), typed)?,
        });
    }
    find_named(
        session.port(),
        &SystemClock,
        tool.adapter.as_ref(),
        tool.model.as_deref(),
        &request,
    )
}

/// Finds the files that a person named, for a tool without a window: all files of folders and patterns as well.
///
/// # Errors
/// As [`find_named_files`], and if a folder or pattern has too many files.
pub(crate) fn find_all_named(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    tool: &Tool,
) -> Result<Vec<RequestedFile>, EffectError> {
    list_all_named(find_named_files(ground, session, spec, tool)?)
}

fn list_all_named(named: NamedFiles) -> Result<Vec<RequestedFile>, EffectError> {
    let matched = named.matched_paths();
    if matched.len() > MOST_WHOLE {
        let message = format!(
            "{} files are named, and this tool can be shown {MOST_WHOLE}",
            matched.len()
        );
        return Err(
            usage_error(message).hint("name fewer files; a program sees a copy of all of them anyway")
        );
    }
    let mut files = named.files;
    files.extend(matched.iter().map(RequestedFile::whole));
    Ok(files)
}

/// Maximum number of files of folders and patterns for a tool whose files are not fitted into a window.
const MOST_WHOLE: usize = 256;

/// Returns true if the files are chosen to fit a window: for a model. A program has a copy of all files, and a recording exists
/// already.
pub(crate) fn has_window(spec: &TaskSpec, tool: &Tool) -> bool {
    !tool.in_copy && spec.provider.provider != ProviderKind::Replay
}

/// Returns true if the user names no file to show.
pub(crate) fn names_no_file(spec: &TaskSpec) -> bool {
    spec.files.is_empty() && spec.symbols.is_empty()
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
        // A model that reads for itself finds the rest, unless the user wants more.
        None if spec.explore.limits().is_some() && spec.usual_context.is_none() => Ok(false),
        None => Ok(match spec.usual_context {
            Some(ContextMode::Auto) => true,
            Some(ContextMode::Named) => false,
            None => names_no_file(spec),
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
/// If a named file is not there, or the repository cannot be read.
pub(crate) async fn choose_files(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    tool: &Tool,
    order: &ContextOrder<'_>,
) -> Result<ChosenFiles, EffectError> {
    let mut named = find_named_files(ground, session, spec, tool)?;
    let mut searches = wants_search(spec, tool)?;
    if named == NamedFiles::default() && !order.earlier.is_empty() {
        named.files = order.earlier.iter().map(RequestedFile::whole).collect();
        searches &= spec.context.is_some();
    }
    let is_empty = named == NamedFiles::default();
    if !searches && (is_empty || !has_window(spec, tool)) {
        return Ok(ChosenFiles {
            files: list_all_named(named)?,
            outline: Vec::new(),
            loaded: None,
            report: None,
            differs: false,
            search: None,
        });
    }
    let loaded = match order.look {
        Some(look) => look.loaded_window,
        None => ask_loaded(tool).await,
    };
    let search = ChosenSearch {
        named,
        searches,
        window: find_window(tool, loaded),
        edit_format: choose_format(spec.provider.edit_format, tool)?,
    };
    let query = search.make_query(spec, tool, order);
    let plan = context_search::find_context(session.port(), &SystemClock, &query)?;
    Ok(ChosenFiles {
        differs: searches || plan.files != search.named.files,
        files: plan.files,
        outline: plan.outline,
        loaded,
        report: Some(plan.report),
        search: Some(search),
    })
}

/// Asks the server how much of the model's window it has loaded. `None` if it does not decide that, or does not say.
///
/// The servers of llama.cpp and LM Studio decide when they start how much of a model's window they load. The answer goes with the
/// task, so that the adapter need not ask again.
async fn ask_loaded(tool: &Tool) -> Option<u64> {
    if !tool.reports_window {
        return None;
    }
    let health = tool.adapter.health_check(SystemClock.now()).await;
    health.context_window
}

/// Returns the size of the model's window. `None` if nobody states it. If profile and server differ, the smaller number is right:
/// a profile may save memory or money, but it cannot enlarge what is loaded.
pub fn find_window(tool: &Tool, loaded: Option<u64>) -> Option<ModelWindow> {
    let loaded = loaded.map(|tokens| ModelWindow {
        tokens,
        source: WindowSource::Server,
    });
    let known = [loaded, tool.window].into_iter().flatten();
    known.min_by_key(|window| window.tokens)
}

//! Views: the values of each page, and their templates.
//!
//! Owns: turning reports into texts for the templates, marked where they are untrusted. Never: calls the host.

use agentos_host::{
    BudgetReport, CostReport, Effect, LoggedRun, OpenRequest, ResultKind, SessionRow, describe_calls,
};
use agentos_tool::{ExactCost, short_run};
use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::marked_text::mark;

/// Values of every page.
pub struct PageFrame {
    /// Title.
    pub title: &'static str,
    /// Section of the navigation.
    pub section: &'static str,
    /// Number of open requests.
    pub waiting: usize,
    /// Name of the repository.
    pub repository: String,
    /// Secret of the forms.
    pub form: String,
    /// Name of the session.
    pub session: String,
    /// Text that the device of the session signs with its next action. Empty if the session is not of another device.
    pub challenge: String,
}

/// Row of the inbox.
pub struct RequestRow {
    run: String,
    title: String,
    about: String,
    asked: String,
    files: usize,
    why: String,
}

/// Row of the runs.
pub struct RunRow {
    pub run: String,
    pub short: String,
    pub title: String,
    pub about: String,
    pub began: String,
    pub result: String,
    pub class: &'static str,
}

/// Row of the sessions.
pub struct SessionLine {
    pub name: String,
    pub title: String,
    pub about: String,
    pub last: String,
    pub turns: u64,
}

/// Row of the costs.
pub struct CostLine {
    name: String,
    calls: u64,
    input: u64,
    output: u64,
    cost: String,
}

#[derive(Template)]
#[template(path = "signin.html")]
pub struct SignInPage {
    pub is_wrong: bool,
}

#[derive(Template)]
#[template(path = "closed.html")]
pub struct ClosedPage;

#[derive(Template)]
#[template(path = "fault.html")]
pub struct FaultPage<'a> {
    pub title: &'static str,
    pub message: &'a str,
    pub hint: &'a str,
    pub code: &'a str,
}

#[derive(Template)]
#[template(path = "inbox.html")]
pub struct InboxPage {
    pub frame: PageFrame,
    pub rows: Vec<RequestRow>,
}

#[derive(Template)]
#[template(path = "request.html")]
pub struct RequestPage {
    pub frame: PageFrame,
    pub remark: &'static str,
    pub run: String,
    pub can_land: bool,
    pub is_too_long: bool,
    pub seen: String,
    pub body: String,
    /// Parts of what a device signs.
    pub statement: Vec<(&'static str, String)>,
    /// True if only a signature of this device approves.
    pub is_signed: bool,
    /// True if the change has text of withheld files, about which the person decides.
    pub has_withheld: bool,
}

#[derive(Template)]
#[template(path = "runs.html")]
pub struct RunsPage {
    pub frame: PageFrame,
    pub rows: Vec<RunRow>,
    pub not_shown: usize,
}

#[derive(Template)]
#[template(path = "propose.html")]
pub struct ProposePage {
    pub frame: PageFrame,
}

#[derive(Template)]
#[template(path = "cost.html")]
pub struct CostPage {
    frame: PageFrame,
    rows: Vec<CostLine>,
    total: String,
    budgets: Vec<(String, String, String, &'static str)>,
}

/// Renders a page.
pub fn render(page: &impl Template) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
    ];
    match page.render() {
        Ok(html) => (headers, html).into_response(),
        // A template writes into a text, which does not fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the one word of a value, as its JSON has it.
pub fn word_of(value: &impl Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| Some(word.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// Returns a time without fractions; the page's script shows it in local time.
pub fn show_time(at: &str) -> String {
    // The tape may be somebody else's copy, so a time is untrusted like any other text.
    let shown: String = at.chars().take(19).collect();
    mark(&format!("{}Z", shown.trim_end_matches('Z')))
}

/// Describes an open request.
pub fn describe_request(request: &OpenRequest) -> RequestRow {
    let message = request.request.message.lines().next().map(str::to_owned);
    let message = message.filter(|line| !line.trim().is_empty());
    let title = message.or_else(|| request.task.clone()).unwrap_or_default();
    RequestRow {
        run: mark(&request.run),
        title: mark(title.lines().next().unwrap_or("Change without a task")),
        about: mark(&request.request.tool.provider),
        asked: show_time(&request.asked),
        files: request.files.len(),
        why: request
            .reasons
            .iter()
            .find(|reason| reason.effect != Effect::Allow)
            .map(|reason| mark(&reason.sentence()))
            .unwrap_or_default(),
    }
}

/// Describes a run.
pub fn describe_run(run: &LoggedRun) -> RunRow {
    // Its task would be the long id of that run.
    let answer = run.answers.as_deref();
    let answer = answer.map(|earlier| format!("answer to run {}", short_run(earlier)));
    let title = answer.as_deref().or(run.task.as_deref()).or(run.verb.as_deref());
    RunRow {
        run: mark(&run.run),
        short: mark(&run.short),
        title: mark(title.unwrap_or("run")),
        about: mark(run.provider.as_deref().unwrap_or_default()),
        began: show_time(&run.began),
        result: word_of(&run.result.kind).replace('-', " "),
        class: match run.result.kind {
            ResultKind::Landed | ResultKind::Approved => "good",
            ResultKind::Refused | ResultKind::Denied | ResultKind::Failed | ResultKind::Void => "bad",
            ResultKind::Waiting | ResultKind::NotEnded => "warn",
            ResultKind::DryRun
            | ResultKind::Expired
            | ResultKind::Declined
            | ResultKind::NothingToDo
            | ResultKind::Ended => "",
        },
    }
}

/// Describes a session.
pub fn describe_session(row: &SessionRow) -> SessionLine {
    let title = row.title.as_deref().or(row.opening.as_deref());
    SessionLine {
        name: mark(&row.session),
        title: mark(title.unwrap_or(&row.session)),
        about: mark(
            row.model
                .as_deref()
                .or(row.provider.as_deref())
                .unwrap_or_default(),
        ),
        last: show_time(&row.last),
        turns: row.turns,
    }
}

impl CostPage {
    /// Makes the page of the costs.
    pub fn new(frame: PageFrame, report: &CostReport, budgets: &BudgetReport) -> Self {
        let budgets = budgets.budgets.iter().map(|row| {
            (
                mark(&describe_calls(&row.limit, row.group.as_deref())),
                format!("{} a {}", row.limit.amount, row.limit.period.name()),
                row.write_spent()
                    .unwrap_or_else(|| "too much to count".to_owned()),
                if row.is_used_up() { "used up" } else { "" },
            )
        });
        let budgets = budgets.collect();
        // A sum without the calls whose cost is unknown must say so.
        let cost = |known: Option<ExactCost>, calls: u64, unknown: u64| match (known, unknown) {
            (None, _) => "unknown".to_owned(),
            (Some(_), unknown) if unknown > 0 && unknown == calls => "unknown".to_owned(),
            (Some(cost), 0) => cost.to_string(),
            (Some(cost), unknown) => format!("{cost} and {unknown} unknown"),
        };
        Self {
            frame,
            budgets,
            total: cost(report.cost_usd, report.calls, report.unknown),
            rows: report
                .rows
                .iter()
                .map(|row| CostLine {
                    name: mark(row.name.as_deref().unwrap_or("without a model")),
                    calls: row.calls,
                    input: row.input_tokens,
                    output: row.output_tokens,
                    cost: cost(row.cost_usd, row.calls, row.unknown),
                })
                .collect(),
        }
    }
}

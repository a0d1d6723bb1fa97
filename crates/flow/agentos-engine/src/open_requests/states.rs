//! The state of each request for consent, as the tape shows it.
//!
//! Owns: following requests from the question to their end. Never: changes a state; only a record on the tape does.

use std::collections::BTreeMap;

use agentos_evidence::{Record, RecordKind, RecoveredEnd, read_recovery};
use agentos_policy::{Effect, Reason};
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::{EffectError, RecordReader};
use crate::recorded::parse_record;
use crate::settle::{ConsentRequest, EXPIRED};

/// Most characters of a task in a list.
const LONGEST_TITLE: usize = 200;

/// A change for which a run requested a person's consent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenRequest {
    /// The run that asked.
    pub run: String,
    /// Time of the request.
    pub asked: String,
    /// True if nobody has answered and the request has not expired.
    pub open: bool,
    /// State of the request.
    pub state: RequestState,
    /// Why the request is void, or `expired` if that is on the tape. `None` in every other state.
    pub void: Option<String>,
    /// First line of the task. `None` if the run's beginning is not on the tape.
    pub task: Option<String>,
    /// Paths that the change touches.
    pub files: Vec<String>,
    /// The reasons for which policy asked. Empty if the decision is not on the tape.
    pub reasons: Vec<Reason>,
    /// The change and its target.
    pub request: ConsentRequest,
    /// Landing of an answer that began and has no end on the tape, as after a full disk. `None` if there is none.
    #[serde(skip)]
    pub(super) lost_end: Option<LostEnd>,
}

/// Landing whose end is not on the tape. It may have been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostEnd {
    /// Run that answered the request.
    pub(super) run: String,
    /// True if the landing makes a commit.
    pub(super) commits: bool,
}

/// State of a request for consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestState {
    /// The request can be answered.
    Open,
    /// A person consented and the change landed, or another run landed the same answer.
    Approved,
    /// A person declined it for good.
    Denied,
    /// The change no longer lands.
    Void,
    /// Nobody answered in time.
    Expired,
}

/// The members of a consent record that are needed here.
#[derive(Deserialize)]
pub(super) struct ConsentEntry {
    pub(super) request: Option<ConsentRequest>,
    pub(super) answers: Option<String>,
    pub(super) given: bool,
    pub(super) consent: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) void: Option<String>,
}

/// The members of a decision record that are needed here.
#[derive(Deserialize)]
struct DecisionEntry {
    decision: DecisionReasons,
}

#[derive(Deserialize)]
struct DecisionReasons {
    effect: Effect,
    reasons: Vec<Reason>,
}

/// Facts that a run recorded before it asked.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestContext {
    pub(super) task: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) reasons: Vec<Reason>,
}

/// A record that opens or closes a request.
pub(super) struct RequestStep {
    pub(super) run: String,
    pub(super) at: String,
    pub(super) kind: StepKind,
}

pub(super) enum StepKind {
    /// The run lands the recorded answer of this run.
    Begun(String),
    Consent(Box<ConsentEntry>, RequestContext),
    /// The run's landing begins. True if it makes a commit.
    Intended(bool),
    Landed,
    /// The run ended without a change, or its landing was rolled back.
    Ended,
}

/// Lists every request on the tape, the oldest first.
///
/// # Errors
/// If the tape cannot be read.
pub(super) fn list_requests(
    tape: &dyn RecordReader,
    now: &Timestamp,
) -> Result<Vec<OpenRequest>, EffectError> {
    let mut steps = Vec::new();
    // Only of runs that have not ended: a long tape need not fit into memory.
    let mut recorded: BTreeMap<String, BTreeMap<&'static str, Record>> = BTreeMap::new();
    let mut latest = now.clone();
    for record in tape.records()? {
        let record = record?;
        if let Ok(at) = Timestamp::parse(&record.ts)
            && at.unix_seconds() > latest.unix_seconds()
        {
            latest = at;
        }
        let kind = match record.kind {
            RecordKind::Task | RecordKind::Landing | RecordKind::Decision => {
                let source = record
                    .body
                    .pointer("/source/run")
                    .and_then(serde_json::Value::as_str);
                let source = source
                    .filter(|_| record.kind == RecordKind::Task)
                    .map(str::to_owned);
                let of_run = recorded.entry(record.run.clone()).or_default();
                // A later attempt replaces an earlier one, as it does in the request.
                let (run, at) = (record.run.clone(), record.ts.clone());
                of_run.insert(record.kind.as_str(), record);
                let kind = source.map(StepKind::Begun);
                steps.extend(kind.map(|kind| RequestStep { run, at, kind }));
                continue;
            }
            // A dry run writes a receipt as well.
            RecordKind::Receipt
                if record.body.get("writes").and_then(serde_json::Value::as_str) == Some("nothing") =>
            {
                continue;
            }
            RecordKind::Consent => {
                let entry: ConsentEntry = parse_record(tape, &record)?;
                let context = match (&entry.request, recorded.get(&record.run)) {
                    (Some(_), Some(records)) => read_context(tape, records)?,
                    (Some(_), None) | (None, _) => RequestContext::default(),
                };
                StepKind::Consent(Box::new(entry), context)
            }
            RecordKind::Receipt => StepKind::Landed,
            RecordKind::Refusal => StepKind::Ended,
            RecordKind::Intent => {
                let writes = record.body.pointer("/plan/writes");
                StepKind::Intended(writes.and_then(serde_json::Value::as_str) != Some("work-tree-only"))
            }
            RecordKind::Recovered => {
                // The record is of the run that found the landing, and names the one that was interrupted.
                steps.extend(read_recovery(&record.body).map(|(run, end)| RequestStep {
                    run: run.to_owned(),
                    at: record.ts.clone(),
                    kind: match end {
                        RecoveredEnd::Made => StepKind::Landed,
                        RecoveredEnd::RolledBack => StepKind::Ended,
                    },
                }));
                continue;
            }
            RecordKind::Checkpoint => {
                recorded.remove(&record.run);
                continue;
            }
            RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Undo
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed => continue,
        };
        steps.push(RequestStep {
            run: record.run,
            at: record.ts,
            kind,
        });
    }
    // A clock that was set back must not open a request again.
    Ok(follow_steps(steps, &latest))
}

/// Reads what a run recorded before it asked.
fn read_context(
    tape: &dyn RecordReader,
    records: &BTreeMap<&'static str, Record>,
) -> Result<RequestContext, EffectError> {
    let mut context = RequestContext::default();
    let body = |kind: RecordKind| records.get(kind.as_str()).map(|record| &record.body);
    if let Some(task) = body(RecordKind::Task) {
        let text = task.get("instruction").and_then(serde_json::Value::as_str);
        let title = text
            .unwrap_or_default()
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        context.task = title.map(|line| line.chars().take(LONGEST_TITLE).collect());
    }
    let files = body(RecordKind::Landing).and_then(|body| body.pointer("/report/files")?.as_array());
    let paths = files
        .into_iter()
        .flatten()
        .filter_map(|file| file.get("path")?.as_str());
    context.files = paths.map(str::to_owned).collect();
    if let Some(record) = records.get(RecordKind::Decision.as_str()) {
        let DecisionEntry { decision } = parse_record(tape, record)?;
        let deciding = decision.reasons.into_iter();
        context.reasons = deciding
            .filter(|reason| reason.effect == decision.effect)
            .collect();
    }
    Ok(context)
}

/// Follows the requests to their ends.
pub(super) fn follow_steps(steps: Vec<RequestStep>, now: &Timestamp) -> Vec<OpenRequest> {
    let mut found: Vec<OpenRequest> = Vec::new();
    // The run that said yes, and the run that requested consent.
    let mut consents: Vec<(String, String)> = Vec::new();
    // The run that lands a recorded answer, and the run that recorded it.
    let mut sources: Vec<(String, String)> = Vec::new();
    // Landings that have begun and not ended.
    let mut unended: Vec<LostEnd> = Vec::new();
    let find = |pairs: &[(String, String)], run: &str| {
        let found = pairs.iter().find(|(by, _)| by == run);
        found.map(|(_, of)| of.clone())
    };
    for RequestStep { run, at, kind } in steps {
        let closed = match kind {
            StepKind::Begun(of) => {
                sources.push((run, of));
                continue;
            }
            StepKind::Intended(commits) => {
                unended.push(LostEnd { run, commits });
                continue;
            }
            StepKind::Ended => {
                unended.retain(|landing| landing.run != run);
                continue;
            }
            StepKind::Landed => {
                unended.retain(|landing| landing.run != run);
                let answered = find(&consents, &run);
                if let Some(source) = find(&sources, answered.as_ref().unwrap_or(&run)) {
                    close_request(&mut found, &source, RequestState::Approved, None);
                }
                answered.map(|of| (of, RequestState::Approved, None))
            }
            StepKind::Consent(said, context) => match (said.answers, said.request) {
                // A yes alone closes nothing: the landing after it may be refused, and may be tried again.
                (Some(of), _) if said.given => {
                    consents.push((run, of));
                    None
                }
                (Some(of), _) => match (said.void, said.consent) {
                    (Some(why), _) if why == EXPIRED => {
                        expire_request(&mut found, &of, why);
                        None
                    }
                    (Some(why), _) => Some((of, RequestState::Void, Some(why))),
                    (None, Some(_)) => Some((of, RequestState::Denied, None)),
                    // Without a consent in the record, nobody was asked: a run only looked at the request.
                    (None, None) => None,
                },
                (None, Some(request)) => {
                    found.push(begin_request(run, at, request, context, now));
                    None
                }
                (None, None) => None,
            },
        };
        if let Some((of, state, void)) = closed {
            close_request(&mut found, &of, state, void);
        }
    }
    for landing in unended {
        let of = find(&consents, &landing.run);
        for request in found
            .iter_mut()
            .filter(|request| of.as_ref() == Some(&request.run))
        {
            request.lost_end = Some(landing.clone());
        }
    }
    found
}

/// Closes the request of a run, if it left one. `void` is `None` in every state but that one. The first answer counts; only a change that
/// landed is a fact, whatever was answered before.
fn close_request(found: &mut [OpenRequest], run: &str, state: RequestState, void: Option<String>) {
    let closes = |request: &&mut OpenRequest| {
        let is_unanswered = matches!(request.state, RequestState::Open | RequestState::Expired);
        request.run == run && (is_unanswered || state == RequestState::Approved)
    };
    for request in found.iter_mut().filter(closes) {
        request.open = false;
        request.state = state;
        request.void.clone_from(&void);
    }
}

/// Closes a request because its time is over. One that was answered in time stays answered.
fn expire_request(found: &mut [OpenRequest], run: &str, why: String) {
    let is_unanswered =
        |request: &&mut OpenRequest| matches!(request.state, RequestState::Open | RequestState::Expired);
    for request in found
        .iter_mut()
        .filter(|request| request.run == run)
        .filter(is_unanswered)
    {
        request.open = false;
        request.state = RequestState::Expired;
        request.void = Some(why.clone());
    }
}

fn begin_request(
    run: String,
    asked: String,
    request: ConsentRequest,
    context: RequestContext,
    now: &Timestamp,
) -> OpenRequest {
    let is_expired = request.expires.unix_seconds() <= now.unix_seconds();
    OpenRequest {
        run,
        asked,
        open: !is_expired,
        state: if is_expired {
            RequestState::Expired
        } else {
            RequestState::Open
        },
        void: None,
        task: context.task,
        files: context.files,
        reasons: context.reasons,
        request,
        lost_end: None,
    }
}

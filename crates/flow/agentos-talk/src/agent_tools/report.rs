//! Answers about proposals, runs, policy and evidence.
//!
//! Owns: their shapes and words. Never: shows the task of somebody else's run, what a person said about it, or a line of a file.

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_engine::withheld::WITHHELD_FILE;
use agentos_model::ToolCall;
use agentos_policy::{Effect, WITHHELD_OFTEN, WITHHELD_TEXT};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::proposer::Proposer;
use super::{AGENT_PROVIDER, AgentAnswer};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_runs::Runs;
use agentos_runs::rules::{JudgeSpec, JudgeSubject};
use agentos_stories::Stories;
use agentos_stories::evidence::VerifySpec;
use agentos_stories::run_log::{LogFilter, LoggedRun, ResultKind};
use agentos_stories::run_story::StoryDecision;

/// Runs in a list if the call names no number.
const USUAL_RUNS: u64 = 20;

/// State of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProposalReport {
    /// Id of the proposal, which is the id of its run.
    pub proposal: String,
    /// State of the proposal.
    pub state: ProposalState,
    /// Paths that it changes.
    pub files: Vec<String>,
    /// Commit that has the change. Left out if there is none, or another run made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Code of a proposal that did not land. Left out for every other one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Time until which a person can answer, RFC 3339, UTC. Left out if nobody is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// State in a sentence.
    pub message: String,
    /// Reason that the person gave who declined the change. Left out if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// State of a proposal in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalState {
    /// A person has to decide.
    Waiting,
    /// The change is written.
    Landed,
    /// The change has no place in the repository.
    Refused,
    /// Policy denies the change.
    Denied,
    /// A person declined the change.
    Declined,
    /// The agent took it back.
    Withdrawn,
    /// Nobody decided in time.
    Expired,
    /// The change no longer landed when a person decided.
    Void,
    /// The files had the content of the change already.
    NothingToDo,
    /// Something failed.
    Failed,
}

impl ProposalState {
    fn describe(self) -> &'static str {
        match self {
            Self::Waiting => "The proposal waits for the user. Nothing is written yet.",
            Self::Landed => "The change landed.",
            Self::Refused => "The change was refused, and nothing was written.",
            Self::Denied => "The user's policy denies the change, and nothing was written.",
            Self::Declined => "The user declined the change.",
            Self::Withdrawn => "The proposal was taken back.",
            Self::Expired => "Nobody decided in time, and nothing was written.",
            Self::Void => "The change no longer fits the branch, and nothing was written. Propose it again.",
            Self::NothingToDo => "The files have this content already.",
            Self::Failed => "The proposal failed, and nothing was written.",
        }
    }
}

/// Decision of policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyReport {
    /// The decision: `allow`, `ask` or `deny`.
    pub decision: Effect,
    /// Rules that led to it.
    pub reasons: Vec<PolicyReason>,
}

/// Rule that led to a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyReason {
    /// Id of the rule.
    pub rule: String,
    /// Effect of the rule.
    pub effect: Effect,
    /// Reason in words.
    pub why: String,
    /// Path that it is about. Left out if it is about the whole change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceReport {
    /// True if nothing is wrong.
    pub ok: bool,
    /// Number of records read.
    pub records: u64,
    /// Number of commits checked. Left out if there was no history to check against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
}

/// Answers a call of a tool that conversations do not have.
pub(super) fn answer_own(ground: &Ground, own: &Proposer, call: &ToolCall) -> AgentAnswer {
    let text = |name: &str| {
        call.arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let answer = match call.name.as_str() {
        "proposal_status" => read_proposal(ground, own, text("proposal")).map(|report| report.to_answer()),
        "proposal_withdraw" => withdraw_proposal(ground, own, text("proposal")),
        "list_runs" => {
            let limit = call.arguments.get("limit").and_then(Value::as_u64);
            list_runs(ground, own, limit.unwrap_or(USUAL_RUNS))
        }
        "show_run" => show_run(ground, own, text("run")),
        "explain_policy" => explain_policy(ground, &call.arguments),
        "verify_evidence" => verify_evidence(ground),
        other => {
            let reason = format!("There is no tool `{other}`.");
            Ok(AgentAnswer::from_failure("unknown-tool", reason))
        }
    };
    answer.unwrap_or_else(|error| {
        let hint = error
            .hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        let reason = format!("{}{hint} ({})", error.message, error.code);
        AgentAnswer::from_failure(error.code, reason)
    })
}

fn withdraw_proposal(ground: &Ground, own: &Proposer, reference: &str) -> Result<AgentAnswer, EffectError> {
    // Refuses the proposal of another agent before anything is closed.
    let report = read_proposal(ground, own, reference)?;
    let is_uncertain = report.state == ProposalState::Waiting
        && is_about_withheld(&Stories::of(ground).run_story(Some(reference))?.run);
    let withdrawn = Runs::of(ground).withdraw_request(reference, AGENT_PROVIDER);
    if !is_uncertain {
        return Ok(read_proposal(ground, own, &withdrawn?)?.to_answer());
    }
    // Not every change of a withheld file has a request, and that there is one would show that policy does not deny the change. So the
    // answer is the same if there was no open request, and a later report does not state whether there was.
    match withdrawn {
        Err(error) if ![Cause::Consent, Cause::Usage].contains(&error.cause) => Err(error),
        _ => Ok(ProposalReport {
            state: ProposalState::Withdrawn,
            message: "The proposal is taken back. The user is not asked about it.".to_owned(),
            ..report
        }
        .to_answer()),
    }
}

impl ProposalReport {
    fn to_answer(&self) -> AgentAnswer {
        let files = self.files.join(", ");
        let mut text = format!("{} Files: {files}.", self.message);
        if let Some(comment) = &self.comment {
            // Last, so that nothing of ours can be taken for a part of it.
            text.push_str("\nThe user's comment: ");
            text.push_str(comment);
        }
        answer_with(text, self)
    }
}

fn answer_with(text: String, data: &impl Serialize) -> AgentAnswer {
    AgentAnswer {
        text,
        data: serde_json::to_value(data).ok(),
        is_error: false,
        code: None,
    }
}

/// Reads the state of a proposal.
///
/// # Errors
/// If no one run fits, it is no proposal of this agent, or its records cannot be read.
pub(super) fn read_proposal(
    ground: &Ground,
    own: &Proposer,
    reference: &str,
) -> Result<ProposalReport, EffectError> {
    let story = Stories::of(ground).run_story(Some(reference))?;
    let run = story.run;
    if !is_own(&run, own) {
        return Err(usage_error(format!(
            "run `{}` is no proposal of yours",
            run.short
        )));
    }
    if is_about_withheld(&run) && run.result.commit.is_none() {
        return Ok(report_withheld(run));
    }
    let requests = Runs::of(ground).all_requests()?;
    let request = requests.into_iter().find(|request| request.run == run.run);
    let is_withdrawn = request.as_ref().and_then(|request| request.void.as_deref()) == Some("withdrawn");
    let state = if is_withdrawn {
        ProposalState::Withdrawn
    } else {
        name_state(run.result.kind)
    };
    let message = match (&story.refusal, state) {
        (Some(refusal), ProposalState::Refused | ProposalState::Denied | ProposalState::Failed) => {
            format!("{} {}.", state.describe(), refusal.message)
        }
        _ => state.describe().to_owned(),
    };
    Ok(ProposalReport {
        proposal: run.run,
        state,
        files: run.files,
        commit: run.result.commit,
        code: match state {
            ProposalState::Waiting => None,
            // The code of the run is the reason for which policy asked.
            ProposalState::Declined => Some("declined".to_owned()),
            _ => run.result.code,
        },
        expires: request
            .filter(|_| state == ProposalState::Waiting)
            .map(|request| request.request.expires.to_string()),
        message,
        comment: run.comment,
    })
}

/// Returns true if the run is a proposal of this author.
fn is_own(run: &LoggedRun, own: &Proposer) -> bool {
    run.provider.as_deref() == Some(AGENT_PROVIDER) && own.wrote(run.task.as_deref())
}

/// Returns true if placing the change of a run opened a file that policy withholds from its proposer.
fn is_about_withheld(run: &LoggedRun) -> bool {
    run.result.code.as_deref() == Some(WITHHELD_FILE)
}

/// Reports a proposal about a withheld file. Only what a person did about it differs from one such proposal to the other.
fn report_withheld(run: LoggedRun) -> ProposalReport {
    let state = match run.result.kind {
        ResultKind::Landed | ResultKind::Approved => ProposalState::Landed,
        ResultKind::Declined => ProposalState::Declined,
        _ => ProposalState::Waiting,
    };
    let message = match state {
        ProposalState::Waiting => {
            "The proposal is about a file that the user's policy withholds from you. It is left to the user, unless you took it back."
        }
        other => other.describe(),
    };
    ProposalReport {
        proposal: run.run,
        state,
        files: Vec::new(),
        commit: None,
        code: (state == ProposalState::Declined).then(|| "declined".to_owned()),
        expires: None,
        message: message.to_owned(),
        comment: run.comment,
    }
}

fn name_state(kind: ResultKind) -> ProposalState {
    match kind {
        ResultKind::Waiting => ProposalState::Waiting,
        ResultKind::Landed | ResultKind::Approved => ProposalState::Landed,
        ResultKind::Refused => ProposalState::Refused,
        ResultKind::Denied => ProposalState::Denied,
        ResultKind::Declined => ProposalState::Declined,
        ResultKind::Expired => ProposalState::Expired,
        ResultKind::Void => ProposalState::Void,
        ResultKind::NothingToDo => ProposalState::NothingToDo,
        ResultKind::DryRun | ResultKind::Failed | ResultKind::Ended | ResultKind::NotEnded => {
            ProposalState::Failed
        }
    }
}

/// Returns a run as an agent may see it: what others were asked to do, and what a person said about it, can be private. So is the reason
/// for which a change waits: it may be that the change has text of a withheld file.
fn cover_task(mut run: LoggedRun, own: &Proposer) -> LoggedRun {
    if is_about_withheld(&run) {
        run.files = Vec::new();
        run.result.kind = match run.result.kind {
            ResultKind::Approved | ResultKind::Declined => run.result.kind,
            _ => ResultKind::Waiting,
        };
    }
    if has_waited(&run) {
        run.result.code = None;
    }
    if !is_own(&run, own) {
        run.task = None;
        run.comment = None;
    }
    run
}

/// Returns true if a run closed the request of another one, or tried to, and wrote nothing. An agent does not see it: the state of the
/// other run shows what became of the request, and for a withheld file not even that there was one.
fn closes_request(run: &LoggedRun) -> bool {
    run.answers.is_some() && run.result.commit.is_none()
}

/// Returns true if a person was asked about the change of a run.
fn has_waited(run: &LoggedRun) -> bool {
    matches!(
        run.result.kind,
        ResultKind::Waiting
            | ResultKind::Expired
            | ResultKind::Approved
            | ResultKind::Declined
            | ResultKind::Void
    )
}

/// Returns a decision as an agent may see it: without the reasons about withheld text.
fn cover_decision(mut decision: StoryDecision) -> StoryDecision {
    decision
        .rules
        .retain(|rule| rule.rule != WITHHELD_TEXT && rule.rule != WITHHELD_OFTEN);
    // Rules that allow are not listed with a decision that asks, so they would show that another one did not.
    if decision.effect == Effect::Allow.as_str() || decision.rules.is_empty() {
        Effect::Allow.as_str().clone_into(&mut decision.effect);
        decision.rules.clear();
    }
    decision
}

fn list_runs(ground: &Ground, own: &Proposer, limit: u64) -> Result<AgentAnswer, EffectError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut read = limit;
    let runs = loop {
        let log = Stories::of(ground).run_log(&LogFilter::default(), read)?;
        let mut runs = log.runs;
        runs.retain(|run| !closes_request(run));
        // Before the limit: a shorter list would show that a run is left out.
        if runs.len() >= limit || log.not_shown == 0 {
            runs.truncate(limit);
            break runs;
        }
        read = read.saturating_mul(2).max(1);
    };
    let runs: Vec<LoggedRun> = runs.into_iter().map(|run| cover_task(run, own)).collect();
    if runs.is_empty() {
        return Ok(text_answer("There are no runs yet."));
    }
    Ok(text_answer(write_json(&runs)))
}

fn show_run(ground: &Ground, own: &Proposer, reference: &str) -> Result<AgentAnswer, EffectError> {
    let story = Stories::of(ground).run_story(Some(reference))?;
    let is_hidden = is_about_withheld(&story.run);
    let refusal = story.refusal.filter(|_| !is_hidden && !has_waited(&story.run));
    let decision = story.decision.filter(|_| !is_hidden).map(cover_decision);
    let refusal = refusal.map(|refusal| {
        serde_json::json!({ "code": refusal.code, "message": refusal.message, "hint": refusal.hint })
    });
    let shown = serde_json::json!({
        "run": cover_task(story.run, own),
        "ended": story.ended,
        "base_commit": story.base_commit,
        "decision": decision,
        "refusal": refusal,
    });
    Ok(text_answer(write_json(&shown)))
}

fn explain_policy(ground: &Ground, arguments: &Value) -> Result<AgentAnswer, EffectError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let subject = match (text("path"), text("answer")) {
        (Some(path), None) => JudgeSubject::Reading(path.to_owned()),
        (None, Some(answer)) => JudgeSubject::Answer(answer.as_bytes().to_vec()),
        (Some(_), Some(_)) | (None, None) => {
            return Err(usage_error("name either a path or an answer"));
        }
    };
    let judged = Runs::of(ground).judge_subject(&JudgeSpec {
        subject: Some(subject),
        provider: AGENT_PROVIDER.to_owned(),
        is_cloud: true,
        is_told_to_tool: true,
        ..JudgeSpec::default()
    });
    let judged = match judged {
        Err(error) if error.code == WITHHELD_FILE => return Ok(answer_withheld(error.message)),
        other => other?,
    };
    let Some(explanation) = judged.explanation else {
        return Err(usage_error("there is nothing to judge"));
    };
    let decision = explanation.decision;
    let reasons = decision.reasons().iter().map(|reason| PolicyReason {
        rule: reason.rule.clone(),
        effect: reason.effect,
        why: reason.sentence().into_owned(),
        path: reason.path.clone(),
    });
    let report = PolicyReport {
        decision: decision.effect(),
        reasons: reasons.collect(),
    };
    Ok(answer_with(write_json(&report), &report))
}

/// Makes the only answer about a change of a file that policy withholds: any other would show whether a guess about its text is right.
fn answer_withheld(why: String) -> AgentAnswer {
    let report = PolicyReport {
        decision: Effect::Ask,
        reasons: vec![PolicyReason {
            rule: WITHHELD_TEXT.to_owned(),
            effect: Effect::Ask,
            why,
            path: None,
        }],
    };
    answer_with(write_json(&report), &report)
}

fn verify_evidence(ground: &Ground) -> Result<AgentAnswer, EffectError> {
    let verified = Stories::of(ground).verify_evidence(&VerifySpec::default())?;
    let report = EvidenceReport {
        ok: verified.ok,
        records: verified.records,
        commits: verified.commits,
    };
    let word = if report.ok { "whole" } else { "damaged" };
    Ok(answer_with(
        format!("The evidence is {word}: {} records.", report.records),
        &report,
    ))
}

fn text_answer(text: impl Into<String>) -> AgentAnswer {
    AgentAnswer {
        text: text.into(),
        data: None,
        is_error: false,
        code: None,
    }
}

fn write_json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

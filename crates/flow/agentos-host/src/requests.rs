//! `agentos approve` and `agentos deny`: a person's answer to a run that nobody could be asked about.
//!
//! Owns: finding the open requests on the tape. Never: lets an answer count for anything but what was asked: the
//! consent is bound to the request's own change, base, policy and target.

use agentos_engine::Cause;
use agentos_engine::ports::{Cancel, Clock, EffectError, Writes};
use agentos_engine::settle::{self, ConsentRequest, Proposal};
use agentos_evidence::{RecordKind, Store};
use agentos_executor::TargetSpec;
use agentos_policy::ToolFacts;
use agentos_tool::{RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approver::Approver;
use crate::clock::{self, SystemClock};
use crate::consent::consent_of;
use crate::control::StopFlag;
use crate::error::usage;
use crate::evidence::{self, unfit};
use crate::host::Host;
use crate::options::SessionOptions;
use crate::run_end::RunEnd;
use crate::session::Session;
use crate::tape::{broken, read_record};

/// What `agentos approve --json` prints without a run.
#[derive(Serialize, JsonSchema)]
pub struct OpenRequests {
    /// Version of this shape: 1.
    pub version: u32,
    /// The oldest first.
    pub requests: Vec<OpenRequest>,
}

/// A change that waits for a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenRequest {
    /// The run that asked.
    pub run: String,
    /// When it asked.
    pub asked: String,
    /// Nobody has answered, and it has not expired.
    pub open: bool,
    /// What it is about.
    pub request: ConsentRequest,
}

/// What `agentos deny --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct DeniedRequest {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run whose request is closed.
    pub run: String,
    /// Who said no.
    pub who: String,
    /// When.
    pub when: Timestamp,
}

/// Lands what an earlier run asked for.
///
/// `consents` says that naming the request is the consent; otherwise the session's approver is asked.
///
/// # Errors
/// If the request is not open, or its change is not on the tape.
pub(crate) async fn approve_request(
    host: &Host,
    session: &mut Session,
    run: &RunId,
    id: &str,
    consents: bool,
    cancel: &mut Cancel<'_>,
) -> Result<RunEnd, EffectError> {
    let request = find_open(session.store(), id)?.request;
    let diff = session.store().get_blob(&request.diff_blob_sha256);
    let diff = diff.map_err(|error| broken(&error))?;
    session.aim(target_spec(&request));
    if consents {
        session.consent_by(Approver::Given(Box::new(consent_of(
            &host.environment().user(),
            "approve",
            &request.hashes,
        ))));
    }
    let proposal = Proposal {
        run,
        answer: &diff,
        seen: Vec::new(),
        tool: ToolFacts {
            at: SystemClock.now(),
            ..request.tool.clone()
        },
        reported_model: request.reported_model.clone(),
        message: request.message.clone(),
        trailers: request.trailers.clone(),
        attempt: request.tool.attempt,
        partial: false,
        answers: Some(id.to_owned()),
        // The consent is bound to the same change and commit as the check was.
        proved: None,
    };
    let instruction = format!("Approve run {id}");
    let outcome = settle::apply(&mut session.deps(), "approve", &instruction, &proposal, cancel).await;
    Ok(outcome.into())
}

impl Host {
    /// Lists the changes that wait for a person, the oldest first.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn open_requests(&self) -> Result<Vec<OpenRequest>, EffectError> {
        waiting(&evidence::open_store(self)?)
    }

    /// Reads a request that is open, with its canonical diff.
    ///
    /// # Errors
    /// If it is not open, or its change is not on the tape.
    pub fn open_request(&self, run: &str) -> Result<(OpenRequest, Vec<u8>), EffectError> {
        let store = evidence::open_store(self)?;
        let found = find_open(&store, run)?;
        let diff = store.get_blob(&found.request.diff_blob_sha256);
        Ok((found, diff.map_err(|error| broken(&error))?))
    }

    /// Closes a request for good; `who` says no.
    ///
    /// # Errors
    /// If it is not open, or the answer cannot be recorded.
    pub fn deny_request(&self, request: &str, who: &str) -> Result<DeniedRequest, EffectError> {
        let run = clock::new_run();
        let options = SessionOptions::looking();
        let mut session = Session::open(self, &options, Approver::Nobody, StopFlag::default(), &run)?;
        let asked = find_open(session.store(), request)?.request;
        let no = consent_of(who, "deny", &asked.hashes);
        settle::deny(&mut session.deps(), &asked, request, &no)?;
        session.seal(self);
        Ok(DeniedRequest {
            version: 1,
            run: request.to_owned(),
            who: no.who,
            when: no.when,
        })
    }
}

/// What waits for a person, the oldest first.
///
/// # Errors
/// When the tape cannot be read.
pub(crate) fn waiting(store: &Store) -> Result<Vec<OpenRequest>, EffectError> {
    let mut requests = requests(store, &SystemClock.now())?;
    requests.retain(|request| request.open);
    Ok(requests)
}

/// The request of a run, if it can still be answered.
fn find_open(store: &Store, run: &str) -> Result<OpenRequest, EffectError> {
    let found = requests(store, &SystemClock.now())?;
    let Some(request) = found.into_iter().find(|request| request.run == run) else {
        let other = usage(format!("run `{run}` waits for nobody")).hint("`agentos approve` lists what does");
        return Err(unfit(store, run, other)?);
    };
    if request.open {
        return Ok(request);
    }
    let expired = request.request.expires.unix_seconds() <= SystemClock.now().unix_seconds();
    let (code, why) = if expired {
        ("consent-expired", "has expired")
    } else {
        ("consent-answered", "was answered already")
    };
    Err(
        EffectError::new(Cause::Consent, code, format!("the request of run `{run}` {why}"))
            .hint("run the task again to ask anew"),
    )
}

/// The part of a consent record that is needed here.
#[derive(Deserialize)]
struct Said {
    request: Option<ConsentRequest>,
    answers: Option<String>,
    given: bool,
    consent: Option<serde_json::Value>,
}

/// A record that opens or closes a request.
enum Step {
    Said(Box<Said>),
    Landed,
}

/// Every request on the tape, the oldest first.
fn requests(store: &Store, now: &Timestamp) -> Result<Vec<OpenRequest>, EffectError> {
    let mut steps = Vec::new();
    for record in store.records().map_err(|error| broken(&error))? {
        let record = record.map_err(|error| broken(&error))?;
        let step = match record.kind {
            RecordKind::Consent => Step::Said(Box::new(read_record(store, &record)?)),
            RecordKind::Receipt => Step::Landed,
            _ => continue,
        };
        steps.push((record.run, record.ts, step));
    }
    Ok(followed(steps, now))
}

/// A request is closed by a person's no, or by the landing that its yes led to. A yes that did not land leaves it open.
fn followed(steps: Vec<(String, String, Step)>, now: &Timestamp) -> Vec<OpenRequest> {
    let mut found: Vec<OpenRequest> = Vec::new();
    let mut yes: Vec<(String, String)> = Vec::new();
    for (run, asked, step) in steps {
        let closed = match step {
            Step::Landed => yes.iter().find(|(by, _)| *by == run).map(|(_, of)| of.clone()),
            Step::Said(said) => match (said.answers, said.request) {
                (Some(of), _) if said.given => {
                    yes.push((run, of));
                    None
                }
                (Some(of), _) => said.consent.map(|_| of),
                (None, Some(request)) => {
                    let open = request.expires.unix_seconds() > now.unix_seconds();
                    found.push(OpenRequest {
                        run,
                        asked,
                        open,
                        request,
                    });
                    None
                }
                (None, None) => None,
            },
        };
        for request in found
            .iter_mut()
            .filter(|request| Some(&request.run) == closed.as_ref())
        {
            request.open = false;
        }
    }
    found
}

/// Where the change goes: where it was asked for.
fn target_spec(request: &ConsentRequest) -> TargetSpec {
    let target = &request.target;
    match target.writes {
        Writes::CommitAndWorkTree => TargetSpec::CurrentBranch,
        Writes::WorkTreeOnly => TargetSpec::WorkTreeOnly,
        Writes::CommitOnly => TargetSpec::Branch(target.refname.trim_start_matches("refs/heads/").to_owned()),
        Writes::Nothing => TargetSpec::AtHead,
    }
}

#[cfg(test)]
mod tests {
    use agentos_engine::ports::TargetInfo;
    use agentos_policy::Hashes;

    use super::*;
    use crate::tasks::patch_facts;

    fn asked(run: &str, expires: u64) -> (String, String, Step) {
        let request = ConsentRequest {
            hashes: Hashes {
                diff_sha256: "d".to_owned(),
                base_commit: "b".to_owned(),
                policy_sha256: "p".to_owned(),
                target_ref: "refs/heads/main".to_owned(),
                writes: "commit-only".to_owned(),
            },
            target: TargetInfo {
                refname: "refs/heads/main".to_owned(),
                base_commit: "b".to_owned(),
                base_tree: "t".to_owned(),
                creates_branch: false,
                writes: Writes::CommitOnly,
            },
            diff_blob_sha256: "x".to_owned(),
            tool: patch_facts(),
            reported_model: None,
            message: "m".to_owned(),
            trailers: Vec::new(),
            expires: Timestamp::from_unix_seconds(expires),
        };
        step(run, Some(request), None, false, false)
    }

    fn step(
        run: &str,
        request: Option<ConsentRequest>,
        answers: Option<&str>,
        given: bool,
        by_person: bool,
    ) -> (String, String, Step) {
        let said = Said {
            request,
            answers: answers.map(str::to_owned),
            given,
            consent: by_person.then_some(serde_json::Value::Null),
        };
        (run.to_owned(), "then".to_owned(), Step::Said(Box::new(said)))
    }

    #[test]
    fn a_request_is_open_until_it_expires_is_denied_or_lands() {
        let landed = || ("r2".to_owned(), "then".to_owned(), Step::Landed);
        let cases = [
            ("asked", vec![asked("r1", 100)], true),
            ("expired", vec![asked("r1", 50)], false),
            (
                "denied",
                vec![asked("r1", 100), step("r2", None, Some("r1"), false, true)],
                false,
            ),
            (
                "looked at",
                vec![asked("r1", 100), step("r2", None, Some("r1"), false, false)],
                true,
            ),
            (
                "yes, and it did not land",
                vec![asked("r1", 100), step("r2", None, Some("r1"), true, true)],
                true,
            ),
            (
                "yes, and landed",
                vec![
                    asked("r1", 100),
                    step("r2", None, Some("r1"), true, true),
                    landed(),
                ],
                false,
            ),
            ("another landed", vec![asked("r1", 100), landed()], true),
        ];
        for (what, steps, open) in cases {
            let found = followed(steps, &Timestamp::from_unix_seconds(50));
            assert_eq!(
                found.iter().map(|request| request.open).collect::<Vec<_>>(),
                [open],
                "{what}"
            );
        }
    }
}

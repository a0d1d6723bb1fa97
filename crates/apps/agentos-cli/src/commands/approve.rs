//! `agentos approve` and `agentos deny`: a person's answer to a run that nobody could be asked about.
//!
//! Owns: finding the open requests on the tape. Never: lets an answer count for anything but what was asked: the
//! consent is bound to the request's own change, base, policy and target.

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError, Writes};
use agentos_engine::settle::{self, ConsentRequest, Proposal};
use agentos_evidence::{RecordKind, Store};
use agentos_executor::TargetSpec;
use agentos_policy::{Consent, ToolFacts};
use agentos_tool::{RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{App, Done, output_failed, usage};
use crate::args::land::{ApproveArgs, DenyArgs};
use crate::clock::SystemClock;
use crate::commands::evidence::unfit;
use crate::commands::undo::read;
use crate::exit::Exit;
use crate::render;
use crate::wire::consent::Asker;
use crate::wire::session::{Session, Wanted};
use crate::wire::tape::broken;

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

/// Lands what a run asked for, or lists what is open.
pub fn approve(app: &App, args: &ApproveArgs, run: &RunId) -> Done {
    let wanted = Wanted {
        policies: args.policy.clone(),
        yes: args.yes,
        ..Wanted::default()
    };
    let mut session = Session::open(app, &wanted, run)?;
    let Some(id) = &args.run else {
        return list(app, session.store());
    };
    let found = open(session.store(), id)?;
    let request = found.request;
    let diff = session
        .store()
        .get_blob(&request.diff_blob_sha256)
        .map_err(|error| broken(&error))?;
    if args.show {
        let shown = if app.env.stdout_is_terminal {
            app.page(&app.diff(&diff, None))
        } else {
            app.printer.bytes(&diff)
        };
        shown.map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    session.aim(spec(&request));
    // Who types the run's id at a terminal is shown the change and asked; who cannot be asked has said yes by it.
    if args.yes || !session.can_ask() {
        session.consent_by(Asker::Given(Box::new(word(app, &request, "approve"))));
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
        answers: Some(id.clone()),
        // The consent is bound to the same change and commit as the check was.
        proved: None,
    };
    let outcome = settle::apply(
        &mut session.deps(),
        "approve",
        &format!("Approve run {id}"),
        &proposal,
    );
    session.seal(app);
    app.finish(&outcome)
}

/// Closes a request for good.
pub fn deny(app: &App, args: &DenyArgs, run: &RunId) -> Done {
    let mut session = Session::open(app, &Wanted::nothing(), run)?;
    let request = open(session.store(), &args.run)?.request;
    let no = word(app, &request, "deny");
    settle::deny(&mut session.deps(), &request, &args.run, &no)?;
    session.seal(app);
    let denied = DeniedRequest {
        version: 1,
        run: args.run.clone(),
        who: no.who,
        when: no.when,
    };
    app.say(
        &format!("run {} is denied; nothing of it lands", args.run),
        &denied,
    )
}

/// The user's word on exactly what was asked.
fn word(app: &App, request: &ConsentRequest, how: &str) -> Consent {
    Consent {
        who: app.env.user(),
        when: SystemClock.now(),
        how: how.to_owned(),
        hashes: request.hashes.clone(),
    }
}

fn list(app: &App, store: &Store) -> Done {
    let requests = waiting(store)?;
    if app.printer.json {
        app.printer
            .json(&OpenRequests { version: 1, requests })
            .map_err(|error| output_failed(&error))?;
    } else if requests.is_empty() {
        app.printer.note("nothing waits for a person");
    } else {
        let lines = requests.iter().map(render::outcome::request).collect::<String>();
        app.page(&lines).map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// What waits for a person, the oldest first.
///
/// # Errors
/// When the tape cannot be read.
pub fn waiting(store: &Store) -> Result<Vec<OpenRequest>, EffectError> {
    let mut requests = requests(store, &SystemClock.now())?;
    requests.retain(|request| request.open);
    Ok(requests)
}

/// The request of a run, if it can still be answered.
fn open(store: &Store, run: &str) -> Result<OpenRequest, EffectError> {
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
            RecordKind::Consent => Step::Said(Box::new(read(store, &record)?)),
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
fn spec(request: &ConsentRequest) -> TargetSpec {
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
    use crate::commands::apply::patch_facts;

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

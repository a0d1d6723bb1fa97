//! `agentos approve` and `agentos deny`: a person's answer to an open request of an earlier run.
//!
//! Owns: the sessions for these answers, and their reports. Never: decides which requests are open; see
//! [`open_requests`].

use std::path::PathBuf;

use agentos_api::is_hidden;
use agentos_engine::open_requests::{
    self, ApprovalConsent, ApprovalOrder, OpenRequest, PreviewedChange, RevisedDiff,
};
use agentos_engine::ports::{CancelSignal, EffectError};
use agentos_policy::Consent;
use agentos_tool::{RunId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Runs;
use crate::hooks::open_session;
use crate::run::ApprovalMode;
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::consent::{ConsentAnswer, ConsentRequested, consent_of};
use agentos_ground::control::StopFlag;
use agentos_ground::error::usage_error;
use agentos_ground::options::SessionOptions;
use agentos_ground::run_end::RunEnd;
use agentos_ground::run_ref::find_run;
use agentos_ground::tape::TapeReader;
use agentos_ground::tape::open_store;
use agentos_providers::approver::Approver;
use agentos_providers::session::Session;

/// The output of `agentos approve --json` without a run.
#[derive(Serialize, JsonSchema)]
pub struct OpenRequests {
    /// Version of this shape: 1.
    pub version: u32,
    /// The open requests, the oldest first.
    pub requests: Vec<OpenRequest>,
}

/// A requested change as it would land now.
#[derive(Debug, Clone)]
pub enum PreviewedRequest {
    /// The question to a person about it.
    Placed(Box<ConsentRequested>),
    /// The change does not land, for this reason.
    Refused(String),
}

/// The output of `agentos deny --json`.
#[derive(Serialize, JsonSchema)]
pub struct DeniedRequest {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run whose request is closed.
    pub run: String,
    /// The person who declined.
    pub who: String,
    /// Time of the answer.
    pub when: Timestamp,
    /// Reason that the person gave. Left out if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Most characters of a comment. Whoever proposed the change reads it in one go.
const LONGEST_COMMENT: usize = 1000;

/// Reads the reason of a person for a no. `None` if it is blank.
///
/// # Errors
/// If it is too long, or has characters that no screen shows.
fn read_comment(text: Option<&str>) -> Result<Option<&str>, EffectError> {
    let letters = text.map_or(0, |text| text.chars().count());
    if letters > LONGEST_COMMENT {
        let message =
            format!("the comment has {letters} characters, and at most {LONGEST_COMMENT} are allowed");
        return Err(usage_error(message).hint("nothing was recorded; deny again with a shorter one"));
    }
    // Agents and models read it as it is. What no screen shows could say something else to them.
    let shown = |letter: char| matches!(letter, '\n' | '\r' | '\t') || !is_hidden(letter);
    if let Some(hidden) = text.and_then(|text| text.chars().find(|letter| !shown(*letter))) {
        let message = format!(
            "the comment has a character that no screen shows (U+{:04X})",
            u32::from(hidden)
        );
        return Err(usage_error(message).hint("nothing was recorded; deny again without it"));
    }
    Ok(text.map(str::trim).filter(|text| !text.is_empty()))
}

/// Lands the change for which an earlier run requested consent, or what a person made of it.
///
/// # Errors
/// If the request is not open, or its change is not on the tape.
pub(crate) async fn approve_request(
    ground: &Ground,
    session: &mut Session,
    run: &RunId,
    (request, consent, revision): (&str, ApprovalMode, Option<RevisedDiff>),
    cancel: &mut CancelSignal<'_>,
) -> Result<RunEnd, EffectError> {
    let request = find_run(session.store(), request, Some(run))?;
    let consent = match consent {
        ApprovalMode::Asked => ApprovalConsent::Asked,
        ApprovalMode::Named | ApprovalMode::NamedRelease => ApprovalConsent::Named {
            who: ground.person_name(),
            releases_withheld: consent == ApprovalMode::NamedRelease,
        },
        ApprovalMode::Seen(ConsentAnswer::Yes {
            hashes,
            who,
            how,
            releases_withheld,
        }) => ApprovalConsent::Seen(Box::new(Consent {
            releases_withheld,
            ..consent_of(&who, &how, &hashes)
        })),
        // What a device signs does not say that withheld text is released, so it stays withheld.
        ApprovalMode::Signed(ConsentAnswer::Yes { hashes, who, how, .. }, proof) => {
            // The device may have been revoked while the run waited.
            Runs::of(ground).require_paired(&proof.key)?;
            let mut consent = consent_of(&who, &how, &hashes);
            consent.proof = Some(proof);
            ApprovalConsent::Seen(Box::new(consent))
        }
        ApprovalMode::Seen(ConsentAnswer::No { .. }) | ApprovalMode::Signed(ConsentAnswer::No { .. }, _) => {
            return Err(usage_error("a no lands nothing; deny the request instead"));
        }
    };
    let order = ApprovalOrder {
        request: &request,
        consent,
        revision,
    };
    let mut ports = session.revisit_ports();
    let landed = open_requests::approve_request(&mut ports.effects, ports.tape, run, &order, cancel);
    Ok(landed
        .await
        .map_err(|error| note_expiry(ground, &request, error))?
        .into())
}

/// Code of a request whose time is over.
const EXPIRED: &str = "consent-expired";

/// Records that a request was answered too late, if that is the error. A record that cannot be made is a cause of it.
fn note_expiry(ground: &Ground, request: &str, error: EffectError) -> EffectError {
    if error.code != EXPIRED {
        return error;
    }
    match close_expired(ground, request) {
        Ok(()) => error,
        Err(fault) => error.caused_by([format!("this could not be recorded: {}", fault.message)]),
    }
}

/// Closes a request whose time is over, in a run of its own.
fn close_expired(ground: &Ground, request: &str) -> Result<(), EffectError> {
    let run = clock::new_run();
    let options = SessionOptions::writing_nothing();
    let mut session = open_session(ground, &options, Approver::nobody(), StopFlag::default(), &run)?;
    let mut ports = session.revisit_ports();
    open_requests::close_expired(&mut ports.effects, ports.tape, request)?;
    session.seal_run(ground);
    Ok(())
}

impl Runs<'_> {
    /// Lists the changes that wait for a person, the oldest first.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn open_requests(self) -> Result<Vec<OpenRequest>, EffectError> {
        open_requests::list_open(&TapeReader(&open_store(self.ground)?), &clock::now())
    }

    /// Lists every request that was made, the oldest first, in whatever state it is.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn all_requests(self) -> Result<Vec<OpenRequest>, EffectError> {
        open_requests::list_all(&TapeReader(&open_store(self.ground)?), &clock::now())
    }

    /// Reads a request that is open, with its canonical diff.
    ///
    /// # Errors
    /// If it is not open, or its change is not on the tape.
    pub fn open_request(self, run: &str) -> Result<(OpenRequest, Vec<u8>), EffectError> {
        let store = open_store(self.ground)?;
        let run = find_run(&store, run, None)?;
        open_requests::read_open(&TapeReader(&store), &run, &clock::now())
            .map_err(|error| note_expiry(self.ground, &run, error))
    }

    /// Places and decides the change of an open request, or what a person made of it, without a run. A consent to the result
    /// is bound to exactly this state.
    ///
    /// # Errors
    /// If the request is not open, another branch is checked out, or the repository cannot be read.
    pub fn preview_request(
        self,
        request: &str,
        policies: &[PathBuf],
        revision: Option<&RevisedDiff>,
    ) -> Result<PreviewedRequest, EffectError> {
        let run = clock::new_run();
        let options = SessionOptions {
            policies: policies.to_vec(),
            ..SessionOptions::default()
        };
        let mut session = open_session(
            self.ground,
            &options,
            Approver::nobody(),
            StopFlag::default(),
            &run,
        )?;
        let request = find_run(session.store(), request, Some(&run))?;
        let ports = session.revisit_ports();
        let named = (&run, request.as_str());
        let preview =
            open_requests::preview_request(ports.effects.repo, ports.tape, named, revision, &clock::now())
                .map_err(|error| note_expiry(self.ground, &request, error))?;
        Ok(match preview.change {
            PreviewedChange::Refused(why) => PreviewedRequest::Refused(why),
            PreviewedChange::Placed(placed) => PreviewedRequest::Placed(Box::new(ConsentRequested {
                change: placed.landed.change,
                decision: placed.decision,
                hashes: placed.hashes,
                drift: placed.drift,
            })),
        })
    }

    /// Closes a request for good, because the tool of this provider takes its change back.
    ///
    /// # Errors
    /// If it is not open, another provider proposed it, or that cannot be recorded.
    pub fn withdraw_request(self, request: &str, provider: &str) -> Result<String, EffectError> {
        let run = clock::new_run();
        let options = SessionOptions::writing_nothing();
        let mut session = open_session(
            self.ground,
            &options,
            Approver::nobody(),
            StopFlag::default(),
            &run,
        )?;
        let request = find_run(session.store(), request, Some(&run))?;
        let mut ports = session.revisit_ports();
        open_requests::withdraw_request(
            &mut ports.effects,
            (ports.tape, ports.history),
            &request,
            provider,
        )
        .map_err(|error| note_expiry(self.ground, &request, error))?;
        session.seal_run(self.ground);
        Ok(request)
    }

    /// Closes a request for good, because the person `who` declines it. The reason `comment` is recorded, and whoever proposed the
    /// change can read it.
    ///
    /// # Errors
    /// If it is not open, the comment is longer than 1,000 characters or has hidden ones, or the answer cannot be recorded.
    pub fn deny_request(
        self,
        request: &str,
        who: &str,
        comment: Option<&str>,
    ) -> Result<DeniedRequest, EffectError> {
        let comment = read_comment(comment)?;
        let run = clock::new_run();
        let options = SessionOptions::writing_nothing();
        // The no is a run of its own, with records and a signed end. There is nothing more to ask.
        let mut session = open_session(
            self.ground,
            &options,
            Approver::nobody(),
            StopFlag::default(),
            &run,
        )?;
        let request = find_run(session.store(), request, Some(&run))?;
        let mut ports = session.revisit_ports();
        let no = open_requests::deny_request(
            &mut ports.effects,
            (ports.tape, ports.history),
            &request,
            who,
            comment,
        )
        .map_err(|error| note_expiry(self.ground, &request, error))?;
        session.seal_run(self.ground);
        Ok(DeniedRequest {
            version: 1,
            run: request,
            who: no.who,
            when: no.when,
            comment: comment.map(str::to_owned),
        })
    }
}

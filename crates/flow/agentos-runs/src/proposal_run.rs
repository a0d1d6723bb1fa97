//! The run of a change that a model proposes.
//!
//! Owns: how the tools of a model make such a run, and its work. Never: shows the model anything.

use std::sync::Arc;

use agentos_engine::Outcome;
use agentos_engine::ports::{CancelSignal, EffectError};
use agentos_engine::settle::{self, Proposal};
use agentos_tool::RunId;

use crate::Runs;
use crate::run::{ConsentMode, RunSpec, RunWork};
use agentos_calls::chat_tools::{PreparedProposal, ProposalRuns};
use agentos_ground::Ground;
use agentos_ground::notice::SilentObserver;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ProposalSpec;
use agentos_ground::run_end::RunEnd;
use agentos_providers::session::Session;

/// The verb that the records of such runs name.
const VERB: &str = "propose";

/// Makes the run of each proposal, with this source of consent.
///
/// With [`ConsentMode::Later`] every proposal waits for a person. [`ConsentMode::Person`] does not work here, because a tool cannot ask.
#[derive(Debug, Clone)]
pub struct ConsentedProposals(pub ConsentMode);

impl ProposalRuns for ConsentedProposals {
    fn prepare(
        &self,
        ground: &Ground,
        run: RunId,
        session: SessionOptions,
        proposal: ProposalSpec,
    ) -> PreparedProposal {
        let (run, control) = Runs::of(ground).prepare_run(RunSpec {
            id: Some(run),
            consent: self.0.clone(),
            ..RunSpec::new(session, RunWork::Proposal(proposal))
        });
        let finish = move || -> Result<Option<Outcome>, EffectError> {
            Ok(run.finish(Arc::new(SilentObserver))?.into_outcome())
        };
        PreparedProposal {
            control,
            finish: Box::new(finish),
        }
    }
}

/// Lands a proposal, or leaves a request for it.
pub(crate) async fn land_proposal(
    session: &mut Session,
    run: &RunId,
    spec: &ProposalSpec,
    cancel: &mut CancelSignal<'_>,
) -> RunEnd {
    let author = &spec.author;
    let proposal = Proposal {
        run,
        answer: &spec.answer,
        // As for a pasted answer: the model may know files from the conversation that no tool read.
        seen: Vec::new(),
        tool: author.tool_facts(),
        reported_model: None,
        message: spec.message.clone().unwrap_or_default(),
        trailers: vec![settle::assisted_by(&author.provider, author.model.as_deref())],
        author: None,
        attempt: 1,
        partial: false,
        answers: None,
        source: None,
        proved: None,
    };
    let mut effects = session.run_effects();
    settle::apply_answer(&mut effects, VERB, &spec.instruction, &proposal, cancel)
        .await
        .into()
}

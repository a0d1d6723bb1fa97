//! The thread of a run, from opening the repository to the signed end.
//!
//! Owns: the order of these steps, the same for every kind of work. Never: decides what lands.

use std::sync::Arc;

use agentos_engine::ports::EffectError;
use agentos_tool::RunId;
use tokio::sync::mpsc;

use super::{ConsentMode, RunSpec, RunWork};
use crate::hooks::open_session;
use crate::{blank, proposal_run, reland, requests, tasks, undo};
use agentos_calls::ledger::collector::CallCollector;
use agentos_calls::pools::{PoolQuery, RunPool};
use agentos_ground::Ground;
use agentos_ground::consent::{ConsentAnswer, PersonAsker};
use agentos_ground::control::Stopping;
use agentos_ground::events::EventSender;
use agentos_ground::notice::HostObserver;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::run_end::RunEnd;
use agentos_ground::task_spec::ExploreMode;
use agentos_ground::{mails, runtime};
use agentos_providers::approver::{Approver, ConsentSource};

/// Does the work of a run, from opening the repository to the signed end.
///
/// # Errors
/// If the run cannot begin.
pub(super) fn run_to_end(
    ground: &Ground,
    run: &RunId,
    spec: RunSpec,
    events: &EventSender,
    stopping: Stopping,
    answers: mpsc::UnboundedReceiver<ConsentAnswer>,
) -> Result<RunEnd, EffectError> {
    // Before anything is opened or asked: a missing text is a slip of the caller, whatever the state of the repository.
    blank::refuse_blank_text(&spec.work)?;
    let mut spec = spec;
    let pool = pin_member(ground, &mut spec.work)?;
    if !calls_model(&spec.work) {
        return do_work(ground, run, (spec, None), events, stopping, answers);
    }
    let collector = CallCollector::new(ground.shared_observer());
    let watched = ground
        .clone()
        .with_observer(Arc::clone(&collector) as Arc<dyn HostObserver>);
    let end = do_work(&watched, run, (spec, pool.as_ref()), events, stopping, answers);
    // Whatever the end is: a call that failed may have cost something too.
    collector.record_run(ground, run, pool.as_ref(), end.as_ref().err());
    end
}

/// Chooses a member if the work names a pool, and puts it in the pool's place: policy then judges by the provider that is really asked.
/// `None` if the work names no pool.
fn pin_member(ground: &Ground, work: &mut RunWork) -> Result<Option<RunPool>, EffectError> {
    let (RunWork::Task(task) | RunWork::Question(task)) = work else {
        return Ok(None);
    };
    let query = PoolQuery {
        message: task.task.clone().unwrap_or_default(),
        files: task.files.clone(),
        tools: usize::from(matches!(task.explore, ExploreMode::Always(_))),
        ..PoolQuery::default()
    };
    let pool = RunPool::begin(ground, &task.provider, query)?;
    if let Some(provider) = pool.as_ref().and_then(RunPool::provider) {
        task.provider = provider;
    }
    Ok(pool)
}

/// Returns whether the work calls a model or an agent. Recordings and programs of the user's own cost nothing.
fn calls_model(work: &RunWork) -> bool {
    let provider = match work {
        RunWork::Task(task) | RunWork::Question(task) => &task.provider.provider,
        // The conversation records the calls of the model that proposes.
        RunWork::Answer(_)
        | RunWork::Proposal(_)
        | RunWork::Approval { .. }
        | RunWork::Recorded(_)
        | RunWork::Undo { .. } => {
            return false;
        }
    };
    match provider {
        ProviderKind::Profile(_) => true,
        ProviderKind::Replay | ProviderKind::AnyProgram | ProviderKind::ToolProgram => false,
    }
}

/// Does the work between the checks of the order and the ledger.
///
/// # Errors
/// If the run cannot begin.
fn do_work(
    ground: &Ground,
    run: &RunId,
    (spec, pool): (RunSpec, Option<&RunPool>),
    events: &EventSender,
    stopping: Stopping,
    answers: mpsc::UnboundedReceiver<ConsentAnswer>,
) -> Result<RunEnd, EffectError> {
    let source = match spec.consent {
        ConsentMode::Beforehand { who, how } => ConsentSource::Consenting { who, how },
        ConsentMode::Person => ConsentSource::Person(PersonAsker::new(events.clone(), answers)),
        ConsentMode::EveryChange => ConsentSource::Reviewer(PersonAsker::new(events.clone(), answers)),
        ConsentMode::Nobody => ConsentSource::Nobody,
        ConsentMode::Later => ConsentSource::Later,
        ConsentMode::Queue => ConsentSource::Queue,
    };
    let approver = Approver::new(ground, source);
    let mut session = open_session(ground, &spec.session, approver, stopping.flag.clone(), run)?;
    // One wish to stop ends every wait of the run, so the same future is handed through all of them.
    let mut cancel = stopping.cancel();
    let end = match spec.work {
        RunWork::Task(task) => {
            let work = tasks::run_task(ground, &mut session, run, &task, pool, events, &mut cancel);
            runtime::block_on(work)??
        }
        RunWork::Question(task) => {
            let work = tasks::ask_tool(ground, &mut session, run, &task, events, &mut cancel);
            runtime::block_on(work)??
        }
        RunWork::Answer(answer) => {
            mails::announce_author(ground, &answer);
            runtime::block_on_local(tasks::land_answer(&mut session, run, &answer, &mut cancel))?
        }
        RunWork::Proposal(proposal) => {
            let work = proposal_run::land_proposal(&mut session, run, &proposal, &mut cancel);
            runtime::block_on_local(work)?
        }
        RunWork::Approval {
            request,
            consent,
            revision,
        } => {
            let order = (request.as_str(), consent, revision);
            let work = requests::approve_request(ground, &mut session, run, order, &mut cancel);
            runtime::block_on_local(work)??
        }
        RunWork::Recorded(order) => {
            let names_branch = spec.session.branch.is_some();
            let work = reland::land_recorded(ground, &mut session, run, &order, names_branch, &mut cancel);
            runtime::block_on_local(work)??
        }
        RunWork::Undo { run: named } => {
            let is_dry = spec.session.dry_run;
            let work = undo::undo_run(&mut session, run, named.as_deref(), is_dry, &mut cancel);
            runtime::block_on_local(work)??
        }
    };
    // Last: the checkpoint signs everything that the run recorded.
    session.seal_run(ground);
    Ok(end)
}

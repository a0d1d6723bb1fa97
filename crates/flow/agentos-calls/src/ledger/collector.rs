//! The calls of a run, collected for the ledger while the run records them.
//!
//! Owns: what the ledger keeps of a run's result. Never: keeps a text of the run; the repository's tape has it.

use std::sync::{Arc, Mutex, PoisonError};

use agentos_api::{Activity, Notice};
use agentos_engine::ports::EffectError;
use agentos_evidence::RecordKind;
use agentos_ledger::{CallRecord, TurnEnd, TurnRecord, TurnSource};
use agentos_tool::{FinishReason, RunId, Timestamp, ToolResult};
use serde::Deserialize as _;
use serde_json::Value;

use super::Ledger;
use crate::pools::RunPool;
use agentos_ground::Ground;
use agentos_ground::notice::{HostObserver, SharedObserver};

/// Observer that passes everything on, and keeps the calls of tools.
pub struct CallCollector {
    inner: SharedObserver,
    seen: Mutex<SeenCalls>,
}

#[derive(Default)]
struct SeenCalls {
    model: Option<String>,
    calls: Vec<CallRecord>,
    /// True if the calls of the tool that works now were reported one by one.
    is_detailed: bool,
    /// Reservation of the call whose result comes next. `None` if nothing was reserved.
    reservation: Option<String>,
}

impl CallCollector {
    /// Makes a collector in front of an observer.
    pub fn new(inner: SharedObserver) -> Arc<Self> {
        Arc::new(Self {
            inner,
            seen: Mutex::default(),
        })
    }

    /// Writes a turn with the calls to the ledger. A run without a call leaves none. `pool` chose the members. A failure is a notice: the evidence of the run is on
    /// the repository's tape.
    pub fn record_run(
        &self,
        ground: &Ground,
        run: &RunId,
        pool: Option<&RunPool>,
        failure: Option<&EffectError>,
    ) {
        let calls = std::mem::take(&mut self.lock().calls);
        let Some(last) = calls.last() else {
            return;
        };
        let code = failure
            .map(|error| error.code.to_string())
            .or(last.failure.clone());
        let mut choices = pool.map(RunPool::list_choices).unwrap_or_default();
        let choice = choices.pop();
        if let Some(pool) = pool.filter(|_| last.failure.is_none()) {
            pool.remember_answer(ground);
        }
        let turn = TurnRecord {
            session: None,
            caller: None,
            source: TurnSource::Run,
            repository: Some(ground.repository_dir().display().to_string()),
            runs: vec![run.clone()],
            reads: Vec::new(),
            messages: Vec::new(),
            choice: choice.map(Box::new),
            discarded: choices,
            end: code.map_or(TurnEnd::Answered, |code| TurnEnd::Failed { code }),
            calls,
        };
        if let Err(error) = Ledger::open(ground).and_then(|ledger| ledger.record_turn(run, &turn)) {
            let message = format!("the cost of this run is not in the ledger: {}", error.message);
            ground.notify(Notice::new("ledger-unwritten", message));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SeenCalls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_result(&self, body: &Value) {
        let Some(result) = body
            .get("result")
            .and_then(|result| ToolResult::deserialize(result).ok())
        else {
            return;
        };
        let mut seen = self.lock();
        // The result has the sum of these calls, which must not be counted again.
        if std::mem::take(&mut seen.is_detailed) {
            return;
        }
        let call = CallRecord {
            provider: result.tool,
            model: seen.model.clone(),
            model_id: result.model_id,
            endpoint: result.endpoint,
            usage: result.usage,
            price: result.price,
            cost_usd: result.cost_usd,
            latency_ms: result.latency_ms,
            finish: body
                .get("finish")
                .and_then(|finish| FinishReason::deserialize(finish).ok()),
            failure: result.error_category.map(|category| category.as_str().to_owned()),
            reservation: seen.reservation.take(),
        };
        seen.calls.push(call);
    }

    /// Gives the last call the code of its failure. The result before has only its kind, as in `network`.
    fn name_failure(&self, body: &Value) {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        // A refused change is no failure of a call: the answer was whole.
        let is_of_call = matches!(text("cause"), Some("tool" | "interrupted"));
        let mut seen = self.lock();
        let failed = seen.calls.last_mut().filter(|call| call.failure.is_some());
        if let (true, Some(call), Some(code)) = (is_of_call, failed, text("code")) {
            call.failure = Some(code.to_owned());
        }
    }
}

impl HostObserver for CallCollector {
    fn on_notice(&self, notice: Notice) {
        self.inner.0.on_notice(notice);
    }

    fn on_call(&self, call: &CallRecord) {
        let mut seen = self.lock();
        seen.calls.push(call.clone());
        seen.is_detailed = true;
        drop(seen);
        self.inner.0.on_call(call);
    }

    fn on_model(&self, model: Option<&str>) {
        self.lock().model = model.map(str::to_owned);
        self.inner.0.on_model(model);
    }

    fn on_reservation(&self, id: &str) {
        self.lock().reservation = Some(id.to_owned());
        self.inner.0.on_reservation(id);
    }

    fn on_activity(&self, activity: Activity) {
        self.inner.0.on_activity(activity);
    }

    fn on_record(&self, kind: RecordKind, at: &Timestamp, body: &Value) {
        match kind {
            RecordKind::Task => {
                self.lock().model = body.get("model").and_then(Value::as_str).map(str::to_owned)
            }
            RecordKind::ToolResult => self.add_result(body),
            RecordKind::Refusal => self.name_failure(body),
            RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::Boundary
            | RecordKind::Landing
            | RecordKind::Check
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Intent
            | RecordKind::Receipt
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Checkpoint
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed => {}
        }
        self.inner.0.on_record(kind, at, body);
    }
}

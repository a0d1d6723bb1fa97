//! A scripted model, scripted tools and a store in memory.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_ledger::{
    CallRecord, PinRef, SessionEvent, SessionKey, SessionRecord, SessionSettings, TurnRecord, TurnSource,
};
use agentos_model::{
    CallPiece, ChatEvent, ChatFinish, ChatMessage, ChatRequest, ChatStream, MessagePart, Model, ToolCall,
    ToolSpec,
};
use agentos_tool::{
    BoxFuture, ErrorCategory, FinishReason, RunId, SendGate, TokenPrices, ToolError, ToolFailure, Usage,
};
use agentos_window::{WindowRules, WindowSize, WindowSource};
use serde_json::{Value, json};

use crate::{
    CallMeter, CutReason, FinishedTurn, LedgerBody, LedgerEntry, RateLimit, SessionState, StoreError,
    ToolAccess, ToolAnswer, ToolClass, ToolPermissions, ToolSession, TranscriptStore, TurnEvent, TurnLimits,
    TurnModel, TurnOrder, TurnPorts, TurnTool, TurnTools, run_turn,
};

/// Step of a scripted answer.
#[derive(Clone)]
pub(super) enum Step {
    Event(ChatEvent),
    Wait(u64),
    Fail(&'static str),
    /// A refusal as too long, with the window that the server states.
    TooLong(u64),
    Hang,
}

/// Makes the steps of a whole answer with this text.
pub(super) fn say(text: &str) -> Vec<Step> {
    vec![text_step(text), usage(), finish(FinishReason::Stop)]
}

/// Makes the steps of an answer that calls tools.
pub(super) fn call(calls: &[(&str, Value)]) -> Vec<Step> {
    let mut steps = vec![text_step("I look.")];
    for (at, (name, arguments)) in calls.iter().enumerate() {
        steps.push(Step::Event(ChatEvent::ToolCall(CallPiece {
            id: Some(format!("c{at}")),
            name: Some((*name).to_owned()),
            arguments: arguments.to_string(),
            signature: None,
            position: u64::try_from(at).ok(),
        })));
    }
    steps.extend([usage(), finish(FinishReason::ToolCalls)]);
    steps
}

pub(super) fn text_step(text: &str) -> Step {
    Step::Event(ChatEvent::Text {
        text: text.to_owned(),
    })
}

pub(super) fn usage() -> Step {
    Step::Event(ChatEvent::Usage(Usage {
        input_tokens: Some(1_000),
        output_tokens: Some(10),
        ..Usage::default()
    }))
}

pub(super) fn finish(reason: FinishReason) -> Step {
    Step::Event(ChatEvent::Finish(ChatFinish {
        finish: reason,
        model_id: Some("answering".to_owned()),
        endpoint: None,
        latency_ms: 7,
        warnings: Vec::new(),
    }))
}

type Script = Box<dyn Fn(usize, &ChatRequest) -> Vec<Step> + Send + Sync>;

/// Model that answers by a function of the number of the call and the request.
pub(super) struct ScriptedModel {
    provider: String,
    script: Script,
    pub(super) requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    pub(super) fn new(
        provider: &str,
        script: impl Fn(usize, &ChatRequest) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self {
            provider: provider.to_owned(),
            script: Box::new(script),
            requests: Mutex::default(),
        }
    }

    /// Makes a model that gives these answers in their order, and the last one again and again.
    pub(super) fn with_answers(answers: Vec<Vec<Step>>) -> Self {
        Self::new("p", move |at, _| {
            answers.get(at).or(answers.last()).cloned().unwrap_or_default()
        })
    }

    pub(super) fn last_request(&self) -> ChatRequest {
        self.requests.lock().unwrap().last().cloned().unwrap()
    }
}

impl Model for ScriptedModel {
    fn provider_name(&self) -> &str {
        &self.provider
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest, _gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        let mut requests = self.requests.lock().unwrap();
        requests.push(request.clone());
        Box::new(ScriptedStream((self.script)(requests.len() - 1, request).into()))
    }
}

struct ScriptedStream(VecDeque<Step>);

impl ChatStream for ScriptedStream {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(async move {
            loop {
                match self.0.pop_front() {
                    None => return Ok(None),
                    Some(Step::Event(event)) => return Ok(Some(event)),
                    Some(Step::Wait(millis)) => tokio::time::sleep(Duration::from_millis(millis)).await,
                    Some(Step::Hang) => std::future::pending().await,
                    Some(Step::Fail(code)) => return Err(make_error(code)),
                    Some(Step::TooLong(tokens)) => {
                        let mut error = make_error("context-length");
                        error.advice.stated_window = Some(tokens);
                        return Err(error);
                    }
                }
            }
        })
    }
}

fn make_error(code: &str) -> ToolError {
    ToolError {
        failure: ToolFailure::Failed,
        category: ErrorCategory::Network,
        detail: code.to_owned(),
        health: None,
        message: format!("scripted: {code}"),
        causes: Vec::new(),
        advice: Box::default(),
        endpoint: None,
        latency_ms: 0,
    }
}

/// Tools: `echo` answers with its text, `long` with 4,000 lines, `wait` after its milliseconds, `fail` fails, `hang` never answers, `limited` may be called
/// once a minute, `propose` makes a run, and `program` needs a permission.
#[derive(Default)]
pub(super) struct ScriptedTools {
    running: AtomicUsize,
    pub(super) most_running: AtomicUsize,
    pub(super) called: Mutex<Vec<String>>,
}

impl TurnTools for ScriptedTools {
    fn list_tools(&self) -> Vec<TurnTool> {
        let tool = |name: &str, class, access| TurnTool {
            spec: ToolSpec {
                name: name.to_owned(),
                description: format!("The tool {name}."),
                input_schema: json!({
                    "type": "object",
                    "properties": { "text": { "type": "string" }, "ms": { "type": "integer" } },
                    "additionalProperties": false,
                }),
            },
            class,
            access,
            rate: (name == "limited").then_some(RateLimit {
                burst: 1,
                interval: Duration::from_mins(1),
            }),
            timeout: (name == "wait_short").then_some(Duration::from_secs(1)),
        };
        vec![
            tool("echo", ToolClass::Plain, ToolAccess::Read),
            tool("long", ToolClass::Plain, ToolAccess::Read),
            tool("wait", ToolClass::Plain, ToolAccess::Read),
            tool("wait_search", ToolClass::Search, ToolAccess::Read),
            tool("wait_web", ToolClass::Web, ToolAccess::Read),
            tool("wait_image", ToolClass::Image, ToolAccess::Read),
            tool("wait_short", ToolClass::Image, ToolAccess::Read),
            tool("fail", ToolClass::Plain, ToolAccess::Read),
            tool("hang", ToolClass::Plain, ToolAccess::Read),
            tool("limited", ToolClass::Plain, ToolAccess::Read),
            tool("propose", ToolClass::Proposal, ToolAccess::Propose),
            tool("program", ToolClass::Plain, ToolAccess::Other),
        ]
    }

    fn call_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            self.called.lock().unwrap().push(call.name.clone());
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_running.fetch_max(running, Ordering::SeqCst);
            let text = call
                .arguments
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or("done");
            let answer = match call.name.as_str() {
                "fail" => ToolAnswer::from_error("no such file"),
                "hang" => std::future::pending().await,
                "long" => {
                    ToolAnswer::from_text((0..4_000).map(|at| format!("line {at}\n")).collect::<String>())
                }
                "propose" => ToolAnswer {
                    runs: vec![RunId::parse("r-1").unwrap()],
                    ..ToolAnswer::from_text(text)
                },
                name if name.starts_with("wait") => {
                    let millis = call.arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                    ToolAnswer::from_text(format!("after {millis} ms"))
                }
                _ => ToolAnswer::from_text(text),
            };
            self.running.fetch_sub(1, Ordering::SeqCst);
            answer
        })
    }
}

/// Store in memory.
#[derive(Default)]
pub(super) struct MemoryStore {
    pub(super) texts: BTreeMap<String, String>,
    pub(super) entries: Vec<LedgerEntry>,
    /// True if records cannot be written.
    pub(super) is_full: bool,
}

impl MemoryStore {
    fn push(&mut self, body: LedgerBody) -> Result<u64, StoreError> {
        if self.is_full {
            return Err(StoreError::new("evidence-not-durable", "the disk is full"));
        }
        let number = u64::try_from(self.entries.len()).unwrap();
        self.entries.push(LedgerEntry { number, body });
        Ok(number)
    }
}

impl TranscriptStore for MemoryStore {
    fn load_text(&self, sha256: &str) -> Result<String, StoreError> {
        let missing = || StoreError::new("evidence-no-blob", format!("there is no text `{sha256}`"));
        self.texts.get(sha256).cloned().ok_or_else(missing)
    }

    fn store_text(&mut self, text: &str) -> Result<String, StoreError> {
        let hash = agentos_chain::hash_bytes(text.as_bytes());
        self.texts.insert(hash.clone(), text.to_owned());
        Ok(hash)
    }

    fn append_turn(&mut self, turn: &RunId, record: &TurnRecord) -> Result<u64, StoreError> {
        self.push(LedgerBody::Turn {
            turn: turn.clone(),
            record: Box::new(record.clone()),
        })
    }

    fn append_event(&mut self, record: &SessionRecord) -> Result<u64, StoreError> {
        self.push(LedgerBody::Session(Box::new(record.clone())))
    }
}

/// A session with everything that its turns need.
pub(super) struct TestSession {
    pub(super) state: SessionState,
    pub(super) store: MemoryStore,
    pub(super) tools: ScriptedTools,
    pub(super) tool_session: ToolSession,
    pub(super) events: Vec<TurnEvent>,
    pub(super) window: u64,
    pub(super) limits: TurnLimits,
    pub(super) permissions: ToolPermissions,
    /// Which cut answers are kept.
    pub(super) keeps_cut: fn(CutReason<'_>) -> bool,
    pub(super) meter: ListingMeter,
    price: TokenPrices,
    turns: usize,
}

/// Meter that keeps the calls that were reported.
#[derive(Default)]
pub(super) struct ListingMeter(pub(super) Mutex<Vec<CallRecord>>);

impl CallMeter for ListingMeter {
    fn end_call(&self, call: &CallRecord) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call.clone());
    }
}

impl TestSession {
    /// Begins a session with a window that nothing fills. Must be called within a runtime.
    pub(super) fn new() -> Self {
        Self {
            state: SessionState::new(SessionKey::default()),
            store: MemoryStore::default(),
            tools: ScriptedTools::default(),
            tool_session: ToolSession::new(),
            events: Vec::new(),
            window: 100_000,
            limits: TurnLimits::default(),
            permissions: ToolPermissions::default(),
            keeps_cut: |_| true,
            meter: ListingMeter::default(),
            price: serde_json::from_value(json!({ "input": "1", "output": "2" })).unwrap(),
            turns: 0,
        }
    }

    /// Sets the system prompt and the pinned texts.
    pub(super) fn change_settings(&mut self, system: &str, pins: &[&str]) {
        let pins = pins.iter().map(|pin| PinRef {
            pin_sha256: self.store.store_text(pin).unwrap(),
        });
        let settings = SessionSettings {
            pins: pins.collect(),
            system_sha256: Some(self.store.store_text(system).unwrap()),
            ..SessionSettings::default()
        };
        self.append_event(SessionEvent::Changed { settings });
    }

    pub(super) fn append_event(&mut self, event: SessionEvent) {
        let session = self.state.key().clone();
        let number = self
            .store
            .append_event(&SessionRecord {
                session,
                event: event.clone(),
            })
            .unwrap();
        self.state.apply_event(number, &event);
    }

    pub(super) async fn turn(&mut self, model: &ScriptedModel, text: &str) -> FinishedTurn {
        self.turn_until(model, text, Box::pin(std::future::pending()))
            .await
            .unwrap()
    }

    /// Runs a turn until the future is ready, as if the user stopped it then.
    pub(super) async fn turn_until(
        &mut self,
        model: &ScriptedModel,
        text: &str,
        cancel: BoxFuture<'_, ()>,
    ) -> Result<FinishedTurn, StoreError> {
        let finished = self.run_turn(model, text, cancel).await;
        self.check_transcript();
        finished
    }

    /// Runs a turn of a session whose texts may be damaged.
    pub(super) async fn try_turn(
        &mut self,
        model: &ScriptedModel,
        text: &str,
    ) -> Result<FinishedTurn, StoreError> {
        self.run_turn(model, text, Box::pin(std::future::pending())).await
    }

    async fn run_turn(
        &mut self,
        model: &ScriptedModel,
        text: &str,
        cancel: BoxFuture<'_, ()>,
    ) -> Result<FinishedTurn, StoreError> {
        self.turns += 1;
        let order = TurnOrder {
            turn: RunId::parse(&format!("t-{}", self.turns)).unwrap(),
            source: TurnSource::Session,
            message: ChatMessage::from_user(text),
            limits: self.limits,
            rules: WindowRules::default(),
            permissions: self.permissions,
            keeps_cut: self.keeps_cut,
            has_other: false,
        };
        let events = &mut self.events;
        events.clear();
        let ports = TurnPorts {
            store: &mut self.store,
            model: TurnModel {
                model,
                requested: Some("wanted"),
                price: &self.price,
                window: WindowSize {
                    tokens: self.window,
                    source: WindowSource::Profile,
                },
                output_reserve: self.window / 8,
                max_output_tokens: None,
                takes_tools: true,
            },
            summarizer: None,
            tools: &self.tools,
            tool_session: &mut self.tool_session,
            emit: &mut |event| events.push(event),
            meter: &self.meter,
            cancel,
        };
        run_turn(&mut self.state, order, ports).await
    }

    /// Checks what must hold after every turn, whatever its end is.
    fn check_transcript(&self) {
        let folded = crate::fold_session(self.state.key(), &self.store.entries);
        assert_eq!(
            folded.as_ref().unwrap_or(&self.state),
            &self.state,
            "the state is not the fold of its records"
        );
        let messages = self.live_messages();
        for (at, message) in messages.iter().enumerate() {
            let calls = message.parts.iter().filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(&call.id),
                _ => None,
            });
            let next = messages.get(at + 1);
            for id in calls {
                let has_result = next.is_some_and(|next| {
                    next.parts.iter().any(
                        |part| matches!(part, MessagePart::ToolResult(result) if result.tool_use_id == *id),
                    )
                });
                assert!(has_result, "the call {id} has no result");
            }
        }
    }

    pub(super) fn live_messages(&self) -> Vec<ChatMessage> {
        let load = |reference: &agentos_ledger::MessageRef| {
            let text = self.store.load_text(&reference.message_sha256).unwrap();
            crate::read_message(&text, &reference.message_sha256).unwrap()
        };
        self.state.list_live().map(load).collect()
    }

    /// Shows the messages that are sent in the next turn, one part a line.
    pub(super) fn show_messages(&self) -> String {
        let mut shown = String::new();
        for message in self.live_messages() {
            for part in &message.parts {
                let line = match part {
                    MessagePart::Text(text) => text.clone(),
                    MessagePart::ToolCall(call) => {
                        format!("call {} {} {}", call.id, call.name, call.arguments)
                    }
                    MessagePart::ToolResult(result) if result.is_error => {
                        format!("error {} {}", result.tool_use_id, result.text)
                    }
                    MessagePart::ToolResult(result) => {
                        format!("result {} {}", result.tool_use_id, result.text)
                    }
                    MessagePart::Image(_) | MessagePart::Thinking(_) => "other".to_owned(),
                };
                writeln!(shown, "{:?}: {line}", message.role).unwrap();
            }
        }
        shown
    }
}

/// Shows the end and the calls of a turn.
pub(super) fn show_end(finished: &FinishedTurn) -> String {
    let calls = finished.record.calls.iter().map(|call| {
        let end = call.finish.map_or_else(
            || call.failure.clone().unwrap_or_default(),
            |finish| finish.as_str().to_owned(),
        );
        let cost = call
            .cost_usd
            .map_or_else(|| "?".to_owned(), |cost| cost.to_string());
        format!("{end} {cost}")
    });
    let calls: Vec<String> = calls.collect();
    format!("{:?} [{}]", finished.record.end, calls.join(", "))
}

//! Random conversations about repositories with withheld files: no line of such a file reaches a model of a cloud.
//!
//! A local model reads files, sums up, and is followed by models of a cloud, in sessions that are forked, cleared, summarized and
//! restored, while files are renamed, moved, deleted and committed, branches are switched, and profiles change under their names.
//! Real repositories and tools; models in memory, which quote everything that they are sent.
//!
//! `AGENTOS_CANARY_STEPS=20000 AGENTOS_CANARY_SEED=fresh cargo nextest run -p agentos-host canary --no-capture`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentos_chat::{
    NoMeter, SessionState, StoreError, ToolPermissions, ToolSession, TranscriptStore, TurnLimits, TurnModel,
    TurnOrder, TurnPorts, TurnTools as _, compress_session, run_turn,
};
use agentos_ledger::{SessionEvent, SessionKey, SessionRecord, TurnRecord, TurnSource};
use agentos_model::{
    CallPiece, ChatEvent, ChatFinish, ChatMessage, ChatRequest, ChatStream, Model, ToolCall,
};
use agentos_testkit::repo::TestRepo;
use agentos_tool::{BoxFuture, ExecutionMode, FinishReason, RunId, SendGate, TokenPrices, ToolError};
use agentos_window::{WindowRules, WindowSize};
use serde_json::{Value, json};

use super::{Host, ModelFacts, SessionOptions};
use crate::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use crate::conversation::earlier_reads::find_withheld;
use crate::environment::Environment;
use crate::run::ConsentMode;

/// Beginning of every line of a withheld file, and of no other line.
const CANARY: &str = "CANARY-LINE";
/// Steps of the usual test.
const STEPS: usize = 300;
/// A policy that withholds `private/` from models of a cloud.
const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n[rule.examples]\nmatch = [{ path = \"private/a\", \
                      execution_mode = \"cloud\" }]\nno_match = [{ path = \"private/a\" }]\n";

/// Small generator of numbers: splitmix64, with a seed that a failure prints.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// Check that a run leaves out, to show that the test depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Nothing,
    /// Earlier reads are not decided again.
    Judge,
    /// Readers are compared by the name of their provider.
    Readers,
}

/// Model that makes one call, and then quotes all that it was sent.
struct QuotingModel<'w> {
    facts: ModelFacts,
    call: Mutex<Option<(&'static str, Value)>>,
    /// Texts that models of a cloud received.
    cloud: &'w Mutex<Vec<String>>,
}

impl Model for QuotingModel<'_> {
    fn provider_name(&self) -> &str {
        &self.facts.provider
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest, _gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        let sent = format!("{request:?}");
        let last: Vec<&str> = sent
            .split(CANARY)
            .skip(1)
            .filter_map(|text| text.get(..8))
            .collect();
        let answer = last
            .iter()
            .map(|text| format!("{CANARY}{text} "))
            .collect::<String>();
        if self.facts.execution_mode == ExecutionMode::Cloud {
            self.cloud.lock().unwrap().push(sent);
        }
        let (event, finish) = match self.call.lock().unwrap().take() {
            Some((name, arguments)) => {
                let piece = CallPiece {
                    id: Some("c".to_owned()),
                    name: Some(name.to_owned()),
                    arguments: arguments.to_string(),
                    ..CallPiece::default()
                };
                (ChatEvent::ToolCall(piece), FinishReason::ToolCalls)
            }
            None => {
                let text = format!("I saw: {answer}.");
                (ChatEvent::Text { text }, FinishReason::Stop)
            }
        };
        let end = ChatFinish {
            finish,
            model_id: None,
            endpoint: None,
            latency_ms: 1,
            warnings: Vec::new(),
        };
        Box::new(EventList(vec![ChatEvent::Finish(end), event]))
    }
}

struct EventList(Vec<ChatEvent>);

impl ChatStream for EventList {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.0.pop())))
    }
}

/// Texts and numbers of the records of all sessions.
#[derive(Default)]
struct Texts {
    texts: BTreeMap<String, String>,
    number: u64,
}

impl TranscriptStore for Texts {
    fn load_text(&self, sha256: &str) -> Result<String, StoreError> {
        let text = self.texts.get(sha256).cloned();
        text.ok_or_else(|| StoreError::new("evidence-no-blob", "there is no such text"))
    }

    fn store_text(&mut self, text: &str) -> Result<String, StoreError> {
        let hash = agentos_chain::hash_bytes(text.as_bytes());
        self.texts.insert(hash.clone(), text.to_owned());
        Ok(hash)
    }

    fn append_turn(&mut self, _turn: &RunId, _record: &TurnRecord) -> Result<u64, StoreError> {
        self.number += 1;
        Ok(self.number)
    }

    fn append_event(&mut self, _record: &SessionRecord) -> Result<u64, StoreError> {
        self.number += 1;
        Ok(self.number)
    }
}

/// Repositories, sessions and models of one run of the test.
struct World<'w> {
    repos: [TestRepo; 2],
    sessions: Vec<SessionState>,
    texts: Texts,
    cloud: &'w Mutex<Vec<String>>,
    left_out: LeftOut,
    turns: usize,
    /// Steps so far, in words.
    steps: Vec<String>,
}

fn reader(name: &str, port: u16, execution_mode: ExecutionMode) -> ModelFacts {
    ModelFacts {
        provider: name.to_owned(),
        model: None,
        execution_mode,
        adapter: "openai".to_owned(),
        address: Some(format!("http://127.0.0.1:{port}/")),
    }
}

impl<'w> World<'w> {
    fn new(cloud: &'w Mutex<Vec<String>>, left_out: LeftOut) -> Self {
        let make = |name: &str| {
            let repo = TestRepo::new();
            for at in 0..3 {
                repo.write(
                    &format!("private/p{at}.txt"),
                    format!("{CANARY}-{name}-{at}-text\n"),
                );
                repo.write(&format!("open{at}.txt"), format!("open {name} {at}\n"));
            }
            repo.write(".agentos/policy/ours.toml", POLICY);
            repo.commit_all("Begin");
            repo
        };
        Self {
            repos: [make("a"), make("b")],
            sessions: vec![SessionState::new(SessionKey::default())],
            texts: Texts::default(),
            cloud,
            left_out,
            turns: 0,
            steps: Vec::new(),
        }
    }

    fn host(&self, repo: usize) -> Host {
        let repo = &self.repos[repo];
        let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
        Host::new(Environment::new([home], repo.path().to_owned()))
    }

    fn tools(&self, repo: usize, author: &ModelFacts) -> RepositoryTools {
        let spec = RepositoryToolsSpec {
            receivers: Vec::new(),
            session: SessionOptions::default(),
            author: author.clone(),
            consent: ConsentMode::Later,
            conversation: "conversation:canary".to_owned(),
        };
        RepositoryTools::new(self.host(repo), spec)
    }

    /// Returns true if the session may be sent to a reader.
    fn may_send(&self, session: usize, repo: usize, facts: &ModelFacts) -> bool {
        let asked = match self.left_out {
            LeftOut::Judge => return true,
            // Everybody is the local reader of that name.
            LeftOut::Readers => reader(&facts.provider, 8080, ExecutionMode::Local),
            LeftOut::Nothing => facts.clone(),
        };
        find_withheld(&self.host(repo), &self.sessions[session], &self.texts, &[asked])
            .unwrap()
            .is_none()
    }

    fn model(&self, facts: &ModelFacts, call: Option<(&'static str, Value)>) -> QuotingModel<'w> {
        QuotingModel {
            facts: facts.clone(),
            call: Mutex::new(call),
            cloud: self.cloud,
        }
    }

    /// Takes a turn, or has the model summarize the session if there is no call.
    fn ask(
        &mut self,
        (session, repo): (usize, usize),
        facts: &ModelFacts,
        call: Option<(&'static str, Value)>,
    ) {
        if !self.may_send(session, repo, facts) {
            self.steps.push("refused".to_owned());
            return;
        }
        self.turns += 1;
        let tools = self.tools(repo, facts);
        let model = self.model(facts, call.clone());
        let order = TurnOrder {
            turn: RunId::parse(&format!("t-{}", self.turns)).unwrap(),
            source: TurnSource::Session,
            message: ChatMessage::from_user("Go on."),
            limits: TurnLimits::default(),
            rules: WindowRules::default(),
            permissions: ToolPermissions::default(),
        };
        let price = TokenPrices::default();
        let ports = TurnPorts {
            store: &mut self.texts,
            model: TurnModel {
                model: &model,
                requested: None,
                price: &price,
                window: WindowSize {
                    tokens: 1_000_000,
                    ..WindowSize::assume_smallest()
                },
                output_reserve: 4_096,
                max_output_tokens: None,
                takes_tools: true,
            },
            summarizer: None,
            tools: &tools,
            tool_session: &mut ToolSession::new(),
            emit: &mut |_| {},
            meter: &NoMeter,
            cancel: Box::pin(std::future::pending()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let state = &mut self.sessions[session];
        runtime.block_on(async {
            match call {
                Some(_) => drop(run_turn(state, order, ports).await.unwrap()),
                None => drop(compress_session(state, order, ports).await.unwrap()),
            }
        });
    }

    fn change(&mut self, session: usize, event: &SessionEvent) {
        self.texts.number += 1;
        let number = self.texts.number;
        self.sessions[session].apply_event(number, event);
    }

    /// Takes one random step.
    fn step(&mut self, dice: &mut Dice) {
        let (session, repo) = (dice.roll(self.sessions.len()), dice.roll(2));
        let at = dice.roll(20);
        self.steps
            .push(format!("{at} session {session} repository {repo}"));
        let near = reader("near", 8080, ExecutionMode::Local);
        let readers = [
            near.clone(),
            near.clone(),
            near,
            reader("far", 443, ExecutionMode::Cloud),
            // The profile of the local model has another address and place now.
            reader("near", 443, ExecutionMode::Cloud),
        ];
        match at {
            0..=8 => {
                let facts = dice.pick(&readers).clone();
                let path = format!("private/p{}.txt", dice.roll(4));
                let open = format!("open{}.txt", dice.roll(3));
                let commit = self.repos[repo].git(&["rev-parse", "HEAD"]).trim().to_owned();
                let calls = [
                    ("read_file", json!({ "path": path })),
                    ("read_file", json!({ "path": open })),
                    ("search", json!({ "text": "CANARY.LINE", "regex": true })),
                    ("git_show", json!({ "commit": commit })),
                    ("list_files", json!({})),
                    (
                        "propose_change",
                        json!({ "answer": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-guess\n+x\n"), "message": "x" }),
                    ),
                ];
                let call = dice.pick(&calls).clone();
                self.steps.push(format!(
                    "{} at {:?} calls {call:?}",
                    facts.provider, facts.address
                ));
                self.ask((session, repo), &facts, Some(call));
            }
            9 => {
                let facts = dice.pick(&readers).clone();
                self.ask((session, repo), &facts, None);
            }
            10 => {
                if let Some(active) = self.sessions[session].active_compression() {
                    let compression = active.number;
                    self.change(session, &SessionEvent::Restored { compression });
                }
            }
            11 if dice.roll(4) == 0 => self.change(session, &SessionEvent::Cleared),
            12 => {
                let turns: Vec<RunId> = self.sessions[session]
                    .messages()
                    .iter()
                    .map(|sent| sent.turn.clone())
                    .collect();
                if !turns.is_empty() {
                    let turn = dice.pick(&turns).clone();
                    self.change(session, &SessionEvent::Dropped { turn });
                }
            }
            13 => {
                let fork = self.sessions[session].clone();
                match self.sessions.len() < 6 {
                    true => self.sessions.push(fork),
                    false => {
                        let other = dice.roll(6);
                        self.sessions[other] = fork;
                    }
                }
            }
            14 => self.call_as_agent(repo, dice),
            _ => self.change_files(repo, dice),
        }
    }

    /// Calls a tool as an agent over MCP does: the answer leaves the machine.
    fn call_as_agent(&mut self, repo: usize, dice: &mut Dice) {
        let tools = self.tools(repo, &reader("mcp", 0, ExecutionMode::Cloud));
        let path = format!("private/p{}.txt", dice.roll(4));
        let calls = [
            ("read_file", json!({ "path": path })),
            ("search", json!({ "text": "CANARY.LINE", "regex": true })),
        ];
        let (name, arguments) = dice.pick(&calls).clone();
        let call = ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments,
            signature: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let answer = runtime.block_on(tools.call_tool(&call));
        self.cloud.lock().unwrap().push(answer.text);
    }

    fn change_files(&mut self, repo: usize, dice: &mut Dice) {
        let repo = &self.repos[repo];
        let from = format!("private/p{}.txt", dice.roll(4));
        let to = format!("private/p{}.txt", dice.roll(4));
        match dice.roll(5) {
            0 if repo.has(&from) => drop(repo.git_ok(&["mv", "-f", &from, &to])),
            1 if repo.has(&from) => drop(repo.git_ok(&["rm", "-q", "-f", &from])),
            2 => repo.write(&from, format!("{CANARY}-n-{}-text\n", dice.roll(99))),
            3 => drop(repo.git_ok(&["checkout", "-q", "-f", "-B", *dice.pick(&["x", "y"])])),
            _ => drop(repo.git_ok(&["checkout", "-q", "-f", *dice.pick(&["x", "y", "main", "master"])])),
        }
        if repo.status().trim().is_empty() {
            return;
        }
        repo.commit_all("Change");
    }
}

/// Runs random steps. Returns the steps up to the first text in a cloud, `None` if there was none.
fn find_leak(seed: u64, steps: usize, left_out: LeftOut) -> Option<Vec<String>> {
    let cloud = Mutex::default();
    let mut dice = Dice(seed);
    let mut world = World::new(&cloud, left_out);
    for at in 0..steps {
        // A conversation of usual length, again and again.
        if at % 200 == 199 {
            world = World::new(&cloud, left_out);
        }
        world.step(&mut dice);
        let leaked = cloud
            .lock()
            .unwrap()
            .drain(..)
            .any(|text: String| text.contains(CANARY));
        if leaked {
            return Some(world.steps);
        }
    }
    None
}

#[test]
fn no_line_of_a_withheld_file_reaches_a_cloud() {
    // Read when the test is compiled: nothing in this crate but one module reads the environment.
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let steps = number(option_env!("AGENTOS_CANARY_STEPS")).and_then(|steps| usize::try_from(steps).ok());
    let steps = steps.unwrap_or(STEPS);
    let fresh = || {
        crate::clock::new_run()
            .as_str()
            .bytes()
            .fold(1, |seed, byte| seed * 31 % (1 << 40) + u64::from(byte))
    };
    let seed = match option_env!("AGENTOS_CANARY_SEED") {
        Some("fresh") => fresh(),
        given => number(given).unwrap_or(46),
    };
    let leak = find_leak(seed, steps, LeftOut::Nothing);
    assert!(leak.is_none(), "seed {seed}: {:#?}", leak.unwrap_or_default());
}

#[test]
fn the_steps_find_a_leak_where_a_check_is_left_out() {
    for left_out in [LeftOut::Judge, LeftOut::Readers] {
        assert!(find_leak(46, STEPS, left_out).is_some(), "{left_out:?}");
    }
}

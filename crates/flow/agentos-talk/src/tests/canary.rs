//! Random conversations about repositories with withheld files: no line of such a file reaches a model of a cloud.
//!
//! A local model reads files, sums up, and is followed by models of a cloud, in sessions that are forked, cleared, summarized and
//! restored, while files are renamed, moved, deleted and committed, branches are switched, and profiles change under their names.
//! Models send what they read to programs with a network, break down in the middle of a turn and are followed by others, and agents call
//! the same tools. A person lands copies of withheld files which a model proposes, and keeps
//! or releases their text.
//! Real repositories and tools; models in memory, which quote everything that they are sent.
//!
//! Not among the steps: an export of a session, which is made for a person and never for a provider.
//!
//! `AGENTOS_CANARY_STEPS=20000 AGENTOS_CANARY_SEED=fresh cargo nextest run -p agentos-talk canary --no-capture`

mod models;
mod texts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;

use agentos_chat::{
    NoMeter, SessionState, ToolPermissions, ToolSession, TurnLimits, TurnModel, TurnOrder, TurnPorts,
    compress_session, run_turn,
};
use agentos_ledger::{SessionEvent, SessionKey, TurnSource};
use agentos_model::ChatMessage;
use agentos_testkit::repo::TestRepo;
use agentos_tool::{ExecutionMode, RunId, TokenPrices};
use agentos_window::{WindowRules, WindowSize};
use serde_json::{Value, json};

use models::{Asked, QuotingModel};
use texts::Texts;

use super::repository_tools::{POLICY, call_tool, make_host, run_work};
use crate::conversation::earlier_reads::find_withheld;
use agentos_calls::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use agentos_ground::Ground;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_runs::Runs;
use agentos_runs::proposal_run::ConsentedProposals;
use agentos_runs::run::{ApprovalMode, ConsentMode, RunWork};

/// Beginning of every line of a withheld file, and of no other line.
const CANARY: &str = "CANARY-LINE";
/// Beginning of every line that a person released.
const RELEASED: &str = "RELEASED-LINE";
/// Steps of the usual test.
const STEPS: usize = 400;
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
    /// Programs to which a model can send text do not count as readers.
    Receivers,
    /// An agent that calls tools counts as local.
    Agent,
    /// A landed copy of a withheld file has the readers of its name alone.
    Kept,
    /// No person is asked about a change with text of a withheld file.
    Content,
}

/// Checks that a run can leave out.
const CHECKS: [LeftOut; 6] = [
    LeftOut::Judge,
    LeftOut::Readers,
    LeftOut::Receivers,
    LeftOut::Agent,
    LeftOut::Kept,
    LeftOut::Content,
];

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
                    format!("{CANARY}-{name}-{at}-of-a-withheld-file\n"),
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

    fn host(&self, repo: usize) -> Ground {
        let repo = &self.repos[repo];
        make_host(repo)
    }

    fn tools(&self, repo: usize, author: &ModelFacts, receivers: &[ModelFacts]) -> RepositoryTools {
        let spec = RepositoryToolsSpec {
            receivers: receivers.to_vec(),
            session: SessionOptions::default(),
            author: author.clone(),
            proposals: Some(Arc::new(ConsentedProposals(ConsentMode::Later))),
            conversation: "conversation:canary".to_owned(),
        };
        RepositoryTools::new(&self.host(repo), spec)
    }

    /// Returns the readers who are judged: the model, and programs to which it can send text.
    fn list_judged(&self, asked: &Asked) -> Vec<ModelFacts> {
        let facts = match self.left_out {
            // Each model is the local reader of that name.
            LeftOut::Readers => reader(&asked.facts.provider, 8080, ExecutionMode::Local),
            _ => asked.facts.clone(),
        };
        let receivers = match self.left_out {
            LeftOut::Receivers => &[],
            _ => asked.receivers.as_slice(),
        };
        std::iter::once(&facts).chain(receivers).cloned().collect()
    }

    /// Returns true if the session may be sent to its readers.
    fn may_send(&self, session: usize, repo: usize, asked: &Asked) -> bool {
        let judged = self.list_judged(asked);
        self.left_out == LeftOut::Judge
            || find_withheld(&self.host(repo), &self.sessions[session], &self.texts, &judged)
                .unwrap()
                .is_none()
    }

    /// Takes a turn, or has the model summarize the session if there is no call.
    fn ask(&mut self, (session, repo): (usize, usize), asked: &Asked) {
        self.steps.push(format!("{asked:?}"));
        if !self.may_send(session, repo, asked) {
            self.steps.push("refused".to_owned());
            return;
        }
        self.turns += 1;
        let judged = self.list_judged(asked);
        let tools = self.tools(repo, &asked.facts, judged.get(1..).unwrap_or_default());
        let model = QuotingModel {
            asked: asked.clone(),
            call: Mutex::new(asked.call.clone()),
            cloud: self.cloud,
        };
        let order = TurnOrder {
            turn: RunId::parse(&format!("t-{}", self.turns)).unwrap(),
            source: TurnSource::Session,
            message: ChatMessage::from_user("Go on."),
            limits: TurnLimits::default(),
            rules: WindowRules::default(),
            permissions: ToolPermissions::default(),
            keeps_cut: |_| true,
            has_other: false,
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
            let is_done = match asked.call {
                Some(_) => run_turn(state, order, ports).await.is_ok(),
                None => compress_session(state, order, ports).await.is_ok(),
            };
            assert!(is_done || asked.breaks, "{asked:?}");
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
        let at = dice.roll(23);
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
            // A call with `--base-url`: the same name at another address, which the user declares to be a cloud, or not.
            reader("far", 8080, ExecutionMode::Cloud),
            reader("near", 9090, ExecutionMode::Local),
        ];
        match at {
            0..=8 => {
                let asked = Asked {
                    facts: dice.pick(&readers).clone(),
                    call: Some(self.roll_call(repo, dice)),
                    // A toolbox with a network, as an MCP server of the user's.
                    receivers: match dice.roll(6) {
                        0 => vec![reader("box", 0, ExecutionMode::Cloud)],
                        _ => Vec::new(),
                    },
                    breaks: false,
                };
                self.ask((session, repo), &asked);
            }
            9 => {
                let asked = Asked {
                    facts: dice.pick(&readers).clone(),
                    call: None,
                    receivers: Vec::new(),
                    breaks: false,
                };
                self.ask((session, repo), &asked);
            }
            // The first model of a pool breaks down in the middle of its turn, and the next one takes over.
            20 => {
                let mut asked = Asked {
                    facts: dice.pick(&readers).clone(),
                    call: Some(self.roll_call(repo, dice)),
                    receivers: Vec::new(),
                    breaks: true,
                };
                self.ask((session, repo), &asked);
                asked.facts = dice.pick(&readers).clone();
                asked.breaks = false;
                self.ask((session, repo), &asked);
            }
            21 | 22 => self.land_copy(repo, dice),
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
        let mode = match self.left_out {
            LeftOut::Agent => ExecutionMode::Local,
            _ => ExecutionMode::Cloud,
        };
        let tools = self.tools(repo, &reader("mcp", 0, mode), &[]);
        let (name, arguments) = self.roll_call(repo, dice);
        let answer = call_tool(&tools, name, arguments);
        self.cloud.lock().unwrap().push(answer.text);
    }

    /// Returns a random call of a tool.
    fn roll_call(&self, repo: usize, dice: &mut Dice) -> (&'static str, Value) {
        let path = format!("private/p{}.txt", dice.roll(4));
        let open = format!("open{}.txt", dice.roll(3));
        let copy = format!("copy{}.txt", dice.roll(4));
        let commit = self.repos[repo].git(&["rev-parse", "HEAD"]).trim().to_owned();
        let calls = [
            ("read_file", json!({ "path": path })),
            ("read_file", json!({ "path": open })),
            ("read_file", json!({ "path": copy })),
            ("search", json!({ "text": "CANARY.LINE", "regex": true })),
            ("git_show", json!({ "commit": commit })),
            ("list_files", json!({})),
            (
                "propose_change",
                json!({ "answer": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-guess\n+x\n"), "message": "x" }),
            ),
        ];
        dice.pick(&calls).clone()
    }

    /// Lands a copy of a withheld file that a local model proposes: the person who is asked keeps the text withheld, or releases it.
    fn land_copy(&mut self, repo: usize, dice: &mut Dice) {
        let from = format!("private/p{}.txt", dice.roll(4));
        let path = format!("copy{}.txt", dice.roll(4));
        if dice.roll(2) == 0 {
            let text = format!("{RELEASED}-{}-of-a-withheld-file\n", dice.roll(99));
            self.write_all(repo, &["private/released.txt", &path], &text);
            return;
        }
        let Ok(text) = std::fs::read_to_string(self.repos[repo].path().join(&from)) else {
            return;
        };
        if self.left_out == LeftOut::Content {
            self.write_all(repo, &[&path], &text);
            return;
        }
        let tools = self.tools(repo, &reader("near", 8080, ExecutionMode::Local), &[]);
        let answer = format!("Create `{path}`:\n\n```\n{text}```\n");
        let arguments = json!({ "answer": answer, "message": "Copy" });
        let ground = self.host(repo);
        let waiting = |ground: &Ground| -> BTreeSet<String> {
            let requests = Runs::of(ground).open_requests().unwrap().into_iter();
            requests.map(|request| request.run).collect()
        };
        let before = waiting(&ground);
        let said = call_tool(&tools, "propose_change", arguments).text;
        self.steps.push(said);
        let consent = match self.left_out {
            LeftOut::Kept => ApprovalMode::NamedRelease,
            _ => ApprovalMode::Named,
        };
        for request in waiting(&ground).difference(&before) {
            let work = RunWork::Approval {
                request: request.clone(),
                consent: consent.clone(),
                revision: None,
            };
            let outcome = run_work(&ground, work);
            self.steps.push(format!("{outcome:?}"));
        }
    }

    /// Commits the same text under several paths, as a person does.
    fn write_all(&self, repo: usize, paths: &[&str], text: &str) {
        let repo = &self.repos[repo];
        for path in paths {
            repo.write(path, text);
        }
        if !repo.status().trim().is_empty() {
            repo.commit_all("Copy");
        }
    }

    fn change_files(&mut self, repo: usize, dice: &mut Dice) {
        let repo = &self.repos[repo];
        let from = format!("private/p{}.txt", dice.roll(4));
        let to = format!("private/p{}.txt", dice.roll(4));
        match dice.roll(5) {
            0 if repo.has(&from) => drop(repo.git_ok(&["mv", "-f", &from, &to])),
            1 if repo.has(&from) => drop(repo.git_ok(&["rm", "-q", "-f", &from])),
            2 => repo.write(
                &from,
                format!("{CANARY}-n-{}-of-a-withheld-file\n", dice.roll(99)),
            ),
            3 => drop(repo.git_ok(&["checkout", "-q", "-f", "-B", *dice.pick(&["x", "y"])])),
            _ => drop(repo.git_ok(&["checkout", "-q", "-f", *dice.pick(&["x", "y", "main", "master"])])),
        }
        if repo.status().trim().is_empty() {
            return;
        }
        repo.commit_all("Change");
    }
}

/// Runs random steps. Returns the steps up to the first text in a cloud, `None` if there was none, and the number of released lines
/// that reached one.
fn find_leak(seed: u64, steps: usize, left_out: LeftOut) -> (Option<Vec<String>>, usize) {
    let mut released = 0;
    let cloud = Mutex::default();
    let mut dice = Dice(seed);
    let mut world = World::new(&cloud, left_out);
    for at in 0..steps {
        // A conversation of usual length, again and again.
        if at % 200 == 199 {
            world = World::new(&cloud, left_out);
        }
        world.step(&mut dice);
        let sent: Vec<String> = cloud.lock().unwrap().drain(..).collect();
        released += sent.iter().filter(|text| text.contains(RELEASED)).count();
        if sent.iter().any(|text| text.contains(CANARY)) {
            return (Some(world.steps), released);
        }
    }
    (None, released)
}

#[test]
fn no_line_of_a_withheld_file_reaches_a_cloud() {
    // Read when the test is compiled: nothing in this crate but one module reads the environment.
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let steps = number(option_env!("AGENTOS_CANARY_STEPS")).and_then(|steps| usize::try_from(steps).ok());
    let steps = steps.unwrap_or(STEPS);
    let fresh = || {
        agentos_ground::clock::new_run()
            .as_str()
            .bytes()
            .fold(1, |seed, byte| seed * 31 % (1 << 40) + u64::from(byte))
    };
    let seed = match option_env!("AGENTOS_CANARY_SEED") {
        Some("fresh") => fresh(),
        given => number(given).unwrap_or(46),
    };
    let (leak, released) = find_leak(seed, steps, LeftOut::Nothing);
    assert!(leak.is_none(), "seed {seed}: {:#?}", leak.unwrap_or_default());
    println!("seed {seed}: {steps} steps, {released} requests with a released line");
    // By chance, a short run has no turn that reads such a line.
    assert!(
        steps < 2_000 || released > 0,
        "seed {seed}: no released line was read"
    );
}

#[test]
fn the_steps_find_a_leak_where_a_check_is_left_out() {
    for left_out in CHECKS {
        let (leak, _) = find_leak(46, STEPS, left_out);
        assert!(leak.is_some(), "{left_out:?}");
    }
}

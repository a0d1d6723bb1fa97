//! `agentos demo`: the whole way of a change in a small repository, made on the spot.
//!
//! Owns: the story's order and its recorded answers. Never: prints an outcome that the real pipeline did not give.

use std::path::{Path, PathBuf};

use agentos_engine::ports::{Cancel, Clock, EffectError};
use agentos_engine::run::{self as flow, Request};
use agentos_engine::settle::{self, Proposal};
use agentos_engine::{Cause, Outcome, Replay};
use agentos_evidence::{Checks, Store};
use agentos_executor::{Identity, Repository};
use agentos_tool::{EditFormat, NoProgress, Price, TaskLimits};

use super::apply::patch_facts;
use crate::app::{App, Done, output_failed, usage};
use crate::args::land::DemoArgs;
use crate::clock::{SystemClock, new_run};
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render;
use crate::wire::repository::{History, failed};
use crate::wire::runtime;
use crate::wire::session::{Session, Wanted};
use crate::wire::signer;
use crate::wire::tape::broken;

const LIB: &str = include_str!("../../demo/lib.rs.txt");
const CI: &str = include_str!("../../demo/ci.yml.txt");
const ANSWER: &str = include_str!("../../demo/answer.md");
const HOSTILE: [(&str, &str); 3] = [
    (
        "a file beside the repository",
        include_str!("../../demo/escape.md"),
    ),
    ("a hook that git would run", include_str!("../../demo/hook.md")),
    ("more rights for CI", include_str!("../../demo/workflow.md")),
];
const TASK: &str = "total() ignores the count of each item; fix it and add a test";

/// Runs the verb.
pub fn demo(app: &App, args: &DemoArgs) -> Done {
    let dir = place(app, args)?;
    let demo = Demo {
        app: &inside(app, &dir),
    };
    demo.create(&dir)?;
    demo.say(&format!("A small shop in {}", dir.display()), "")?;
    let good = demo.recorded_answer()?;
    let mut truthful = good.is_done();
    for (number, (what, answer)) in (2..).zip(HOSTILE) {
        truthful &= !demo.hostile(number, what, answer)?.is_done();
    }
    truthful &= demo.evidence()?;
    demo.next_steps(&dir)?;
    // A demo whose story does not come out as told has failed.
    Ok(if truthful { Exit::Done } else { Exit::Internal })
}

struct Demo<'a> {
    app: &'a App,
}

impl Demo<'_> {
    fn create(&self, dir: &Path) -> Result<(), EffectError> {
        let identity = Identity {
            name: "AgentOS demo".to_owned(),
            email: "demo@agentos.invalid".to_owned(),
        };
        let files: [(&str, &[u8]); 3] = [
            ("src/lib.rs", LIB.as_bytes()),
            (".github/workflows/ci.yml", CI.as_bytes()),
            ("README.md", b"# A small shop\n\nPrices and baskets.\n"),
        ];
        Repository::create(
            dir,
            &files,
            &identity,
            "A small shop",
            SystemClock.now().unix_seconds(),
        )
        .map(drop)
        .map_err(|error| failed(&error))
    }

    fn recorded_answer(&self) -> Result<Outcome, EffectError> {
        self.say(
            "1  A model's answer: prose around it, no prefixes, line numbers off by a hundred",
            ANSWER,
        )?;
        let run = new_run();
        let mut session = Session::open(self.app, &headless(), &run)?;
        let adapter = Replay::new(Some(ANSWER.to_owned()));
        let request = Request {
            run: &run,
            adapter: &adapter,
            model: Some("recorded".to_owned()),
            instruction: TASK,
            files: &["src/lib.rs".to_owned()],
            edit_format: EditFormat::UnifiedDiff,
            limits: TaskLimits {
                timeout_seconds: 10,
                max_output_tokens: None,
            },
            partial: false,
            attempts: 1,
            price: Price::default(),
            mock: None,
            answers_once: false,
            check: None,
        };
        let outcome = runtime::block_on(async {
            let mut never: Cancel<'_> = Box::pin(std::future::pending());
            flow::run(
                &mut session.deps(),
                &request,
                "Count every item in total()",
                &NoProgress,
                &mut never,
            )
            .await
        })?;
        session.seal(self.app);
        self.show(&outcome)?;
        Ok(outcome)
    }

    fn hostile(&self, number: u32, what: &str, answer: &str) -> Result<Outcome, EffectError> {
        self.say(&format!("{number}  A hostile answer: {what}"), answer)?;
        let run = new_run();
        let mut session = Session::open(self.app, &headless(), &run)?;
        let proposal = Proposal {
            run: &run,
            answer: answer.as_bytes(),
            seen: Vec::new(),
            tool: patch_facts(),
            reported_model: None,
            message: what.to_owned(),
            trailers: Vec::new(),
            attempt: 1,
            partial: false,
            answers: None,
            proved: None,
        };
        let outcome = settle::apply(&mut session.deps(), "apply", what, &proposal);
        session.seal(self.app);
        self.show(&outcome)?;
        Ok(outcome)
    }

    /// Verifies the evidence, then spoils one byte of a copy; true when the first holds and the second is found.
    fn evidence(&self) -> Result<bool, EffectError> {
        self.say(
            "5  The evidence: every step above, refusals too, in one hash-chained tape",
            "",
        )?;
        let repo = crate::wire::repository::open(self.app)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| broken(&error))?;
        let whole = store
            .verify(&Checks {
                history: Some(&History::read(&repo)?),
                keys: signer::trusted(self.app)?.iter().map(|known| known.key).collect(),
                ..Checks::default()
            })
            .map_err(|error| broken(&error))?;
        self.print(&render::evidence::verified(&whole, false))?;
        let copy = repo.state_dir().join("drill");
        let spoiled = store.drill(&copy, SPOILED_BYTE).map_err(|error| broken(&error))?;
        self.say(
            &format!("6  One bit of byte {SPOILED_BYTE} is flipped in a copy of the tape"),
            "",
        )?;
        self.print(&render::evidence::verified(&spoiled, false))?;
        Ok(whole.ok && !spoiled.ok)
    }

    fn next_steps(&self, dir: &Path) -> Result<(), EffectError> {
        let program = std::env::args().next().unwrap_or_else(|| "agentos".to_owned());
        let dir = dir.display();
        self.say("Try next", "")?;
        self.print(&format!(
            "  {program} evidence show --repo {dir}\n  git -C {dir} show\n  {program} undo --repo {dir}\n"
        ))
    }

    fn say(&self, title: &str, quoted: &str) -> Result<(), EffectError> {
        let mut text = format!("\n{}\n", paint(style::BOLD, title));
        for line in quoted.lines() {
            text.push_str(&paint(
                style::DIM,
                &format!("  | {}\n", crate::escape::line(line)),
            ));
        }
        self.print(&text)
    }

    fn show(&self, outcome: &Outcome) -> Result<(), EffectError> {
        self.print(&render::outcome::outcome(outcome, false))
    }

    fn print(&self, text: &str) -> Result<(), EffectError> {
        self.app.printer.data(text).map_err(|error| output_failed(&error))
    }
}

/// A byte inside the tape's second record: late enough to have something before it.
const SPOILED_BYTE: usize = 1000;

fn headless() -> Wanted {
    Wanted {
        headless: true,
        ..Wanted::default()
    }
}

/// The same call, in the demo's repository, with git's identity given: a fresh machine may have none.
fn inside(app: &App, dir: &Path) -> App {
    let mut app = app.clone();
    app.common.repo = Some(dir.to_owned());
    app.printer.json = false;
    app.env.with_identity("AgentOS demo", "demo@agentos.invalid");
    app
}

/// A folder that is not there yet.
fn place(app: &App, args: &DemoArgs) -> Result<PathBuf, EffectError> {
    let dir = match &args.dir {
        Some(dir) => app.env.cwd.join(dir),
        None => std::env::temp_dir().join(format!("agentos-demo-{}", new_run())),
    };
    if std::fs::symlink_metadata(&dir).is_ok() {
        return Err(usage(format!("`{}` is there already", app.env.shown(&dir)))
            .hint("name a folder that is not there yet"));
    }
    match dir.parent().filter(|parent| parent.is_dir()) {
        Some(_) => Ok(dir),
        None => Err(EffectError::new(
            Cause::Usage,
            "no-folder",
            format!("the folder above `{}` is not there", app.env.shown(&dir)),
        )
        .hint("make it first")),
    }
}

//! `agentos demo`: creates a small repository and sends recorded answers through the real pipeline: one that lands, three
//! hostile ones that are refused, then a check of the evidence.
//!
//! Owns: the order of the steps and their recorded answers. Never: prints an outcome that the pipeline did not return.

use std::path::{Path, PathBuf};

use agentos_host::{
    AnswerSpec, Cause, EffectError, Host, Outcome, ProviderChoice, ProviderKind, Recording, RunSpec, RunWork,
    SAMPLE_EMAIL, SAMPLE_NAME, SessionOptions, TaskSpec, block_on, create_sample, new_run,
};

use crate::app::{App, Done, output_failed, usage_error, word_outcome};
use crate::args::land::DemoArgs;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render;
use crate::render::evidence::EvidencePlace;

// Files of the demo's repository.
const LIB: &str = include_str!("../../demo/lib.rs.txt");
const CI: &str = include_str!("../../demo/ci.yml.txt");
/// Recorded answer that lands.
const ANSWER: &str = include_str!("../../demo/answer.md");
/// Recorded answers that must be refused, each with the title of its step.
const HOSTILE: [(&str, &str); 3] = [
    (
        "a file outside the repository",
        include_str!("../../demo/escape.md"),
    ),
    ("a hook that git would run", include_str!("../../demo/hook.md")),
    ("more rights for CI", include_str!("../../demo/workflow.md")),
];
const TASK: &str = "total() ignores the count of each item; fix it and add a test";

/// Runs the verb.
pub fn run_demo(app: &App, args: &DemoArgs) -> Done {
    let dir = choose_dir(app, args)?;
    let demo = Demo {
        app: &enter_repository(app, &dir),
    };
    app.signals.set_remains(format!(
        "the demo is not complete; its folder remains: `{}`",
        dir.display()
    ));
    demo.create_repository(&dir)?;
    demo.print_step(&format!("A small shop in {}", dir.display()), "")?;
    let good = demo.send_recorded()?;
    let mut truthful = good.is_done();
    for (number, (what, answer)) in (2..).zip(HOSTILE) {
        // If a hostile answer lands, the demo still shows the other ones; its exit status reports the failure.
        truthful &= !demo.send_hostile(number, what, answer)?.is_done();
    }
    truthful &= demo.check_evidence()?;
    demo.print_next_steps(&dir)?;
    // The demo failed if one of its steps had another outcome than its title announces.
    Ok(if truthful { Exit::Done } else { Exit::Internal })
}

struct Demo<'a> {
    app: &'a App,
}

impl Demo<'_> {
    fn create_repository(&self, dir: &Path) -> Result<(), EffectError> {
        let files: [(&str, &[u8]); 3] = [
            ("src/lib.rs", LIB.as_bytes()),
            (".github/workflows/ci.yml", CI.as_bytes()),
            ("README.md", b"# A small shop\n\nPrices and baskets.\n"),
        ];
        create_sample(dir, &files, "A small shop")
    }

    fn send_recorded(&self) -> Result<Outcome, EffectError> {
        self.print_step(
            "1  A model's answer: prose around it, no prefixes, line numbers off by a hundred",
            ANSWER,
        )?;
        self.run_work(RunWork::Task(TaskSpec {
            task: Some(TASK.to_owned()),
            provider: ProviderChoice {
                provider: ProviderKind::Replay,
                replay: Some(Recording::Text(ANSWER.to_owned())),
                ..ProviderChoice::default()
            },
            files: vec!["src/lib.rs".to_owned()],
            message: Some("Count every item in total()".to_owned()),
            ..TaskSpec::default()
        }))
    }

    fn send_hostile(&self, number: u32, what: &str, answer: &str) -> Result<Outcome, EffectError> {
        self.print_step(&format!("{number}  A hostile answer: {what}"), answer)?;
        self.run_work(RunWork::Answer(AnswerSpec {
            verb: "apply".to_owned(),
            answer: answer.as_bytes().to_vec(),
            instruction: what.to_owned(),
            message: Some(what.to_owned()),
            partial: false,
            author: None,
            trailers: Vec::new(),
        }))
    }

    fn run_work(&self, work: RunWork) -> Result<Outcome, EffectError> {
        let handle = self
            .app
            .host
            .runs()
            .start_run(RunSpec::new(SessionOptions::default(), work))?;
        let outcome = self.app.outcome_of(block_on(handle.outcome())??)?;
        self.print_text(&render::outcome::format_outcome(
            &word_outcome(&outcome),
            false,
            crate::terminal::screen::USUAL_WIDTH,
        ))?;
        Ok(outcome)
    }

    /// Verifies the evidence, then a copy with one changed bit. Returns true if the evidence is valid and the change is
    /// detected.
    fn check_evidence(&self) -> Result<bool, EffectError> {
        self.print_step(
            "5  The evidence: every step above, including the refusals, on one hash-chained tape",
            "",
        )?;
        let [whole, spoiled] = self.app.host.stories().drill_evidence(SPOILED_BYTE)?;
        self.print_text(&render::evidence::format_verification(
            &whole,
            EvidencePlace::Copy,
        ))?;
        self.print_step(
            &format!("6  One bit of byte {SPOILED_BYTE} is flipped in a copy of the tape"),
            "",
        )?;
        self.print_text(&render::evidence::format_verification(
            &spoiled,
            EvidencePlace::Copy,
        ))?;
        Ok(whole.ok && !spoiled.ok)
    }

    fn print_next_steps(&self, dir: &Path) -> Result<(), EffectError> {
        // The demo is often run from a build folder that is not on `PATH`, so its commands repeat the name that was
        // typed.
        let program = std::env::args().next().unwrap_or_else(|| "agentos".to_owned());
        let dir = dir.display();
        self.print_step("Try next", "")?;
        self.print_text(&format!(
            "  {program} evidence show --repo {dir}\n  git -C {dir} show\n  {program} undo --repo {dir}\n"
        ))
    }

    fn print_step(&self, title: &str, quoted: &str) -> Result<(), EffectError> {
        let mut text = format!("\n{}\n", paint(style::BOLD, title));
        for line in quoted.lines() {
            text.push_str(&paint(
                style::DIM,
                &format!("  | {}\n", crate::escape::line(line)),
            ));
        }
        self.print_text(&text)
    }

    fn print_text(&self, text: &str) -> Result<(), EffectError> {
        self.app
            .printer
            .write_data(text)
            .map_err(|error| output_failed(&error))
    }
}

/// Offset of a byte in the tape's second record, so that a valid record precedes it.
const SPOILED_BYTE: usize = 1000;

/// Returns the context for the demo's repository. Sets git's identity, because a new machine may have none.
fn enter_repository(app: &App, dir: &Path) -> App {
    let mut app = app.clone();
    let mut environment = app.host.environment().clone();
    environment.with_identity(SAMPLE_NAME, SAMPLE_EMAIL);
    app.host = Host::new(environment).with_repository(Some(dir.to_owned()));
    // `--json` promises one document, and every step of the demo would print its own.
    app.printer.json = false;
    app
}

/// Returns the path of the demo's new folder.
fn choose_dir(app: &App, args: &DemoArgs) -> Result<PathBuf, EffectError> {
    let dir = match &args.dir {
        Some(dir) => app.host.environment().cwd.join(dir),
        None => std::env::temp_dir().join(format!("agentos-demo-{}", new_run())),
    };
    // Not `exists()`, which follows links: it returns false for a dangling link, and the repository would then be created
    // at the link's target.
    if std::fs::symlink_metadata(&dir).is_ok() {
        return Err(usage_error(format!(
            "`{}` already exists",
            app.host.environment().shorten_path(&dir)
        ))
        .hint("name a folder that does not exist yet"));
    }
    match dir.parent().filter(|parent| parent.is_dir()) {
        Some(_) => Ok(dir),
        None => Err(EffectError::new(
            Cause::Usage,
            "no-folder",
            format!(
                "the parent folder of `{}` does not exist",
                app.host.environment().shorten_path(&dir)
            ),
        )
        .hint("create it first")),
    }
}

//! `agentos evidence`: list, show, stats, verify.
//!
//! Owns: which records are read. Never: changes the tape.

use std::path::{Path, PathBuf};

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_evidence::{
    Checks, CommitLookup, ProviderStats, PublicKey, Record, RunSummary, Store, is_own_evidence, trusted_keys,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::evidence::{DecisionArg, EvidenceListArgs, EvidenceShowArgs, EvidenceVerifyArgs};
use crate::clock::{self, SystemClock};
use crate::env::Env;
use crate::exit::Exit;
use crate::input;
use crate::render;
use crate::wire::repository::{self, History};
use crate::wire::signer;
use crate::wire::tape::broken;
use crate::wire::working::Working;

/// `agentos evidence list --json`.
#[derive(Serialize, JsonSchema)]
pub struct RunList<'a> {
    /// Version of this shape: 1.
    pub version: u32,
    /// The runs, newest last.
    pub runs: &'a [RunSummary],
}

/// `agentos evidence stats --json`.
#[derive(Serialize, JsonSchema)]
pub struct StatsReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Each provider with each model.
    pub providers: Vec<ProviderStats>,
}

/// `agentos evidence show --json`.
#[derive(Serialize, JsonSchema)]
pub struct RunRecords<'a> {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run.
    pub run: &'a str,
    /// Its records, in order.
    pub records: &'a [Record],
}

/// Lists the runs.
pub fn list(app: &App, args: &EvidenceListArgs) -> Done {
    let store = store(app)?;
    let mut runs = store.runs().map_err(|error| broken(&error))?;
    let any = !runs.is_empty();
    let since = args.since.as_deref().map(since).transpose()?;
    runs.retain(|run| wanted(run, args, since.as_deref()));
    runs.drain(..runs.len().saturating_sub(args.limit as usize));
    if app.printer.json {
        app.printer
            .json(&RunList {
                version: 1,
                runs: &runs,
            })
            .map_err(|error| output_failed(&error))?;
    } else if any && runs.is_empty() {
        app.printer
            .note("no run is like that; `agentos evidence list` shows all");
    } else if runs.is_empty() {
        app.printer
            .note("no runs yet; `agentos apply` and `agentos run` leave evidence here");
    } else {
        app.page(&render::evidence::list(&runs, &SystemClock.now()))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Is it one of those asked for?
fn wanted(run: &RunSummary, args: &EvidenceListArgs, since: Option<&str>) -> bool {
    let said = args.decision.map(|decision| match decision {
        DecisionArg::Allow => "allow",
        DecisionArg::Ask => "ask",
        DecisionArg::Deny => "deny",
    });
    let below = |path: &String, wanted: &str| {
        let rest = path.strip_prefix(wanted.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    (args.provider.is_none() || args.provider == run.provider)
        && (said.is_none() || said == run.decision.as_deref())
        && since.is_none_or(|since| run.began.as_str() >= since)
        && args
            .path
            .as_ref()
            .is_none_or(|wanted| run.paths.iter().any(|path| below(path, wanted)))
        && args.commit.as_ref().is_none_or(|id| {
            let made = run.commit.as_ref();
            made.is_some_and(|commit| commit.starts_with(id.as_str()))
        })
}

/// Tells one run.
pub fn show(app: &App, args: &EvidenceShowArgs) -> Done {
    let store = store(app)?;
    let run = match &args.run {
        Some(run) => run.clone(),
        None => newest(&store)?,
    };
    let records = store.run(&run).map_err(|error| broken(&error))?;
    if records.is_empty() {
        return Err(unknown(&run));
    }
    if app.printer.json {
        let shown = RunRecords {
            version: 1,
            run: &run,
            records: &records,
        };
        app.printer.json(&shown).map_err(|error| output_failed(&error))?;
    } else {
        app.page(&render::evidence::story(&records))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Counts by provider and model.
pub fn stats(app: &App) -> Done {
    let report = StatsReport {
        version: 1,
        providers: store(app)?.stats().map_err(|error| broken(&error))?,
    };
    if app.printer.json {
        app.printer.json(&report)
    } else {
        app.page(&render::evidence::stats(&report.providers))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// The time from which on, as records write it.
fn since(typed: &str) -> Result<String, EffectError> {
    let date = typed.starts_with(|c: char| c.is_ascii_digit()) && typed.contains('-');
    if date {
        return Ok(typed.to_owned());
    }
    let ago = humantime::parse_duration(typed)
        .map_err(|_| usage(format!("`{typed}` is no time")).hint("as in `2026-11-21` or `2days`"))?;
    Ok(clock::before_now(ago).to_string())
}

/// Checks the tape, its blobs, its signatures and the commits.
pub fn verify(app: &App, args: &EvidenceVerifyArgs) -> Done {
    // An export can be checked where there is no repository at all.
    let repo = match (&args.dir, &app.common.repo) {
        (Some(_), None) if args.commit.is_none() && args.range.is_none() => None,
        (Some(_) | None, _) => Some(repository::open(app)?),
    };
    let commits = match (&repo, args.range.as_ref().or(args.commit.as_ref())) {
        (Some(repo), Some(range)) => Some(History::of(repo, range)?),
        (Some(repo), None) => Some(History::read(repo)?),
        (None, _) => None,
    };
    let dir = match (&args.dir, &repo) {
        (Some(dir), _) => exported(&app.env, &app.env.cwd.join(dir))?,
        (None, Some(repo)) => repo.state_dir(),
        (None, None) => return Err(usage("there is no evidence to verify")),
    };
    let store = Store::open(&dir).map_err(|error| broken(&error))?;
    let checks = Checks {
        history: commits.as_ref().map(|commits| commits as &dyn CommitLookup),
        keys: keys(app, args)?,
        require: args.require,
        // Only a copy may leave something out, and only a copy has a signed end.
        export: args.dir.is_some() && !is_own(&dir, repo.as_ref().map(|repo| repo.state_dir())),
    };
    let report = {
        let _working = Working::on(app, "checking the evidence", None);
        store.verify(&checks).map_err(|error| broken(&error))?
    };
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    } else {
        let text = render::evidence::verified(&report, args.dir.is_none());
        app.page(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(if report.ok {
        Exit::Done
    } else {
        Exit::EvidenceBroken
    })
}

/// Is a folder that was named the evidence of a repository itself?
fn is_own(dir: &Path, of_repository: Option<PathBuf>) -> bool {
    let same = |other: PathBuf| match (dir.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        (_, _) => false,
    };
    is_own_evidence(dir) || of_repository.is_some_and(same)
}

fn exported(env: &Env, dir: &Path) -> Result<PathBuf, EffectError> {
    if dir.is_dir() {
        return Ok(dir.to_owned());
    }
    Err(usage(format!("there is no folder `{}`", env.shown(dir)))
        .hint("name a folder that `agentos evidence export --out` made"))
}

/// The keys that count.
fn keys(app: &App, args: &EvidenceVerifyArgs) -> Result<Vec<PublicKey>, EffectError> {
    let known = match &args.keys {
        Some(file) => {
            let file = app.env.cwd.join(file);
            let name = app.env.shown(&file);
            if let Err(error) = std::fs::metadata(&file) {
                return Err(input::unreadable(&name, &error));
            }
            let known = trusted_keys(&file).map_err(|error| broken(&error))?;
            if known.is_empty() {
                return Err(usage(format!("there is no Ed25519 key in `{name}`")).hint(
                    "write lines as `NAME ssh-ed25519 AAAA…`, as OpenSSH's `allowed_signers` has them",
                ));
            }
            known
        }
        None => signer::trusted(app)?,
    };
    Ok(known.iter().map(|known| known.key).collect())
}

fn store(app: &App) -> Result<Store, EffectError> {
    let repo = repository::open(app)?;
    Store::open(&repo.state_dir()).map_err(|error| broken(&error))
}

/// There is no such run.
pub fn unknown(run: &str) -> EffectError {
    usage(format!("there is no run `{run}` on the tape")).hint("`agentos evidence list` shows the runs")
}

/// Why a run is not what a verb can work on: there is none of that name, or `other`.
///
/// # Errors
/// When the tape cannot be read.
pub fn unfit(store: &Store, run: &str, other: EffectError) -> Result<EffectError, EffectError> {
    let records = store.run(run).map_err(|error| broken(&error))?;
    Ok(if records.is_empty() { unknown(run) } else { other })
}

/// The run that began last.
///
/// # Errors
/// When there is none, or the tape cannot be read.
pub fn newest(store: &Store) -> Result<String, EffectError> {
    let runs = store.runs().map_err(|error| broken(&error))?;
    runs.last().map(|run| run.run.clone()).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-runs", "there are no runs on the tape yet")
            .hint("`agentos apply` and `agentos run` leave evidence here")
    })
}

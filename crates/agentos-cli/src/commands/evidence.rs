//! `agentos evidence`: list, show, verify.
//!
//! Owns: which records are read. Never: changes the tape.

use std::path::{Path, PathBuf};

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{Checks, CommitLookup, PublicKey, Record, RunSummary, Store, trusted_keys};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::evidence::{EvidenceListArgs, EvidenceShowArgs, EvidenceVerifyArgs};
use crate::exit::Exit;
use crate::render;
use crate::wire::repository::{self, History};
use crate::wire::signer;
use crate::wire::tape::broken;

#[derive(Serialize)]
struct RunList<'a> {
    version: u32,
    runs: &'a [RunSummary],
}

#[derive(Serialize)]
struct RunRecords<'a> {
    version: u32,
    run: &'a str,
    records: &'a [Record],
}

/// Lists the runs.
pub fn list(app: &App, args: &EvidenceListArgs) -> Done {
    let store = store(app)?;
    let mut runs = store.runs().map_err(|error| broken(&error))?;
    runs.drain(..runs.len().saturating_sub(args.limit as usize));
    if app.printer.json {
        app.printer
            .json(&RunList {
                version: 1,
                runs: &runs,
            })
            .map_err(|error| output_failed(&error))?;
    } else if runs.is_empty() {
        app.printer
            .note("no runs yet; `agentos apply` and `agentos run` leave evidence here");
    } else {
        app.printer
            .data(&render::evidence::list(&runs))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
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
        return Err(usage(format!("there is no run `{run}` on the tape"))
            .hint("`agentos evidence list` shows the runs"));
    }
    if app.printer.json {
        let shown = RunRecords {
            version: 1,
            run: &run,
            records: &records,
        };
        app.printer.json(&shown).map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .data(&render::evidence::story(&records))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
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
        (Some(dir), _) => exported(&app.env.cwd.join(dir))?,
        (None, Some(repo)) => repo.state_dir(),
        (None, None) => return Err(usage("there is no evidence to verify")),
    };
    let store = Store::open(&dir).map_err(|error| broken(&error))?;
    let checks = Checks {
        history: commits.as_ref().map(|commits| commits as &dyn CommitLookup),
        keys: keys(app, args)?,
        require: args.require,
    };
    let report = store.verify(&checks).map_err(|error| broken(&error))?;
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    } else {
        let text = render::evidence::verified(&report);
        app.printer.data(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(if report.ok {
        Exit::Done
    } else {
        Exit::EvidenceBroken
    })
}

fn exported(dir: &Path) -> Result<PathBuf, EffectError> {
    if dir.is_dir() {
        return Ok(dir.to_owned());
    }
    Err(usage(format!("there is no folder `{}`", dir.display())))
}

/// The keys that count.
fn keys(app: &App, args: &EvidenceVerifyArgs) -> Result<Vec<PublicKey>, EffectError> {
    let known = match &args.keys {
        Some(file) => {
            let file = app.env.cwd.join(file);
            let known = trusted_keys(&file).map_err(|error| broken(&error))?;
            if known.is_empty() {
                return Err(usage(format!("there is no Ed25519 key in `{}`", file.display())));
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

fn newest(store: &Store) -> Result<String, EffectError> {
    let runs = store.runs().map_err(|error| broken(&error))?;
    runs.last().map(|run| run.run.clone()).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-runs", "there are no runs on the tape yet")
            .hint("`agentos apply` and `agentos run` leave evidence here")
    })
}

//! The checks of `doctor` that concern a repository: its state, its rules and its evidence.
//!
//! Owns: these checks. Never: finishes a landing or writes a record.

use std::io::ErrorKind;

use agentos_api::{CheckStatus, DoctorCheck, NextStep};
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_evidence::{Finding, FreeSpace, Store, Tampering, VerifyChecks};
use agentos_executor::{Identity, Repository, TargetSpec};
use agentos_policy::{Layer, LayerPreset};
use agentos_sandbox::find_leftovers;

use super::failed_check;
use crate::status;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::repo_error;
use agentos_ground::history::History;
use agentos_ground::repository::{self, exec_error};
use agentos_ground::tape::evidence_error;
use agentos_ground::words::count_noun;
use agentos_ground::{commit_signing, evidence_key};

/// Free bytes below which a run with a large context may not be recorded.
const LITTLE_ROOM: u64 = 256 << 20;

/// Opens the repository, which is the first check. `None` if there is none.
pub fn open(ground: &Ground, checks: &mut Vec<DoctorCheck>) -> Option<Repository> {
    match repository::open(ground) {
        Ok(repo) => {
            checks.push(DoctorCheck::fine("repository", status::repository_path(&repo)));
            Some(repo)
        }
        // Without `--repo`, nobody claimed that there is a repository, so this is no failure.
        Err(error) if error.code == "not-a-repository" && ground.named_repository().is_none() => {
            checks.push(DoctorCheck::skipped("repository", "not in a git repository"));
            None
        }
        Err(error) => {
            checks.push(failed_check("repository", &error));
            None
        }
    }
}

/// Adds the checks of an open repository.
///
/// # Errors
/// If the repository cannot be opened a second time.
pub fn add_repository_checks(
    ground: &Ground,
    repo: &Repository,
    checks: &mut Vec<DoctorCheck>,
) -> Result<(), EffectError> {
    checks.push(check_unfinished(repo));
    checks.extend(report_leftovers(ground, repo));
    checks.push(check_branch(repo));
    checks.extend(check_identity(ground, repo));
    // Opened a second time: reading the policy takes the repository as its own.
    checks.extend(hooks(repo));
    checks.push(check_policy(ground, repository::open(ground)?));
    checks.extend(report_foreign_copies(repo));
    match Store::open(&repo.state_dir()) {
        Ok(store) => {
            let room = store.free_space();
            checks.push(check_writable(&store, room));
            checks.extend(check_disk(room));
            checks.push(check_clock(&store));
            checks.push(verify_tape(ground, repo, &store)?);
        }
        Err(error) => checks.push(failed_check("evidence", &evidence_error(&error))),
    }
    Ok(())
}

/// Checks that no landing was interrupted.
fn check_unfinished(repo: &Repository) -> DoctorCheck {
    match repo.unfinished() {
        Ok(None) => DoctorCheck::fine("landing", "no landing is unfinished"),
        // The journal of a landing that is still under way looks the same, so this is no failure.
        Ok(Some(run)) => DoctorCheck {
            fix: Some("land something: that finishes it or rolls it back first".to_owned()),
            ..DoctorCheck::attention_with_steps(
                "landing",
                "unfinished",
                format!("the landing of run `{run}` was interrupted, or is still running"),
                [NextStep::Recover],
            )
        },
        Err(error) => failed_check("landing", &exec_error(&error)),
    }
}

/// Reports folders of tools whose run has ended. `None` if there are none.
fn report_leftovers(ground: &Ground, repo: &Repository) -> Option<DoctorCheck> {
    const NAME: &str = "tools' folders";
    let mut left = Vec::new();
    for place in repo.run_places(ground.environment().cache_dir().as_deref()) {
        match find_leftovers(&place) {
            Ok(found) => left.extend(found),
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                return Some(DoctorCheck::attention(
                    NAME,
                    "unsafe-folder",
                    error.to_string(),
                    hint,
                ));
            }
        }
    }
    // A folder that may hold sign-in files is named first: it is the one that matters.
    let named = left.iter().find(|one| one.holds_home).or(left.first())?;
    let may_hold = if named.holds_home {
        ", which may hold copies of your sign-in files"
    } else {
        ""
    };
    Some(DoctorCheck::attention(
        NAME,
        "leftovers",
        format!(
            "{} of runs that have ended: `{}`{may_hold}",
            count_noun(left.len() as u64, "folder"),
            named.path.display()
        ),
        "the next run of a tool removes them; if it cannot, remove them yourself",
    ))
}

/// Reports a foreign folder where earlier versions kept copies. `None` if there is none, or the next run removes it.
fn report_foreign_copies(repo: &Repository) -> Option<DoctorCheck> {
    let place = repo.foreign_copies()?;
    Some(DoctorCheck::attention(
        "copies",
        "foreign-copies",
        format!(
            "`{}` does not belong to you: it is neither used nor removed",
            place.display()
        ),
        "find out what it is, and remove it",
    ))
}

/// Checks that a change can be landed on the checked-out branch.
fn check_branch(repo: &Repository) -> DoctorCheck {
    match repo.resolve(&TargetSpec::CurrentBranch) {
        Ok(target) => {
            let branch = target.refname.trim_start_matches("refs/heads/");
            DoctorCheck::fine("branch", format!("`{branch}` can be landed on"))
        }
        // A bare repository is a normal state: a landing on it only has to name its branch.
        Err(error) if repo.is_bare() && error.code() == "bare-without-branch" => DoctorCheck {
            status: CheckStatus::Attention,
            cause: None,
            ..failed_check("branch", &repo_error(&error))
        },
        Err(error) => failed_check("branch", &repo_error(&error)),
    }
}

/// Checks that commits have an author, and can be signed if they are to be.
fn check_identity(ground: &Ground, repo: &Repository) -> Vec<DoctorCheck> {
    let by = match repo.authorship(&ground.environment().git_identity()) {
        Ok(by) => by,
        Err(error) => return vec![failed_check("identity", &repo_error(&error))],
    };
    let shown = |who: &Identity| format!("{} <{}>", who.name, who.email);
    let mut who = shown(&by.author);
    if by.committer != by.author {
        who.push_str(&format!("; committed by {}", shown(&by.committer)));
    }
    let who = DoctorCheck::fine("identity", who);
    let signing = match commit_signing::read_signing(
        repo,
        &by.committer,
        &commit_signing::signing_environment(ground, repo),
    ) {
        Ok(wish) => match (wish.commit_signer(), wish.unsigned_note()) {
            (Some(_), _) => DoctorCheck::fine(
                "commit signing",
                "commits are signed, as your git configuration asks",
            ),
            (None, Some(note)) => DoctorCheck::fine("commit signing", note.trim_start_matches("note: ")),
            (None, None) => DoctorCheck::fine("commit signing", "not requested"),
        },
        Err(error) => failed_check("commit signing", &error),
    };
    vec![who, signing]
}

/// Reports hooks that a landing does not run. `None` if there are none.
fn hooks(repo: &Repository) -> Option<DoctorCheck> {
    let names = repo.commit_hooks();
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Some(DoctorCheck::attention(
        "hooks",
        "hooks-not-run",
        format!(
            "git runs {} for a commit; a landing runs `pre-commit` and `commit-msg` on request, and no other",
            names.join(", ")
        ),
        "ask for the hooks where you land a change, or set that they always run; run the others in CI or before you push",
    ))
}

/// Checks that the rules can be read.
fn check_policy(ground: &Ground, repo: Repository) -> DoctorCheck {
    let found = status::of_policy(ground, repo);
    match found.obstacle {
        Some(obstacle) => {
            let mut error = EffectError::new(Cause::Policy, &obstacle.code, obstacle.message);
            error.hint = obstacle.hint;
            error.next = obstacle.next;
            failed_check("policy", &error)
        }
        None => DoctorCheck::fine(
            "policy",
            format!(
                "{} active, {} besides the built-in rules; {}",
                count_noun(found.rules as u64, "rule"),
                count_noun(found.files.len() as u64, "file"),
                describe_presets(&found.stands)
            ),
        ),
    }
}

/// Describes the presets that are active, and why.
fn describe_presets(presets: &[LayerPreset]) -> String {
    let is_of = |layer| presets.iter().any(|standing| standing.layer == layer);
    let is_added = is_of(Layer::Default) && is_of(Layer::Repository);
    let describe = |standing: &LayerPreset| {
        let name = standing.preset.as_str();
        match standing.layer {
            Layer::Default => format!("preset `{name}`"),
            Layer::Repository if is_added => {
                format!("preset `{name}` of the repository, which does not replace `default`")
            }
            layer => format!("preset `{name}` of the {}", layer.as_str()),
        }
    };
    let described: Vec<String> = presets.iter().map(describe).collect();
    described.join(", ")
}

/// Checks that evidence can be written.
fn check_writable(store: &Store, room: FreeSpace) -> DoctorCheck {
    let place = store.dir().display();
    if room.writable {
        return DoctorCheck::fine("evidence folder", format!("{place} can be written"));
    }
    // The evidence is not at fault: the repository is in a place that cannot be written.
    let (code, kind) = match room.read_only {
        true => ("read-only", ErrorKind::ReadOnlyFilesystem),
        false => ("evidence-not-writable", ErrorKind::PermissionDenied),
    };
    let message = format!("`{place}` cannot be written, and nothing lands without evidence");
    let error = EffectError::new(Cause::Repository, code, message);
    failed_check(
        "evidence folder",
        &error.hint(agentos_executor::advise_unwritable(kind)),
    )
}

/// Checks the free space. `None` if the system does not report it.
fn check_disk(room: FreeSpace) -> Option<DoctorCheck> {
    let free = room.free_bytes?;
    // One digit behind the point: nobody plans with more than that.
    let tenths = free / ((1 << 30) / 10);
    let room = match tenths {
        0..10 => format!("{} MB", free >> 20),
        _ => format!("{}.{} GB", tenths / 10, tenths % 10),
    };
    let words = format!("{room} free where evidence and objects are kept");
    Some(if free < LITTLE_ROOM {
        DoctorCheck::attention(
            "disk",
            "little-room",
            words,
            "free some space; a landing that does not fit is rolled back",
        )
    } else {
        DoctorCheck::fine("disk", words)
    })
}

/// Checks that the clock is not behind the last record. A clock that went back makes the evidence hard to read, but cannot
/// break its chain.
fn check_clock(store: &Store) -> DoctorCheck {
    let now = SystemClock.now();
    let last = store
        .runs()
        .ok()
        .and_then(|mut runs| runs.pop())
        .map(|run| run.ended);
    match last {
        // Timestamps are RFC 3339 in UTC with milliseconds, so their texts have the order of their times.
        Some(last) if last.as_str() > now.as_str() => DoctorCheck::attention(
            "clock",
            "clock-behind",
            format!("it is {now} here, and the last record was made at {last}"),
            "set the clock; records are kept in their order all the same",
        ),
        Some(_) | None => DoctorCheck::fine("clock", format!("{now}, not before the last record")),
    }
}

/// Verifies the evidence.
fn verify_tape(ground: &Ground, repo: &Repository, store: &Store) -> Result<DoctorCheck, EffectError> {
    // The first run makes the folder. Verifying before would report a missing tape.
    if !store.dir().is_dir() {
        return Ok(DoctorCheck::fine("evidence", "there are no runs yet"));
    }
    let history = History::read(repo)?;
    let checks = VerifyChecks {
        history: Some(&history),
        keys: evidence_key::read_trusted_keys(ground)?
            .iter()
            .map(|known| known.key)
            .collect(),
        ..VerifyChecks::default()
    };
    Ok(match store.verify(&checks) {
        Ok(report) if report.ok => DoctorCheck::fine(
            "evidence",
            format!(
                "{} intact, {} signed",
                count_noun(report.records, "record"),
                count_noun(report.signed, "run")
            ),
        ),
        // A clone has the commits of landed runs, and their evidence is in the repository where they landed, or was fetched.
        Ok(report) if report.records == 0 && report.findings.iter().all(is_only_commit) => {
            DoctorCheck::attention_with_steps(
                "evidence",
                "no-evidence",
                "no run was recorded in this copy, and commits name evidence of another one",
                [NextStep::VerifyEvidence { set_aside: false }],
            )
        }
        Ok(report) => {
            let first = report
                .first()
                .map_or_else(String::new, |finding| finding.detail.clone());
            let error = EffectError::new(Cause::Evidence, "evidence-broken", first);
            let set_aside = report.findings.iter().any(|found| found.tampering.is_of_tape());
            let step = NextStep::VerifyEvidence { set_aside };
            failed_check("evidence", &error.suggest_steps([step]))
        }
        Err(error) => failed_check("evidence", &evidence_error(&error)),
    })
}

/// Returns true for a commit that names evidence which is not on the tape of this copy.
fn is_only_commit(finding: &Finding) -> bool {
    finding.tampering == Tampering::CommitWithoutRecord
}

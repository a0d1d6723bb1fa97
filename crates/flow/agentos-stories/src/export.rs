//! An export of the evidence: a folder for a reviewer who has neither this repository nor this program.
//!
//! Owns: its files next to the evidence itself. Never: puts a secret or a script into it, or lays out its page.

use std::collections::BTreeMap;
use std::path::Path;

use agentos_api::{ExportReport, Notice};
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_evidence::{PublicKey, Record, RecordKind, Store, TrustedKey, VerifyChecks, VerifyReport};
use serde_json::Value;

use crate::Stories;
use crate::run_log::{LoggedRun, log_run};
use agentos_ground::clock::SystemClock;
use agentos_ground::error::usage_error;
use agentos_ground::history::History;
use agentos_ground::tape::evidence_error;
use agentos_ground::{clock, evidence_key, repository};

/// The parts that an export has.
struct ExportParts {
    /// Signed statements.
    attested: bool,
    /// Signatures of the last record and of the list of files.
    signed: bool,
    /// Keys that the exporter trusts.
    keys: bool,
    /// The name of the key that signed the export, in `allowed_signers`. `None` if it is not there.
    principal: Option<String>,
    /// True if content was left out.
    redacted: bool,
    /// Runs that nobody signed.
    unsigned_runs: u64,
}

/// Writes the file that a reviewer reads first. It mentions only files that are in the folder, and only commands that can
/// run with them.
fn read_me(parts: &ExportParts, layout: ExportLayout<'_>) -> String {
    let line = |there: bool, text: &str| if there { format!("{text}\n") } else { String::new() };
    let attestations = line(
        parts.attested,
        "    attestations/                each run's signed statements: DSSE envelopes with in-toto Statements, one a line",
    );
    let (head, list) = match parts.signed {
        true => (
            "head.json, head.json.sig     the last record, signed",
            "export.json, export.json.sig time, redaction and the digest of each file, signed",
        ),
        false => (
            "head.json                    the last record; it is not signed",
            "export.json                  time, redaction and the digest of each file; it is not signed",
        ),
    };
    let signers = match parts.keys {
        true => "the keys that the exporter trusts; ask the exporter for the fingerprint in another way",
        false => "empty: the exporter trusts no key",
    };
    let check = CopyCheck {
        names_keys: parts.keys,
        // Required signatures make every unsigned run a fault, so they are proposed only where each run is signed.
        requires_signatures: parts.signed && parts.keys && parts.unsigned_runs == 0,
    };
    let ours = (layout.check_command)(check);
    let script = match (check.names_keys, check.requires_signatures) {
        (_, true) => "`scripts/evidence/verify.py . --keys allowed_signers --require`",
        (true, false) => "`scripts/evidence/verify.py . --keys allowed_signers`",
        (false, false) => "`scripts/evidence/verify.py .`",
    };
    // Only the name next to the key that signed can verify it, so a command with another one would fail.
    let openssh = parts.principal.as_ref().filter(|_| parts.signed).map(|name| {
        format!(
            "with OpenSSH, the head:     ssh-keygen -Y verify -f allowed_signers -I {name} -n agentos-evidence \
             -s head.json.sig < head.json
              and the list:     ssh-keygen -Y verify -f allowed_signers -I {name} -n agentos-evidence \
             -s export.json.sig < export.json\n"
        )
    });
    let openssh = openssh.unwrap_or_default();
    let proved = explain_proof(parts);
    format!(
        "The evidence of AgentOS, copied for a reviewer.

    index.html                   what happened, for people
    tape.jsonl, blobs/           the records, chained by hash, and what they refer to
{attestations}    {head}
    {list}
    allowed_signers              {signers}

Check it with AgentOS:      {ours}
{openssh}without AgentOS:            {script}, in Python, from the AgentOS repository

{proved}"
    )
}

/// Explains what a check without faults proves, and what it does not.
fn explain_proof(parts: &ExportParts) -> String {
    let mut text = "What that proves
    Each record is what was written: number, time, kind, run, content and the order. No record in between is missing.\n"
        .to_owned();
    if parts.redacted {
        text.push_str(
            "    Of a redacted record all but its content, which stands there as a salted digest: who is shown the content
    and its salt later can compare them. Records of earlier versions have no such digest: their number, time, kind
    and run are proved by the signature of the list of files alone.\n",
        );
    }
    if parts.signed && parts.unsigned_runs > 0 {
        text.push_str(&format!(
            "    Runs here that nobody signed: {}. Where signatures are required, each is a fault.\n",
            parts.unsigned_runs
        ));
    }
    text.push_str(match parts.signed {
        true => {
            "    With the keys of the exporter and signatures required: no record at the end is missing, each run was signed by one
    of the keys, and every file that is named above is the one that was exported, this page included.
What it does not prove
    That this is the newest export: an older one is as genuine. Compare the time and the last record in export.json with
    what the exporter says. That the keys in allowed_signers are the exporter's: ask for the fingerprint.\n"
        }
        false => {
            "What it does not prove
    That no record at the end is missing, and that the page is what was exported: no key signed them. Whoever changed
    the whole folder could have made all of it.\n"
        }
    });
    text
}

/// Most runs shown on the page, the newest ones.
const MOST_RUNS: usize = 500;
/// Most bytes of one diff shown on the page.
const LONGEST_DIFF: usize = 64 << 10;

/// A run of an export, for its page.
#[derive(Debug, Default)]
pub struct ExportedRun {
    /// Id of the run.
    pub run: String,
    /// The run as the log shows it. `None` if its records cannot be summarised.
    pub logged: Option<LoggedRun>,
    /// Records of the run, in order.
    pub records: Vec<Record>,
    /// The run's last change. `None` if it has none.
    pub change: Option<ExportedChange>,
}

/// The beginning of a change, for the page.
#[derive(Debug)]
pub struct ExportedChange {
    /// The kind of text.
    pub kind: ExportedText,
    /// The text; untrusted.
    pub text: String,
    /// True if the change is longer.
    pub is_cut: bool,
}

/// The kind of a change's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportedText {
    /// The canonical diff.
    Diff,
    /// The answer as it came, which was not placed.
    Answer,
}

/// Facts about an export, for its page.
#[derive(Debug, Clone)]
pub struct ExportFacts {
    /// Name of the repository: of its folder.
    pub repository: String,
    /// The person who exports it.
    pub exporter: String,
    /// Time of the export, RFC 3339.
    pub created: String,
    /// True if content was left out.
    pub redacted: bool,
}

/// The check that a reviewer can run with the files of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCheck {
    /// True if the folder names trusted keys.
    pub names_keys: bool,
    /// True if every run is signed by one of them, so that a missing signature is a fault.
    pub requires_signatures: bool,
}

/// The parts of an export that a front end words.
#[derive(Clone, Copy)]
pub struct ExportLayout<'a> {
    /// Lays out the page for a browser.
    pub page: &'a dyn Fn(&ExportFacts, &VerifyReport, &[ExportedRun]) -> String,
    /// Words the command of the check, for a reader who is in the folder.
    pub check_command: &'a dyn Fn(CopyCheck) -> String,
}

impl Stories<'_> {
    /// Copies the evidence into a new or empty folder, with the texts of `layout`. `redacts` leaves content out.
    ///
    /// # Errors
    /// If the folder is not empty, or something cannot be read or written.
    pub fn export_evidence(
        self,
        out: &Path,
        redacts: bool,
        layout: ExportLayout<'_>,
    ) -> Result<ExportReport, EffectError> {
        let repo = repository::open(self.ground)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
        let out = self.ground.environment().cwd.join(out);
        if std::fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
            let shown = self.ground.environment().shorten_path(&out);
            return Err(usage_error(format!("`{shown}` is not empty"))
                .hint("name a folder that does not exist yet, or an empty one"));
        }
        let trusted = evidence_key::read_trusted_keys(self.ground)?;
        let history = History::read(&repo)?;
        let checks = VerifyChecks {
            history: Some(&history),
            keys: trusted.iter().map(|known| known.key).collect(),
            ..VerifyChecks::default()
        };
        let found = store.verify(&checks).map_err(|error| evidence_error(&error))?;
        let copy = store
            .export(&out, redacts)
            .map_err(|error| evidence_error(&error))?;
        let add = |name: &str, bytes: &[u8]| copy.add(name, bytes).map_err(|error| evidence_error(&error));
        add("allowed_signers", write_signers(&trusted).as_bytes())?;
        let copied = Store::open(&out).map_err(|error| evidence_error(&error))?;
        let facts = ExportFacts {
            repository: repository_name(&repo),
            exporter: self.ground.person_with_email(),
            created: SystemClock.now().to_string(),
            redacted: redacts,
        };
        let page = (layout.page)(&facts, &found, &newest_runs(&copied, redacts)?);
        add("index.html", page.as_bytes())?;
        // Without a key, or if it cannot be read, the export is not signed and says so.
        let key = evidence_key::existing_key(self.ground)
            .ok()
            .flatten()
            .map(|kept| kept.key);
        let parts = ExportParts {
            attested: out.join("attestations").is_dir(),
            signed: key.is_some(),
            keys: !trusted.is_empty(),
            principal: key
                .as_ref()
                .and_then(|key| find_principal(&trusted, &key.public())),
            redacted: redacts,
            unsigned_runs: found.unsigned,
        };
        add("README.txt", read_me(&parts, layout).as_bytes())?;
        // Last: the list that is sealed contains the digest of every file of the export.
        copy.seal(&facts.created, key.as_ref())
            .map_err(|error| evidence_error(&error))?;
        if !found.ok {
            // Exported all the same: the damaged state is what a reviewer may have to see.
            let message = "the evidence is damaged; the copy contains what is there, and says so";
            self.ground.notify(Notice::new("evidence-broken", message));
        }
        Ok(ExportReport {
            version: 1,
            dir: out.display().to_string(),
            records: copy.records,
            blobs: copy.blobs,
            lost: copy.lost,
            redacted: redacts,
            head: copy.head,
            signed_by: key.map(|key| key.public().id()),
        })
    }
}

/// Returns the name of the repository: that of its working tree, or of the folder of a bare one.
fn repository_name(repo: &agentos_executor::Repository) -> String {
    let dir = repo.work_dir().unwrap_or_else(|| repo.common_dir());
    // Only the last part: the folders above are nobody's business in another place.
    dir.file_name().map_or_else(
        || "a repository".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Returns the name next to a key in the list of trusted keys. `None` if the key is not in it.
fn find_principal(trusted: &[TrustedKey], key: &PublicKey) -> Option<String> {
    let found = trusted.iter().find(|known| known.key == *key)?;
    // Several names are separated by commas, and a pattern is no name that could sign.
    let first = found.name.split(',').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+');
    (!first.is_empty() && first.chars().all(is_plain)).then(|| first.to_owned())
}

/// Writes the trusted keys in the form that OpenSSH reads.
fn write_signers(trusted: &[TrustedKey]) -> String {
    let line = |known: &TrustedKey| {
        let (name, key) = (&known.name, known.key.line());
        format!("{name} namespaces=\"agentos-evidence\" {key}\n")
    };
    trusted.iter().map(line).collect()
}

/// Reads the newest runs. A redacted copy shows none, because their content was left out.
fn newest_runs(store: &Store, redacted: bool) -> Result<Vec<ExportedRun>, EffectError> {
    let mut runs: Vec<ExportedRun> = Vec::new();
    if redacted {
        return Ok(runs);
    }
    // A damaged tape is shown as far as it can be read; the verification reports where the damage begins.
    for record in store
        .records()
        .map_err(|error| evidence_error(&error))?
        .map_while(Result::ok)
    {
        let at = runs
            .iter()
            // Records of runs at the same time alternate on the tape, so the run is searched from the newest on.
            .rposition(|known| known.run == record.run)
            .unwrap_or_else(|| {
                if runs.len() == MOST_RUNS {
                    runs.remove(0);
                }
                runs.push(ExportedRun {
                    run: record.run.clone(),
                    ..ExportedRun::default()
                });
                runs.len() - 1
            });
        if let Some(run) = runs.get_mut(at) {
            add_record(run, store, record);
        }
    }
    runs.reverse();
    add_summaries(&mut runs, store);
    Ok(runs)
}

/// Adds to each run how the log shows it.
fn add_summaries(runs: &mut [ExportedRun], store: &Store) {
    let now = clock::now();
    // A damaged tape has no log. Its runs are shown without their ends.
    let summaries = store.runs().unwrap_or_default();
    let logged: BTreeMap<&str, LoggedRun> = summaries
        .iter()
        .map(|run| (run.run.as_str(), log_run(run, &now)))
        .collect();
    for run in runs {
        run.logged = logged.get(run.run.as_str()).cloned();
    }
}

/// Adds a record to its run, with the beginning of its diff.
fn add_record(run: &mut ExportedRun, store: &Store, record: Record) {
    let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
    let (kind, name) = match record.kind {
        RecordKind::Landing => (ExportedText::Diff, "/diff_blob_sha256"),
        RecordKind::Answer => (ExportedText::Answer, "/answer_sha256"),
        _ => {
            run.records.push(record);
            return;
        }
    };
    // The diff replaces the answer that it was made of. An answer that was refused has none, and is shown itself.
    if let Some(Ok(bytes)) = text(name).map(|id| store.get_blob(id)) {
        let shown = bytes.get(..LONGEST_DIFF.min(bytes.len())).unwrap_or_default();
        run.change = Some(ExportedChange {
            kind,
            // The cut can divide a character, whose rest is shown as a replacement character.
            text: String::from_utf8_lossy(shown).into_owned(),
            is_cut: shown.len() < bytes.len(),
        });
    }
    run.records.push(record);
}

//! `agentos evidence export`: a folder for a reviewer who has neither this repository nor this program.
//!
//! Owns: what lies in it beside the evidence itself. Never: puts a secret into it, or a script.

use agentos_engine::ports::EffectError;
use agentos_evidence::{Checks, Record, RecordKind, Store, TrustedKey, is_redacted};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::{App, Done, usage};
use crate::args::evidence::EvidenceExportArgs;
use crate::render::evidence::station;
use crate::render::page::{self, RunPage, Station};
use crate::wire::repository::{self, History};
use crate::wire::signer;
use crate::wire::tape::broken;
use crate::wire::working::Working;

/// `agentos evidence export --json`.
#[derive(Serialize, JsonSchema)]
pub struct ExportReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The folder.
    pub dir: String,
    /// Records in it.
    pub records: u64,
    /// Blobs in it.
    pub blobs: u64,
    /// Blobs that could not be copied: gone, or not what was stored.
    pub lost: u64,
    /// Content was left out.
    pub redacted: bool,
    /// The hash of its last record.
    pub head: String,
    /// The key that signed `head.json`, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// What a reviewer reads first: only of what lies in the folder, and only commands that have what they need.
fn read_me(attested: bool, signed: bool, keys: bool) -> String {
    let line = |there: bool, text: &str| if there { format!("{text}\n") } else { String::new() };
    let attestations = line(
        attested,
        "    attestations/            each run's signed statements: DSSE envelopes with in-toto Statements, one a line",
    );
    let head = match signed {
        true => "head.json, head.json.sig the last record, signed",
        false => "head.json                the last record; it is not signed",
    };
    let signers = match keys {
        true => "the keys that the exporter trusts; ask the exporter for the fingerprint in another way",
        false => "empty: the exporter trusts no key",
    };
    let given = if keys { " --keys allowed_signers" } else { "" };
    let openssh = line(
        signed && keys,
        "with OpenSSH, the head:     ssh-keygen -Y verify -f allowed_signers -I NAME -n agentos-evidence \
         -s head.json.sig < head.json",
    );
    format!(
        "The evidence of AgentOS, copied for a reviewer.

    index.html               what happened, for people
    tape.jsonl, blobs/       the records, chained by hash, and what they refer to
{attestations}    {head}
    allowed_signers          {signers}

Check it with AgentOS:      agentos evidence verify --dir .{given}
{openssh}without AgentOS:            scripts/evidence/verify.py of the AgentOS repository, about 200 lines of Python
"
    )
}

/// Runs shown on the page, the newest ones.
const MOST_RUNS: usize = 500;
/// Bytes of one diff shown on the page.
const LONGEST_DIFF: usize = 64 << 10;

/// Runs the verb.
pub fn export(app: &App, args: &EvidenceExportArgs) -> Done {
    let repo = repository::open(app)?;
    let store = Store::open(&repo.state_dir()).map_err(|error| broken(&error))?;
    let out = app.env.cwd.join(&args.out);
    if std::fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(usage(format!("`{}` is not empty", app.env.shown(&out)))
            .hint("name a folder that is not there yet, or an empty one"));
    }
    let trusted = signer::trusted(app)?;
    let history = History::read(&repo)?;
    let checks = Checks {
        history: Some(&history),
        keys: trusted.iter().map(|known| known.key).collect(),
        ..Checks::default()
    };
    let _working = Working::on(app, "copying the evidence", None);
    let found = store.verify(&checks).map_err(|error| broken(&error))?;
    let copy = store.export(&out, args.redact).map_err(|error| broken(&error))?;
    let add = |name: &str, bytes: &[u8]| copy.add(name, bytes).map_err(|error| broken(&error));
    add("allowed_signers", signers(&trusted).as_bytes())?;
    let copied = Store::open(&out).map_err(|error| broken(&error))?;
    let pages = pages(&copied, is_redacted(&out).map_err(|error| broken(&error))?)?;
    add("index.html", page::page(&found, &pages, args.redact).as_bytes())?;
    let signed_by = match signer::existing(app) {
        Ok(Some(kept)) => {
            let head = copied.head_bytes().map_err(|error| broken(&error))?;
            add("head.json.sig", kept.key.ssh_signature(&head).as_bytes())?;
            Some(kept.key.public().id())
        }
        Ok(None) | Err(_) => None,
    };
    let read_me = read_me(
        out.join("attestations").is_dir(),
        signed_by.is_some(),
        !trusted.is_empty(),
    );
    add("README.txt", read_me.as_bytes())?;
    let report = ExportReport {
        version: 1,
        dir: out.display().to_string(),
        records: copy.records,
        blobs: copy.blobs,
        lost: copy.lost,
        redacted: args.redact,
        head: copy.head,
        signed_by,
    };
    if !found.ok {
        app.printer
            .note("note: the evidence is not whole; the copy is what is there, and says so");
    }
    let sentence = format!(
        "{} records and {} blobs copied to `{}`; `agentos evidence verify --dir {}` checks it",
        report.records, report.blobs, report.dir, report.dir
    );
    app.say(&crate::escape::line(&sentence), &report)
}

/// The trusted keys as OpenSSH reads them.
fn signers(trusted: &[TrustedKey]) -> String {
    let line = |known: &TrustedKey| {
        let (name, key) = (&known.name, known.key.line());
        format!("{name} namespaces=\"agentos-evidence\" {key}\n")
    };
    trusted.iter().map(line).collect()
}

/// The newest runs, station by station. A redacted copy shows none: what a station says was left out.
fn pages(store: &Store, redacted: bool) -> Result<Vec<RunPage>, EffectError> {
    let mut pages: Vec<RunPage> = Vec::new();
    if redacted {
        return Ok(pages);
    }
    // A tape that breaks off is shown as far as it can be read; the verification above says where it breaks.
    for record in store
        .records()
        .map_err(|error| broken(&error))?
        .map_while(Result::ok)
    {
        let at = pages
            .iter()
            .rposition(|page| page.run == record.run)
            .unwrap_or_else(|| {
                if pages.len() == MOST_RUNS {
                    pages.remove(0);
                }
                pages.push(RunPage {
                    run: record.run.clone(),
                    ..RunPage::default()
                });
                pages.len() - 1
            });
        if let Some(page) = pages.get_mut(at) {
            take(page, store, &record);
        }
    }
    pages.reverse();
    Ok(pages)
}

fn take(page: &mut RunPage, store: &Store, record: &Record) {
    let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
    if record.kind == RecordKind::Landing
        && let Some(Ok(diff)) = text("/diff_blob_sha256").map(|id| store.get_blob(id))
    {
        let shown = diff.get(..LONGEST_DIFF.min(diff.len())).unwrap_or_default();
        page.diff = Some(String::from_utf8_lossy(shown).into_owned());
        page.diff_cut = shown.len() < diff.len();
    }
    page.stations.push(Station {
        time: record.ts.clone(),
        kind: record.kind,
        words: station(record).1,
    });
}

//! `agentos evidence key`: the key that signs the end of a run, and those whose signatures count.
//!
//! Owns: what is shown of them. Never: shows a secret.

use std::path::Path;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{PublicKey, TrustedKey};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::evidence::{KeyRotateArgs, KeyTrustArgs};
use crate::exit::Exit;
use crate::wire::signer::{self, Kept};
use crate::{escape, input, render};

/// `agentos evidence key … --json`.
#[derive(Serialize, JsonSchema)]
pub struct KeyReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The key that signs here, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<OwnKey>,
    /// The keys whose signatures count.
    pub trusted: Vec<KnownKey>,
}

/// The user's own key.
#[derive(Serialize, JsonSchema)]
pub struct OwnKey {
    /// Its fingerprint, as `ssh-keygen -l` shows it.
    pub id: String,
    /// Its public half, as OpenSSH writes it.
    pub public: String,
    /// Where its secret half is kept: `file` or `keyring`.
    pub store: String,
}

/// A key whose signatures count.
#[derive(Serialize, JsonSchema)]
pub struct KnownKey {
    /// Whose it is.
    pub name: String,
    /// Its fingerprint.
    pub id: String,
    /// Itself, as OpenSSH writes it.
    pub public: String,
}

/// Shows the key, and those that are trusted.
pub fn show(app: &App) -> Done {
    let own = signer::existing(app).map_err(|why| {
        EffectError::new(
            Cause::Tool,
            "no-signing-key",
            format!("the key cannot be read: {why}"),
        )
    })?;
    print(app, own.as_ref())
}

/// Makes a new key.
pub fn rotate(app: &App, args: &KeyRotateArgs) -> Done {
    let is_first = signer::trusted(app)?.is_empty();
    let kept = signer::rotate(app, args.store)?;
    let older = match is_first {
        true => "",
        false => "; the older ones go on counting for what they signed",
    };
    app.printer.note(&format!(
        "a new key signs from now on{older}: {}",
        kept.key.public().id()
    ));
    print(app, Some(&kept))
}

/// Lets a key count.
pub fn trust(app: &App, args: &KeyTrustArgs) -> Done {
    let text = match args.key.starts_with("ssh-ed25519 ") {
        true => args.key.clone(),
        false => input::text_file(&app.env, Path::new(&args.key), 1 << 20)?,
    };
    let keys: Vec<PublicKey> = text.lines().filter_map(PublicKey::from_line).collect();
    if keys.is_empty() {
        return Err(usage("there is no Ed25519 key in what was given")
            .hint("give a file with lines as `ssh-ed25519 AAAA…`, or such a line itself"));
    }
    for key in &keys {
        let new = signer::trust(app, &args.name, key)?;
        let word = if new {
            "trusted from now on"
        } else {
            "trusted already"
        };
        app.printer.note(&format!("{}: {word}", key.id()));
    }
    if app.printer.json {
        return show(app);
    }
    Ok(Exit::Done)
}

fn print(app: &App, own: Option<&Kept>) -> Done {
    let report = KeyReport {
        version: 1,
        key: own.map(|kept| OwnKey {
            id: kept.key.public().id(),
            public: kept.key.public().line(),
            store: kept.store.to_owned(),
        }),
        trusted: signer::trusted(app)?.iter().map(known).collect(),
    };
    let shown = if app.printer.json {
        app.printer.json(&report)
    } else {
        app.printer.data(&words(&report))
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn known(key: &TrustedKey) -> KnownKey {
    KnownKey {
        name: key.name.clone(),
        id: key.key.id(),
        public: key.key.line(),
    }
}

fn words(report: &KeyReport) -> String {
    let mut text = match &report.key {
        Some(key) => format!(
            "signs here  {}  (kept in the {})\n{}\n",
            key.id, key.store, key.public
        ),
        None => "there is no key yet; the first run makes one in the keyring, if there is one, and\n\
                 `agentos evidence key rotate --store file` makes one in a file that you alone can read\n"
            .to_owned(),
    };
    if !report.trusted.is_empty() {
        text.push('\n');
        let mut rows = vec![vec!["TRUSTED".to_owned(), "KEY".to_owned()]];
        let own = report.key.as_ref().map(|key| &key.id);
        rows.extend(report.trusted.iter().map(|key| {
            let name = match own == Some(&key.id) {
                true => "this one".to_owned(),
                false => escape::line(&key.name),
            };
            vec![name, key.id.clone()]
        }));
        text.push_str(&render::columns(&rows));
    }
    text
}

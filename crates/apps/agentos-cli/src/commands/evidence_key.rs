//! `agentos evidence key`: the key that signs runs, and the keys whose signatures are trusted.
//!
//! Owns: the display of public keys. Never: shows a private key.

use agentos_host::KeyReport;

use crate::app::{App, Done, output_failed};
use crate::args::evidence::{KeyRotateArgs, KeyTrustArgs};
use crate::exit::Exit;
use crate::{escape, render};

/// Shows the signing key and the trusted keys.
pub fn show_keys(app: &App) -> Done {
    print_keys(app, &app.host.evidence_keys()?)
}

/// Creates a new signing key.
pub fn rotate_key(app: &App, args: &KeyRotateArgs) -> Done {
    let (report, is_first) = app.host.rotate_evidence_key(args.store.map(Into::into))?;
    let older = match is_first {
        true => "",
        false => "; signatures of older keys stay valid",
    };
    if let Some(key) = &report.key {
        app.printer
            .show_note(&format!("created a new signing key{older}: {}", key.id));
    }
    print_keys(app, &report)
}

/// Adds a key to the trusted keys.
pub fn trust_keys(app: &App, args: &KeyTrustArgs) -> Done {
    for (id, is_new) in app.host.trust_evidence_keys(&args.name, &args.key)? {
        let word = if is_new { "now trusted" } else { "already trusted" };
        app.printer.show_note(&format!("{id}: {word}"));
    }
    if app.printer.json {
        return show_keys(app);
    }
    Ok(Exit::Done)
}

fn print_keys(app: &App, report: &KeyReport) -> Done {
    let shown = if app.printer.json {
        app.printer.write_json(report)
    } else {
        app.printer.write_report(&format_keys(report))
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn format_keys(report: &KeyReport) -> String {
    let mut text = match &report.key {
        Some(key) => format!(
            "signing key  {}  (stored in the {})\n{}\n",
            key.id, key.store, key.public
        ),
        None => "there is no signing key yet; the first run creates one if the machine has a keyring, and\n\
                 `agentos evidence key rotate --store file` creates one in a file that only you can read\n"
            .to_owned(),
    };
    if !report.trusted.is_empty() {
        text.push('\n');
        let mut rows = vec![vec!["TRUSTED".to_owned(), "KEY".to_owned()]];
        let own = report.key.as_ref().map(|key| &key.id);
        rows.extend(report.trusted.iter().map(|key| {
            let name = match own == Some(&key.id) {
                true => "this machine".to_owned(),
                false => escape::line(&key.name),
            };
            vec![name, key.id.clone()]
        }));
        text.push_str(&render::format_columns(&rows));
    }
    text
}

//! `agentos evidence key`: the key that signs the end of a run, and those whose signatures count.
//!
//! Owns: what is shown of them. Never: shows a secret.

use agentos_host::KeyReport;

use crate::app::{App, Done, output_failed};
use crate::args::evidence::{KeyRotateArgs, KeyTrustArgs};
use crate::exit::Exit;
use crate::{escape, render};

/// Shows the key, and those that are trusted.
pub fn show(app: &App) -> Done {
    print(app, &app.host.evidence_keys()?)
}

/// Makes a new key.
pub fn rotate(app: &App, args: &KeyRotateArgs) -> Done {
    let (report, is_first) = app.host.rotate_evidence_key(args.store.map(Into::into))?;
    let older = match is_first {
        true => "",
        false => "; the older ones go on counting for what they signed",
    };
    if let Some(key) = &report.key {
        app.printer
            .note(&format!("a new key signs from now on{older}: {}", key.id));
    }
    print(app, &report)
}

/// Lets a key count.
pub fn trust(app: &App, args: &KeyTrustArgs) -> Done {
    for (id, is_new) in app.host.trust_evidence_keys(&args.name, &args.key)? {
        let word = if is_new {
            "trusted from now on"
        } else {
            "trusted already"
        };
        app.printer.note(&format!("{id}: {word}"));
    }
    if app.printer.json {
        return show(app);
    }
    Ok(Exit::Done)
}

fn print(app: &App, report: &KeyReport) -> Done {
    let shown = if app.printer.json {
        app.printer.json(report)
    } else {
        app.printer.data(&words(report))
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
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

//! `agentos tool auth set|status|clear`: providers' keys.
//!
//! Owns: reading a key and showing its source. Never: prints a key.

use std::io::{IsTerminal, Read};

use std::collections::BTreeSet;

use agentos_host::{AuthStatus, EffectError, KeyCheck, SignInStatus, key_variables};
use agentos_tool::Secret;
use serde::Serialize;

use crate::app::{App, Done, output_failed, stopped_error, usage_error};
use crate::args::tool::{AuthClearArgs, AuthSetArgs};
use crate::escape;
use crate::exit::Exit;
use crate::render::{format_columns, next_step::word_hint};
use crate::terminal::keyboard::{Keyboard, TypedLine};

/// Maximum size of a key in bytes. Signed tokens, which some providers use, are several kilobytes long.
const LONGEST_KEY: u64 = 64 << 10;

/// JSON document about a changed key store.
#[derive(Serialize)]
struct KeyChange<'a> {
    version: u32,
    provider: &'a str,
    /// True if a key is stored now.
    stored: bool,
}

/// Stores a key.
pub fn set_key(app: &App, args: &AuthSetArgs) -> Done {
    // A wrong name is refused before the key is read, so that nobody types a secret for nothing.
    app.host.providers().check_key_owner(&args.provider)?;
    let key = match &args.api_key {
        Some(key) => Secret::new(key),
        // A piped key is read without the flag too: password managers print to a pipe, and a prompt would wait for
        // nobody.
        None if args.stdin || !std::io::stdin().is_terminal() => piped_key()?,
        None => typed_key(app, &args.provider)?,
    };
    let place = app
        .host
        .providers()
        .set_key(&args.provider, &key, args.store.into())?;
    let sentence = format!(
        "the key of `{}` was stored in {}",
        escape::line(&args.provider),
        escape::line(&place)
    );
    app.report_success(
        &sentence,
        &KeyChange {
            version: 1,
            provider: &args.provider,
            stored: true,
        },
    )
}

/// Shows the source of each provider's key.
pub fn show_keys(app: &App) -> Done {
    let mut report = app.host.providers().key_status()?;
    // Both formats show the sentence in `withheld`, and the host names its next step as data only.
    for status in report.keys.values_mut() {
        let next = word_hint(None, &status.next);
        if let (Some(withheld), Some(next)) = (&mut status.withheld, next) {
            withheld.push_str(&format!("; {next}"));
        }
    }
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    app.printer
        .write_report(&format_keys(&report))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn format_keys(report: &AuthStatus) -> String {
    let mut rows = vec![
        ["PROVIDER", "KEY FROM", "ENDS IN", "LAST CHECK", "READ FIRST FROM"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut remarks = String::new();
    for (provider, status) in &report.keys {
        rows.push(vec![
            escape::line(provider),
            escape::line(&status.describe_source()),
            status
                .hint
                .as_deref()
                .map_or_else(|| "-".to_owned(), |hint| format!("…{}", escape::line(hint))),
            status
                .last_check
                .as_ref()
                .map_or_else(|| "-".to_owned(), format_check),
            key_variables(provider).join(", "),
        ]);
        let signed_in = status.signed_in.as_ref().map(describe_sign_in);
        for remark in status.withheld.iter().chain(&signed_in) {
            remarks.push_str(&format!("{}: {}\n", escape::line(provider), escape::line(remark)));
        }
    }
    // The stores are the same for all providers.
    let problems: BTreeSet<&String> = report.keys.values().flat_map(|status| &status.problems).collect();
    for problem in problems {
        remarks.push_str(&format!("{}\n", escape::line(problem)));
    }
    format!("{}{remarks}", format_columns(&rows))
}

/// Describes a sign-in in one sentence.
pub fn describe_sign_in(status: &SignInStatus) -> String {
    // RFC 3339 up to the minute, as for checks of keys.
    let until = status.until.as_ref().and_then(|until| until.get(..16));
    let until = match (until, status.refreshes) {
        (Some(until), true) => format!(", until {until}, refreshed by itself"),
        (Some(until), false) => format!(", until {until}"),
        (None, _) => String::new(),
    };
    format!("signed in at {}{until}", status.issuer)
}

fn format_check(check: &KeyCheck) -> String {
    let word = if check.accepted { "accepted" } else { "refused" };
    // RFC 3339 up to the minute. The seconds of a check help nobody and widen the table.
    let at = check.at.get(..16).unwrap_or(&check.at);
    escape::line(&format!("{word} by {} {at}", check.endpoint))
}

/// Deletes a key.
pub fn clear_key(app: &App, args: &AuthClearArgs) -> Done {
    let provider = escape::line(&args.provider);
    let sentence = match app.host.providers().clear_key(&args.provider)? {
        true => format!("the key of `{provider}` was deleted"),
        false => format!("`{provider}` has no stored key"),
    };
    app.report_success(
        &sentence,
        &KeyChange {
            version: 1,
            provider: &args.provider,
            stored: false,
        },
    )
}

/// Reads a key that is typed without echo.
fn typed_key(app: &App, provider: &str) -> Result<Secret, EffectError> {
    let prompt = format!("key of {}: ", escape::line(provider));
    let typed = Keyboard::new(&app.signals)
        .read_hidden(&prompt)
        .map_err(|error| usage_error(format!("cannot read the key: {error}")))?;
    match typed {
        TypedLine::Line(key) => Ok(Secret::new(&key)),
        TypedLine::End => Err(usage_error("no key was typed")),
        TypedLine::Stopped => Err(stopped_error()),
    }
}

/// Reads a key from standard input.
fn piped_key() -> Result<Secret, EffectError> {
    let mut key = String::new();
    std::io::stdin()
        .lock()
        // One byte more than allowed is read, because a key cut at the limit would look like one that just fits.
        .take(LONGEST_KEY + 1)
        .read_to_string(&mut key)
        .map_err(|error| usage_error(format!("cannot read the key: {error}")))?;
    if key.len() as u64 > LONGEST_KEY {
        return Err(usage_error(format!("the key is longer than {LONGEST_KEY} bytes")));
    }
    Ok(Secret::new(&key))
}

//! `agentos tool auth set|status|clear`.
//!
//! Owns: reading a key and saying where one is. Never: prints one.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};

use agentos_engine::ports::EffectError;
use agentos_profile::env_names;
use agentos_tool::Secret;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::tool::{AuthClearArgs, AuthSetArgs, OverrideFlags, StoreArg};
use crate::commands::health::tools;
use crate::escape;
use crate::exit::Exit;
use crate::render::columns;
use crate::wire::key_checks::{self, KeyCheck};
use crate::wire::keys::{self, KeyStatus};
use crate::wire::tools::Tools;

/// Keys up to this size; some providers use signed tokens.
const LONGEST_KEY: u64 = 64 << 10;

/// `agentos tool auth status --json`.
#[derive(Serialize, JsonSchema)]
pub struct AuthStatus {
    /// Version of this shape: 1.
    pub version: u32,
    /// What may be shown of each provider's key.
    pub keys: BTreeMap<String, KeyStatus>,
}

/// What a program is told of a changed store.
#[derive(Serialize)]
struct Changed<'a> {
    version: u32,
    provider: &'a str,
    /// Is a key kept now?
    stored: bool,
}

/// Keeps a key.
pub fn set(app: &App, args: &AuthSetArgs) -> Done {
    let name = key_name(app, &tools(app)?, &args.provider)?;
    let key = match &args.api_key {
        Some(key) => Secret::new(key),
        None if args.stdin || !std::io::stdin().is_terminal() => piped_key()?,
        None => typed_key(&args.provider)?,
    };
    if key.is_empty() {
        return Err(usage("the key is empty").hint("pipe it in, or type it when asked"));
    }
    keys::keep(app, args.store, &name, &key)?;
    let place = match args.store {
        StoreArg::Keyring => "the system's keyring".to_owned(),
        StoreArg::File => app
            .env
            .credentials_file()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
    };
    let sentence = format!(
        "the key of `{}` is kept in {}",
        escape::line(&args.provider),
        escape::line(&place)
    );
    app.say(
        &sentence,
        &Changed {
            version: 1,
            provider: &args.provider,
            stored: true,
        },
    )
}

/// Shows where each provider's key comes from.
pub fn status(app: &App) -> Done {
    let tools = tools(app)?;
    let mut report = AuthStatus {
        version: 1,
        keys: BTreeMap::new(),
    };
    for provider in tools.profiled() {
        let status = match tools.resolved(app, provider, &OverrideFlags::default()) {
            Ok(resolved) => {
                let mut status = keys::status(app, &resolved);
                let has_key = status.source.is_some();
                status.last_check =
                    key_checks::last(app, provider, status.hint.as_deref()).filter(|_| has_key);
                status
            }
            Err(error) => KeyStatus {
                problems: vec![error.message],
                ..KeyStatus::default()
            },
        };
        report.keys.insert(provider.to_owned(), status);
    }
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    app.printer
        .data(&table(&report))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn table(report: &AuthStatus) -> String {
    let mut rows = vec![
        ["PROVIDER", "KEY FROM", "ENDS IN", "LAST CHECK", "READ FIRST FROM"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut remarks = String::new();
    for (provider, status) in &report.keys {
        rows.push(vec![
            escape::line(provider),
            escape::line(&status.words()),
            status
                .hint
                .as_deref()
                .map_or_else(|| "-".to_owned(), |hint| format!("…{}", escape::line(hint))),
            status.last_check.as_ref().map_or_else(|| "-".to_owned(), checked),
            env_names(provider).api_key.join(", "),
        ]);
        for remark in status.withheld.iter().chain(&status.problems) {
            remarks.push_str(&format!("{}: {}\n", escape::line(provider), escape::line(remark)));
        }
    }
    format!("{}{remarks}", columns(&rows))
}

fn checked(check: &KeyCheck) -> String {
    let word = if check.accepted { "accepted" } else { "refused" };
    let at = check.at.get(..16).unwrap_or(&check.at);
    escape::line(&format!("{word} by {} {at}", check.endpoint))
}

/// Forgets a key.
pub fn clear(app: &App, args: &AuthClearArgs) -> Done {
    let name = key_name(app, &tools(app)?, &args.provider)?;
    let provider = escape::line(&args.provider);
    let sentence = match keys::forget(app, &name)? {
        true => format!("the key of `{provider}` is forgotten"),
        false => format!("there was no stored key of `{provider}`"),
    };
    app.say(
        &sentence,
        &Changed {
            version: 1,
            provider: &args.provider,
            stored: false,
        },
    )
}

/// The name under which a provider's key is kept.
fn key_name(app: &App, tools: &Tools, provider: &str) -> Result<String, EffectError> {
    tools.known(provider)?;
    if !tools.profiled().any(|known| known == provider) {
        return Err(usage(format!("`{provider}` has no profile and no key")));
    }
    Ok(tools
        .resolved(app, provider, &OverrideFlags::default())?
        .profile
        .api_key_ref)
}

/// Typed without echo.
fn typed_key(provider: &str) -> Result<Secret, EffectError> {
    let prompt = format!("key of {}: ", escape::line(provider));
    rpassword::prompt_password(prompt)
        .map(|key| Secret::new(&key))
        .map_err(|error| usage(format!("cannot read the key: {error}")))
}

/// From standard input.
fn piped_key() -> Result<Secret, EffectError> {
    let mut key = String::new();
    std::io::stdin()
        .lock()
        .take(LONGEST_KEY + 1)
        .read_to_string(&mut key)
        .map_err(|error| usage(format!("cannot read the key: {error}")))?;
    if key.len() as u64 > LONGEST_KEY {
        return Err(usage(format!("the key is longer than {LONGEST_KEY} bytes")));
    }
    Ok(Secret::new(&key))
}

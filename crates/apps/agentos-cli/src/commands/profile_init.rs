//! `agentos profile init`: a profile file in the user's settings.
//!
//! Owns: what is asked, and where the file and its schema go. Never: asks a server, or writes a key.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use agentos_credentials::replace_own_file;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{AdapterKind, BaseUrl, Layers, ProfileFile, builtin, resolve};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::tool::{AdapterArg, ProfileInitArgs};
use crate::commands::schema;
use crate::escape;
use crate::exit::Exit;
use crate::wire::tools::bad_profile;

/// The schema beside the profiles, for editors.
const SCHEMA: &str = "profile.schema.json";

/// What a program is told of a profile that was made.
#[derive(Serialize)]
struct Made<'a> {
    version: u32,
    provider: &'a str,
    file: String,
}

/// Runs the verb.
pub fn init(app: &App, args: &ProfileInitArgs) -> Done {
    let provider = &args.provider;
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if provider.is_empty() || !provider.bytes().all(is_name) {
        return Err(
            usage(format!("`{provider}` cannot name a provider")).hint("use small letters, digits and `-`")
        );
    }
    let folder = app.env.config_dir().ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings").hint("set `HOME`")
    })?;
    let path = folder.join("profiles").join(format!("{provider}.json"));
    if path.exists() && !args.force && !args.print {
        return Err(
            usage(format!("there is a profile already: `{}`", app.env.shown(&path)))
                .hint("edit it, or give `--force` to write over it"),
        );
    }
    let profile = asked(app, args)?;
    let layers = Layers {
        user: Some(profile.clone()),
        ..Layers::default()
    };
    // What is written must be one that can be read.
    resolve(provider, &layers).map_err(|error| bad_profile(&error))?;
    let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
    if args.print {
        app.printer.data(&text).map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    write(&folder.join(SCHEMA), &schema::text("profile"))?;
    write(&path, &text)?;
    let shown = path.display().to_string();
    let sentence = format!(
        "made {}\n  next: agentos tool health -p {provider}",
        escape::line(&shown)
    );
    app.say(
        &sentence,
        &Made {
            version: 1,
            provider,
            file: shown,
        },
    )
}

/// Keeps the form that a model obeys best, in the user's own profile.
pub fn save_edit_format(
    app: &App,
    provider: &str,
    user: Option<ProfileFile>,
    format: agentos_tool::EditFormat,
) -> Result<PathBuf, EffectError> {
    let folder = app
        .env
        .config_dir()
        .ok_or_else(|| usage("there is no home folder for settings"))?;
    let path = folder.join("profiles").join(format!("{provider}.json"));
    let profile = ProfileFile {
        provider: provider.to_owned(),
        edit_format: Some(format),
        ..user.unwrap_or_default()
    };
    let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
    write(&path, &text)?;
    Ok(path)
}

fn write(path: &Path, text: &str) -> Result<(), EffectError> {
    replace_own_file(path, text)
        .map_err(|error| EffectError::new(Cause::Usage, "profile-not-written", error.to_string()))
}

/// The flags, and for what is needed beside them the person at the terminal.
fn asked(app: &App, args: &ProfileInitArgs) -> Result<ProfileFile, EffectError> {
    let known = builtin().map_err(|error| bad_profile(&error))?;
    let usual = known.get(&args.provider);
    let usual_url = usual.and_then(|profile| profile.base_url.as_deref());
    let base_url = match (&args.base_url, usual_url) {
        (Some(url), _) => Some(url.clone()),
        (None, usual) => ask(app, "address of the service", usual)?,
    };
    if base_url.is_none() && usual_url.is_none() {
        return Err(usage(format!("`{}` needs an address", args.provider))
            .hint("give one with `--base-url`, as in `--base-url http://localhost:8000/v1`"));
    }
    let model = match &args.model {
        Some(model) => Some(model.clone()),
        None => ask(app, "model", usual.and_then(|profile| profile.model.as_deref()))?,
    };
    let adapter = args.adapter.map(|adapter| match adapter {
        AdapterArg::Openai => AdapterKind::Openai,
        AdapterArg::Lmstudio => AdapterKind::Lmstudio,
        AdapterArg::Llamacpp => AdapterKind::Llamacpp,
        AdapterArg::Ollama => AdapterKind::Ollama,
        AdapterArg::Anthropic => AdapterKind::Anthropic,
        AdapterArg::Gemini => AdapterKind::Gemini,
    });
    let own_key = base_url
        .as_deref()
        .and_then(|url| own_key_name(&args.provider, url, usual_url));
    Ok(ProfileFile {
        schema: Some(format!("../{SCHEMA}")),
        provider: args.provider.clone(),
        adapter: adapter.or_else(|| usual.is_none().then_some(AdapterKind::Openai)),
        base_url,
        api_key_ref: args.api_key_ref.clone().or(own_key),
        model,
        ..ProfileFile::default()
    })
}

/// The name of a key for another place than the built-in profile's: the vendor's own key must not go there.
fn own_key_name(provider: &str, url: &str, usual: Option<&str>) -> Option<String> {
    let (url, usual) = (BaseUrl::parse(url).ok()?, BaseUrl::parse(usual?).ok()?);
    let place = url
        .endpoint()
        .as_str()
        .replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    (!url.same_place(&usual)).then(|| format!("{provider}.{place}.api_key"))
}

/// A line from the person; none where there is no person, or nothing but a line end.
fn ask(app: &App, what: &str, usual: Option<&str>) -> Result<Option<String>, EffectError> {
    if !app.env.can_ask || app.printer.json {
        return Ok(None);
    }
    let usual = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
    let failed = |error: std::io::Error| usage(format!("cannot read the answer: {error}"));
    let mut out = anstream::stderr().lock();
    write!(out, "{what}{usual}: ")
        .and_then(|()| out.flush())
        .map_err(failed)?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}

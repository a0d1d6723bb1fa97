//! Tools made from profiles and keys.
//!
//! Owns: which layers a profile has, where a key is looked for, and what a person is told before a task leaves.
//! Never: sends anything by itself, or gives a key to an address the user did not choose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_api::{NextStep, Notice};
use agentos_durable::LinkRule;
use agentos_engine::ports::EffectError;
use agentos_engine::{Cause, Replay};
use agentos_net::Names;
use agentos_profile::{Flags, Layers, ProfileError, ProfileFile, Resolved, builtin, nearest, parse, resolve};
use agentos_tool::{Adapter, Constrain, EditFormat, Price};

use crate::environment::Environment;
use crate::error::usage;
use crate::files;
use crate::host::Host;
use crate::keys;
use crate::options::{ProviderOverrides, Recording};
use crate::programs;
use crate::provider_kind::ProviderKind;
use crate::servers::Hosting;
use crate::tool_notices;

/// A profile file larger than this is not one.
const LARGEST_PROFILE: u64 = 1 << 20;

/// A tool that is ready to be asked.
pub struct Tool {
    /// The adapter.
    pub adapter: Box<dyn Adapter>,
    /// The model that is configured.
    pub model: Option<String>,
    /// What its tokens cost.
    pub price: Price,
    /// Seconds for one answer.
    pub timeout_seconds: u64,
    /// The form in which edits are asked for.
    pub edit_format: EditFormat,
    /// What an answer is held to.
    pub constrain: Constrain,
    /// Worth telling before anything is sent.
    pub notices: Vec<Notice>,
    /// What may be known of the key that is sent; none when none is.
    pub key: Option<KeySent>,
    /// It works on a copy of all files, and needs none of them in its task.
    pub in_copy: bool,
    /// What it is made of, where it speaks to a server.
    pub hosting: Option<Hosting>,
}

/// What may be known of a key.
#[derive(Debug, Clone)]
pub struct KeySent {
    /// The environment variable it came from.
    pub variable: Option<String>,
    /// Its last four characters, where it is long enough to show them.
    pub ending: Option<String>,
}

/// Every provider that is known here.
pub struct Tools {
    user_dir: Option<PathBuf>,
    project_dir: Option<PathBuf>,
    providers: BTreeMap<String, ProviderKind>,
    /// To name files as a person would.
    environment: Environment,
}

impl Tools {
    /// Looks which profiles there are.
    ///
    /// # Errors
    /// When a profile folder cannot be read.
    pub fn read(host: &Host, work_dir: Option<&Path>) -> Result<Self, EffectError> {
        let mut providers: BTreeMap<String, ProviderKind> = ProviderKind::WITHOUT_PROFILE
            .map(|kind| (kind.name().to_owned(), kind))
            .into();
        let mut names: Vec<String> = builtin()
            .map_err(|error| bad_profile(&error))?
            .into_keys()
            .collect();
        let user_dir = host.environment().config_dir().map(|dir| dir.join("profiles"));
        let project_dir = work_dir.map(|dir| dir.join(".agentos").join("profiles"));
        for dir in [&user_dir, &project_dir].into_iter().flatten() {
            names.extend(profile_names(dir)?);
        }
        for name in names {
            let kind = ProviderKind::from(name.as_str());
            providers.insert(name, kind);
        }
        Ok(Self {
            user_dir,
            project_dir,
            providers,
            environment: host.environment().clone(),
        })
    }

    /// The providers, sorted.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// The providers that have a profile, sorted: all but a recording, which is named with the task that it answers, and
    /// the programs that a command line names.
    pub fn profiled(&self) -> impl Iterator<Item = &str> {
        self.providers().filter(|name| self.has_profile(name))
    }

    /// Returns true if the provider has a profile.
    pub fn has_profile(&self, provider: &str) -> bool {
        matches!(self.providers.get(provider), Some(ProviderKind::Profile(_)))
    }

    /// Makes the tool of a provider, for health.
    ///
    /// # Errors
    /// If there is no such provider, or its profile is wrong.
    pub fn probe(
        &self,
        host: &Host,
        provider: &ProviderKind,
        over: &ProviderOverrides,
    ) -> Result<Tool, EffectError> {
        match provider {
            ProviderKind::Replay => make_replay(host, None),
            ProviderKind::AnyProgram | ProviderKind::ToolProgram => programs::any_program(host, provider),
            ProviderKind::Profile(name) => {
                let resolved = self.resolved(host, name, over)?;
                match resolved.profile.adapter.is_program() {
                    true => programs::probed(host, &resolved),
                    false => make_server_tool(host, &resolved),
                }
            }
        }
    }

    /// The profile of a provider, with where each value came from.
    ///
    /// # Errors
    /// When there is no such provider, or a layer of its profile is wrong.
    pub fn resolved(
        &self,
        host: &Host,
        provider: &str,
        over: &ProviderOverrides,
    ) -> Result<Resolved, EffectError> {
        self.known(provider)?;
        let layers = Layers {
            user: layer(
                &self.environment,
                self.user_dir.as_deref(),
                LinkRule::Followed,
                provider,
            )?,
            project: layer(
                &self.environment,
                self.project_dir.as_deref(),
                LinkRule::Refused,
                provider,
            )?,
            env: host.environment().vars().clone(),
            flags: Flags {
                base_url: over.base_url.clone(),
                model: over.model.clone(),
                timeout_seconds: over.timeout_seconds,
                api_key: None,
                send_key: over.send_key,
            },
        };
        resolve(provider, &layers).map_err(|error| bad_profile(&error))
    }

    /// Which own file says something of a provider, in words; none where only what is built in does.
    pub fn own_layer(&self, provider: &str) -> Option<&'static str> {
        let has = |dir: &Option<PathBuf>| {
            let file = dir.as_ref().map(|dir| dir.join(format!("{provider}.json")));
            file.is_some_and(|file| file.is_file())
        };
        match (has(&self.project_dir), has(&self.user_dir)) {
            (true, _) => Some("profile of the repository"),
            (false, true) => Some("profile of yours"),
            (false, false) => None,
        }
    }

    /// The user's own file for a provider.
    ///
    /// # Errors
    /// When it is wrong.
    pub fn user_file(&self, provider: &str) -> Result<Option<ProfileFile>, EffectError> {
        layer(
            &self.environment,
            self.user_dir.as_deref(),
            LinkRule::Followed,
            provider,
        )
    }

    /// Checks that a provider is known.
    ///
    /// # Errors
    /// When it is not; the known ones are named.
    pub fn known(&self, provider: &str) -> Result<(), EffectError> {
        if self.providers.contains_key(provider) {
            return Ok(());
        }
        let known: Vec<&str> = self.providers().collect();
        let meant = nearest(provider, self.providers())
            .map(|name| format!("did you mean `{name}`? "))
            .unwrap_or_default();
        let make = NextStep::MakeProfile {
            provider: provider.to_owned(),
        };
        Err(usage(format!("there is no provider `{provider}`"))
            .hint(format!("{meant}known are: {}", known.join(", ")))
            .suggest_steps([make]))
    }
}

/// Makes the tool of a profile that names a server.
///
/// # Errors
/// If the profile names a program, or its wire is wrong.
pub fn make_server_tool(host: &Host, resolved: &Resolved) -> Result<Tool, EffectError> {
    let profile = &resolved.profile;
    let usable = keys::usable(host, resolved);
    let notices = tool_notices::notices(resolved, &usable);
    let key = usable.key.as_ref().map(|key| KeySent {
        variable: usable.variable.clone(),
        ending: key.hint(),
    });
    let hosting = Hosting {
        profile: profile.clone(),
        key: usable.key,
        key_obstacle: usable.obstacle,
    };
    Ok(Tool {
        adapter: hosting.adapter(Names::System)?,
        model: profile.model.clone(),
        price: Price {
            input: profile.price.input,
            cached: profile.price.cached,
            output: profile.price.output,
        },
        timeout_seconds: profile.timeout_seconds,
        edit_format: profile.edit_format,
        constrain: profile.constrain,
        notices,
        key,
        in_copy: false,
        hosting: Some(hosting),
    })
}

/// Makes the tool that answers with a recording.
///
/// # Errors
/// If the recording cannot be read.
pub fn make_replay(host: &Host, recording: Option<&Recording>) -> Result<Tool, EffectError> {
    let recording = match recording {
        Some(Recording::File(file)) => {
            Some(files::text_file(host.environment(), file, files::LARGEST_ANSWER)?)
        }
        Some(Recording::Text(text)) => Some(text.clone()),
        None => None,
    };
    Ok(Tool {
        adapter: Box::new(Replay::new(recording)),
        model: Some("recorded".to_owned()),
        price: Price::default(),
        timeout_seconds: 60,
        edit_format: EditFormat::default(),
        constrain: Constrain::Off,
        notices: Vec::new(),
        key: None,
        in_copy: false,
        hosting: None,
    })
}

/// Reads one layer of a provider's profile; `None` if there is no file. A user's own file may be a link, as those who keep
/// their settings in one place have it. A link in the repository is whoever wrote the repository's, and could lead to any
/// file of the user's.
fn layer(
    environment: &Environment,
    dir: Option<&Path>,
    links: LinkRule,
    provider: &str,
) -> Result<Option<ProfileFile>, EffectError> {
    let Some(dir) = dir else { return Ok(None) };
    let path = dir.join(format!("{provider}.json"));
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let text = files::settings_file(environment, &path, links, LARGEST_PROFILE)?;
    let name = environment.shown(&path);
    parse(&name, &text).map(Some).map_err(|error| bad_profile(&error))
}

fn profile_names(dir: &Path) -> Result<Vec<String>, EffectError> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let message = format!("cannot read the profile folder `{}`: {error}", dir.display());
            return Err(EffectError::from_source(Cause::Usage, "usage", message, &error));
        }
    };
    let names = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_profile = path.extension().is_some_and(|extension| extension == "json");
        is_profile.then(|| path.file_stem()?.to_str().map(str::to_owned))?
    });
    // A file name that no provider can have is not offered; naming it says why.
    Ok(names
        .filter(|name| {
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
        .collect())
}

/// A profile that cannot be used.
pub fn bad_profile(error: &ProfileError) -> EffectError {
    let mut effect = match error {
        ProfileError::BaseUrl { .. } => EffectError::from_error(Cause::Tool, "bad-url", error),
        _ => EffectError::from_error(Cause::Usage, "bad-profile", error),
    };
    effect.hint = error.hint().map(str::to_owned);
    effect.suggest_steps(error.next_steps())
}

//! An agent that is pointed at a server of the user's own, as its profile says.
//!
//! Owns: the placeholders of a profile's program, and access to the one server. Never: gives such an agent a file or host of its
//! vendor.

use agentos_api::NextStep;
use agentos_engine::ports::EffectError;
use agentos_net::HttpUrl;
use agentos_profile::{ProgramFile, ResolvedProfile};
use agentos_programs::Program;

use agentos_ground::error::usage_error;

/// Placeholder for the model in a profile's arguments, and for `model_args` among them.
const MODEL: &str = "{model}";
/// Placeholder for the server's address, as the program sees it, in a profile's variables.
const BASE_URL: &str = "{base_url}";

/// Values that take the places of [`BASE_URL`] and [`MODEL`] in a profile.
pub(super) struct OwnServer<'a> {
    /// Address of the user's own server, as the program sees it. `None` if the program uses its vendor's.
    pub(super) base_url: Option<&'a str>,
    /// Name of the model. `None` if none is set.
    pub(super) model: Option<&'a str>,
}

impl OwnServer<'_> {
    /// Fills the placeholders of one value.
    pub(super) fn fill(&self, value: &str) -> String {
        let value = value.replace(BASE_URL, self.base_url.unwrap_or_default());
        value.replace(MODEL, self.model.unwrap_or_default())
    }

    /// Returns a program's arguments, with server and model in their places. Without a server or a model, theirs are left out.
    pub(super) fn list_arguments(&self, file: &ProgramFile) -> Vec<String> {
        let own_model = self.base_url.is_some() && !file.base_url_model_args.is_empty();
        let model_args = if own_model {
            &file.base_url_model_args
        } else {
            &file.model_args
        };
        let mut all = Vec::new();
        for arg in &file.args {
            let (value, stand_ins) = match arg.as_str() {
                MODEL => (self.model, model_args),
                BASE_URL => (self.base_url, &file.base_url_args),
                _ => {
                    all.push(arg.clone());
                    continue;
                }
            };
            if value.is_some() {
                all.extend(stand_ins.iter().map(|arg| self.fill(arg)));
            }
        }
        all
    }
}

/// Gives an agent access to a server of the user's own, and returns the server's address as the agent expects it.
///
/// # Errors
/// If the agent cannot be pointed at a server, or needs a model's name for it.
pub(super) fn reach_own_server(
    program: &mut Program,
    resolved: &ResolvedProfile,
    file: &ProgramFile,
    url: &str,
) -> Result<String, EffectError> {
    let provider = &resolved.profile.provider;
    if !file.takes_base_url() {
        let message = format!("`{provider}` cannot use a server of your own: its profile does not say how");
        return Err(usage_error(message)
            .hint("name the variable or the arguments for the address in your profile, in `program`"));
    }
    if file.own_server_needs_model() && resolved.profile.model.is_none() {
        let message = format!("`{provider}` needs the name of a model at a server of your own");
        return Err(usage_error(message).suggest_steps([NextStep::NameModel]));
    }
    program.has_own_server = true;
    let inside = allow_server(program, url)?;
    let trimmed = inside.trim_end_matches('/');
    // Anthropic's and Gemini's clients append the version themselves, and `/v1/v1/messages` does not exist.
    let bare = ["/v1", "/v1beta"]
        .iter()
        .find_map(|version| trimmed.strip_suffix(version));
    Ok(match bare {
        Some(bare) if file.base_url_without_version => bare.to_owned(),
        Some(_) | None => inside,
    })
}

/// Gives a program access to one server, and returns the server's address as the program sees it.
pub(super) fn allow_server(program: &mut Program, text: &str) -> Result<String, EffectError> {
    let wrong = |_| usage_error(format!("`{text}` is not the address of a server"));
    let url = HttpUrl::parse(text).map_err(wrong)?;
    let (host, port) = (url.host(), url.port());
    // The server's certificate fits only its own name, so the program keeps it and connects through the proxy.
    if url.is_tls() {
        program.hosts = vec![(host.to_owned(), port)];
        return Ok(text.to_owned());
    }
    // Without TLS, the program talks to a port of its own loopback, which leads to the server.
    // A URL writes an IPv6 address in brackets (RFC 3986), a socket address has none.
    program.server = Some((host.trim_matches(['[', ']']).to_owned(), port));
    let (_, place) = text.split_once("://").unwrap_or_default();
    let path = place.split_once('/').map(|(_, path)| format!("/{path}"));
    Ok(format!("http://127.0.0.1:{port}{}", path.unwrap_or_default()))
}

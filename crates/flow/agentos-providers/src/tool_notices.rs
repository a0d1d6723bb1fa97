//! Notices about a tool, for a person to see before a task is sent.
//!
//! Owns: these notices. Never: stops a task from being sent.

use agentos_api::Notice;
use agentos_net::HttpUrl;
use agentos_profile::{LeftOutFields, Origin, ProviderOwner, ResolvedProfile};

use agentos_ground::environment::Environment;
use agentos_ground::keys::UsableKey;

/// Makes the notices of a tool: a repository chooses the task's destination, a key is not sent, or is sent unencrypted.
pub fn collect_notices(
    environment: &Environment,
    resolved: &ResolvedProfile,
    usable: &UsableKey,
) -> Vec<Notice> {
    let left_out = describe_left_out(environment, resolved).into_iter();
    let mut notices: Vec<Notice> = left_out.map(tool_notice).collect();
    let Some(base_url) = &resolved.profile.base_url else {
        return notices;
    };
    // Whoever can commit here can set the address, so a person is shown it before the task leaves.
    if resolved.origin_of("base_url") == Some(&Origin::ProjectFile) {
        notices.push(tool_notice(format!(
            "this repository's profile sends the task to {}",
            base_url.endpoint()
        )));
    }
    let kept_back = resolved
        .given_keys
        .iter()
        .any(|given| !given.key_use.is_allowed());
    if let Some(obstacle) = usable.obstacle.as_ref().filter(|_| kept_back) {
        notices.push(Notice {
            next: obstacle.next.clone(),
            ..tool_notice(obstacle.why.clone())
        });
    }
    let url = base_url.to_string();
    // Without TLS, everybody on the way can read the key. Traffic of the loopback interface does not leave the machine.
    let on_this_machine = HttpUrl::parse(&url).is_ok_and(|url| url.is_loopback() || url.is_tls());
    if usable.key.is_some() && !on_this_machine {
        notices.push(tool_notice(format!(
            "the key goes to {} unencrypted",
            base_url.endpoint()
        )));
    }
    notices
}

/// Makes a notice about the tool of a run.
pub fn tool_notice(message: String) -> Notice {
    Notice::new("tool", message)
}

/// Returns the notice about a repository's profile that is not active, or not completely. `None` if it is.
pub fn describe_left_out(environment: &Environment, resolved: &ResolvedProfile) -> Option<String> {
    let LeftOutFields { fields, owner } = resolved.left_out.as_ref()?;
    let provider = &resolved.profile.provider;
    let fields = format!("`{}`", fields.join("`, `"));
    let folder = environment.config_dir().map(|folder| folder.join("profiles"));
    let folder = folder.map_or_else(
        || "your folder of profiles".to_owned(),
        |folder| environment.shorten_path(&folder),
    );
    let theirs = format!(".agentos/profiles/{provider}.json");
    Some(match owner {
        ProviderOwner::Product => format!(
            "this repository's profile of `{provider}` is not active ({fields}): a repository cannot change a provider of \
             AgentOS. To use it: `mkdir -p {folder} && cp {theirs} {folder}/`"
        ),
        ProviderOwner::User => format!(
            "this repository's profile of `{provider}` is not active ({fields}): a repository cannot change a provider of \
             yours. To use a part of it, copy that part of `{theirs}` to `{folder}/{provider}.json`"
        ),
        ProviderOwner::Repository => format!(
            "this repository's profile of `{provider}` cannot state {fields}. To state them yourself: \
             `mkdir -p {folder} && cp {theirs} {folder}/`"
        ),
    })
}

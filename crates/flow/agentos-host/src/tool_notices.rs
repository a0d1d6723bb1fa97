//! What a person should know of a tool before a task leaves.
//!
//! Owns: these notices. Never: keeps a task from leaving.

use agentos_api::Notice;
use agentos_net::HttpUrl;
use agentos_profile::{Origin, Resolved};

use crate::keys::Usable;

/// What a person should see before a task leaves: a repository that says where it goes, a key in clear text.
pub fn notices(resolved: &Resolved, usable: &Usable) -> Vec<Notice> {
    let ignored = ignored_program(resolved).into_iter();
    let mut notices: Vec<Notice> = ignored.map(tool_notice).collect();
    let Some(base_url) = &resolved.profile.base_url else {
        return notices;
    };
    if resolved.origin("base_url") == Some(&Origin::ProjectFile) {
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

/// What a person should see where a repository names a program to start.
pub fn ignored_program(resolved: &Resolved) -> Option<String> {
    resolved.ignores_program.then(|| {
        "this repository's profile names a program, and that is ignored: only your own profile may".to_owned()
    })
}

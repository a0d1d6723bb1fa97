//! The rules as a table: one fact is changed at a time.

use super::*;

const OWN: &str = "http://127.0.0.1:7417";

fn names() -> Vec<String> {
    ["127.0.0.1:7417", "localhost:7417", "agentos.localhost:7417"]
        .map(str::to_owned)
        .to_vec()
}

/// A request that is allowed, of each kind.
fn allowed(kind: RequestKind) -> RequestFacts {
    let (is_form, is_effect) = (
        matches!(kind, RequestKind::Form | RequestKind::SignIn),
        kind == RequestKind::Effect,
    );
    RequestFacts {
        kind,
        is_read: !is_form && !is_effect,
        hosts: vec!["127.0.0.1:7417".to_owned()],
        origins: is_form.then(|| OWN.to_owned()).into_iter().collect(),
        fetch_site: None,
        fetch_mode: None,
        fetch_target: None,
        media_type: match kind {
            RequestKind::Form | RequestKind::SignIn => Some("application/x-www-form-urlencoded".to_owned()),
            RequestKind::Effect => Some("application/json".to_owned()),
            _ => None,
        },
        has_query_secret: false,
        is_upgrade: false,
        token: if is_effect {
            SecretState::Right
        } else {
            SecretState::Missing
        },
        agent_token: if kind == RequestKind::Agent {
            SecretState::Right
        } else {
            SecretState::Missing
        },
        cookie: if is_effect || kind == RequestKind::Agent {
            SecretState::Missing
        } else {
            SecretState::Right
        },
    }
}

const KINDS: [(RequestKind, CallerKind); 7] = [
    (RequestKind::Public, CallerKind::Anybody),
    (RequestKind::SignIn, CallerKind::Anybody),
    (RequestKind::Page, CallerKind::Person),
    (RequestKind::Form, CallerKind::Person),
    (RequestKind::Data, CallerKind::Person),
    (RequestKind::Effect, CallerKind::Program),
    (RequestKind::Agent, CallerKind::Agent),
];

#[test]
fn each_kind_has_a_request_that_is_allowed() {
    for (kind, caller) in KINDS {
        assert_eq!(judge_request(&allowed(kind), &names()), Ok(caller), "{kind:?}");
    }
}

#[test]
fn a_foreign_name_or_site_is_refused_for_every_kind() {
    use RequestRefusal::{ForeignSite, InFrame, NoUpgrade, SecretInAddress, WrongHost};
    type Change = fn(&mut RequestFacts);
    let cases: [(&str, Change, RequestRefusal); 19] = [
        ("no host", |f| f.hosts.clear(), WrongHost),
        (
            "two hosts",
            |f| f.hosts.push("127.0.0.1:7417".to_owned()),
            WrongHost,
        ),
        (
            "rebinding",
            |f| f.hosts = vec!["evil.example:7417".to_owned()],
            WrongHost,
        ),
        (
            "another port",
            |f| f.hosts = vec!["127.0.0.1:80".to_owned()],
            WrongHost,
        ),
        ("no port", |f| f.hosts = vec!["127.0.0.1".to_owned()], WrongHost),
        (
            "below localhost",
            |f| f.hosts = vec!["evil.localhost:7417".to_owned()],
            WrongHost,
        ),
        (
            "looks like loopback",
            |f| f.hosts = vec!["127.0.0.1.nip.io:7417".to_owned()],
            WrongHost,
        ),
        (
            "all addresses",
            |f| f.hosts = vec!["0.0.0.0:7417".to_owned()],
            WrongHost,
        ),
        (
            "a dot at the end",
            |f| f.hosts = vec!["localhost.:7417".to_owned()],
            WrongHost,
        ),
        (
            "another origin",
            |f| f.origins = vec!["http://evil.example".to_owned()],
            ForeignSite,
        ),
        (
            "another port's origin",
            |f| f.origins = vec!["http://127.0.0.1:3000".to_owned()],
            ForeignSite,
        ),
        (
            "another own name's origin",
            |f| f.origins = vec!["http://localhost:7417".to_owned()],
            ForeignSite,
        ),
        (
            "no one's origin",
            |f| f.origins = vec!["null".to_owned()],
            ForeignSite,
        ),
        (
            "two origins",
            |f| f.origins = vec![OWN.to_owned(), "http://evil.example".to_owned()],
            ForeignSite,
        ),
        (
            "cross-site",
            |f| f.fetch_site = Some("cross-site".to_owned()),
            ForeignSite,
        ),
        (
            "same-site",
            |f| f.fetch_site = Some("same-site".to_owned()),
            ForeignSite,
        ),
        ("framed", |f| f.fetch_target = Some("iframe".to_owned()), InFrame),
        ("upgrade", |f| f.is_upgrade = true, NoUpgrade),
        (
            "secret in the address",
            |f| f.has_query_secret = true,
            SecretInAddress,
        ),
    ];
    for (kind, _) in KINDS {
        for (name, change, refusal) in &cases {
            let mut facts = allowed(kind);
            change(&mut facts);
            assert_eq!(judge_request(&facts, &names()), Err(*refusal), "{kind:?}: {name}");
        }
    }
}

#[test]
fn a_link_of_another_site_may_lead_here_and_may_do_nothing() {
    for (kind, caller) in KINDS {
        let facts = RequestFacts {
            fetch_site: Some("cross-site".to_owned()),
            fetch_mode: Some("navigate".to_owned()),
            fetch_target: Some("document".to_owned()),
            ..allowed(kind)
        };
        let expected = match kind {
            RequestKind::Form | RequestKind::SignIn | RequestKind::Effect => Err(RequestRefusal::ForeignSite),
            _ => Ok(caller),
        };
        assert_eq!(judge_request(&facts, &names()), expected, "{kind:?}");
    }
}

#[test]
fn an_effect_needs_its_own_secret_and_type() {
    use RequestKind::{Data, Effect, Form, Page, SignIn, Unknown};
    use RequestRefusal::{ForeignSite, SignedOut, WrongMethod, WrongToken, WrongType};
    type Change = fn(&mut RequestFacts);
    let cases: [(RequestKind, &str, Change, RequestRefusal); 16] = [
        (Page, "no cookie", |f| f.cookie = SecretState::Missing, SignedOut),
        (
            Page,
            "another cookie",
            |f| f.cookie = SecretState::Wrong,
            SignedOut,
        ),
        (Form, "no cookie", |f| f.cookie = SecretState::Missing, SignedOut),
        (Form, "no origin", |f| f.origins.clear(), ForeignSite),
        (
            Form,
            "plain text",
            |f| f.media_type = Some("text/plain".to_owned()),
            WrongType,
        ),
        (
            Form,
            "multipart",
            |f| f.media_type = Some("multipart/form-data".to_owned()),
            WrongType,
        ),
        (Form, "no type", |f| f.media_type = None, WrongType),
        (SignIn, "no origin", |f| f.origins.clear(), ForeignSite),
        (
            SignIn,
            "JSON",
            |f| f.media_type = Some("application/json".to_owned()),
            WrongType,
        ),
        (Data, "nothing", |f| f.cookie = SecretState::Missing, SignedOut),
        (
            Data,
            "another token",
            |f| f.token = SecretState::Wrong,
            WrongToken,
        ),
        (
            Effect,
            "another token",
            |f| f.token = SecretState::Wrong,
            WrongToken,
        ),
        (
            Effect,
            "a cookie alone",
            |f| (f.token, f.cookie) = (SecretState::Missing, SecretState::Right),
            SignedOut,
        ),
        (
            Effect,
            "a form",
            |f| f.media_type = Some("application/x-www-form-urlencoded".to_owned()),
            WrongType,
        ),
        (
            Effect,
            "plain text",
            |f| f.media_type = Some("text/plain".to_owned()),
            WrongType,
        ),
        (Unknown, "another method", |_| {}, WrongMethod),
    ];
    for (kind, name, change, refusal) in cases {
        let mut facts = allowed(kind);
        change(&mut facts);
        assert_eq!(judge_request(&facts, &names()), Err(refusal), "{kind:?}: {name}");
    }
}

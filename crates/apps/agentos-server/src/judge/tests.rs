//! The rules as a table: one fact is changed at a time.

use super::*;

const OWN: &str = "http://ab.agentos.localhost:7417";
const HOST: &str = "ab.agentos.localhost:7417";

/// A request that is allowed at a door.
fn allowed(door: DoorKind, kind: RequestKind) -> RequestFacts {
    let is_form = matches!(kind, RequestKind::Form | RequestKind::SignIn);
    let is_effect = matches!(kind, RequestKind::Effect | RequestKind::Owner);
    RequestFacts {
        door: Some(door),
        own_origin: OWN.to_owned(),
        kind,
        is_read: !is_form && !is_effect,
        hosts: vec![HOST.to_owned()],
        origins: is_form.then(|| OWN.to_owned()).into_iter().collect(),
        fetch_site: None,
        fetch_mode: None,
        fetch_target: None,
        media_type: if is_form {
            Some("application/x-www-form-urlencoded".to_owned())
        } else {
            is_effect.then(|| "application/json".to_owned())
        },
        has_query_secret: false,
        upgrade: UpgradeWish::None,
        token: match (door, kind) {
            (DoorKind::Fixed | DoorKind::Device, RequestKind::Models) => {
                TokenState::Valid(TokenScope::Models)
            }
            (DoorKind::Fixed | DoorKind::Device, RequestKind::Agent) => TokenState::Valid(TokenScope::Agent),
            (DoorKind::Fixed, RequestKind::Data) => TokenState::Valid(TokenScope::Read),
            _ => TokenState::Missing,
        },
        has_session: matches!(door, DoorKind::Page | DoorKind::Device | DoorKind::Tls),
    }
}

const KINDS: [RequestKind; 10] = [
    RequestKind::Public,
    RequestKind::SignIn,
    RequestKind::Page,
    RequestKind::Form,
    RequestKind::Models,
    RequestKind::Data,
    RequestKind::Effect,
    RequestKind::Agent,
    RequestKind::Owner,
    RequestKind::Unknown,
];

/// Everything that is answered: the door, the kind and the caller. Every other pair is refused.
const ANSWERED: [(DoorKind, RequestKind, CallerKind); 28] = [
    (DoorKind::Tls, RequestKind::Public, CallerKind::Anybody),
    (DoorKind::Tls, RequestKind::SignIn, CallerKind::Anybody),
    (DoorKind::Tls, RequestKind::Page, CallerKind::Person),
    (DoorKind::Tls, RequestKind::Form, CallerKind::Person),
    (DoorKind::Tls, RequestKind::Data, CallerKind::Person),
    (DoorKind::Device, RequestKind::Public, CallerKind::Anybody),
    (DoorKind::Device, RequestKind::SignIn, CallerKind::Anybody),
    (DoorKind::Device, RequestKind::Page, CallerKind::Person),
    (DoorKind::Device, RequestKind::Form, CallerKind::Person),
    (DoorKind::Device, RequestKind::Data, CallerKind::Person),
    (DoorKind::Device, RequestKind::Models, CallerKind::Token),
    (DoorKind::Device, RequestKind::Agent, CallerKind::Token),
    (DoorKind::Socket, RequestKind::Public, CallerKind::Anybody),
    (DoorKind::Socket, RequestKind::Models, CallerKind::Owner),
    (DoorKind::Socket, RequestKind::Data, CallerKind::Owner),
    (DoorKind::Socket, RequestKind::Effect, CallerKind::Owner),
    (DoorKind::Socket, RequestKind::Agent, CallerKind::Owner),
    (DoorKind::Socket, RequestKind::Owner, CallerKind::Owner),
    (DoorKind::Fixed, RequestKind::Public, CallerKind::Anybody),
    (DoorKind::Fixed, RequestKind::Page, CallerKind::Stranger),
    (DoorKind::Fixed, RequestKind::Models, CallerKind::Token),
    (DoorKind::Fixed, RequestKind::Data, CallerKind::Token),
    (DoorKind::Fixed, RequestKind::Agent, CallerKind::Token),
    (DoorKind::Page, RequestKind::Public, CallerKind::Anybody),
    (DoorKind::Page, RequestKind::SignIn, CallerKind::Anybody),
    (DoorKind::Page, RequestKind::Page, CallerKind::Person),
    (DoorKind::Page, RequestKind::Form, CallerKind::Person),
    (DoorKind::Page, RequestKind::Data, CallerKind::Person),
];

#[test]
fn each_door_answers_its_own_kinds_alone() {
    for door in [
        DoorKind::Socket,
        DoorKind::Fixed,
        DoorKind::Page,
        DoorKind::Device,
        DoorKind::Tls,
    ] {
        for kind in KINDS {
            let found = judge_request(&allowed(door, kind)).ok();
            let listed = ANSWERED
                .iter()
                .find(|(of, known, _)| (*of, *known) == (door, kind));
            assert_eq!(found, listed.map(|(_, _, caller)| *caller), "{door:?} {kind:?}");
        }
    }
}

#[test]
fn no_token_and_no_cookie_reaches_more_than_its_scope() {
    let scopes = [TokenScope::Models, TokenScope::Agent, TokenScope::Read];
    let mut tokens = vec![TokenState::Missing, TokenState::Unknown, TokenState::Ended];
    tokens.extend(scopes.map(TokenState::Valid));
    for token in tokens {
        let own = match token {
            TokenState::Valid(TokenScope::Models) => Some(RequestKind::Models),
            TokenState::Valid(TokenScope::Agent) => Some(RequestKind::Agent),
            TokenState::Valid(TokenScope::Read) => Some(RequestKind::Data),
            _ => None,
        };
        for kind in KINDS {
            let facts = RequestFacts {
                token,
                has_session: true,
                ..allowed(DoorKind::Fixed, kind)
            };
            let is_open = matches!(kind, RequestKind::Public | RequestKind::Page);
            let expected = Some(kind) == own || is_open;
            assert_eq!(judge_request(&facts).is_ok(), expected, "{token:?} {kind:?}");
        }
    }
}

#[test]
fn a_foreign_name_or_site_is_refused_for_every_kind() {
    use RequestRefusal::{ForeignSite, InFrame, NoUpgrade, SecretInAddress, WrongHost};
    type Change = fn(&mut RequestFacts);
    let cases: [(&str, Change, RequestRefusal); 13] = [
        ("no host", |f| f.hosts.clear(), WrongHost),
        (
            "two hosts",
            |f| f.hosts.push("127.0.0.1:7417".to_owned()),
            WrongHost,
        ),
        ("a foreign name", |f| f.door = None, WrongHost),
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
            |f| f.origins = vec!["http://cd.agentos.localhost:7417".to_owned()],
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
        ("upgrade", |f| f.upgrade = UpgradeWish::Other, NoUpgrade),
        (
            "secret in the address",
            |f| f.has_query_secret = true,
            SecretInAddress,
        ),
    ];
    for (door, kind, _) in ANSWERED {
        for (name, change, refusal) in &cases {
            let mut facts = allowed(door, kind);
            change(&mut facts);
            assert_eq!(judge_request(&facts), Err(*refusal), "{door:?} {kind:?}: {name}");
        }
    }
}

/// A WebSocket is judged as the request that begins it, and a cookie permits none without the page's own Origin.
#[test]
fn a_socket_of_the_events_is_judged_before_it_begins() {
    use DoorKind::{Device, Fixed, Page, Socket};
    use RequestRefusal::{ForeignSite, SignedOut};
    for (door, origins, has_caller, expected) in [
        (Socket, vec![], true, Ok(CallerKind::Owner)),
        (Fixed, vec![], true, Ok(CallerKind::Token)),
        (Fixed, vec![OWN], true, Ok(CallerKind::Token)),
        (Fixed, vec!["http://evil.example"], true, Err(ForeignSite)),
        (Fixed, vec![], false, Err(SignedOut)),
        (Page, vec![OWN], true, Ok(CallerKind::Person)),
        (Page, vec![], true, Err(ForeignSite)),
        (Page, vec!["null"], true, Err(ForeignSite)),
        (Page, vec![OWN, OWN], true, Err(ForeignSite)),
        (Page, vec![OWN], false, Err(SignedOut)),
        (Device, vec![OWN], true, Ok(CallerKind::Person)),
        (Device, vec![], true, Err(ForeignSite)),
    ] {
        let mut facts = RequestFacts {
            upgrade: UpgradeWish::Events,
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            ..allowed(door, RequestKind::Data)
        };
        if !has_caller {
            (facts.token, facts.has_session) = (TokenState::Missing, false);
        }
        assert_eq!(
            judge_request(&facts),
            expected,
            "{door:?} {origins:?} {has_caller}"
        );
    }
}

#[test]
fn a_link_of_another_site_may_lead_here_and_may_do_nothing() {
    for (door, kind, caller) in ANSWERED {
        let facts = RequestFacts {
            fetch_site: Some("cross-site".to_owned()),
            fetch_mode: Some("navigate".to_owned()),
            fetch_target: Some("document".to_owned()),
            ..allowed(door, kind)
        };
        let found = judge_request(&facts);
        match facts.is_read {
            true => assert_eq!(found, Ok(caller), "{kind:?}"),
            false => assert_eq!(found, Err(RequestRefusal::ForeignSite), "{kind:?}"),
        }
    }
}

#[test]
fn an_effect_needs_its_own_secret_and_type() {
    use DoorKind::{Fixed, Page, Socket};
    use RequestRefusal::{EndedToken, ForeignSite, SignedOut, WrongToken, WrongType};
    type Change = fn(&mut RequestFacts);
    fn plain(facts: &mut RequestFacts) {
        facts.media_type = Some("text/plain".to_owned());
    }
    fn multipart(facts: &mut RequestFacts) {
        facts.media_type = Some("multipart/form-data".to_owned());
    }
    fn posted_form(facts: &mut RequestFacts) {
        facts.is_read = false;
        facts.media_type = Some("application/x-www-form-urlencoded".to_owned());
    }
    let cases: [(DoorKind, RequestKind, &str, Change, RequestRefusal); 16] = [
        (
            Page,
            RequestKind::Page,
            "no cookie",
            |f| f.has_session = false,
            SignedOut,
        ),
        (
            Page,
            RequestKind::Data,
            "no cookie",
            |f| f.has_session = false,
            SignedOut,
        ),
        (
            Page,
            RequestKind::Form,
            "no cookie",
            |f| f.has_session = false,
            SignedOut,
        ),
        (
            Page,
            RequestKind::Form,
            "no origin",
            |f| f.origins.clear(),
            ForeignSite,
        ),
        (Page, RequestKind::Form, "plain text", plain, WrongType),
        (Page, RequestKind::Form, "multipart", multipart, WrongType),
        (
            Page,
            RequestKind::Form,
            "no type",
            |f| f.media_type = None,
            WrongType,
        ),
        (
            Page,
            RequestKind::SignIn,
            "no origin",
            |f| f.origins.clear(),
            ForeignSite,
        ),
        (Page, RequestKind::SignIn, "plain text", plain, WrongType),
        (
            Fixed,
            RequestKind::Models,
            "no token",
            |f| f.token = TokenState::Missing,
            SignedOut,
        ),
        (
            Fixed,
            RequestKind::Models,
            "another token",
            |f| f.token = TokenState::Unknown,
            WrongToken,
        ),
        (
            Fixed,
            RequestKind::Models,
            "an old token",
            |f| f.token = TokenState::Ended,
            EndedToken,
        ),
        (Fixed, RequestKind::Models, "a form", posted_form, WrongType),
        (Fixed, RequestKind::Agent, "a form", posted_form, WrongType),
        (Socket, RequestKind::Effect, "a form", posted_form, WrongType),
        (
            Socket,
            RequestKind::Owner,
            "no type",
            |f| f.media_type = None,
            WrongType,
        ),
    ];
    for (door, kind, name, change, refusal) in cases {
        let mut facts = allowed(door, kind);
        change(&mut facts);
        assert_eq!(judge_request(&facts), Err(refusal), "{door:?} {kind:?}: {name}");
    }
}

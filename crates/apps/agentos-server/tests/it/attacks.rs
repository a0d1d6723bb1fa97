//! Attacks of web pages, programs of other users, and hostile content: none has an effect, and none is shown as anything but text.

use agentos_testkit::repo::TestRepo;

use crate::support::{FIX, Sent, Service, encode, hidden};

/// An attack on a path that would approve: its name, its Host, its headers, and whether it rides on the person's cookie.
type Attack<'a> = (&'a str, Option<&'a str>, Vec<(&'a str, &'a str)>, bool);

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

#[test]
fn no_attack_of_a_web_page_has_an_effect() {
    let service = Service::start();
    let person = service.sign_in();
    let run = service.propose(FIX);
    let seen = hidden(
        &service.get(&format!("/requests/{run}"), &person.cookie).body,
        "seen",
    );
    let own = service.origin();
    let (own, port) = (own.as_str(), service.address.split_once(':').unwrap().1);
    let fixed = format!("127.0.0.1:{port}");
    let named = |name: &str| format!("{name}:{port}");
    let hosts: Vec<String> = [
        "evil.example",
        "127.0.0.1.nip.io",
        "evil.localhost",
        "0.0.0.0",
        "localhost.",
        "127.1",
        "[::ffff:127.0.0.1]",
    ]
    .map(named)
    .to_vec();
    let mut attacks: Vec<Attack<'_>> = hosts
        .iter()
        .map(|host| {
            (
                "rebinding",
                Some(host.as_str()),
                vec![FORM, ("Origin", "http://evil.example")],
                true,
            )
        })
        .collect();
    attacks.extend([
        ("no port", Some("127.0.0.1"), vec![FORM], true),
        ("a fixed name", Some(&fixed), vec![FORM], true),
        ("empty host", Some(""), vec![FORM], true),
        (
            "cross-site form",
            None,
            vec![
                FORM,
                ("Origin", "http://evil.example"),
                ("Sec-Fetch-Site", "cross-site"),
            ],
            true,
        ),
        ("sandboxed frame", None, vec![FORM, ("Origin", "null")], true),
        ("file page", None, vec![FORM, ("Origin", "file://")], true),
        ("no origin", None, vec![FORM], true),
        (
            "another local port",
            None,
            vec![
                FORM,
                ("Origin", "http://127.0.0.1:3000"),
                ("Sec-Fetch-Site", "same-site"),
            ],
            true,
        ),
        (
            "localhost for 127.0.0.1",
            None,
            vec![FORM, ("Origin", "http://localhost")],
            true,
        ),
        ("https", None, vec![FORM, ("Origin", "https://127.0.0.1")], true),
        (
            "an extension",
            None,
            vec![FORM, ("Origin", "chrome-extension://abc")],
            true,
        ),
        (
            "navigation",
            None,
            vec![
                FORM,
                ("Sec-Fetch-Site", "cross-site"),
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "document"),
            ],
            true,
        ),
        (
            "framed",
            None,
            vec![FORM, ("Origin", own), ("Sec-Fetch-Dest", "iframe")],
            true,
        ),
        (
            "text form",
            None,
            vec![("Content-Type", "text/plain"), ("Origin", own)],
            true,
        ),
        (
            "multipart form",
            None,
            vec![
                ("Content-Type", "multipart/form-data; boundary=x"),
                ("Origin", own),
            ],
            true,
        ),
        ("no type", None, vec![("Origin", own)], true),
        (
            "upgrade",
            None,
            vec![FORM, ("Origin", own), ("Upgrade", "websocket")],
            true,
        ),
        ("signed out", None, vec![FORM, ("Origin", own)], false),
        (
            "two cookies",
            None,
            vec![FORM, ("Origin", own), ("Cookie", "agentos-session=x")],
            true,
        ),
        (
            "two origins",
            None,
            vec![FORM, ("Origin", own), ("Origin", "http://evil.example")],
            true,
        ),
        (
            "wrong token",
            None,
            vec![FORM, ("Origin", own), ("Authorization", "Bearer x")],
            false,
        ),
    ]);
    let before = service.state();
    // The attacker knows everything but the secrets of cookie and form, and even these for the rules above.
    let body = encode(&[("form", &person.form), ("seen", &seen)]);
    for path in [
        format!("/requests/{run}/approve"),
        format!("/requests/{run}/deny"),
    ] {
        for (name, host, headers, rides) in &attacks {
            let mut headers: Vec<(&str, String)> = headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect();
            if *rides {
                headers.push(("Cookie", format!("agentos-session={}", person.cookie)));
            }
            let answer = service.send(&Sent {
                method: "POST",
                path: &path,
                host: *host,
                headers,
                body: body.clone(),
            });
            assert!(
                !matches!(answer.status, 200..=302) && answer.header("access-control-allow-origin").is_none(),
                "{name} {path}: {}",
                answer.head
            );
            assert_eq!(service.state(), before, "{name} {path}");
        }
    }
}

#[test]
fn a_form_needs_the_secret_of_its_own_session() {
    let service = Service::start();
    let person = service.sign_in();
    let run = service.propose(FIX);
    let before = service.state();
    for form in ["", "x", &person.cookie, &service.token] {
        for path in [
            format!("/requests/{run}/approve"),
            format!("/requests/{run}/deny"),
            "/propose".to_owned(),
            "/signout".to_owned(),
        ] {
            let answer = service.post_form(&path, &person.cookie, &[("form", form), ("answer", FIX)]);
            assert_eq!(answer.status, 403, "{path}: {}", answer.body);
        }
    }
    assert_eq!(service.state(), before);
}

#[test]
fn a_cookie_is_no_permission_for_programs_and_a_token_none_for_pages() {
    let service = Service::start();
    let person = service.sign_in();
    let run = service.propose(FIX);
    let before = service.state();
    let cookie = ("Cookie", format!("agentos-session={}", person.cookie));
    let json = ("Content-Type", "application/json".to_owned());
    let token = ("Authorization", format!("Bearer {}", service.token));
    let deny = format!("/api/requests/{run}/deny");
    let basic = ("Authorization", format!("Basic {}", service.token));
    let wrong = ("Authorization", "Bearer x".to_owned());
    let foreign = ("Origin", "http://evil.example".to_owned());
    let (form, own) = (("Content-Type", FORM.1.to_owned()), ("Origin", service.origin()));
    let cases = [
        (deny.clone(), vec![cookie.clone(), json.clone()], 403),
        (deny.clone(), vec![json.clone(), wrong], 403),
        (deny.clone(), vec![json.clone(), basic], 403),
        (deny.clone(), vec![token.clone(), json.clone(), foreign], 403),
        (
            format!("{deny}?token={}", service.token),
            vec![token.clone(), json],
            400,
        ),
        (
            format!("/requests/{run}/deny"),
            vec![token.clone(), form, own],
            401,
        ),
    ];
    for (path, headers, status) in cases {
        let answer = service.send(&Sent {
            method: "POST",
            path: &path,
            headers,
            body: "{}".to_owned(),
            ..Sent::default()
        });
        let found = if answer.status == 303 { 401 } else { answer.status };
        assert_eq!(found, status, "{path}: {}", answer.body);
    }
    for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"] {
        let answer = service.send(&Sent {
            method,
            path: "/api/requests",
            headers: vec![token.clone()],
            ..Sent::default()
        });
        assert_eq!(answer.status, 405, "{method}");
    }
    let open = service.send(&Sent {
        method: "GET",
        path: "/api/requests",
        ..Sent::default()
    });
    assert_eq!(open.status, 401);
    assert_eq!(service.state(), before);
}

#[test]
fn every_answer_forbids_frames_scripts_of_others_and_sniffing() {
    let service = Service::start();
    let person = service.sign_in();
    for path in [
        "/",
        "/signin",
        "/static/page.js",
        "/api/requests",
        "/nothing",
        "/requests/ffff",
    ] {
        let answer = service.get(path, &person.cookie);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        assert!(
            !answer.head.contains(&service.token) && !answer.body.contains(&service.token),
            "{path}"
        );
    }
}

#[test]
fn hostile_text_is_shown_as_text() {
    // The policy's floor denies to add hidden characters, so a person meets them in lines that a change removes.
    let hidden_lines = [
        "access = \u{202e}\u{2066}// admin\u{2069}",
        "zero\u{200b}width\u{feff} tag\u{e0041}",
        "\u{1b}[31mred \u{7}",
    ];
    let added = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "</table></article><form action=/signout method=post>",
        "\" autofocus onfocus=\"alert(1)",
        "[x](javascript:alert(1)) {{ 7*7 }} {% include %}",
    ];
    let repo = TestRepo::new();
    repo.write("note.txt", hidden_lines.map(|line| format!("{line}\n")).concat());
    repo.commit_all("begin");
    let service = Service::start_in(repo);
    let person = service.sign_in();
    let mut diff = format!(
        "--- a/note.txt\n+++ b/note.txt\n@@ -1,{} +1,{} @@\n",
        hidden_lines.len(),
        added.len() + 1
    );
    for line in hidden_lines {
        diff.push_str(&format!("-{line}\n"));
    }
    for line in added {
        diff.push_str(&format!("+{line}\n"));
    }
    diff.push_str(&format!("+{}\n", "long ".repeat(2_000)));
    let sent = [
        ("form", person.form.as_str()),
        ("message", "<b onclick=x>\u{202e}"),
        ("answer", &diff),
    ];
    let place = service.post_form("/propose", &person.cookie, &sent);
    let place = place.header("location").unwrap().to_owned();
    assert!(place.starts_with("/requests/"), "{place}");
    let active = [
        "<script>",
        "<img",
        "<svg",
        "<b onclick",
        "<form action=/signout",
        "\" autofocus onfocus",
        "\u{202e}",
        "\u{200b}",
        "\u{feff}",
        "\u{e0041}",
        "\u{1b}",
        "\u{7}",
    ];
    for path in ["/", "/runs", &place] {
        let page = service.get(path, &person.cookie).body;
        for tag in active {
            assert!(!page.contains(tag), "{path} {tag:?}: {page}");
        }
    }
    let page = service.get(&place, &person.cookie).body;
    for shown in [
        "&lt;script&gt;alert(1)",
        "⟦U+202E⟧",
        "⟦U+200B⟧",
        "⟦U+E0041⟧",
        "⟦U+001B⟧",
        "1 very long lines",
        "hidden characters",
        "{{ 7*7 }}",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

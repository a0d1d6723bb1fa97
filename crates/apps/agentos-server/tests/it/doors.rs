//! Who counts as whom: tokens and their scopes, cookies and the names to which they belong, and several repositories in one service.

use agentos_testkit::http::RawAnswer;
use agentos_testkit::repo::{TestRepo, make_dir, write_file};

use crate::support::{FIX, LIB, Person, Sent, Service, encode, hidden, read_cookie};

/// Effects that need a person, on a request.
fn list_effects(run: &str) -> Vec<String> {
    let mut paths: Vec<String> = ["approve", "deny"]
        .map(|verb| format!("/api/requests/{run}/{verb}"))
        .to_vec();
    paths.extend([
        "/api/proposals".to_owned(),
        format!("/api/runs/{run}/undo"),
        "/service/join".to_owned(),
    ]);
    paths
}

fn other_repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("secret.txt", "the other project\n");
    repo.commit_all("begin");
    repo
}

fn send_with_token(
    service: &Service,
    token: &str,
    (method, path): (&str, &str),
    body: &str,
) -> (u16, String) {
    let answer = service.send(&Sent {
        method,
        path,
        host: Some(&service.address),
        headers: vec![
            ("Authorization", format!("Bearer {token}")),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ],
        body: body.to_owned(),
    });
    (answer.status, answer.body)
}

#[test]
fn no_token_consents_or_leaves_its_scope() {
    let service = Service::start();
    let run = service.propose(FIX);
    let before = service.state();
    let review = service.call("GET", &format!("/api/requests/{run}"), "").body;
    let review: serde_json::Value = serde_json::from_str(&review).unwrap();
    let consent = serde_json::json!({ "hashes": review["hashes"] }).to_string();
    let tokens = [&service.token, &service.agent_token, &service.read_token];
    for token in tokens {
        for path in list_effects(&run) {
            let (status, body) = send_with_token(&service, token, ("POST", &path), &consent);
            assert_eq!(status, 403, "{path}: {body}");
        }
    }
    let (models, agent, read) = (&service.token, &service.agent_token, &service.read_token);
    for (token, method, path, status) in [
        (models, "GET", "/v1/models", 200),
        (agent, "GET", "/v1/models", 403),
        (read, "GET", "/v1/models", 403),
        (models, "GET", "/api/requests", 403),
        (agent, "GET", "/api/requests", 403),
        (read, "GET", "/api/requests", 200),
        (agent, "GET", "/api/events", 403),
        (models, "GET", "/metrics", 403),
        (read, "GET", "/metrics", 200),
        (models, "POST", "/mcp", 403),
        (read, "POST", "/mcp", 403),
    ] {
        let (found, body) = send_with_token(&service, token, (method, path), "{}");
        assert_eq!(found, status, "{path}: {body}");
        // The sums of all repositories and of the user's own models.
        assert!(!body.contains("cost_usd"), "{path}: {body}");
    }
    assert_eq!(service.state(), before);
}

#[test]
fn a_cookie_counts_at_the_random_name_of_this_start_alone() {
    let service = Service::start();
    let person = service.sign_in();
    let port = service.address.split_once(':').unwrap().1;
    let cookie = || vec![("Cookie", format!("agentos-session={}", person.cookie))];
    for name in ["127.0.0.1", "localhost", "agentos.localhost", "[::1]"] {
        let host = format!("{name}:{port}");
        for path in ["/", "/runs", "/devices", "/signin"] {
            let sent = Sent {
                method: "GET",
                path,
                host: Some(&host),
                headers: cookie(),
                ..Sent::default()
            };
            let answer = service.send(&sent);
            assert!(
                answer.body.contains("Run <code>agentos open</code>"),
                "{host}{path}: {}",
                answer.body
            );
            assert!(!answer.body.contains("Sign out"), "{host}{path}");
        }
        let sent = Sent {
            method: "GET",
            path: "/api/requests",
            host: Some(&host),
            headers: cookie(),
            ..Sent::default()
        };
        assert_eq!(service.send(&sent).status, 401, "{host}");
    }
    let again = Service::start();
    assert_ne!(again.page.split(':').next(), service.page.split(':').next());
    let old = service
        .page
        .replace(port, again.address.split_once(':').unwrap().1);
    let sent = Sent {
        method: "GET",
        path: "/",
        host: Some(&old),
        headers: cookie(),
        ..Sent::default()
    };
    assert_eq!(again.send(&sent).status, 421);
    assert_eq!(again.get("/", &person.cookie).header("location"), Some("/signin"));
}

#[test]
fn a_revoked_token_is_refused_from_the_next_request_on() {
    let service = Service::start();
    let ask = || send_with_token(&service, &service.read_token, ("GET", "/api/status"), "").0;
    assert_eq!(ask(), 200);
    service.host().revoke_service_token("read").unwrap();
    assert_eq!(ask(), 401);
}

#[test]
fn a_link_is_not_written_to_a_pipe() {
    let service = Service::start();
    assert!(!service.greeting.contains("signin"), "{}", service.greeting);
    let other = other_repository();
    let second = service
        .cli
        .run(&["--repo", other.path().to_str().unwrap()])
        .unwrap();
    assert_eq!(second.code, Some(0), "{second}");
    assert!(
        second.stdout.contains("too") && !second.stdout.contains("signin"),
        "{second}"
    );
}

#[test]
fn secrets_of_an_earlier_version_ask_models_and_say_so() {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    let service = Service::start_with(repo, |cli| {
        let folder = cli.home().join(".local/state/agentos/server");
        make_dir(&folder);
        write_file(&folder.join("token"), "old secret\n");
    });
    let run = service.propose(FIX);
    assert_eq!(
        send_with_token(&service, "old secret", ("GET", "/v1/models"), "").0,
        200
    );
    let approve = format!("/api/requests/{run}/approve");
    assert_eq!(
        send_with_token(&service, "old secret", ("POST", &approve), "{}").0,
        403
    );
    assert!(
        service
            .greeting
            .contains("`old-token`: it reaches `models` alone"),
        "{}",
        service.greeting
    );
}

#[test]
fn a_client_of_one_repository_reaches_no_other_one() {
    let service = Service::start();
    let other = other_repository();
    let (page, code) = service.join(other.path());
    assert_ne!(page, service.page);
    let known = service.host_of_folder(other.path()).known_repository().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"secret.txt"}}}"#;
    for name in [known.id.as_str(), "nothing"] {
        for (token, method, path) in [
            (&service.agent_token, "POST", "mcp"),
            (&service.read_token, "GET", "api/requests"),
            (&service.read_token, "GET", "api/runs"),
            (&service.read_token, "GET", "api/events"),
            (&service.token, "GET", "v1/models"),
        ] {
            let path = format!("/repositories/{name}/{path}");
            let (status, body) = send_with_token(&service, token, (method, &path), call);
            assert_eq!(status, 404, "{path}: {body}");
            assert!(!body.contains("the other project"), "{body}");
        }
    }
    let (_, body) = send_with_token(&service, &service.agent_token, ("POST", "/mcp"), call);
    assert!(!body.contains("the other project"), "{body}");

    // A session of one page is none of another, and a code signs in where it was made alone.
    let person = service.sign_in();
    let at_other = |path: &str, cookie: &str| {
        service.send(&Sent {
            method: "GET",
            path,
            host: Some(&page),
            headers: vec![("Cookie", format!("agentos-session={cookie}"))],
            ..Sent::default()
        })
    };
    assert_eq!(at_other("/", &person.cookie).header("location"), Some("/signin"));
    assert_eq!(at_other("/api/requests", &person.cookie).status, 401);
    assert_eq!(service.post_form("/signin", "", &[("code", &code)]).status, 401);
}

#[test]
fn a_request_waits_in_the_repository_of_its_client() {
    let service = Service::start();
    let other = other_repository();
    service.join(other.path());
    let known = service
        .host_of_folder(service.repo.path())
        .known_repository()
        .unwrap();
    let body = serde_json::json!({ "answer": FIX, "message": "Make add add" }).to_string();
    let several = service.call("POST", "/api/proposals", &body);
    assert_eq!(several.status, 400, "{}", several.body);
    let own = service.call(
        "POST",
        &format!("/repositories/{}/api/proposals", known.id),
        &body,
    );
    assert_eq!(own.status, 200, "{}", own.body);
    let Person { cookie, .. } = service.sign_in();
    assert!(service.get("/", &cookie).body.contains("Make add add"));
    let other_id = service
        .host_of_folder(other.path())
        .known_repository()
        .unwrap()
        .id;
    let list = service
        .call("GET", &format!("/repositories/{other_id}/api/requests"), "")
        .body;
    assert!(!list.contains("Make add add"), "{list}");
}

#[test]
fn one_repository_has_one_set_of_policies() {
    let service = Service::start();
    let policy = service.repo.path().join("more.toml");
    write_file(&policy, "version = 1\n");
    let repository = service.repo.path().to_str().unwrap();
    let second = service
        .cli
        .run(&["--repo", repository, "--policy", policy.to_str().unwrap()])
        .unwrap();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("with other policies"), "{second}");
}

/// Sends a form or reads a page at the address of devices.
fn at_device(
    service: &Service,
    (method, path): (&str, &str),
    cookie: &str,
    pairs: &[(&str, &str)],
) -> RawAnswer {
    service.send(&Sent {
        method,
        path,
        host: Some("phone.localhost"),
        headers: vec![
            ("Origin", "http://phone.localhost".to_owned()),
            ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
            ("Cookie", format!("agentos-session={cookie}")),
        ],
        body: encode(pairs),
    })
}

/// Starts a service whose page may be at the address of a device.
fn start_for_devices() -> Service {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    Service::start_with(repo, |cli| {
        let file = cli.home().join(".config/agentos/config.toml");
        write_file(&file, "device_addresses = \"http://phone.localhost\"\n");
    })
}

#[test]
fn a_device_does_nothing_that_it_did_not_sign() {
    let service = start_for_devices();
    let person = service.sign_in();
    let shown = service.post_form("/devices/link", &person.cookie, &[("form", &person.form)]);
    let code = shown.body.split_once("phone.localhost/signin#").unwrap().1;
    let code = code.split_once('<').unwrap().0.to_owned();
    // The code of a device signs in at the address of devices alone.
    assert_eq!(service.post_form("/signin", "", &[("code", &code)]).status, 401);
    let signed = at_device(&service, ("POST", "/signin"), "", &[("code", &code)]);
    assert_eq!(signed.status, 303, "{}", signed.body);
    let cookie = read_cookie(&signed);
    let home = at_device(&service, ("GET", "/"), &cookie, &[]).body;
    let form = hidden(&home, "form");
    // Neither session counts at the other's name.
    assert_eq!(service.get("/", &cookie).header("location"), Some("/signin"));
    let other = at_device(&service, ("GET", "/"), &person.cookie, &[]);
    assert_eq!(other.header("location"), Some("/signin"));

    let run = service.propose(FIX);
    let before = service.state();
    let raw = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
    let signature = "A".repeat(86) + "==";
    for path in [
        format!("/requests/{run}/approve"),
        format!("/requests/{run}/deny"),
        format!("/runs/{run}/undo"),
        "/propose".to_owned(),
        "/sessions".to_owned(),
        "/evidence/export".to_owned(),
        "/devices/revoke".to_owned(),
        "/devices/confirm".to_owned(),
        "/models/remove".to_owned(),
    ] {
        let page = at_device(&service, ("GET", "/runs"), &cookie, &[]).body;
        let challenge = page
            .split_once("data-challenge=\"")
            .unwrap()
            .1
            .split_once('"')
            .unwrap()
            .0
            .to_owned();
        let seen = hidden(
            &at_device(&service, ("GET", &format!("/requests/{run}")), &cookie, &[]).body,
            "seen",
        );
        let mut pairs = vec![
            ("form", form.as_str()),
            ("seen", &seen),
            ("answer", FIX),
            ("text", "hello"),
        ];
        for proof in [
            vec![],
            vec![("device_key", raw), ("signature", &signature)],
            vec![
                ("device_key", raw),
                ("signature", &signature),
                ("challenge", &challenge),
            ],
            vec![
                ("device_key", raw),
                ("signature", &signature),
                ("challenge", &challenge),
            ],
        ] {
            pairs.truncate(4);
            pairs.extend(proof);
            let answer = at_device(&service, ("POST", &path), &cookie, &pairs);
            assert!(
                matches!(answer.status, 403 | 409),
                "{path}: {} {}",
                answer.status,
                answer.body
            );
        }
        assert_eq!(service.state(), before, "{path}");
    }
    let out = at_device(
        &service,
        ("POST", "/signout"),
        &cookie,
        &[("form", &form), ("all", "yes")],
    );
    assert_eq!(out.status, 403, "{}", out.body);
    assert!(service.get("/", &person.cookie).body.contains("Sign out"));
    let out = at_device(&service, ("POST", "/signout"), &cookie, &[("form", &form)]);
    assert_eq!(out.status, 303, "{}", out.body);
}

/// Returns the number of consents on the tape of a repository: pairings and revocations among them.
fn count_consents(service: &Service, folder: &std::path::Path) -> usize {
    let host = service.host_of_folder(folder);
    let (events, _) = host
        .stories()
        .read_events(&agentos_host::TapePlace::default(), 1_000)
        .unwrap();
    events.iter().filter(|event| event.kind == "consent").count()
}

#[test]
fn a_revoked_device_ends_in_every_repository_at_once() {
    let service = start_for_devices();
    let key = agentos_host::device_key("PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=").unwrap();
    let device = service.host().runs().add_device("phone", &key).unwrap();
    let other = other_repository();
    let (page, code) = service.join(other.path());
    assert_eq!(count_consents(&service, other.path()), 1);

    // The device is signed in at the page of the other repository.
    let at_other = |path: &str, cookie: &str, pairs: &[(&str, &str)]| {
        service.send(&Sent {
            method: if pairs.is_empty() { "GET" } else { "POST" },
            path,
            host: Some(&page),
            headers: vec![
                ("Origin", format!("http://{page}")),
                ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
                ("Cookie", format!("agentos-session={cookie}")),
            ],
            body: encode(pairs),
        })
    };
    let cookie = read_cookie(&at_other("/signin", "", &[("code", &code)]));
    let form = hidden(&at_other("/", &cookie, &[]).body, "form");
    let link = at_other("/devices/link", &cookie, &[("form", &form)]).body;
    let code = link.split_once("phone.localhost/signin#").unwrap().1;
    let code = code.split_once('<').unwrap().0;
    let phone = read_cookie(&at_device(&service, ("POST", "/signin"), "", &[("code", code)]));
    assert_eq!(at_device(&service, ("GET", "/"), &phone, &[]).status, 200);

    let person = service.sign_in();
    let revoked = service.post_form(
        "/devices/revoke",
        &person.cookie,
        &[("form", &person.form), ("id", &device.id())],
    );
    assert_eq!(revoked.status, 303, "{}", revoked.body);
    assert_eq!(count_consents(&service, other.path()), 2);
    assert_eq!(count_consents(&service, service.repo.path()), 1);
    assert_eq!(
        at_device(&service, ("GET", "/"), &phone, &[]).header("location"),
        Some("/signin")
    );
    // The sessions of the machine itself stay.
    assert_eq!(at_other("/", &cookie, &[]).status, 200);
}

/// Returns the names of the repositories that an answer lists.
fn list_names(body: &str) -> Vec<String> {
    let answer: serde_json::Value = serde_json::from_str(body).unwrap();
    let rows = answer["repositories"]
        .as_array()
        .unwrap_or_else(|| panic!("{body}"))
        .iter();
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_leads_a_person_to_each_repository_and_shows_a_token_its_own() {
    let service = Service::start();
    let other = other_repository();
    service.join(other.path());
    service.propose_in(service.repo.path(), FIX);
    let own = service.host().known_repository().unwrap().name;
    assert_eq!(
        list_names(&service.call("GET", "/api/repositories", "").body).len(),
        2
    );
    let (status, body) = send_with_token(&service, &service.read_token, ("GET", "/api/repositories"), "");
    assert_eq!((status, list_names(&body)), (200, vec![own.clone()]));
    let row: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(row["repositories"][0]["waiting"], 1, "{body}");
    let person = service.sign_in();

    let (page, code) = service.order(&serde_json::json!({ "folder": null, "policies": [], "all": true }));
    let at = |host: &str, path: &str, cookie: &str, pairs: &[(&str, &str)]| {
        service.send(&Sent {
            method: if pairs.is_empty() { "GET" } else { "POST" },
            path,
            host: Some(host),
            headers: vec![
                ("Origin", format!("http://{host}")),
                ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
                ("Cookie", format!("agentos-session={cookie}")),
            ],
            body: encode(pairs),
        })
    };
    let seen = at(&service.page, "/api/repositories", &person.cookie, &[]).body;
    assert_eq!(list_names(&seen), [own.as_str()]);
    assert_eq!(at(&page, "/", "", &[]).header("location"), Some("/signin"));
    // The cookie of a repository's page has no meaning at the list, and the other way round.
    assert_eq!(
        at(&page, "/", &person.cookie, &[]).header("location"),
        Some("/signin")
    );
    let cookie = read_cookie(&at(&page, "/signin", "", &[("code", &code)]));
    assert_eq!(
        at(&service.page, "/", &cookie, &[]).header("location"),
        Some("/signin")
    );
    assert_eq!(at(&page, "/api/requests", &cookie, &[]).status, 404);
    let list = at(&page, "/", &cookie, &[]).body;
    assert!(
        list.contains("1 open request") && list.contains("0 open requests"),
        "{list}"
    );
    let folder = other.path().to_str().unwrap();
    assert!(list.contains(folder), "{list}");
    let form = hidden(&list, "form");
    for (form, folder, expected) in [("wrong", folder, 403), (form.as_str(), "/elsewhere", 404)] {
        let opened = at(&page, "/open", &cookie, &[("form", form), ("folder", folder)]);
        assert_eq!(opened.status, expected, "{}", opened.body);
    }
    let opened = at(&page, "/open", &cookie, &[("form", &form), ("folder", folder)]).body;
    let link = opened
        .split_once("<a href=\"http://")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    let (place, code) = link.split_once("/signin#").unwrap();
    assert!(place != service.page && place != page, "{link}");
    let opened = read_cookie(&at(place, "/signin", "", &[("code", code)]));
    assert!(at(place, "/", &opened, &[]).body.contains("Sign out"));
    assert_eq!(at(place, "/signin", "", &[("code", code)]).status, 401);
    let everywhere = [("form", person.form.as_str()), ("all", "yes")];
    assert_eq!(
        at(&service.page, "/signout", &person.cookie, &everywhere).status,
        303
    );
    // A session of the list would open the page again, and the page of the other repository is one more place.
    assert_eq!(at(&page, "/", &cookie, &[]).header("location"), Some("/signin"));
    assert_eq!(at(place, "/", &opened, &[]).header("location"), Some("/signin"));
}

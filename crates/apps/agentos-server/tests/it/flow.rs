//! The way of a change: proposed, read, answered, landed, undone, and verified.

use crate::support::{FIX, LIB, Sent, Service, hidden, serde_json_text};

#[test]
fn a_person_approves_on_the_page_without_a_script_and_undoes_it() {
    let service = Service::start();
    let person = service.sign_in();
    let proposed = service.post_form(
        "/propose",
        &person.cookie,
        &[
            ("form", &person.form),
            ("message", "Make add add"),
            ("answer", &FIX.replace('\n', "\r\n")),
        ],
    );
    assert_eq!(proposed.status, 303, "{}", proposed.body);
    let place = proposed.header("location").unwrap().to_owned();
    assert!(place.starts_with("/requests/"), "{place}");
    assert_eq!(service.read("src/lib.rs"), LIB);
    let inbox = service.get("/", &person.cookie).body;
    assert!(inbox.contains(&place), "{inbox}");
    let page = service.get(&place, &person.cookie).body;
    for part in ["src/lib.rs", "    a - b", "    a + b", "Make add add", "Lands on"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let seen = hidden(&page, "seen");
    let landed = service.post_form(
        &format!("{place}/approve"),
        &person.cookie,
        &[("form", &person.form), ("seen", &seen)],
    );
    assert_eq!(landed.status, 303, "{}", landed.body);
    let run = landed.header("location").unwrap().to_owned();
    assert!(service.read("src/lib.rs").contains("a + b"));
    let story = service.get(&run, &person.cookie).body;
    assert!(
        story.contains("page, session ") && story.contains(&format!("rendering sha256:{seen}")),
        "{story}"
    );
    let undone = service.post_form(&format!("{run}/undo"), &person.cookie, &[("form", &person.form)]);
    assert_eq!(undone.status, 303, "{}", undone.body);
    assert_eq!(service.read("src/lib.rs"), LIB);
    assert!(service.get("/evidence", &person.cookie).body.contains("✓ Whole."));
    for path in [
        "/runs",
        "/sessions",
        "/cost",
        "/propose",
        "/signin",
        "/static/style.css",
        "/static/page.js",
    ] {
        assert_eq!(service.get(path, &person.cookie).status, 200, "{path}");
    }
}

#[test]
fn a_consent_counts_for_what_was_shown_and_for_nothing_else() {
    let service = Service::start();
    let person = service.sign_in();
    let run = service.propose(FIX);
    let place = format!("/requests/{run}");
    let seen = hidden(&service.get(&place, &person.cookie).body, "seen");
    // One digit of what was shown is another one, as by a relay that changes a byte.
    let other = format!(
        "{}{}",
        if seen.starts_with('0') { '1' } else { '0' },
        seen.get(1..).unwrap()
    );
    for wrong in [other.as_str(), ""] {
        let answer = service.post_form(
            &format!("{place}/approve"),
            &person.cookie,
            &[("form", &person.form), ("seen", wrong)],
        );
        assert_eq!(answer.status, 409, "{}", answer.body);
    }
    // The branch moves below the page: the same lines, at other numbers.
    service.repo.write("src/lib.rs", format!("// moved\n{LIB}"));
    service.repo.commit_all("move");
    let stale = service.post_form(
        &format!("{place}/approve"),
        &person.cookie,
        &[("form", &person.form), ("seen", &seen)],
    );
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("nothing was landed"), "{}", stale.body);
    assert!(service.read("src/lib.rs").contains("a - b"));
    let now = hidden(&stale.body, "seen");
    let landed = service.post_form(
        &format!("{place}/approve"),
        &person.cookie,
        &[("form", &person.form), ("seen", &now)],
    );
    assert_eq!(landed.status, 303, "{}", landed.body);
    assert!(service.read("src/lib.rs").contains("a + b"));
}

#[test]
fn a_program_reads_a_review_and_answers_it() {
    let service = Service::start();
    let run = service.propose(FIX);
    let review = service.call("GET", &format!("/api/requests/{run}"), "");
    assert_eq!(review.status, 200, "{}", review.body);
    let hashes = review.body.split_once("\"hashes\":").unwrap().1;
    let hashes = hashes.split_inclusive('}').next().unwrap();
    let wrong = hashes.replace("\"diff_sha256\":\"", "\"diff_sha256\":\"0");
    let refused = service.call(
        "POST",
        &format!("/api/requests/{run}/approve"),
        &format!("{{\"hashes\":{wrong}}}"),
    );
    assert!(
        refused.body.contains("\"commit\":null") || refused.status >= 400,
        "{}",
        refused.body
    );
    assert_eq!(service.read("src/lib.rs"), LIB);
    let landed = service.call(
        "POST",
        &format!("/api/requests/{run}/approve"),
        &format!("{{\"hashes\":{hashes}}}"),
    );
    assert_eq!(landed.status, 200, "{}", landed.body);
    assert!(service.read("src/lib.rs").contains("a + b"));
    for path in [
        "status", "requests", "runs", "sessions", "pools", "cost", "budgets", "evidence",
    ] {
        assert_eq!(
            service.call("GET", &format!("/api/{path}"), "").status,
            200,
            "{path}"
        );
    }
    assert_eq!(service.call("GET", "/api/nothing", "").status, 404);
    assert_eq!(service.call("GET", "/api/runs/ffff", "").status, 400);
    let bad = service.call("POST", "/api/proposals", "{\"answer\": 1}");
    assert_eq!(bad.status, 400, "{}", bad.body);
}

#[test]
fn of_answers_that_come_at_once_one_counts() {
    let service = Service::start();
    for round in 0..12 {
        let file = format!("note-{round}.txt");
        let run = service.propose(&format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+x\n"));
        let review = service.call("GET", &format!("/api/requests/{run}"), "").body;
        let review: serde_json::Value = serde_json::from_str(&review).unwrap();
        let consent = serde_json::json!({ "hashes": review["hashes"] }).to_string();
        let answers = [
            ("approve", consent.as_str()),
            ("deny", "{\"comment\": \"no\"}"),
            ("deny", "{}"),
        ];
        let ends = std::thread::scope(|scope| {
            let (service, run) = (&service, &run);
            let threads = answers.map(|(verb, body)| {
                scope.spawn(move || service.call("POST", &format!("/api/requests/{run}/{verb}"), body))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        // A yes that came too late has an outcome all the same, because it is a run.
        let landed = ends[0].body.contains("\"outcome\":\"landed\"");
        let denials = ends[1..].iter().filter(|answer| answer.status == 200).count();
        let bodies: Vec<&str> = ends.iter().map(|answer| answer.body.as_str()).collect();
        assert_eq!(usize::from(landed) + denials, 1, "round {round}: {bodies:#?}");
        let is_there = service.repo.path().join(&file).exists();
        assert_eq!(is_there, landed, "round {round}: {bodies:#?}");
        let story = service.call("GET", &format!("/api/runs/{run}"), "").body;
        let kind = if landed { "approved" } else { "declined" };
        assert!(story.contains(&format!("\"kind\":\"{kind}\"")), "{story}");
    }
    let person = service.sign_in();
    assert!(service.get("/evidence", &person.cookie).body.contains("✓ Whole."));
}

#[test]
fn a_request_is_denied_by_a_person_and_by_a_program() {
    let service = Service::start();
    let person = service.sign_in();
    let (one, other) = (
        service.propose(FIX),
        service.propose(&FIX.replace("a + b", "b + a")),
    );
    let denied = service.post_form(
        &format!("/requests/{one}/deny"),
        &person.cookie,
        &[("form", &person.form), ("comment", "use <b>checked_add</b>")],
    );
    assert_eq!(denied.header("location"), Some("/"), "{}", denied.body);
    let story = service.get(&format!("/runs/{one}"), &person.cookie).body;
    assert!(
        story.contains("declined: use &lt;b&gt;checked_add&lt;/b&gt;"),
        "{story}"
    );
    let runs = service.get("/runs", &person.cookie).body;
    let short = one.rsplit('-').next().unwrap();
    assert!(runs.contains(&format!("answer to run {short}")), "{runs}");
    let long = format!("{{\"comment\": \"{}\"}}", "é".repeat(1001));
    let refused = service.call("POST", &format!("/api/requests/{other}/deny"), &long);
    assert_eq!(refused.status, 400, "{}", refused.body);
    let denied = service.call("POST", &format!("/api/requests/{other}/deny"), "");
    assert_eq!(denied.status, 200, "{}", denied.body);
    assert_eq!(service.state().2, 0);
    assert!(
        service
            .get("/", &person.cookie)
            .body
            .contains("Nothing waits for you.")
    );
    assert_eq!(service.read("src/lib.rs"), LIB);
}

#[test]
fn a_session_ends_and_a_code_is_used_once() {
    let service = Service::start();
    let person = service.sign_in();
    let (_, code) = service.join(service.repo.path());
    assert_eq!(service.post_form("/signin", "", &[("code", &code)]).status, 303);
    assert_eq!(service.post_form("/signin", "", &[("code", &code)]).status, 401);
    let out = service.post_form("/signout", &person.cookie, &[("form", &person.form)]);
    assert_eq!(out.header("location"), Some("/signin"));
    assert_eq!(
        service.get("/", &person.cookie).header("location"),
        Some("/signin")
    );
}

#[test]
fn a_killed_service_loses_nothing_and_another_one_goes_on() {
    let mut service = Service::start();
    let run = service.propose(FIX);
    service.kill();
    let repo = std::mem::replace(&mut service.repo, agentos_testkit::repo::TestRepo::new());
    let mut service = Service::start_in(repo);
    let person = service.sign_in();
    let place = format!("/requests/{run}");
    let seen = hidden(&service.get(&place, &person.cookie).body, "seen");
    let landed = service.post_form(
        &format!("{place}/approve"),
        &person.cookie,
        &[("form", &person.form), ("seen", &seen)],
    );
    assert_eq!(landed.status, 303, "{}", landed.body);
    assert!(
        service
            .call("GET", "/api/evidence", "")
            .body
            .contains("\"ok\":true")
    );
    assert_eq!(service.interrupt(), Some(0));
}

#[test]
fn a_large_body_is_refused_and_others_are_served() {
    let service = Service::start();
    let body = serde_json_text(&[("answer", &"x".repeat(13 << 20))]);
    let refused = service.call("POST", "/api/proposals", &body);
    assert_eq!(refused.status, 413, "{}", refused.head);
    assert!(
        refused
            .body
            .contains("\"message\":\"the body is larger than 12 MiB\""),
        "{}",
        refused.body
    );
    let sent = Sent {
        method: "GET",
        path: "/healthz",
        ..Sent::default()
    };
    assert!(service.send(&sent).body.contains("ok"));
}

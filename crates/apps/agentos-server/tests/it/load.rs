//! The service while others keep it busy: turns that wait for a model, strangers that hold connections, and many listeners.

use std::net::TcpStream;

use agentos_testkit::http::begin_request;
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::{FakeServer, Reply};

use crate::support::{FIX, LIB, Person, Service, hidden};

/// Approves a request on the page, and denies another one over the API.
fn approve_and_deny(service: &Service, person: &Person) {
    let run = service.propose(FIX);
    let place = format!("/requests/{run}");
    let seen = hidden(&service.get(&place, &person.cookie).body, "seen");
    let form = [("form", person.form.as_str()), ("seen", seen.as_str())];
    let landed = service.post_form(&format!("{place}/approve"), &person.cookie, &form);
    assert_eq!(landed.status, 303, "{}", landed.body);
    assert!(service.read("src/lib.rs").contains("a + b"));
    let other = service.propose("--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1 @@\n+x\n");
    let denied = service.call("POST", &format!("/api/requests/{other}/deny"), "{}");
    assert_eq!(denied.status, 200, "{}", denied.body);
}

fn repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    repo
}

#[test]
fn turns_that_wait_for_a_model_keep_no_approval_waiting() {
    // A model that takes every request and answers none.
    let model = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let profile = serde_json::json!({ "adapter": "openai", "model": "tiny", "requires_key": false, "base_url": format!("{}/v1", model.url()),
        "capabilities": { "context_window": 32_000 } });
    let service = Service::start_with_profiles(repository(), &[("silent", profile)], &[]);
    let person = service.sign_in();
    for at in 0..24 {
        let name = format!("s{at}");
        let fields = [
            ("form", person.form.as_str()),
            ("name", &name),
            ("text", "hello"),
            ("model", "silent"),
        ];
        let begun = service.post_form("/sessions", &person.cookie, &fields);
        assert_eq!(begun.status, 303, "{}", begun.body);
    }
    approve_and_deny(&service, &person);
}

#[test]
fn strangers_with_slow_bodies_keep_nobody_out() {
    let service = Service::start();
    let person = service.sign_in();
    let head = format!(
        "POST /signin HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\n\r\nc",
        service.page
    );
    let strangers: Vec<TcpStream> = (0..600)
        .map_while(|_| begin_request(&service.address, head.as_bytes()).ok())
        .collect();
    assert_eq!(strangers.len(), 600);
    approve_and_deny(&service, &person);
    let (_, code) = service.join(service.repo.path());
    service.sign_in_with(&code);
}

#[test]
fn listeners_have_a_bound_and_leave_room_for_others() {
    let service = Service::start();
    let person = service.sign_in();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        service.address, service.read_token
    );
    let listeners: Vec<TcpStream> = (0..400)
        .map_while(|_| begin_request(&service.address, head.as_bytes()).ok())
        .collect();
    assert_eq!(listeners.len(), 400);
    approve_and_deny(&service, &person);
}

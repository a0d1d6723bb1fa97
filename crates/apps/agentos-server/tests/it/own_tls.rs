//! Devices over TLS of the service itself: what they reach, and what stays over a restart.
//!
//! Owns: a device with a key, which signs as `device.js` does. Never: gives the service more than a browser sends.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use agentos_testkit::http::{RawAnswer, begin_request, send_bytes};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::closed_port;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey as _};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::{FIX, LIB, Sent, Service, encode, hidden};

/// Key of a device, which its browser keeps.
struct DeviceKey(KeyPair);

impl DeviceKey {
    fn new() -> Self {
        Self(KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    /// Returns the public key, as a browser exports it.
    fn public(&self) -> String {
        STANDARD.encode(self.0.public_key_raw())
    }

    fn sign(&self, statement: &str) -> String {
        STANDARD.encode(self.0.sign(statement.as_bytes()).unwrap())
    }

    /// Signs a form that a page of the service offers. Returns the body to send.
    fn sign_form(&self, page: &str, path: &str, members: &[(&str, &str)]) -> String {
        let body = hash_text(&encode(members));
        let (session, challenge) = (attribute(page, "session"), attribute(page, "challenge"));
        let statement =
            format!("agentos action 1\nsession {session}\nchallenge {challenge}\npath {path}\nbody {body}\n");
        let (key, signature) = (self.public(), self.sign(&statement));
        let proof = [
            ("device_key", key.as_str()),
            ("signature", &signature),
            ("challenge", &challenge),
        ];
        encode(&[members, &proof].concat())
    }

    /// Signs the approval of a request that a page of the service shows, and the review with it. Returns the body to send.
    fn sign_approval(&self, page: &str, run: &str, review: &str) -> String {
        let rendering = hash_text(review);
        let mut statement = format!("agentos approval 1\nrequest {run}\n");
        for part in ["diff", "base", "policy", "ref", "writes"] {
            statement.push_str(&format!("{part} {}\n", attribute(page, part)));
        }
        statement.push_str(&format!("rendering {rendering}\n"));
        encode(&[
            ("form", &hidden(page, "form")),
            ("seen", &rendering),
            ("device_key", &self.public()),
            ("signature", &self.sign(&statement)),
        ])
    }
}

fn hash_text(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a value that a page has for its script.
fn attribute(page: &str, name: &str) -> String {
    let (_, after) = page
        .split_once(&format!(" data-{name}=\""))
        .unwrap_or_else(|| panic!("{name}: {page}"));
    after.split_once('"').unwrap().0.to_owned()
}

/// Starts a service that speaks TLS at the returned address.
fn start() -> (Service, String) {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    let free = closed_port().unwrap();
    let place = free.strip_prefix("http://").unwrap().to_owned();
    let service = Service::start_with(repo, |cli| {
        let file = cli.home().join(".config/agentos/config.toml");
        write_file(&file, format!("device_addresses = \"tls://{place}\"\n"));
    });
    (service, place)
}

/// Returns the certificate of the authority, as it is kept.
fn kept_certificate(service: &Service) -> Vec<u8> {
    let kept = service.host().read_service_authority().unwrap().unwrap();
    let kept: Value = serde_json::from_str(kept.expose()).unwrap();
    let bytes = kept["certificate"].as_array().unwrap().iter();
    bytes
        .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap())
        .collect()
}

/// Sends a request as a device that trusts these authorities. `None` if the device does not trust the service.
fn send_tls(place: &str, trusted: &[Vec<u8>], request: &str) -> Option<RawAnswer> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(CertificateDer::from(certificate.clone())).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = place.rsplit_once(':').unwrap().0.to_owned();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, begin_request(place, b"").unwrap());
    stream.write_all(request.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    // The service closes the connection after its answer.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(RawAnswer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// Sends a form, or reads a page, as the browser of a device.
fn at_device(
    service: &Service,
    place: &str,
    (method, path): (&str, &str),
    cookie: &str,
    body: &str,
) -> RawAnswer {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\nOrigin: https://{place}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nCookie: agentos-session={cookie}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    send_tls(place, &[kept_certificate(service)], &request).unwrap()
}

/// Signs a device in with the link of the first browser, and returns its cookie.
fn sign_in_device(service: &Service, place: &str) -> String {
    let person = service.sign_in();
    let shown = service
        .post_form("/devices/link", &person.cookie, &[("form", &person.form)])
        .body;
    let code = shown.split_once(&format!("https://{place}/signin#")).unwrap().1;
    let code = code.split_once('<').unwrap().0;
    let signed = at_device(
        service,
        place,
        ("POST", "/signin"),
        "",
        &encode(&[("code", code)]),
    );
    assert_eq!(signed.status, 303, "{}", signed.body);
    let line = signed.header("set-cookie").unwrap();
    assert!(
        line.ends_with("; Path=/; HttpOnly; Secure; SameSite=Strict"),
        "{line}"
    );
    line.split_once('=')
        .unwrap()
        .1
        .split_once(';')
        .unwrap()
        .0
        .to_owned()
}

#[test]
fn a_device_over_tls_reaches_pages_of_its_own_session_alone() {
    let (service, place) = start();
    let own = kept_certificate(&service);
    let get = |host: &str, path: &str, header: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n");
        send_tls(&place, std::slice::from_ref(&own), &request)
    };
    let status = |path: &str, header: &str| get(&place, path, header).unwrap().status;
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (path, header, expected) in [
        ("/", String::new(), 303),
        ("/signin", String::new(), 200),
        ("/static/authority.crt", String::new(), 200),
        ("/api/requests", String::new(), 401),
        ("/api/requests", bearer(&service.read_token), 401),
        ("/v1/models", bearer(&service.token), 403),
        ("/mcp", bearer(&service.agent_token), 421),
    ] {
        assert_eq!(status(path, &header), expected, "{path} {header}");
    }
    // Other names of the service, also with the cookie of a browser of this machine.
    let person = service.sign_in();
    let cookie = format!("Cookie: agentos-session={}\r\n", person.cookie);
    for host in [service.page.as_str(), &service.address, "localhost"] {
        assert_eq!(get(host, "/", &cookie).unwrap().status, 421, "{host}");
    }
    assert_eq!(
        get(&place, "/", &cookie).unwrap().header("location"),
        Some("/signin")
    );
    // The address counts over TLS alone.
    let plain = service.send(&Sent {
        method: "GET",
        path: "/",
        host: Some(&place),
        ..Sent::default()
    });
    assert_eq!(plain.status, 421);
    assert_eq!(send_bytes(&place, b"GET / HTTP/1.1\r\n\r\n").unwrap().status, 0);
}

#[test]
fn a_device_that_does_not_trust_the_authority_sends_nothing() {
    let ((service, place), (other, _)) = (start(), start());
    assert!(send_tls(&place, &[kept_certificate(&other)], "GET / HTTP/1.1\r\n\r\n").is_none());
    assert!(send_tls(&place, &[], "GET / HTTP/1.1\r\n\r\n").is_none());
    drop(service);
}

#[test]
fn a_paired_device_and_its_address_survive_a_restart() {
    let (mut service, place) = start();
    let lines: Vec<&str> = service.greeting.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("TLS")).unwrap();
    assert_eq!(
        lines[at],
        format!("TLS   https://{place}, for your other devices")
    );
    let fingerprint = lines[at + 2].trim().to_owned();
    let key = DeviceKey::new();
    let cookie = sign_in_device(&service, &place);
    let page = at_device(&service, &place, ("GET", "/devices"), &cookie, "").body;
    let ask = encode(&[
        ("form", &hidden(&page, "form")),
        ("key", &key.public()),
        ("nonce", &"ab".repeat(32)),
        ("name", "phone"),
    ]);
    let asked = at_device(&service, &place, ("POST", "/devices/ask"), &cookie, &ask);
    assert_eq!(asked.status, 303, "{}", asked.body);
    let (_, code) = service.join(service.repo.path());
    let person = service.sign_in_with(&code);
    let shown = service.get("/devices", &person.cookie).body;
    assert!(shown.contains(&fingerprint), "{shown}");
    // A browser of this machine pairs no key: its name ends with the service.
    let own = [
        ("form", person.form.as_str()),
        ("key", &key.public()),
        ("nonce", &"ab".repeat(32)),
        ("name", "here"),
    ];
    assert_eq!(
        service.post_form("/devices/ask", &person.cookie, &own).status,
        403
    );
    let form = shown.split_once("/devices/confirm").unwrap().1;
    let confirm = [("form", person.form.as_str()), ("id", &hidden(form, "id"))];
    let confirmed = service.post_form("/devices/confirm", &person.cookie, &confirm);
    assert_eq!(confirmed.status, 303, "{}", confirmed.body);

    let trusted = kept_certificate(&service);
    service.restart();
    assert_eq!(kept_certificate(&service), trusted);
    assert!(service.greeting.contains(&fingerprint) && !service.greeting.contains("made now"));
    // The session of the device has ended with the service, and its key counts.
    let old = at_device(&service, &place, ("GET", "/"), &cookie, "");
    assert_eq!(old.header("location"), Some("/signin"));
    let cookie = sign_in_device(&service, &place);
    let at =
        |method: &str, path: &str, body: &str| at_device(&service, &place, (method, path), &cookie, body);
    let run = service.propose(FIX);
    let request = format!("/requests/{run}");
    let deny = format!("{request}/deny");
    // A key that is not paired does nothing, with the same session.
    let page = at("GET", &request, "").body;
    let form = hidden(&page, "form");
    let comment = [("form", form.as_str()), ("comment", "later")];
    let refused = at("POST", &deny, &DeviceKey::new().sign_form(&page, &deny, &comment));
    assert!(refused.body.contains("not paired"), "{}", refused.body);

    let page = at("GET", &request, "").body;
    let review = at("GET", &format!("{request}/review"), "").body;
    let approve = format!("{request}/approve");
    let other = at(
        "POST",
        &approve,
        &key.sign_approval(&page, &run, &review.replace("a + b", "a * b")),
    );
    assert_eq!(other.status, 409, "{}", other.body);
    let landed = at("POST", &approve, &key.sign_approval(&page, &run, &review));
    assert_eq!(landed.status, 303, "{}", landed.body);
    assert!(service.read("src/lib.rs").contains("a + b"));
    let evidence = service.call("GET", "/api/evidence", "").body;
    assert!(evidence.contains("\"ok\":true"), "{evidence}");

    let run = service.propose("--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1 @@\n+x\n");
    let deny = format!("/requests/{run}/deny");
    let page = at("GET", &format!("/requests/{run}"), "").body;
    let denied = at("POST", &deny, &key.sign_form(&page, &deny, &comment));
    assert_eq!(denied.status, 303, "{}", denied.body);
    assert_eq!(service.state().2, 0);
}

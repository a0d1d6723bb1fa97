//! Devices over TLS of the service itself: what they reach, and what stays over a restart.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use agentos_testkit::http::{RawAnswer, begin_request, send_bytes};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::closed_port;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::support::{LIB, Sent, Service, encode, hidden};

/// Public key of a device, as its browser exports it.
const KEY: &str = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";

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
    let cookie = sign_in_device(&service, &place);
    let page = at_device(&service, &place, ("GET", "/devices"), &cookie, "").body;
    let ask = encode(&[
        ("form", &hidden(&page, "form")),
        ("key", KEY),
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
        ("key", KEY),
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
    let page = at_device(&service, &place, ("GET", "/"), &cookie, "").body;
    let challenge = page
        .split_once("data-challenge=\"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    let deny = |key: &str, challenge: &str| {
        let signature = "A".repeat(86) + "==";
        let members = [
            ("form", hidden(&page, "form")),
            ("device_key", key.to_owned()),
            ("signature", signature),
            ("challenge", challenge.to_owned()),
        ];
        let members: Vec<(&str, &str)> = members
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        at_device(
            &service,
            &place,
            ("POST", "/requests/x/deny"),
            &cookie,
            &encode(&members),
        )
        .body
    };
    let known = deny(KEY, challenge);
    assert!(known.contains("wrong-signature"), "the key is known: {known}");
}

//! Outlets with a port that the test hands over, as the keeper does.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

use super::*;
use crate::carry::copy_bytes;
use crate::handover::{connect_port, give_new_port};

#[test]
fn only_a_connect_names_a_target() {
    let cases = [
        (
            "CONNECT a.example:443 HTTP/1.1\r\nHost: b\r\n\r\n",
            Some("a.example:443"),
        ),
        ("CONNECT a.example:443 HTTP/1.0\r\n\r\n", Some("a.example:443")),
        ("GET http://a.example/ HTTP/1.1\r\n\r\n", None),
        ("CONNECT a.example:443\r\n\r\n", None),
        ("connect a.example:443 HTTP/1.1\r\n\r\n", None),
        ("CONNECT a\u{1b}[31m:443 HTTP/1.1\r\n\r\n", None),
        ("CONNECT a\r:443 HTTP/1.1\r\n\r\n", None),
        ("CONNECT \u{202e}a:443 HTTP/1.1\r\n\r\n", None),
    ];
    for (head, expected) in cases {
        assert_eq!(connect_target(head.as_bytes()).as_deref(), expected, "{head}");
    }
}

/// What a tool that sends `request` gets back.
fn exchange(port: SocketAddr, request: &str) -> String {
    let mut stream = connect_port(port);
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_proxy_leads_to_the_addresses_on_its_list_and_names_the_others() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let echo = thread::spawn(move || {
        let (stream, _) = server.accept().unwrap();
        copy_bytes(&stream, &stream);
    });
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock");
    let way = OutletRoute::Proxy(vec![("127.0.0.1".to_owned(), port)]);
    let (told, heard) = mpsc::channel();
    let report = move |name: &str| told.send(name.to_owned()).unwrap_or_default();
    let outlet = NetworkOutlet::open_with_report(&socket, way, report).unwrap();
    let tool_port = give_new_port(&socket);
    let answer = exchange(
        tool_port,
        &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello"),
    );
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"),
        "{answer}"
    );
    echo.join().unwrap();
    let answer = exchange(tool_port, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(exchange(tool_port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    exchange(tool_port, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    assert_eq!(outlet.refused(), ["evil.example:443"]);
    drop(outlet);
    // Reported once, however often the tool tries.
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["evil.example:443"]);
}

#[test]
fn an_end_connects_to_nothing_that_took_the_sockets_place() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, other) = (folder.path().join("x.sock"), folder.path().join("service.sock"));
    let service = UnixListener::bind(&other).unwrap();
    let outlet = NetworkOutlet::open(&socket, OutletRoute::Proxy(Vec::new())).unwrap();
    std::fs::remove_file(&socket).unwrap();
    std::os::unix::fs::symlink(&other, &socket).unwrap();
    drop(outlet);
    service.set_nonblocking(true).unwrap();
    let error = service.accept().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "nobody connected");
    assert!(UnixStream::connect(&socket).is_ok(), "the service is still there");
}

#[test]
fn a_tunnel_is_closed_when_another_host_is_named_in_it() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let mut all = Vec::new();
        for stream in server.incoming().take(2) {
            let mut bytes = Vec::new();
            let mut stream = stream.unwrap();
            let _ = stream.read_to_end(&mut bytes);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            all.push(String::from_utf8(bytes).unwrap());
        }
        all
    });
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock");
    let outlet =
        NetworkOutlet::open(&socket, OutletRoute::Proxy(vec![("127.0.0.1".to_owned(), port)])).unwrap();
    let tool_port = give_new_port(&socket);
    let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let own = request(&format!("127.0.0.1:{port}"));
    let answer = exchange(tool_port, &format!("{connect}{own}"));
    assert!(answer.ends_with("HTTP/1.1 200 OK\r\n\r\n"), "{answer}");
    let answer = exchange(
        tool_port,
        &format!("{connect}{own}{}", request("attacker.example")),
    );
    assert!(!answer.ends_with("200 OK\r\n\r\n"), "{answer}");
    assert_eq!(outlet.refused(), ["attacker.example"]);
    // The first request of the second tunnel may have come through before the second one was read.
    let heard = heard.join().unwrap();
    assert_eq!(heard.first(), Some(&own));
    assert!(heard.iter().all(|bytes| !bytes.contains("attacker")), "{heard:?}");
}

//! What passes a tunnel to `api.example`, and which names close it.

use super::*;

/// What OpenSSL 3.0 sends to `api.example`: TLS 1.3, without the zeros of its padding, and TLS 1.2.
const TLS_13: &str = "1603010200010001fc0303c1cc60e78d15d61426b74c624212d57452fda029f8987f9e975f2ac25a85594d\
    2060a2ab2fdc8c1fe3612dac692d0cd490dcf1fc833ab42641b213304c233ecb7c0024130213031301c02cc030c02bc02fcca9cca8\
    c024c028c023c027009f009e006b006700ff0100018f00000010000e00000b6170692e6578616d706c65000b000403000102000a00\
    160014001d0017001e0019001801000101010201030104002300000016000000170000000d002a0028040305030603080708080809\
    080a080b080408050806040105010601030303010302040205020602002b00050403040303002d00020101003300260024001d0020\
    6664bf619ee89c992337f1b5a07babeb6e89c8cd2a9663228423fd87ed86ef5f001500e2";
const TLS_12: &str = "16030100b1010000ad0303e7cd1beb2a7decc1b94fe13be7ea9863a022508662945f6d8edf09fa6aec245a\
    00001ec02cc030c02bc02fcca9cca8c024c028c023c027009f009e006b006700ff0100006600000010000e00000b6170692e657861\
    6d706c65000b000403000102000a000c000a001d0017001e00190018002300000016000000170000000d002a002804030503060308\
    0708080809080a080b080408050806040105010601030303010302040205020602";
const CHANGE: &[u8] = &[20, 3, 3, 0, 1, 1];
const DATA: &[u8] = &[23, 3, 3, 0, 4, 1, 2, 3, 4];

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    let bytes = digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]);
    bytes.map(|byte| u8::try_from(byte).unwrap()).collect()
}

fn tls_13() -> Vec<u8> {
    [bytes_of(TLS_13), vec![0; 0xe2]].concat()
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// A ClientHello with these extensions, as one message.
fn message(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let each = extensions.iter();
    let all: Vec<u8> = each
        .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &sized(content)].concat())
        .collect();
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    // A session, one cipher and one that is grease (RFC 8701), no compression.
    body.extend([2, 9, 9, 0, 4, 0x13, 1, 0x0a, 0x0a, 1, 0]);
    body.extend(sized(&all));
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1], &length[1..], &body].concat()
}

fn named(name: &str) -> (u16, Vec<u8>) {
    (0, sized(&[&[0][..], &sized(name.as_bytes())].concat()))
}

/// A message in records of at most so many bytes.
fn records(message: &[u8], size: usize) -> Vec<u8> {
    let each = message.chunks(size);
    each.flat_map(|part| [&[22, 3, 1][..], &sized(part)].concat())
        .collect()
}

fn hello(name: &str) -> Vec<u8> {
    records(&message(&[(0x2a2a, vec![]), named(name)]), 16_384)
}

/// What comes out of a tunnel to `host` when `bytes` are said in pieces of this size, and the name that closed it.
fn said(host: &str, bytes: &[u8], size: usize) -> (Vec<u8>, Option<String>) {
    let mut watch = TunnelWatch::new(host, 443);
    let mut out = Vec::new();
    for piece in bytes.chunks(size) {
        if let Err(ForeignName(name)) = watch.admit(piece, &mut out) {
            return (out, Some(name));
        }
    }
    watch.end(&mut out);
    (out, None)
}

/// Checks that all of it passes, however it is cut.
fn passes(host: &str, bytes: &[u8]) {
    for size in [1, 2, 3, 5, 7, 64, bytes.len() + 1] {
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(
            said(host, bytes, size),
            (bytes.to_vec(), None),
            "{size}: {shown:?}"
        );
    }
    for cut in 0..bytes.len() {
        let mut watch = TunnelWatch::new(host, 443);
        let mut out = Vec::new();
        let (one, two) = bytes.split_at(cut);
        assert_eq!(watch.admit(one, &mut out), Ok(()));
        assert_eq!(watch.admit(two, &mut out), Ok(()));
        watch.end(&mut out);
        assert_eq!(out, bytes, "cut at {cut}");
    }
}

/// Checks that this name closes the tunnel, however it is cut, and that nothing behind `before` was passed on.
fn closes(host: &str, before: &[u8], bytes: &[u8], name: &str) {
    let all = [before, bytes].concat();
    for size in [1, 2, 3, 5, 7, 64, all.len()] {
        let (out, foreign) = said(host, &all, size);
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(foreign.as_deref(), Some(name), "{size}: {shown:?}");
        assert!(before.starts_with(&out), "{size}: {out:?}");
    }
}

#[test]
fn the_name_of_a_host_is_compared_as_names_are() {
    let host = TunnelHost {
        name: "Api.Example".to_owned(),
        port: 443,
    };
    for (authority, is_ours) in [
        ("api.example", true),
        ("API.EXAMPLE.", true),
        ("api.example:443", true),
        ("api.example.:443", true),
        ("api.example:80", false),
        ("api.example:", false),
        ("api.example:+443", false),
        ("api.example:443:443", false),
        ("user@api.example", false),
        ("evil.example", false),
        ("api.example.evil", false),
        ("api.example..", false),
        (" api.example", false),
        ("", false),
    ] {
        assert_eq!(host.has_authority(authority), is_ours, "{authority}");
    }
    let host = TunnelHost {
        name: "[::1]".to_owned(),
        port: 80,
    };
    for (authority, is_ours) in [("[::1]", true), ("[0:0::1]:80", true), ("[::2]:80", false)] {
        assert_eq!(host.has_authority(authority), is_ours, "{authority}");
    }
}

#[test]
fn tls_passes_with_the_server_name_of_the_host_alone() {
    for (bytes, name) in [
        (tls_13(), "api.example"),
        (bytes_of(TLS_12), "api.example"),
        (hello("API.example."), "API.example."),
    ] {
        passes("api.example", &[&bytes, CHANGE, DATA, DATA].concat());
        closes("other.example", b"", &bytes, name);
    }
    // In records as small as one byte.
    let small = records(&message(&[named("api.example")]), 1);
    passes("api.example", &small);
    closes("other.example", b"", &small, "api.example");
    // An encrypted ClientHello shows its outer name.
    let encrypted = message(&[(0xfe0d, vec![0; 40]), named("front.example")]);
    closes("api.example", b"", &records(&encrypted, 4096), "front.example");
}

#[test]
fn tls_without_a_server_name_passes_for_an_address_alone() {
    let none = records(&message(&[(0x2a2a, vec![])]), 4096);
    passes("127.0.0.1", &none);
    passes("[::1]", &none);
    passes("127.0.0.1", &hello("127.0.0.1"));
    closes("127.0.0.1", b"", &hello("localhost"), "localhost");
    closes(
        "api.example",
        b"",
        &none,
        "api.example:443 (TLS without a server name)",
    );
}

#[test]
fn a_later_client_hello_is_compared_as_well() {
    let first = hello("api.example");
    for between in [&b""[..], CHANGE, DATA, &[DATA, CHANGE].concat()] {
        let before = [&first, between].concat();
        passes("api.example", &[&before[..], &first, DATA].concat());
        closes("api.example", &before, &hello("evil.example"), "evil.example");
        let small = records(&message(&[named("evil.example")]), 9);
        closes("api.example", &before, &small, "evil.example");
    }
    // Two messages in one record, and what TLS 1.2 sends after its hello: a key, a change, an encrypted end.
    let two = [
        message(&[named("api.example")]),
        message(&[named("evil.example")]),
    ]
    .concat();
    closes("api.example", b"", &records(&two, 4096), "evil.example");
    let key = records(&[&[16, 0, 0, 3][..], &[1, 1, 1]].concat(), 4);
    let end = records(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 9, 3, 3], 64);
    passes("api.example", &[&first, &key, CHANGE, &end, DATA].concat());
}

#[test]
fn tls_that_cannot_be_read_for_certain_is_refused() {
    let (two, twice) = (
        [&[0][..], &sized(b"api.example"), &[0], &sized(b"evil.example")].concat(),
        message(&[named("api.example"), named("evil.example")]),
    );
    let two = message(&[(0, sized(&two))]);
    let mut cut = message(&[named("api.example")]);
    cut.truncate(cut.len() - 1);
    cut[3] -= 1;
    for (bytes, what) in [
        (records(&two, 4096), "a ClientHello that cannot be read"),
        (records(&twice, 4096), "a ClientHello that cannot be read"),
        (records(&cut, 4096), "a ClientHello that cannot be read"),
        (records(&[2, 0, 0, 0], 4096), "TLS without a ClientHello"),
        (vec![22, 3, 1, 0xff, 0xff], "TLS that cannot be read"),
        (
            [&records(&message(&[named("api.example")]), 20)[..25], DATA].concat(),
            "TLS that cannot be read",
        ),
        (
            records(&[&[1, 0xff, 0, 0][..], &[0; 80_000]].concat(), 4096),
            "a ClientHello that is too long",
        ),
    ] {
        closes("api.example", b"", &bytes, &format!("api.example:443 ({what})"));
    }
    let garbled = [hello("api.example"), b"GET / HTTP/1.1\r\n\r\n".to_vec()].concat();
    let (_, name) = said("api.example", &garbled, 64);
    assert_eq!(name.as_deref(), Some("api.example:443 (TLS that cannot be read)"));
}

/// Requests that a server of this host may get.
const REQUESTS: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nhost:API.example:443\r\naccept: */*\r\n\r\n",
    "GET https://api.example:443/x?y HTTP/1.1\r\nHost: api.example\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "OPTIONS * HTTP/1.1\nHost: api.example\n\n",
    "POST / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 40\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n__",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: api.example\r\n\r\n4;x=y\r\n\r\n\r\n\r\nA\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
];

#[test]
fn every_request_passes_with_the_name_of_the_host_alone() {
    for request in REQUESTS {
        passes("api.example", request.as_bytes());
        for next in REQUESTS.iter().filter(|next| !next.starts_with('\r')) {
            passes("api.example", [*request, next].concat().as_bytes());
        }
        let foreign = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        closes("api.example", request.as_bytes(), foreign, "evil.example");
    }
    let upgrade = "GET / HTTP/1.1\r\nHost: api.example\r\nUpgrade: websocket\r\n\r\n";
    passes(
        "api.example",
        &[upgrade.as_bytes(), &[0x81, 2, b'h', b'i']].concat(),
    );
    closes(
        "api.example",
        upgrade.as_bytes(),
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "evil.example",
    );
}

#[test]
fn a_request_for_another_host_closes_the_tunnel() {
    for (request, name) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "evil.example"),
        (
            "get / http/1.1\r\nHost: evil.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            " \r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "a request that cannot be read",
        ),
        ("GET / HTTP/1.1\r\nHost: api.example:80\r\n\r\n", "api.example:80"),
        (
            "GET / HTTP/1.1\r\nHost: api.example, evil.example\r\n\r\n",
            "api.example, evil.example",
        ),
        (
            "GET http://evil.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "evil.example",
        ),
        (
            "GET http://api.example@evil.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "api.example@evil.example",
        ),
        (
            "GET http:evil.example HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "evil.example:443",
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nHost: evil.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost : evil.example\r\nHost: api.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost:\r\n evil.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nX: y\rHost: evil.example\r\nHost: api.example\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nX: \0\r\nHost: api.example\r\n\r\n",
            "a request that cannot be read",
        ),
        ("GET / HTTP/1.1\r\n\r\n", "a request that cannot be read"),
        (
            "GET  / HTTP/1.1\r\nHost: api.example\r\n\r\n",
            "a request that cannot be read",
        ),
        ("GET /\r\n\r\n", "a request that cannot be read"),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nContent-Length: +1\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "a request that cannot be read",
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
            "HTTP/2 without TLS",
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 without TLS"),
    ] {
        let is_words = name.contains(' ') && !name.contains(',') || name.starts_with("HTTP/");
        let name = if is_words {
            format!("api.example:443 ({name})")
        } else {
            name.to_owned()
        };
        closes("api.example", b"", request.as_bytes(), &name);
    }
}

#[test]
fn a_chunk_that_could_be_read_in_two_ways_closes_the_tunnel() {
    let head = "POST / HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: chunked\r\n\r\n";
    for chunk in [
        "1\nx\r\n",
        "0x1\r\n",
        "-1\r\n",
        " 1\r\n",
        "\r\n",
        "g\r\n",
        "1234567890abcdef0\r\n",
        "1;\r\r\n",
    ] {
        closes(
            "api.example",
            head.as_bytes(),
            chunk.as_bytes(),
            "api.example:443 (a chunk that cannot be read)",
        );
    }
    let (_, name) = said("api.example", format!("{head}1\r\nxGET").as_bytes(), 1);
    assert_eq!(
        name.as_deref(),
        Some("api.example:443 (a chunk that cannot be read)")
    );
}

#[test]
fn what_names_no_host_passes_and_what_never_names_one_ends() {
    for other in [
        &b"SSH-2.0-OpenSSH_9.2\r\nmore"[..],
        b"EHLO there\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\x10\x20\x00\x04MQTT",
        b"0032git-upload-pack /x\0host=y\0",
        b"hello",
        b"\x16",
        b"",
    ] {
        passes("api.example", other);
    }
    // Half a request is kept back.
    for half in [
        &b"GET / HT"[..],
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n",
        b"x / HTTP/1.1",
    ] {
        assert_eq!(said("api.example", half, 1), (Vec::new(), None));
    }
    for (endless, what) in [
        (vec![b'a'; 70_000], "a line without end"),
        (
            [&b"GET / HTTP/1.1\r\nx: "[..], &[b'a'; 70_000]].concat(),
            "a request that is too long",
        ),
    ] {
        let name = said("api.example", &endless, 999).1;
        assert_eq!(name, Some(format!("api.example:443 ({what})")));
    }
}

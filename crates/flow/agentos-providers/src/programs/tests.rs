//! Where the address of a server leads a program.

use super::own_server::allow_server;
use super::*;

#[test]
fn a_program_is_led_to_the_server_of_its_address() {
    let (v6, ground) = ("::1", "a.example");
    for (url, inside, server, hosts) in [
        (
            "http://[::1]:81/v1",
            "http://127.0.0.1:81/v1",
            Some((v6, 81)),
            None,
        ),
        (
            "http://a.example",
            "http://127.0.0.1:80",
            Some((ground, 80)),
            None,
        ),
        (
            "https://a.example/x",
            "https://a.example/x",
            None,
            Some((ground, 443)),
        ),
        (
            "https://[::1]:8443",
            "https://[::1]:8443",
            None,
            Some(("[::1]", 8443)),
        ),
    ] {
        let mut program = Program::new("x", "x", &[]);
        assert_eq!(allow_server(&mut program, url).unwrap(), inside);
        let owned = |place: Option<(&str, u16)>| place.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(
            (program.server, program.hosts.pop()),
            (owned(server), owned(hosts))
        );
    }
}

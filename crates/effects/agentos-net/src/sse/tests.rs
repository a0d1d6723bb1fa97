//! The event grammar, and that portions never matter.

use proptest::prelude::*;

use super::{SseError, SseParser};

fn parse(portions: &[&[u8]]) -> Result<Vec<String>, SseError> {
    let mut parser = SseParser::new(64);
    let mut events = Vec::new();
    for portion in portions {
        parser.push_bytes(portion, |event| events.push(event))?;
    }
    Ok(events)
}

#[test]
fn events_are_read_as_the_standard_says() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("lf", "data: a\n\ndata: b\n\n", &["a", "b"]),
        ("crlf", "data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("bare cr", "data: a\r\rdata: b\r\r", &["a", "b"]),
        ("no blank after the colon", "data:a\n\n", &["a"]),
        ("only one blank is taken off", "data:  a \n\n", &[" a "]),
        (
            "several lines are joined",
            "data: a\ndata\ndata: b\n\n",
            &["a\n\nb"],
        ),
        (
            "comments and other fields",
            ": ping\n\nid: 1\nretry: 5\nevent: x\ndata: a\n\n",
            &["a"],
        ),
        (
            "a field that only begins alike",
            "database: x\n\ndata: a\n\n",
            &["a"],
        ),
        ("byte order mark", "\u{feff}data: a\n\n", &["a"]),
        (
            "a later mark is not one",
            "data: a\n\n\u{feff}data: b\n\n",
            &["a"],
        ),
        ("the last event is not ended", "data: a\n\ndata: b\n", &["a"]),
        ("an empty event is one", "data:\n\n", &[""]),
        ("blank lines alone are none", "\n\n\r\n", &[]),
    ];
    for (name, stream, events) in cases {
        assert_eq!(parse(&[stream.as_bytes()]).unwrap(), *events, "{name}");
    }
}

#[test]
fn an_event_has_a_cap_and_many_small_ones_have_none() {
    assert_eq!(parse(&[&[b'x'; 65]]), Err(SseError::TooLarge { limit: 64 }));
    assert_eq!(
        parse(&["data: 12345678\n".repeat(9).as_bytes()]),
        Err(SseError::TooLarge { limit: 64 })
    );
    assert_eq!(
        parse(&["data: 12345678\n\n".repeat(90).as_bytes()])
            .unwrap()
            .len(),
        90
    );
}

#[test]
fn data_must_be_utf8() {
    assert_eq!(parse(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    assert_eq!(
        parse(&["data: é".as_bytes().split_at(7).0, &[0xa9], b"\n\n"]).unwrap(),
        ["é"]
    );
}

proptest! {
    #[test]
    fn portions_never_change_the_result(
        stream in "(data: ?[a-zé\u{1f600}]{0,6}|:[a-z]{0,3}|id: [0-9]|\u{feff}|){0,8}[\n\r]{0,4}(data: ?[a-zé]{0,6}(\n|\r|\r\n)){0,3}(\n|\r|\r\n){0,2}",
        size in 1_usize..9,
    ) {
        let whole = parse(&[stream.as_bytes()]);
        let portions: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        prop_assert_eq!(parse(&portions), whole);
    }

    #[test]
    fn no_input_breaks_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&[&bytes]);
    }

    #[test]
    fn what_was_written_is_read(lines in proptest::collection::vec("[a-z {}\":é]{0,9}", 1..4)) {
        let stream: String = lines.iter().map(|line| format!("data: {line}\r\n")).collect();
        prop_assert_eq!(parse(&[stream.as_bytes(), b"\r\n"]).unwrap(), [lines.join("\n")]);
    }
}

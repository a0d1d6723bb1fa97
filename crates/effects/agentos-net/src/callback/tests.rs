//! Tests of the page to which a browser returns.

use std::time::Duration;

use agentos_testkit::http::send_bytes;
use proptest::prelude::*;

use super::*;

const LONG: Duration = Duration::from_secs(60);

fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n")
}

fn read(head: &str) -> Result<CallbackAnswer, CallbackRefusal> {
    read_callback(head.as_bytes(), 7, &Secret::new("right"))
}

#[test]
fn only_the_answer_of_this_sign_in_counts() {
    let refused = [
        ("/", CallbackRefusal::OtherPath),
        ("/callback/", CallbackRefusal::OtherPath),
        ("/favicon.ico", CallbackRefusal::OtherPath),
        (
            "http://127.0.0.1:7/callback?code=c&state=right",
            CallbackRefusal::OtherPath,
        ),
        ("/callback", CallbackRefusal::OtherState),
        ("/callback?code=c", CallbackRefusal::OtherState),
        ("/callback?code=c&state=wrong", CallbackRefusal::OtherState),
        ("/callback?code=c&state=right%20", CallbackRefusal::OtherState),
        (
            "/callback?code=c&state=right&state=right",
            CallbackRefusal::Malformed,
        ),
        ("/callback?code=c&code=d&state=right", CallbackRefusal::Malformed),
        ("/callback?state=right", CallbackRefusal::Malformed),
        ("/callback?code=c&error=e&state=right", CallbackRefusal::Malformed),
    ];
    for (target, refusal) in refused {
        assert_eq!(read(&request(target)).unwrap_err(), refusal, "{target}");
    }
    let heads = [
        (
            "GET /callback?code=c&state=right HTTP/1.1\r\n\r\n",
            CallbackRefusal::OtherHost,
        ),
        (
            "GET /callback?code=c&state=right HTTP/1.1\r\nHost: evil.example:7\r\n\r\n",
            CallbackRefusal::OtherHost,
        ),
        (
            "GET /callback?code=c&state=right HTTP/1.1\r\nHost: 127.0.0.1:8\r\n\r\n",
            CallbackRefusal::OtherHost,
        ),
        (
            "POST /callback?code=c&state=right HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
            CallbackRefusal::OtherMethod,
        ),
        (
            "GET /callback?code=c&state=right\r\nHost: 127.0.0.1:7\r\n\r\n",
            CallbackRefusal::Malformed,
        ),
        (
            "GET /callback?code=c&state=right HTTP/1.1\r\nHost: 127.0.0.1:7\r\n",
            CallbackRefusal::Malformed,
        ),
        ("", CallbackRefusal::Malformed),
    ];
    for (head, refusal) in heads {
        assert_eq!(read(head).unwrap_err(), refusal, "{head}");
    }
    let read_well = read(&request(
        "/callback?state=right&code=a%2Bb&iss=https%3A%2F%2Fas.example&x=1",
    ))
    .unwrap();
    assert_eq!(read_well.code.unwrap().expose(), "a+b");
    assert_eq!(read_well.issuer.as_deref(), Some("https://as.example"));
    let denied = read(&request(
        "/callback?state=right&error=access_denied&error_description=No+way",
    ))
    .unwrap();
    assert_eq!(denied.error.as_deref(), Some("access_denied"));
    assert_eq!(denied.reason.as_deref(), Some("No way"));
}

#[tokio::test]
async fn wrong_requests_are_refused_and_the_right_one_closes_the_port() {
    let listener = CallbackListener::open().await.unwrap();
    let address = listener.address();
    let place = address
        .strip_prefix("http://")
        .unwrap()
        .strip_suffix(PATH)
        .unwrap()
        .to_owned();
    let asked = place.clone();
    let browser = tokio::task::spawn_blocking(move || {
        // A connection that a browser opens ahead, and on which it sends nothing.
        let ahead = agentos_testkit::http::begin_request(&asked, b"").unwrap();
        let send = |target: &str| {
            let text = format!("GET {target} HTTP/1.1\r\nHost: {asked}\r\n\r\n");
            send_bytes(&asked, text.as_bytes()).unwrap()
        };
        let statuses = [
            send("/callback?code=c&state=other").status,
            send("/").status,
            send_bytes(&asked, &vec![b'a'; LARGEST_HEAD + 5000]).map_or(0, |answer| answer.status),
        ];
        let last = send("/callback?code=good&state=right");
        drop(ahead);
        (statuses, last)
    });
    let callback = listener.receive(&Secret::new("right"), LONG).await.unwrap();
    let (statuses, last) = browser.await.unwrap();
    assert_eq!(callback.code.unwrap().expose(), "good");
    assert_eq!(statuses[..2], [403, 404]);
    // Nobody may send that much: the connection is answered, or reset while it still sends.
    assert!(matches!(statuses[2], 0 | 400), "{statuses:?}");
    assert_eq!(last.status, 200);
    assert!(!last.body.contains("good"), "{}", last.body);
    assert!(send_bytes(&place, b"GET / HTTP/1.1\r\n\r\n").is_err());
}

#[tokio::test]
async fn a_browser_that_does_not_return_ends_the_wait() {
    let listener = CallbackListener::open().await.unwrap();
    let waited = listener.receive(&Secret::new("right"), Duration::ZERO).await;
    assert!(matches!(waited, Err(CallbackError::Silent(_))));
}

proptest! {
    #[test]
    fn no_request_without_the_state_counts(head in ".*", query in "[a-z0-9=&%+]*") {
        prop_assert!(read(&head).is_err());
        if !query.contains("right") {
            let target = format!("/callback?{query}");
            prop_assert!(read(&request(&target)).is_err());
        }
    }
}

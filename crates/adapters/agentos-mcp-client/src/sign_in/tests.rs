//! Signing in at a server on loopback, and every way in which such a server can misbehave.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentos_net::{Auth, CallbackListener};
use agentos_testkit::server::{Recorded, Reply, head};
use agentos_testkit::sign_in::{SignInReply, SignInServer, open_as_browser};
use serde_json::json;

use super::*;
use crate::{HttpServer, McpConnection, McpError, ServerAuth};

const LONG: Duration = Duration::from_secs(60);

/// Store in memory, with a clock that the test sets.
#[derive(Default)]
struct MemoryStore {
    entry: Mutex<Option<Secret>>,
    now: AtomicU64,
    is_full: AtomicBool,
}

impl GrantStore for MemoryStore {
    fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn lock(&self) -> Result<Box<dyn Send>, StoreFault> {
        Ok(Box::new(()))
    }

    fn load(&self) -> Result<Option<Secret>, StoreFault> {
        Ok(self.entry.lock().unwrap().clone())
    }

    fn save(&self, entry: &Secret) -> Result<(), StoreFault> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err("the disk is full".into());
        }
        *self.entry.lock().unwrap() = Some(entry.clone());
        Ok(())
    }
}

fn start(twist: impl Fn(&Recorded, &mut SignInReply) + Send + Sync + 'static) -> SignInServer {
    SignInServer::start(twist).unwrap()
}

/// Signs in as a user does whose browser agrees to everything.
async fn sign_in(server: &SignInServer, choices: SignInChoices) -> Result<Grant, SignInError> {
    let http = make_sign_in_client().unwrap();
    let url = HttpUrl::parse(&server.url()).unwrap();
    let offer = SignInOffer::discover(&http, &url).await?;
    let listener = CallbackListener::open().await.unwrap();
    let pending = offer.begin(&http, choices, listener.address()).await?;
    let address = pending.address().expose().to_owned();
    let browser = tokio::task::spawn_blocking(move || open_as_browser(&address).unwrap());
    let callback = listener.receive(pending.state(), LONG).await.unwrap();
    assert_eq!(browser.await.unwrap().status, 200);
    pending.finish(callback, 1000).await
}

/// Signs in, and returns the server of tools with its store.
async fn signed_in(server: &SignInServer) -> (HttpServer, Arc<MemoryStore>, Arc<TokenKeeper>) {
    let grant = sign_in(server, SignInChoices::default()).await.unwrap();
    let store = Arc::new(MemoryStore::default());
    store.now.store(1000, Ordering::SeqCst);
    store.save(&grant.to_entry()).unwrap();
    let url = HttpUrl::parse(&server.url()).unwrap();
    let client = make_sign_in_client().unwrap();
    let keeper = Arc::new(TokenKeeper::new(
        url.clone(),
        client.clone(),
        Arc::clone(&store) as Arc<dyn GrantStore>,
    ));
    let auth = ServerAuth::SignIn(Arc::clone(&keeper));
    (HttpServer { url, auth, client }, store, keeper)
}

fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

#[tokio::test]
async fn a_user_signs_in_and_the_tools_are_called() {
    let server = start(|_, _| {});
    let (address, _, _) = signed_in(&server).await;
    let connection = McpConnection::open_http(&address).await.unwrap();
    assert_eq!(connection.list_tools().await.unwrap().len(), 1);
    let result = connection
        .call_tool("roll", serde_json::Map::new())
        .await
        .unwrap();
    assert_eq!(result.text, "four");
    let forms = server.token_forms();
    let names: Vec<&str> = forms[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "grant_type",
            "code",
            "redirect_uri",
            "code_verifier",
            "resource",
            "client_id"
        ]
    );
    assert!(forms[0].contains(&("resource".to_owned(), server.url())));
    let requests = server.requests();
    let asked = requests
        .iter()
        .find(|request| request.path.starts_with("/authorize?"))
        .unwrap();
    assert!(asked.path.contains("&scope=tools"), "{}", asked.path);
    // No token is in an address, and none is sent to any page but that of the tools.
    for request in &requests {
        assert!(!request.path.contains("token-secret"), "{}", request.path);
        assert!(request.path == "/mcp" || request.header("authorization").is_none());
    }
}

#[tokio::test]
async fn a_client_of_the_profile_is_not_registered() {
    let server = start(|request, reply| {
        if request.path == "/.well-known/oauth-authorization-server" {
            reply.body["registration_endpoint"] = serde_json::Value::Null;
        }
    });
    let error = sign_in(&server, SignInChoices::default()).await.unwrap_err();
    assert!(matches!(error, SignInError::NoClient), "{error}");
    let choices = SignInChoices {
        client_id: Some("mine".to_owned()),
        scopes: vec!["one".to_owned(), "two".to_owned()],
    };
    sign_in(&server, choices).await.unwrap();
    assert!(server.token_forms()[0].contains(&("client_id".to_owned(), "mine".to_owned())));
    let asked = server.requests();
    let asked = asked
        .iter()
        .find(|request| request.path.starts_with("/authorize?"))
        .unwrap();
    assert!(asked.path.contains("&scope=one+two"), "{}", asked.path);
}

/// Every document of a hostile server, and the error that names it.
#[tokio::test]
async fn a_hostile_server_gets_no_sign_in() {
    type Twist = fn(&mut SignInReply);
    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const AUTHORIZATION: &str = "/.well-known/oauth-authorization-server";
    fn redirect(reply: &mut SignInReply) {
        reply.status = 302;
        reply
            .headers
            .push(("location", "https://evil.example/".to_owned()));
    }
    fn flood(reply: &mut SignInReply) {
        let start = head(200, &[("content-type", "application/json")], None);
        reply.raw = Some(Reply::Flood(start, vec![b' '; 4096]));
    }
    let corpus: Vec<(&str, Twist, &str)> = vec![
        (
            "/mcp",
            redirect,
            "asking the server failed: the answer is a redirect, which is not followed",
        ),
        (
            "/mcp",
            |reply| {
                reply.headers = vec![(
                    "www-authenticate",
                    "Bearer resource_metadata=\"https://evil.example/x\"".to_owned(),
                )]
            },
            "reading the metadata of the server failed: the metadata is about another server",
        ),
        (
            "/mcp",
            |reply| {
                reply.headers = vec![(
                    "www-authenticate",
                    "Bearer resource_metadata=\"http://evil.example/x\"".to_owned(),
                )]
            },
            "reading the metadata of the server failed: `resource_metadata` is not an address that may be used: it is without https",
        ),
        (
            RESOURCE,
            redirect,
            "reading the metadata of the server failed: the answer is a redirect, which is not followed",
        ),
        (
            RESOURCE,
            flood,
            "reading the metadata of the server failed: the answer of ADDRESS is larger than 262144 bytes",
        ),
        (
            RESOURCE,
            |reply| reply.body["resource"] = json!("https://evil.example/mcp"),
            "reading the metadata of the server failed: the metadata is about another server",
        ),
        (
            RESOURCE,
            |reply| reply.body["authorization_servers"] = json!(["http://evil.example"]),
            "reading the metadata of the server failed: `authorization_servers` is not an address that may be used: it is without https",
        ),
        (
            RESOURCE,
            |reply| reply.body["authorization_servers"] = json!([]),
            "reading the metadata of the server failed: it names no authorization server",
        ),
        (
            RESOURCE,
            |reply| reply.body = json!([1]),
            "reading the metadata of the server failed: the answer is not a JSON object",
        ),
        (
            RESOURCE,
            |reply| reply.status = 500,
            "reading the metadata of the server failed: the answer is HTTP 500",
        ),
        (
            RESOURCE,
            |reply| reply.status = 404,
            "the server answered with HTTP 401, and describes no way to sign in",
        ),
        (
            AUTHORIZATION,
            redirect,
            "reading the metadata of the authorization server failed: the answer is a redirect, which is not followed",
        ),
        (
            AUTHORIZATION,
            |reply| reply.status = 404,
            "reading the metadata of the authorization server failed: it publishes none",
        ),
        (
            AUTHORIZATION,
            |reply| reply.body["issuer"] = json!("https://evil.example"),
            "reading the metadata of the authorization server failed: the answer does not come from the authorization server that was named",
        ),
        (
            AUTHORIZATION,
            |reply| reply.body["token_endpoint"] = json!("http://evil.example/token"),
            "reading the metadata of the authorization server failed: `token_endpoint` is not an address that may be used: it is without https",
        ),
        (
            AUTHORIZATION,
            |reply| reply.body["authorization_endpoint"] = json!("javascript:alert(1)"),
            "reading the metadata of the authorization server failed: `authorization_endpoint` is not an address that may be used: it is no plain http or https address",
        ),
        (
            AUTHORIZATION,
            |reply| reply.body["code_challenge_methods_supported"] = json!(["plain"]),
            "the authorization server does not support PKCE with S256, without which a code could be stolen",
        ),
        (
            "/register",
            redirect,
            "registering a client failed: the answer is a redirect, which is not followed",
        ),
        (
            "/register",
            |reply| {
                reply.status = 400;
                reply.body =
                    json!({ "error": "invalid_client_metadata", "error_description": "no\u{1b}[31m" });
            },
            "registering a client was refused: invalid_client_metadata: no [31m",
        ),
        (
            "/register",
            |reply| reply.body = json!({}),
            "registering a client failed: the answer has no `client_id`",
        ),
        (
            "/token",
            redirect,
            "requesting the tokens failed: the answer is a redirect, which is not followed",
        ),
        (
            "/token",
            flood,
            "requesting the tokens failed: the answer of ADDRESS is larger than 262144 bytes",
        ),
        (
            "/token",
            |reply| reply.body["token_type"] = json!("DPoP"),
            "requesting the tokens failed: the token's type is not `Bearer`",
        ),
        (
            "/token",
            |reply| reply.body["token_type"] = json!(null),
            "requesting the tokens failed: the answer has no `token_type`",
        ),
        (
            "/token",
            |reply| {
                reply.status = 400;
                reply.body = json!({ "error": "invalid_grant", "error_description": "code-secret-0123456789 is used" });
            },
            "requesting the tokens was refused: invalid_grant: *** is used",
        ),
    ];
    for (path, twist, wanted) in corpus {
        let server = start(move |request, reply| {
            if request.path == path {
                twist(reply);
            }
        });
        let error = sign_in(&server, SignInChoices::default()).await.unwrap_err();
        let place = server
            .url()
            .trim_start_matches("http://")
            .trim_end_matches("/mcp")
            .to_owned();
        let words = describe(&error).replace(&format!("`{place}`"), "ADDRESS");
        assert!(words.starts_with(wanted), "{path}: {words}");
        assert!(!format!("{words}{error:?}").contains("secret"), "{error:?}");
    }
}

/// Answers that a browser may bring back although the `state` is right.
#[tokio::test]
async fn an_answer_of_another_authorization_server_is_refused() {
    let server = start(|_, _| {});
    let url = HttpUrl::parse(&server.url()).unwrap();
    let http = make_sign_in_client().unwrap();
    let base = server.url().trim_end_matches("/mcp").to_owned();
    let answer = |issuer: Option<&str>, error: Option<&str>| CallbackAnswer {
        code: error
            .is_none()
            .then(|| Secret::new("stolen-code-of-another-server")),
        error: error.map(str::to_owned),
        reason: Some("Not today.".to_owned()),
        issuer: issuer.map(str::to_owned),
    };
    let other = "signing in with the browser failed: the answer does not come from the authorization server that was named";
    let cases = [
        (answer(Some("https://evil.example"), None), other),
        (answer(Some(&format!("{base}/tenant")), None), other),
        (answer(Some(&format!("{base}/")), None), other),
        (answer(None, None), other),
        (answer(None, Some("access_denied")), other),
        (
            answer(Some(&base), Some("access_denied")),
            "signing in with the browser was refused: access_denied: Not today.",
        ),
        (
            answer(Some(&base), None),
            "requesting the tokens was refused: invalid_grant: The grant is not known.",
        ),
    ];
    for (callback, wanted) in cases {
        let offer = SignInOffer::discover(&http, &url).await.unwrap();
        let redirect = "http://127.0.0.1:1/callback".to_owned();
        let pending = offer
            .begin(&http, SignInChoices::default(), redirect)
            .await
            .unwrap();
        let error = pending.finish(callback, 0).await.unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    // None of the codes that came from elsewhere was sent anywhere; only the last one was.
    assert_eq!(server.token_forms().len(), 1);
}

#[tokio::test]
async fn a_token_is_refreshed_before_its_end_and_the_new_ones_are_stored() {
    let server = start(|_, _| {});
    let (address, store, _) = signed_in(&server).await;
    store.now.store(1000 + 3600 - 30, Ordering::SeqCst);
    let connection = McpConnection::open_http(&address).await.unwrap();
    connection.list_tools().await.unwrap();
    let forms = server.token_forms();
    assert_eq!(forms.len(), 2);
    assert!(forms[1].contains(&("refresh_token".to_owned(), "refresh-token-secret-1".to_owned())));
    assert!(forms[1].contains(&("resource".to_owned(), server.url())));
    let entry = store.load().unwrap().unwrap();
    assert!(entry.expose().contains("refresh-token-secret-2"));
    // Refused in the middle of a connection: refreshed once, and the call succeeds.
    server.expire_token();
    connection
        .call_tool("roll", serde_json::Map::new())
        .await
        .unwrap();
    assert_eq!(server.token_forms().len(), 3);
    assert!(
        store
            .load()
            .unwrap()
            .unwrap()
            .expose()
            .contains("access-token-secret-3")
    );
}

#[tokio::test]
async fn tokens_of_another_process_are_taken() {
    let server = start(|_, _| {});
    let (address, store, keeper) = signed_in(&server).await;
    keeper.find_token(&address.url).await.unwrap();
    // Another process refreshes: this one's refresh token is used up.
    let other = TokenKeeper::new(
        address.url.clone(),
        address.client.clone(),
        Arc::clone(&store) as Arc<dyn GrantStore>,
    );
    let first = keeper.find_token(&address.url).await.unwrap();
    other.replace_token(&address.url, &first).await.unwrap();
    let taken = keeper.replace_token(&address.url, &first).await.unwrap();
    assert_eq!(taken.expose(), "access-token-secret-2");
    assert_eq!(server.token_forms().len(), 2);
}

#[tokio::test]
async fn tokens_that_cannot_be_stored_are_used_and_stored_later() {
    let server = start(|_, _| {});
    let (address, store, keeper) = signed_in(&server).await;
    let first = keeper.find_token(&address.url).await.unwrap();
    store.is_full.store(true, Ordering::SeqCst);
    let second = keeper.replace_token(&address.url, &first).await.unwrap();
    assert_eq!(second.expose(), "access-token-secret-2");
    assert_eq!(
        keeper.find_token(&address.url).await.unwrap().expose(),
        second.expose()
    );
    store.is_full.store(false, Ordering::SeqCst);
    let third = keeper.replace_token(&address.url, &second).await.unwrap();
    assert_eq!(third.expose(), "access-token-secret-3");
    let entry = store.load().unwrap().unwrap();
    assert!(entry.expose().contains("refresh-token-secret-3"));
}

#[tokio::test]
async fn a_refresh_that_nobody_waits_for_any_more_is_finished() {
    let server = start(|_, _| {});
    let (address, store, keeper) = signed_in(&server).await;
    let first = keeper.find_token(&address.url).await.unwrap();
    tokio::select! {
        biased;
        _ = keeper.replace_token(&address.url, &first) => panic!("a refresh takes more than one step"),
        () = tokio::task::yield_now() => {}
    }
    let second = keeper.replace_token(&address.url, &first).await.unwrap();
    assert_eq!(second.expose(), "access-token-secret-2");
    assert_eq!(server.token_forms().len(), 2, "the sign-in and one refresh");
    let entry = store.load().unwrap().unwrap();
    assert!(entry.expose().contains("refresh-token-secret-2"));
}

#[tokio::test]
async fn a_sign_in_that_has_ended_is_named() {
    let server = start(|_, _| {});
    let (address, store, keeper) = signed_in(&server).await;
    let connection = McpConnection::open_http(&address).await.unwrap();
    server.revoke_sign_in();
    let error = connection
        .call_tool("roll", serde_json::Map::new())
        .await
        .unwrap_err();
    assert_eq!(
        describe(&error),
        "the sign-in has ended: refreshing the tokens was refused: invalid_grant: The grant is not known."
    );
    let McpError::SignIn(reason) = McpConnection::open_http(&address).await.err().unwrap() else {
        panic!("the reason is lost");
    };
    assert!(reason.needs_sign_in());
    // Removed, and at another address.
    let other = HttpUrl::parse("http://127.0.0.1:1/mcp").unwrap();
    assert!(matches!(
        *keeper.find_token(&other).await.unwrap_err(),
        SignInError::OtherServer
    ));
    *store.entry.lock().unwrap() = None;
    let error = keeper.find_token(&address.url).await.unwrap_err();
    assert!(matches!(*error, SignInError::NotSignedIn), "{error}");
}

#[tokio::test]
async fn a_refresh_that_fails_for_now_does_not_end_the_sign_in() {
    let server = start(|request, reply| {
        if request.path == "/token" && request.body.starts_with(b"grant_type=refresh_token") {
            reply.status = 503;
            reply.body = json!({});
        }
    });
    let (address, store, keeper) = signed_in(&server).await;
    let token = keeper.find_token(&address.url).await.unwrap();
    let error = keeper.replace_token(&address.url, &token).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "refreshing the tokens failed: the answer is HTTP 503"
    );
    assert!(!error.needs_sign_in() && error.source().is_none());
    assert!(
        store
            .load()
            .unwrap()
            .unwrap()
            .expose()
            .contains("refresh-token-secret-1")
    );
}

#[tokio::test]
async fn a_server_that_was_sent_nothing_says_what_it_wants() {
    let server = start(|_, _| {});
    let url = HttpUrl::parse(&server.url()).unwrap();
    let auth = ServerAuth::Fixed(Auth::None);
    let client = make_sign_in_client().unwrap();
    let error = McpConnection::open_http(&HttpServer { url, auth, client })
        .await
        .err()
        .unwrap();
    assert!(matches!(error, McpError::Unauthorized(_)), "{error:?}");
    let plain = HttpUrl::parse("http://192.0.2.1/mcp").unwrap();
    let refused = SignInOffer::discover(&make_sign_in_client().unwrap(), &plain).await;
    assert!(matches!(refused, Err(SignInError::PlainServer)));
}

//! Signing in at the suite's authorization servers (OAuth), with a browser that agrees to everything.
//!
//! Owns: the browser, and which code signs in: the product's own, except where a scenario needs what the product refuses. Never: in a
//! product.
//!
//! | scenario | code |
//! |---|---|
//! | most | the product's, as `agentos tool auth sign-in` runs it |
//! | the addresses of 2025-03-26, which no metadata names; a client with a secret; another authorization server | `rmcp`'s |

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use agentos_mcp_client::{
    GrantStore, McpConnection, McpError, NetWire, RefusingClient, ServerAuth, SignInChoices, SignInOffer,
    StoreFault, TokenKeeper, make_sign_in_client,
};
use agentos_net::{Auth, CallbackAnswer, HttpClient, HttpUrl};
use agentos_tool::Secret;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use rmcp::transport::auth::{
    AuthClient, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, InMemoryCredentialStore,
    OAuthState,
};

use super::{ScenarioError, SuiteOrder, list_versions};

/// Address of a document about the client, which the suite's servers accept without reading it.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Address to which a browser is sent after signing in. Nobody listens there.
const RETURN_ADDRESS: &str = "http://localhost:3000/callback";

/// Signs in with the product's code, and returns a wire that sends the token.
pub(super) async fn sign_in_as_product(
    order: &SuiteOrder,
    scopes: &[String],
) -> Result<NetWire, ScenarioError> {
    let http = make_sign_in_client()?;
    let server = HttpUrl::parse(&order.url)?;
    let offer = SignInOffer::discover(&http, &server).await?;
    let choices = SignInChoices {
        // As a user does who has published such a document, and names it in the profile.
        client_id: (order.scenario == "auth/basic-cimd").then(|| CLIENT_DOCUMENT.to_owned()),
        scopes: scopes.to_vec(),
    };
    let pending = offer.begin(&http, choices, RETURN_ADDRESS.to_owned()).await?;
    let back = agree_in_browser(pending.address().expose()).await?;
    if back.csrf_token != pending.state().expose() {
        return Err("the answer has another `state`".into());
    }
    let callback = CallbackAnswer {
        code: Some(Secret::new(&back.code)),
        issuer: back.issuer,
        ..CallbackAnswer::default()
    };
    let grant = pending.finish(callback, 0).await?;
    let keeper = TokenKeeper::new(server, http.clone(), Arc::new(FixedGrant(grant.to_entry())));
    Ok(NetWire::with_auth(http, ServerAuth::SignIn(Arc::new(keeper))))
}

/// Store of one sign-in, whose time stands still.
struct FixedGrant(Secret);

impl GrantStore for FixedGrant {
    fn now(&self) -> u64 {
        0
    }

    fn lock(&self) -> Result<Box<dyn Send>, StoreFault> {
        Ok(Box::new(()))
    }

    fn load(&self) -> Result<Option<Secret>, StoreFault> {
        Ok(Some(self.0.clone()))
    }

    fn save(&self, _entry: &Secret) -> Result<(), StoreFault> {
        Err("no scenario refreshes a token".into())
    }
}

/// Signing in with `rmcp`'s code.
pub(super) struct SignIn;

impl SignIn {
    /// Signs in, and returns a wire that sends the token. `challenge` is that of a refusal; without one, the server is asked first.
    pub(super) async fn run(
        order: &SuiteOrder,
        wire: NetWire,
        challenge: Option<String>,
        scopes: &[String],
    ) -> Result<AuthClient<NetWire>, ScenarioError> {
        let challenge = match challenge {
            Some(challenge) => Some(challenge),
            None => ask_challenge(order, wire.clone()).await?,
        };
        let mut state = OAuthState::new(&order.url, None).await?;
        let request = AuthorizationRequest::new(RETURN_ADDRESS);
        let request = match scopes {
            [] => request,
            _ => request.with_scopes(scopes.iter().cloned()),
        };
        let request = match (order.text("client_id"), order.text("client_secret")) {
            (Some(id), Some(secret)) => request.with_preregistered_client(id).with_client_secret(secret),
            (_, _) => request
                .with_client_name("suite")
                .with_client_metadata_url(CLIENT_DOCUMENT),
        };
        let request = match challenge {
            Some(challenge) => request.with_challenge(challenge),
            None => request,
        };
        state.start_authorization(request).await?;
        let back = agree_in_browser(&state.get_authorization_url().await?).await?;
        state
            .handle_callback_with_issuer(&back.code, &back.csrf_token, back.issuer.as_deref())
            .await?;
        let manager = state.into_authorization_manager();
        Ok(AuthClient::new(wire, manager.ok_or("nobody is signed in")?))
    }
}

/// Connects without a token. Returns the server's challenge, or `None` if it accepts that.
async fn ask_challenge(order: &SuiteOrder, wire: NetWire) -> Result<Option<String>, ScenarioError> {
    let begin = match order.scenario.as_str() {
        "auth/scope-step-up" | "auth/scope-retry-limit" | "auth/pre-registration" => order.begin(),
        _ => ClientLifecycleMode::Discover {
            preferred_versions: list_versions(order),
        },
    };
    match McpConnection::open_wire(RefusingClient::default(), wire, &order.url, begin).await {
        Ok(connection) => {
            connection.close().await;
            Ok(None)
        }
        Err(error) => match find_challenge(&error) {
            Some(challenge) => Ok(Some(challenge)),
            None => Err(error.into()),
        },
    }
}

/// Finds the challenge in the causes of an error. `None` if it has another reason.
pub(super) fn find_challenge(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(McpError::Handshake(error)) = error.downcast_ref() {
        let error: &ClientInitializeError = error;
        if let Some(challenge) = error.auth_challenge() {
            return Some(challenge.to_owned());
        }
    }
    let mut cause = Some(error);
    while let Some(error) = cause {
        // Errors of a transport are boxed, so their words are all that is left: "insufficient scope: Bearer ...".
        let words = error.to_string();
        let found = words
            .split_once("insufficient scope: ")
            .or_else(|| words.split_once("authorization required: "));
        if let Some((_, challenge)) = found {
            return Some(challenge.to_owned());
        }
        cause = error.source();
    }
    None
}

/// Lists the scopes that a challenge names.
pub(super) fn list_scopes(challenge: &str) -> Vec<String> {
    let quoted = challenge.split_once("scope=\"").map_or("", |(_, rest)| rest);
    let scopes = quoted.split('"').next().unwrap_or_default();
    scopes.split_whitespace().map(str::to_owned).collect()
}

/// Opens an address as a browser, and returns what the server sends back with its redirect.
async fn agree_in_browser(address: &str) -> Result<AuthorizationCallback, ScenarioError> {
    // By hand, because the address has a query, and the product's client refuses those in addresses that it did not make.
    let rest = address
        .strip_prefix("http://")
        .ok_or("the suite's servers use plain HTTP")?;
    let (server, path) = rest.split_once('/').ok_or("the address has no path")?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    let server = server.to_owned();
    let answer = tokio::task::spawn_blocking(move || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    });
    let answer = answer.await??;
    let answer = String::from_utf8_lossy(&answer);
    let location = answer
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let (_, location) = location.ok_or("the answer is no redirect")?;
    Ok(AuthorizationCallback::from_redirect_url(location.trim())?)
}

/// Tokens of a server whose authorization server changes.
pub(super) struct MovingTokens<'a> {
    order: &'a SuiteOrder,
    store: InMemoryCredentialStore,
}

impl<'a> MovingTokens<'a> {
    pub(super) fn new(order: &'a SuiteOrder) -> Self {
        Self {
            order,
            store: InMemoryCredentialStore::new(),
        }
    }

    /// Returns a token of the authorization server of now.
    pub(super) async fn next_token(&mut self, client: &HttpClient) -> Result<String, ScenarioError> {
        let mut manager = AuthorizationManager::new(&self.order.url).await?;
        manager.set_credential_store(self.store.clone());
        if manager.initialize_from_store().await? {
            return Ok(manager.get_access_token().await?);
        }
        let challenge = ask_challenge(self.order, NetWire::new(client.clone(), Auth::None)).await?;
        let found = manager
            .resolve_metadata_from_challenge(challenge.as_deref())
            .await?;
        manager.set_metadata(found.metadata);
        manager.register_client("suite", RETURN_ADDRESS, &[]).await?;
        let scopes = manager.select_scopes(None, &[]);
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let back = agree_in_browser(&manager.get_authorization_url(&scopes).await?).await?;
        manager
            .exchange_code_for_token_with_issuer(&back.code, &back.csrf_token, back.issuer.as_deref())
            .await?;
        Ok(manager.get_access_token().await?)
    }
}

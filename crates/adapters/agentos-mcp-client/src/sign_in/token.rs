//! Requests to the token endpoint (RFC 6749, sections 4.1.3 and 6), and its answers.
//!
//! Owns: what an answer must contain. Never: repeats an answer in an error.

use agentos_net::{Auth, HttpClient, HttpUrl, Request};
use agentos_tool::Secret;
use serde_json::Value;

use super::client::OAuthClient;
use super::discover::{read_json, send};
use super::error::{SignInError, SignInStep, read_refusal};
use super::metadata::require_text;

/// Longest token, in bytes. Signed tokens are several kilobytes long.
const LONGEST_TOKEN: usize = 16 << 10;

/// Tokens of a sign-in.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    /// Token that the server is sent.
    pub(crate) access: Secret,
    /// Token with which new ones are requested. `None` if the user must sign in again.
    pub(crate) refresh: Option<Secret>,
    /// Seconds for which the access token is accepted. `None` if the server does not say.
    pub(crate) expires_in: Option<u64>,
}

/// Requests tokens with the fields of a form.
pub(super) async fn request_tokens(
    http: &HttpClient,
    endpoint: &HttpUrl,
    client: &OAuthClient,
    mut form: Vec<(&'static str, Secret)>,
    step: SignInStep,
) -> Result<Tokens, SignInError> {
    let auth = client.prove(&mut form);
    let sent = list_secrets(&form, client, &auth);
    let mut request = Request::post_form(endpoint.clone(), auth, form);
    request.headers = vec![("accept", "application/json".to_owned())];
    let answer = send(http, &request, step).await?;
    match answer.status {
        200 => read_tokens(&read_json(&answer, step)?, step),
        _ => Err(read_refusal(&answer, step, &sent)),
    }
}

/// Fields of a form that are secrets.
const SECRET_FIELDS: [&str; 4] = ["client_secret", "code", "code_verifier", "refresh_token"];

/// Lists the secrets of a request. Servers repeat them in their reasons.
fn list_secrets(form: &[(&'static str, Secret)], client: &OAuthClient, auth: &Auth) -> Vec<Secret> {
    let fields = form.iter().filter(|(name, _)| SECRET_FIELDS.contains(name));
    let mut secrets: Vec<Secret> = fields.map(|(_, value)| value.clone()).collect();
    secrets.extend(client.proof.iter().map(|(_, secret)| secret.clone()));
    if let Auth::Header(_, value) = auth {
        let (_, pair) = value.expose().split_once(' ').unwrap_or_default();
        secrets.extend([value.clone(), Secret::new(pair)]);
    }
    secrets
}

/// Reads the answer of the token endpoint.
pub(super) fn read_tokens(document: &Value, step: SignInStep) -> Result<Tokens, SignInError> {
    let kind = require_text(step, document, "token_type")?;
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(SignInError::document(step, "the token's type is not `Bearer`"));
    }
    let access = read_token(require_text(step, document, "access_token")?, step)?;
    let refresh = document.get("refresh_token").and_then(Value::as_str);
    Ok(Tokens {
        access,
        refresh: refresh.map(|token| read_token(token, step)).transpose()?,
        expires_in: document.get("expires_in").and_then(Value::as_u64),
    })
}

/// Reads a token. It must fit a header, which carries visible ASCII only (RFC 9110, section 5.5).
fn read_token(text: &str, step: SignInStep) -> Result<Secret, SignInError> {
    let fits = (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match fits {
        true => Ok(Secret::new(text)),
        false => Err(SignInError::document(
            step,
            "a token has characters that cannot be sent, or is too long",
        )),
    }
}

#[cfg(test)]
mod tests {
    use agentos_net::Response;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_bearer_token_that_fits_a_header_is_taken() {
        let read = |document: Value| read_tokens(&document, SignInStep::Exchange);
        let tokens = read(
            json!({ "access_token": "a", "token_type": "bearer", "expires_in": 60, "refresh_token": "r" }),
        );
        let tokens = tokens.unwrap();
        assert_eq!((tokens.access.expose(), tokens.expires_in), ("a", Some(60)));
        assert_eq!(tokens.refresh.unwrap().expose(), "r");
        let refused = [
            json!({ "access_token": "secret" }),
            json!({ "access_token": "secret", "token_type": "DPoP" }),
            json!({ "access_token": "secret", "token_type": "mac" }),
            json!({ "access_token": "", "token_type": "Bearer" }),
            json!({ "access_token": "secret\r\nx: y", "token_type": "Bearer" }),
            json!({ "access_token": "s".repeat(LONGEST_TOKEN + 1), "token_type": "Bearer" }),
            json!({ "access_token": "secret", "token_type": "Bearer", "refresh_token": "a b" }),
            json!({ "token_type": "Bearer" }),
            json!({ "access_token": 1, "token_type": "Bearer" }),
        ];
        for document in refused {
            let error = read(document.clone()).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_refusal_repeats_no_secret_however_long_or_short() {
        let token = "t".repeat(2000);
        let client = OAuthClient {
            id: "id".to_owned(),
            proof: Some((super::super::client::ProofWay::Header, Secret::new("s3cr3t"))),
        };
        let mut form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", Secret::new(&token)),
            ("code", Secret::new("c0de")),
        ];
        let auth = client.prove(&mut form);
        let sent = list_secrets(&form, &client, &auth);
        let Auth::Header(_, header) = &auth else {
            panic!("the proof is a header");
        };
        let reason = format!("bad {token} with c0de, s3cr3t and {}", header.expose());
        let body = json!({ "error": "invalid_grant", "error_description": reason }).to_string();
        let answer = Response {
            status: 400,
            content_type: None,
            retry_after: None,
            body: body.into_bytes(),
        };
        let error = read_refusal(&answer, SignInStep::Refresh, &sent).to_string();
        assert_eq!(
            error,
            "refreshing the tokens was refused: invalid_grant: bad *** with ***, *** and ***"
        );
    }
}

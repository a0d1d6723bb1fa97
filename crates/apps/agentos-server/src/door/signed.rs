//! Forms of a person's other device: each has a signature over what it says.
//!
//! Owns: which forms need no such signature, and the check. Never: trusts a form of a device because of its cookie, which the tunnel or
//! the proxy that delivers the page can read.
//!
//! | form of a device | what it needs |
//! |---|---|
//! | an approval | a signature over the change and what was shown, which its handler checks |
//! | asking to be paired, signing this browser out | the cookie and the secret of the form |
//! | any other | a signature over the session, a challenge that counts once, the path and the members of the form |

use agentos_host::{ActionStatement, device_key};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use sha2::{Digest as _, Sha256};

use crate::desk::{Lane, SharedDesk};
use crate::fault::RequestFault;
use crate::page::{SentForm, SignedIn};
use crate::timed_body::LARGEST_BODY;

/// Largest form for signing in, which anybody can send.
const LARGEST_SIGN_IN: usize = 4 << 10;
/// Members that are no part of what is signed.
const PROOF: [&str; 3] = ["device_key", "signature", "challenge"];

/// Reads the form of a browser that signs in. Returns it with its bytes, which its handler reads again.
///
/// # Errors
/// If it is too large, or breaks off.
pub async fn read_sign_in(body: Body) -> Result<(Bytes, SentForm), RequestFault> {
    let bytes = to_bytes(body, LARGEST_SIGN_IN).await.map_err(|_| broken())?;
    let form = SentForm::parse(&bytes);
    Ok((bytes, form))
}

/// Requires the signature of a device in a form that it sends. Returns the body again.
///
/// # Errors
/// If there is no signature, or it is of something else.
pub async fn require_signature(
    desk: &SharedDesk,
    session: &SignedIn,
    path: &str,
    body: Body,
) -> Result<Body, RequestFault> {
    let bytes = to_bytes(body, LARGEST_BODY).await.map_err(|_| broken())?;
    let form = SentForm::parse(&bytes);
    if needs_none(path, &form) {
        return Ok(Body::from(bytes));
    }
    let text = |name: &str| form.text(name).to_owned();
    let (key, signature, challenge) = (text("device_key"), text("signature"), text("challenge"));
    if key.is_empty() || signature.is_empty() {
        let what = "another device does only what it signs; pair it first, and keep scripts on";
        return Err(RequestFault::new(StatusCode::FORBIDDEN, "unsigned-action", what));
    }
    // Used up before the signature is checked: a relay gets one try for each page.
    if !desk.access.use_challenge(&session.cookie, &challenge) {
        let what = "this page was used already; load it again";
        return Err(RequestFault::new(StatusCode::CONFLICT, "unsigned-action", what));
    }
    let (session, path) = (session.id.clone(), path.to_owned());
    let (key, body_sha256) = (device_key(&key).unwrap_or_default(), hash_members(&form));
    desk.call_in(Lane::Consent, move |desk| {
        let statement = ActionStatement {
            session: &session,
            challenge: &challenge,
            path: &path,
            body_sha256: &body_sha256,
        };
        desk.host.runs().check_action(statement, &key, &signature)
    })
    .await?;
    Ok(Body::from(bytes))
}

/// Returns true if a form needs no signature of this kind.
fn needs_none(path: &str, form: &SentForm) -> bool {
    let is_approval = path
        .strip_prefix("/requests/")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, verb)| verb == "approve");
    is_approval || path == "/devices/ask" || (path == "/signout" && form.text("all").is_empty())
}

/// Returns the SHA-256 of a form's members in their order, in the form in which browsers send them, as `device.js` computes it.
fn hash_members(form: &SentForm) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    let members = form
        .members()
        .iter()
        .filter(|(name, _)| !PROOF.contains(&name.as_str()));
    text.extend_pairs(members);
    let digest = Sha256::digest(text.finish().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn broken() -> RequestFault {
    RequestFault::new(
        StatusCode::BAD_REQUEST,
        "usage",
        "the form is too large, or broke off",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_but_three_needs_a_signature() {
        for (path, body, free) in [
            ("/requests/r/approve", "", true),
            ("/devices/ask", "", true),
            ("/signout", "", true),
            ("/signout", "all=yes", false),
            ("/requests/r/deny", "", false),
            ("/requests/approve", "", false),
            ("/runs/r/undo", "", false),
            ("/propose", "", false),
            ("/sessions", "", false),
            ("/evidence/export", "", false),
            ("/devices/revoke", "", false),
            ("/x/requests/r/approve", "", false),
        ] {
            assert_eq!(
                needs_none(path, &SentForm::parse(body.as_bytes())),
                free,
                "{path} {body}"
            );
        }
    }

    #[test]
    fn what_is_signed_is_what_the_form_says() {
        let hash = |body: &str| hash_members(&SentForm::parse(body.as_bytes()));
        let own = hash("form=a&comment=no+%C3%A9*%0D%0Ax");
        // `new URLSearchParams([["form", "a"], ["comment", "no é*\nx"]])` in Node, hashed.
        insta::assert_snapshot!(own, @"c0e6ee008615826c1a9b8810ac8565af4f7e049e8050f6f78b74055284fd6d02");
        assert_eq!(
            own,
            hash("form=a&comment=no%20%C3%A9%2A%0Ax&signature=s&device_key=k&challenge=c")
        );
        for other in [
            "form=a&comment=no",
            "comment=no+%C3%A9*%0Ax&form=a",
            "form=b&comment=no+%C3%A9*%0Ax",
            "",
        ] {
            assert_ne!(own, hash(other), "{other}");
        }
    }
}

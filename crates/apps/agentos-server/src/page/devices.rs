//! Devices and sessions on the page: paired, listed and revoked.
//!
//! Owns: these pages, and what an approval of a device must have. Never: pairs a device that no person has confirmed elsewhere.
//!
//! | step | where |
//! |---|---|
//! | "Add a device" makes a link, also as a QR code | the first browser |
//! | the link signs the other browser in, at an address of the user's settings; it makes a key that cannot be exported, and asks to be paired | the other device |
//! | each end computes a code from the key and both contributions as it knows them itself, and shows it | both |
//! | a person compares and confirms | the first browser |
//! | an approval is signed over the hashes and over what was shown, any other action over its form | the other device |
//!
//! A relay between the two ends cannot pair a key of its own unnoticed, and cannot act with the cookie that it sees. Whoever delivers the page
//! to the device is trusted with what the page shows: it can show another change than the one that is signed.

use agentos_host::{
    ApprovalHashes, ChangeReview, ConsentProof, DeviceApproval, EffectError, PairingFacts, device_key,
    pairing_code,
};
use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use qrcode::QrCode;
use qrcode::render::svg;

use super::forms::SentForm;
use super::views::{PageFrame, render, show_time};
use super::{PageAnswer, Person, SignedIn, lead_to, read_frame};
use crate::access::SessionKind;
use crate::desk::{Lane, SharedDesk};
use crate::fault::RequestFault;
use crate::marked_text::mark;

/// Digits of a device's contribution: 256 bits.
const NONCE_DIGITS: usize = 64;

#[derive(Template)]
#[template(path = "devices.html")]
struct DevicesPage {
    frame: PageFrame,
    is_device: bool,
    /// Contribution of the service to the pairing of this browser's device.
    pairing: String,
    /// True if the user has named an address at which a device reaches the service.
    has_address: bool,
    /// SHA-256 of the authority of the service's certificates. Empty if the service has no authority.
    fingerprint: String,
    link: Option<ShownLink>,
    asking: Vec<ShownPairing>,
    devices: Vec<ShownDevice>,
    sessions: Vec<ShownSession>,
}

struct ShownLink {
    address: String,
    picture: String,
}

struct ShownPairing {
    id: String,
    name: String,
    code: String,
    is_own: bool,
}

struct ShownDevice {
    id: String,
    name: String,
    paired: String,
    revoked: String,
}

struct ShownSession {
    id: String,
    began: String,
    is_device: bool,
    is_own: bool,
}

/// `GET /devices`
pub async fn show_devices(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    answer(&desk, &person, None).await
}

async fn answer(desk: &SharedDesk, person: &SignedIn, link: Option<ShownLink>) -> PageAnswer {
    let devices = desk.call(|desk| desk.host.runs().list_devices()).await?;
    let (frame, _) = read_frame(desk, person, "Devices", "devices").await?;
    let own = desk.access.find_session(&person.cookie).map(|session| session.id);
    let pairings = desk.access.list_pairings(&person.cookie).into_iter();
    Ok(render(&DevicesPage {
        frame,
        is_device: person.kind == SessionKind::Device,
        pairing: person.pairing.clone(),
        has_address: !desk.devices.addresses.is_empty(),
        fingerprint: match &desk.devices.authority {
            Some(authority) => authority.fingerprint(),
            None => String::new(),
        },
        link,
        asking: pairings
            .filter_map(|(asked, is_own)| {
                Some(ShownPairing {
                    code: pairing_code(PairingFacts {
                        service: &asked.service,
                        device: &asked.device,
                        key: &asked.key,
                    })?,
                    id: asked.id,
                    name: mark(&asked.name),
                    is_own,
                })
            })
            .collect(),
        devices: devices
            .iter()
            .map(|device| ShownDevice {
                id: mark(&device.id()),
                name: mark(&device.name),
                paired: show_time(device.paired.as_str()),
                revoked: device
                    .revoked
                    .as_ref()
                    .map(|at| show_time(at.as_str()))
                    .unwrap_or_default(),
            })
            .collect(),
        sessions: desk
            .access
            .list_sessions()
            .into_iter()
            .map(|session| ShownSession {
                is_own: own.as_ref() == Some(&session.id),
                began: show_time(&session.began),
                is_device: session.kind == SessionKind::Device,
                id: session.id,
            })
            .collect(),
    }))
}

/// `POST /devices/{action}`
pub async fn change_devices(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(action): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let id = form.text("id").to_owned();
    match action.as_str() {
        // A session of this machine has a name that ends with the service, and its key with it.
        "ask" if person.kind == SessionKind::Usual => {
            let what = "open the link of `Add a device` at an address of devices, and ask there";
            return Err(RequestFault::new(StatusCode::FORBIDDEN, "usual-session", what).into());
        }
        "ask" => ask_pairing(&desk, &person, &form)?,
        // Whatever is confirmed or revoked is so for this user: not by a browser that only signs approvals.
        _ if person.kind == SessionKind::Device => {
            let what = "do this on the machine itself, not on another device";
            return Err(RequestFault::new(StatusCode::FORBIDDEN, "device-session", what).into());
        }
        "link" => {
            let link = make_link(&desk)?;
            return answer(&desk, &person, Some(link)).await;
        }
        "confirm" => {
            let asked = desk.access.take_pairing(&person.cookie, &id).ok_or_else(|| {
                let what = "this device does not ask any more, or it is the one in your hand";
                RequestFault::new(StatusCode::CONFLICT, "no-pairing", what)
            })?;
            desk.call(move |desk| {
                desk.host.runs().add_device(&asked.name, &asked.key)?;
                desk.host.runs().record_devices()
            })
            .await?;
        }
        "refuse" => {
            desk.access.take_pairing(&person.cookie, &id);
        }
        "revoke" => {
            desk.call(move |desk| desk.host.runs().revoke_device(&id)).await?;
            desk.served.end_devices(&desk).await?;
        }
        "end" => desk.access.end_session(&id),
        _ => {
            let what = "there is no such action";
            return Err(RequestFault::new(StatusCode::NOT_FOUND, "not-found", what).into());
        }
    }
    Ok(lead_to("/devices"))
}

fn ask_pairing(desk: &SharedDesk, person: &SignedIn, form: &SentForm) -> Result<(), RequestFault> {
    let bad = |what: &str| RequestFault::new(StatusCode::BAD_REQUEST, "usage", what);
    let key = device_key(form.text("key")).ok_or_else(|| bad("the device sent no Ed25519 key"))?;
    let nonce = form.text("nonce");
    if nonce.len() != NONCE_DIGITS || !nonce.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad("the device sent no contribution of its own"));
    }
    match desk
        .access
        .ask_pairing(&person.cookie, form.text("name"), (&key, nonce))?
    {
        true => Ok(()),
        false => Err(bad("too many devices ask to be paired; answer them first")),
    }
}

/// Makes the link for another device, and its picture.
fn make_link(desk: &SharedDesk) -> Result<ShownLink, RequestFault> {
    let Some(place) = desk.devices.addresses.first() else {
        let what =
            "no address of devices is set: `agentos config set device_addresses http://localhost:7417`";
        return Err(RequestFault::new(StatusCode::CONFLICT, "usage", what));
    };
    let code = desk.access.make_code(SessionKind::Device)?;
    let address = format!("{}/signin#{}", place.origin, code.expose());
    let drawn = QrCode::new(address.as_bytes()).map_err(|error| {
        RequestFault::from(EffectError::from_error(
            agentos_host::Cause::Internal,
            "qr",
            &error,
        ))
    })?;
    // No quiet zone: the page gives it one. Sizes are units of the drawing, and the page scales it.
    let picture = drawn
        .render::<svg::Color<'_>>()
        .quiet_zone(false)
        .module_dimensions(4, 4)
        .build();
    // Without the declaration of XML, which HTML does not know.
    let picture = picture
        .split_once("?>")
        .map_or(picture.as_str(), |(_, svg)| svg)
        .to_owned();
    Ok(ShownLink {
        address: mark(&address),
        picture,
    })
}

/// Lists the parts of what a device signs. Empty if the change cannot land.
pub fn list_parts(review: &ChangeReview) -> Vec<(&'static str, String)> {
    let Some(hashes) = &review.hashes else {
        return Vec::new();
    };
    vec![
        ("request", mark(&review.run)),
        ("diff", mark(&hashes.diff_sha256)),
        ("base", mark(&hashes.base_commit)),
        ("policy", mark(&hashes.policy_sha256)),
        ("ref", mark(&hashes.target_ref)),
        ("writes", mark(&hashes.writes)),
    ]
}

/// Checks the signature of a device in a form that approves. `None` if there is none, and the session needs none.
///
/// # Errors
/// If the signature is wrong, or the session of another device sends none.
pub async fn check_proof(
    desk: &SharedDesk,
    person: &SignedIn,
    form: &SentForm,
    (request, hashes, rendering): (&str, &ApprovalHashes, &str),
) -> Result<Option<ConsentProof>, RequestFault> {
    let (key, signature) = (form.text("device_key"), form.text("signature"));
    if key.is_empty() && signature.is_empty() {
        return match person.kind {
            SessionKind::Usual => Ok(None),
            SessionKind::Device => {
                let what = "this session approves with the key of its device; pair it first";
                Err(RequestFault::new(
                    StatusCode::FORBIDDEN,
                    "unsigned-approval",
                    what,
                ))
            }
        };
    }
    let (key, signature) = (device_key(key).unwrap_or_default(), signature.to_owned());
    let (request, hashes, rendering) = (request.to_owned(), hashes.clone(), rendering.to_owned());
    let check = move |desk: &crate::desk::ServiceDesk| {
        let proof = desk.host.runs().check_approval(DeviceApproval {
            request: &request,
            hashes: &hashes,
            rendering_sha256: &rendering,
            key: &key,
            signature: &signature,
        })?;
        // Before the approval: a tape that names no device of the signature would not verify.
        desk.host.runs().record_devices()?;
        Ok(proof)
    };
    desk.call_in(Lane::Consent, check).await.map(Some)
}

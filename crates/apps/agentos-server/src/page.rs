//! The page: where a person reads what is proposed, and answers.
//!
//! Owns: the handlers of pages and forms. Never: needs a script, shows untrusted text unmarked, or uses an answer for another state
//! than the one that the person saw.
//!
//! | step of an approval | check |
//! |---|---|
//! | the page shows a review, and its form has the SHA-256 of exactly this part of the page | |
//! | the person sends the form | cookie, Origin, type, secret of the form |
//! | the request is reviewed and shown again, without being sent | the SHA-256 is the same, else the page shows what is there now |
//! | the run lands | the executor compares diff, base, policy, branch and kind of landing once more |

pub mod devices;
pub mod evidence;
mod forms;
pub mod models;
pub mod repositories;
mod review;
mod story;
pub mod talk;
mod views;

use agentos_host::{ConsentMode, CostFilter, CostGroup, LogFilter, OpenRequest, Reason, RunWork};
use axum::extract::{Extension, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

pub use self::forms::SentForm;
use self::forms::read_form;
use self::story::RunPage;
use self::views::{
    ClosedPage, CostPage, FaultPage, InboxPage, PageFrame, ProposePage, RequestPage, RunsPage, SignInPage,
    render,
};
use crate::access::{NeedsTls, SessionKind};
use crate::desk::{Lane, PersonConsent, ServiceDesk, SharedDesk};
use crate::facts::COOKIE_NAME;
use crate::fault::RequestFault;
use crate::rest::answer_work;

/// Most runs and sessions of a page.
const MOST_ROWS: usize = 100;

/// Person who is signed in, as the check before the answer found it.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Value of the cookie.
    pub cookie: String,
    /// Name of the session, which is no secret.
    pub id: String,
    /// Secret of the forms.
    pub form: String,
    /// Kind of the session.
    pub kind: SessionKind,
    /// Contribution of the service to the pairing of this browser's device.
    pub pairing: String,
}

type PageAnswer = Result<Response, PageFault>;
type Person = Extension<SignedIn>;

/// Failure for a person.
#[derive(Debug)]
pub struct PageFault(RequestFault);

impl<T: Into<RequestFault>> From<T> for PageFault {
    fn from(fault: T) -> Self {
        Self(fault.into())
    }
}

impl IntoResponse for PageFault {
    fn into_response(self) -> Response {
        let page = FaultPage {
            title: "Not done",
            message: &self.0.error.message,
            hint: self.0.error.hint.as_deref().unwrap_or_default(),
            code: &self.0.error.code,
        };
        let mut response = render(&page);
        *response.status_mut() = self.0.status;
        response
    }
}

/// Reads the frame of a page, with the open requests for its count.
async fn read_frame(
    desk: &SharedDesk,
    person: &SignedIn,
    title: &'static str,
    section: &'static str,
) -> Result<(PageFrame, Vec<OpenRequest>), PageFault> {
    // A person who wants to consent must see the list, whatever else is read.
    let requests = desk
        .call_in(Lane::Consent, |desk| desk.host.runs().open_requests())
        .await?;
    let frame = PageFrame {
        title,
        section,
        waiting: requests.len(),
        repository: desk.known.name.clone(),
        form: person.form.clone(),
        session: person.id.clone(),
        challenge: match person.kind {
            SessionKind::Usual => String::new(),
            SessionKind::Device => desk.access.make_challenge(&person.cookie)?,
        },
    };
    Ok((frame, requests))
}

/// Leads to another page.
fn lead_to(path: &str) -> Response {
    // 303, so that a reload of the next page does not send the form again.
    // A path is made of ids, which are plain. One that is not leads home.
    let place = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response()
}

/// Leads a browser to the page for signing in.
pub fn to_sign_in() -> Response {
    lead_to("/signin")
}

/// `GET /signin`
pub async fn show_sign_in() -> Response {
    render(&SignInPage { is_wrong: false })
}

/// Answers a browser that opened a fixed name of the service: only the link of `agentos open` leads to a page.
pub fn show_closed(path: &str) -> Response {
    let mut response = render(&ClosedPage);
    if path != "/" && path != "/signin" {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// `POST /signin`
pub async fn sign_in(
    State(desk): State<SharedDesk>,
    Extension(kind): Extension<SessionKind>,
    Extension(NeedsTls(needs_tls)): Extension<NeedsTls>,
    form: SentForm,
) -> PageAnswer {
    let Some(cookie) = desk.access.sign_in(form.text("code"), kind)? else {
        let mut response = render(&SignInPage { is_wrong: true });
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(response);
    };
    let line = format!(
        "{COOKIE_NAME}={}; Path=/; HttpOnly{}; SameSite=Strict",
        cookie.expose(),
        if needs_tls { "; Secure" } else { "" }
    );
    let mut response = lead_to("/");
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().insert(SET_COOKIE, line);
    }
    Ok(response)
}

/// `POST /signout`
pub async fn sign_out(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    match form.text("all") {
        "" => desk.access.sign_out(&person.cookie),
        _ => desk.served.sign_all_out(),
    }
    Ok(to_sign_in())
}

/// `GET /`
pub async fn show_inbox(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let (frame, requests) = read_frame(&desk, &person, "Inbox", "inbox").await?;
    Ok(render(&InboxPage {
        rows: requests.iter().map(views::describe_request).collect(),
        frame,
    }))
}

/// `GET /requests/{run}`
pub async fn show_request(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(run): Path<String>,
) -> PageAnswer {
    answer_request(&desk, &person, run, "").await
}

/// Shows a request, with a remark above it.
async fn answer_request(
    desk: &SharedDesk,
    person: &SignedIn,
    run: String,
    remark: &'static str,
) -> PageAnswer {
    let review = desk
        .call_in(Lane::Consent, move |desk| {
            desk.host.runs().review_request(&run, &desk.policies)
        })
        .await?;
    let (frame, _) = read_frame(desk, person, "Request", "inbox").await?;
    let shown = review::show_review(&review);
    Ok(render(&RequestPage {
        frame,
        remark,
        run: review.run.clone(),
        can_land: review.hashes.is_some() && !shown.is_too_long,
        is_too_long: shown.is_too_long,
        seen: shown.sha256,
        body: shown.html,
        statement: devices::list_parts(&review),
        is_signed: person.kind == SessionKind::Device,
        has_withheld: review.reasons.iter().any(Reason::is_about_withheld),
    }))
}

/// `GET /requests/{run}/review`: the part that a consent is bound to, byte for byte, for a device that signs what it shows.
pub async fn show_review_part(State(desk): State<SharedDesk>, Path(run): Path<String>) -> PageAnswer {
    let review = desk
        .call_in(Lane::Consent, move |desk| {
            desk.host.runs().review_request(&run, &desk.policies)
        })
        .await?;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, review::show_review(&review).html).into_response())
}

/// `POST /requests/{run}/approve`
pub async fn approve_request(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(run): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let named = run.clone();
    let review = desk
        .call_in(Lane::Consent, move |desk| {
            desk.host.runs().review_request(&named, &desk.policies)
        })
        .await?;
    let shown = review::show_review(&review);
    let hashes = match review.hashes {
        Some(hashes) if shown.sha256 == form.text("seen") && !shown.is_too_long => hashes,
        Some(_) | None => {
            let remark = "This is not what you were shown, so nothing was landed. Read it as it is now.";
            let mut response = answer_request(&desk, &person, run, remark).await?;
            *response.status_mut() = StatusCode::CONFLICT;
            return Ok(response);
        }
    };
    let how = format!("page, session {}, rendering sha256:{}", person.id, shown.sha256);
    let proof = devices::check_proof(&desk, &person, &form, (&review.run, &hashes, &shown.sha256)).await?;
    let consent = PersonConsent {
        hashes,
        how,
        proof,
        releases_withheld: form.text("withheld") == "release",
    };
    let outcome = desk.approve(review.run, consent).await?;
    Ok(lead_to(&format!("/runs/{}", outcome.run)))
}

/// `POST /requests/{run}/deny`
pub async fn deny_request(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(run): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    desk.deny(run, Some(form.text("comment").to_owned())).await?;
    Ok(lead_to("/"))
}

/// `GET /runs`
pub async fn show_runs(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let log = desk
        .call(|desk| desk.host.stories().run_log(&LogFilter::default(), MOST_ROWS))
        .await?;
    let (frame, _) = read_frame(&desk, &person, "Runs", "runs").await?;
    Ok(render(&RunsPage {
        frame,
        not_shown: log.not_shown,
        rows: log.runs.iter().map(views::describe_run).collect(),
    }))
}

/// `GET /runs/{run}`
pub async fn show_run(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(run): Path<String>,
) -> PageAnswer {
    let story = desk
        .call(move |desk| desk.host.stories().run_story(Some(&run)))
        .await?;
    let (frame, _) = read_frame(&desk, &person, "Run", "runs").await?;
    Ok(render(&RunPage::new(frame, &story)))
}

/// `POST /runs/{run}/undo`
pub async fn undo_run(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(run): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let outcome = desk
        .run(RunWork::Undo { run: Some(run) }, ConsentMode::Nobody)
        .await?;
    Ok(lead_to(&format!("/runs/{}", outcome.run)))
}

/// `GET /propose`
pub async fn show_propose(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let (frame, _) = read_frame(&desk, &person, "Propose", "propose").await?;
    Ok(render(&ProposePage { frame }))
}

/// `POST /propose`
pub async fn propose(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let message = Some(form.text("message").to_owned());
    let work = answer_work(form.text("answer").to_owned(), message, "proposed on the page");
    // Nothing lands at once, also where policy would allow it: the next page is the review.
    let outcome = desk.run(work, ConsentMode::Queue).await?;
    let run = outcome.run.clone();
    let waits = desk.call(move |desk| desk.host.runs().open_requests()).await?;
    let place = if waits.iter().any(|request| request.run == run.to_string()) {
        "requests"
    } else {
        "runs"
    };
    Ok(lead_to(&format!("/{place}/{}", outcome.run)))
}

/// `GET /cost`
pub async fn show_cost(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let filter = CostFilter::default();
    let read = move |desk: &ServiceDesk| {
        let report = desk.host.calls().cost_report(CostGroup::Model, &filter)?;
        Ok((report, desk.host.calls().budget_report()?))
    };
    let (report, budgets) = desk.call(read).await?;
    let (frame, _) = read_frame(&desk, &person, "Cost", "cost").await?;
    Ok(render(&CostPage::new(frame, &report, &budgets)))
}

/// `GET /static/style.css`
pub async fn serve_style() -> Response {
    serve_file("text/css; charset=utf-8", include_str!("../assets/style.css"))
}

/// `GET /static/page.js`
pub async fn serve_script() -> Response {
    serve_file(
        "text/javascript; charset=utf-8",
        include_str!("../assets/page.js"),
    )
}

/// `GET /static/device.js`
pub async fn serve_device_script() -> Response {
    serve_file(
        "text/javascript; charset=utf-8",
        include_str!("../assets/device.js"),
    )
}

/// `GET /static/authority.crt`: the certificate of the service's authority, which a device may trust after a comparison of its fingerprint.
pub async fn serve_authority(State(desk): State<SharedDesk>) -> Response {
    let kind = (CONTENT_TYPE, "application/x-x509-ca-cert");
    match &desk.devices.authority {
        Some(authority) => ([kind], authority.certificate().to_vec()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn serve_file(kind: &'static str, text: &'static str) -> Response {
    // Requested again with each page: after an update, an old style with a new page would hide something.
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text).into_response()
}

/// Reads a form for a handler.
impl axum::extract::FromRequest<SharedDesk> for SentForm {
    type Rejection = PageFault;

    async fn from_request(request: axum::extract::Request, desk: &SharedDesk) -> Result<Self, PageFault> {
        read_form(request, desk).await.map_err(PageFault::from)
    }
}

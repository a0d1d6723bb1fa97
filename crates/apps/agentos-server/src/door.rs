//! The doors of the service: the repository that a request is about, and whether its author reaches it.
//!
//! Owns: the repositories that are served, each with a desk and a random name for its page. Never: answers before the judge has
//! decided.
//!
//! | the request has | its repository |
//! |---|---|
//! | the random name of a page | the repository of the page |
//! | the random name of the list | none: the list of all repositories answers |
//! | an address of devices, with the cookie or the code of a device | the repository whose page paired the device |
//! | an address of devices, over TLS of the service itself | the same, and nothing else is answered there |
//! | a token, and `/repositories/NAME` before the path | that repository, if the token reaches it |
//! | a token that reaches one repository | that repository |
//! | a `models` token that reaches none, or nothing at all over the Unix socket | none: the user's own models answer |
//! | no name, over the Unix socket | the only repository that is served |

mod choice;
mod open_desk;
mod order;
mod signed;
mod stopped;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use agentos_client_wires::ClientWire;
use agentos_host::{
    EffectError, Host, JoinOrder, KnownRepository, ServiceToken, TokenAnswer, TokenWatch, now,
};
use agentos_mcp::AgentToken;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use tokio::runtime::Handle;
use tower::ServiceExt as _;

use self::choice::{choose_repository, reach_of, take_repository};
pub use self::open_desk::OpenDesk;
use self::open_desk::make_page_name;
use self::stopped::StoppedOnDrop;
use crate::access::{NeedsTls, SessionKind};
use crate::caller::{CallerStanding, CallerToken};
use crate::connections::SeatName;
use crate::desk::DevicePlaces;
use crate::event_hub::ListenerWay;
use crate::facts::{find_cookie, find_token, list_hosts, read_facts};
use crate::fault::RequestFault;
use crate::judge::{
    CallerKind, DoorKind, RequestFacts, RequestKind, RequestRefusal, TokenState, UpgradeWish, judge_request,
};
use crate::metrics::ServiceMetrics;
use crate::page::{self, SignedIn};
use crate::rest::RestFault;
use crate::routes::add_headers;
use crate::served::ServedDesks;
use crate::timed_body::TimedBody;
use crate::v1;
use crate::v1_fault::{find_wire, refuse_client, to_client_fault};

/// Value of Host over the Unix socket. Programs name any host there, and browsers cannot reach it.
const SOCKET_NAME: &str = "localhost";
/// Longest time for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Longest time for the body of a request whose author is not known.
const UNKNOWN_BODY_TIME: Duration = Duration::from_secs(5);
/// Most repositories at once.
const MOST_DESKS: usize = 64;
/// Path of the list of repositories for programs.
const LIST_PATH: &str = "/api/repositories";
/// Listener at which a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// Address of loopback, which every program of this machine reaches.
    Network,
    /// Unix socket, which programs of the user reach.
    Socket,
    /// Listener of TLS for the address of devices with this number, which every machine of its network reaches.
    Tls(usize),
}

impl Listener {
    /// Returns the way of the listeners of events that come in here.
    fn way(self) -> ListenerWay {
        match self {
            Self::Network => ListenerWay::Network,
            Self::Socket => ListenerWay::Socket,
            Self::Tls(_) => ListenerWay::Tls,
        }
    }
}

/// The doors of a running service.
pub struct ServiceDoor {
    host: Host,
    port: u16,
    /// Values of Host that are the same at each start.
    fixed: Vec<String>,
    /// Policies for every repository.
    policies: Vec<PathBuf>,
    /// Places at which the user's other devices reach the service.
    devices: DevicePlaces,
    tokens: Arc<TokenWatch>,
    metrics: Arc<ServiceMetrics>,
    /// Runtime of the tools of agents.
    agents: Handle,
    /// Desk of the requests that belong to no repository.
    user: OpenDesk,
    /// Page that lists all repositories. No device and no token reaches it.
    list: Arc<OpenDesk>,
    desks: RwLock<Vec<Arc<OpenDesk>>>,
    /// Desks of all repositories, for what is about the user and not about one repository.
    served: ServedDesks,
}

/// Facts of a request before the judge decides.
struct Arrival {
    facts: RequestFacts,
    /// Desk of the page that the request names.
    page: Option<Arc<OpenDesk>>,
    /// Repository in the path.
    named: Option<String>,
    token: Option<Box<ServiceToken>>,
    session: Option<SignedIn>,
}

impl ServiceDoor {
    /// Makes the doors of a service at this port, without a repository. `fixed` are the names that are the same at each start.
    ///
    /// # Errors
    /// If the user has no home folder.
    pub fn new(
        host: &Host,
        (port, fixed): (u16, Vec<String>),
        policies: &[PathBuf],
        agents: &Handle,
    ) -> Result<Self, EffectError> {
        let host = host.clone().without_repository();
        let metrics = Arc::new(ServiceMetrics::default());
        let devices = DevicePlaces::open(&host)?;
        let served = ServedDesks::default();
        let list_page = (make_page_name(port)?, served.clone());
        let user = OpenDesk::new(
            host.clone(),
            (KnownRepository::default(), served.clone()),
            Arc::clone(&metrics),
            (String::new(), &fixed, devices.clone()),
            Vec::new(),
        );
        Ok(Self {
            tokens: Arc::new(TokenWatch::new(&host)?),
            devices,
            list: Arc::new(OpenDesk::make_list(host.clone(), list_page, Arc::clone(&metrics))),
            host,
            policies: policies.to_vec(),
            port,
            fixed,
            metrics,
            agents: agents.clone(),
            user,
            desks: RwLock::default(),
            served,
        })
    }

    /// Serves a repository, and returns its desk. A repository that is served already stays as it is.
    ///
    /// # Errors
    /// If there is no repository, or it is served with other policies.
    pub fn join(&self, order: &JoinOrder) -> Result<Arc<OpenDesk>, EffectError> {
        let Some(folder) = &order.folder else {
            let first = self.list_desks().into_iter().next();
            return first.ok_or_else(|| usage("the service has no repository yet: name a folder in one"));
        };
        let host = self.host.clone().with_repository(Some(folder.clone()));
        // A folder in no repository is a slip of the caller.
        host.runs().open_requests()?;
        let known = host
            .known_repository()
            .ok_or_else(|| usage("this folder is in no repository"))?;
        // The policies with which the service was started restrict every repository.
        let mut policies = self.policies.clone();
        let is_new = |policy: &&PathBuf| !self.policies.contains(policy);
        policies.extend(order.policies.iter().filter(is_new).cloned());
        let mut desks = self.desks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = desks.iter().find(|open| open.desk.known.folder == known.folder) {
            if !order.policies.is_empty() && policies != open.desk.policies {
                return Err(usage("this repository is served already, with other policies")
                    .hint("end the service, and start it with these"));
            }
            return Ok(Arc::clone(open));
        }
        if desks.len() >= MOST_DESKS {
            return Err(usage(
                "the service has too many repositories; end it and start it again",
            ));
        }
        let page = make_page_name(self.port)?;
        let host = host.with_repository(Some(known.folder.clone()));
        // A device may have been revoked on the page of another repository.
        if let Err(error) = host.runs().record_devices() {
            tracing::warn!(code = %error.code, "the devices are not on the tape: {}", error.message);
        }
        let metrics = Arc::clone(&self.metrics);
        let names = (page, self.fixed.as_slice(), self.devices.clone());
        let place = (known, self.served.clone());
        let open = Arc::new(OpenDesk::new(host, place, metrics, names, policies));
        self.served.add(&open.desk);
        desks.push(Arc::clone(&open));
        Ok(open)
    }

    /// Answers a request. `None` if its connection has lost its place meanwhile.
    pub async fn answer(
        self: &Arc<Self>,
        listener: Listener,
        request: Request,
        seat: &SeatName,
    ) -> Option<Response> {
        let (mut parts, body) = request.into_parts();
        let arrival = self.look_at(listener, &mut parts);
        let (path, kind) = (parts.uri.path().to_owned(), arrival.facts.kind);
        let wire = find_wire(&path, &parts.headers);
        let judged = judge_request(&arrival.facts);
        let is_known = matches!(
            judged,
            Ok(CallerKind::Person | CallerKind::Token | CallerKind::Owner)
        );
        let mut held = if is_known {
            Some(seat.hold_request()?)
        } else {
            None
        };
        parts.extensions.insert(listener.way());
        // A WebSocket needs its place longer than the answer that begins it.
        if arrival.facts.upgrade == UpgradeWish::Events
            && let Some(held) = held.take()
        {
            parts.extensions.insert(Arc::new(held));
        }
        let limit = if is_known { BODY_TIME } else { UNKNOWN_BODY_TIME };
        let body = Body::new(TimedBody::new(body, limit));
        let mut response = match judged {
            Ok(caller) => match self.find_answer(caller, arrival, parts, body).await {
                Ok(response) => response,
                Err(fault) => match wire {
                    Some(wire) => v1::write_fault(wire, &to_client_fault(&fault.error)),
                    None => RestFault::from(fault).into_response(),
                },
            },
            Err(RequestRefusal::SignedOut) if kind == RequestKind::Page => page::to_sign_in(),
            Err(refusal) => self.refuse(refusal, wire),
        };
        self.metrics.count_request(&path, response.status().as_u16());
        add_headers(&mut response);
        Some(match held {
            Some(held) => response.map(|body| held.hold_body(body)),
            None => response,
        })
    }

    fn refuse(&self, refusal: RequestRefusal, wire: Option<ClientWire>) -> Response {
        tracing::info!(code = refusal.code(), "request refused");
        self.metrics.count_refusal(refusal.code());
        match wire {
            Some(wire) => v1::write_fault(wire, &refuse_client(refusal)),
            None => RestFault::from(RequestFault::from(refusal)).into_response(),
        }
    }

    /// Looks at a request, and takes the repository out of its path.
    fn look_at(&self, listener: Listener, parts: &mut Parts) -> Arrival {
        let hosts = list_hosts(parts);
        let cookie = find_cookie(&parts.headers);
        let (door, page) = self.find_door(listener, &hosts, cookie.as_deref());
        let mut addresses = self.devices.addresses.iter();
        let address = addresses.find(|address| hosts == [address.host.as_str()]);
        let own_origin = match (door, address) {
            (Some(DoorKind::Device | DoorKind::Tls), Some(address)) => address.origin.clone(),
            _ => format!("http://{}", hosts.first().map_or("", String::as_str)),
        };
        let named = match door {
            // An address of devices may be a fixed name as well, which programs use.
            Some(DoorKind::Socket | DoorKind::Fixed | DoorKind::Device) => take_repository(&mut parts.uri),
            Some(DoorKind::Page | DoorKind::Tls) | None => None,
        };
        let answer = find_token(&parts.headers).map(|secret| self.tokens.find(&secret, &now()));
        let (state, token) = match answer {
            None => (TokenState::Missing, None),
            Some(TokenAnswer::Unknown) => (TokenState::Unknown, None),
            Some(TokenAnswer::Ended(_)) => (TokenState::Ended, None),
            Some(TokenAnswer::Valid(token)) => (TokenState::Valid(token.scope), Some(token)),
        };
        let session = page.as_ref().zip(cookie).and_then(|(open, cookie)| {
            let session = open.desk.access.find_session(&cookie)?;
            // A session of one kind of name is none of the other.
            (session.kind == session_kind(door)).then_some(())?;
            Some(SignedIn {
                cookie,
                id: session.id,
                form: session.form,
                kind: session.kind,
                pairing: session.pairing,
            })
        });
        let facts = read_facts(parts, hosts, (door, own_origin), (state, session.is_some()));
        Arrival {
            facts,
            page,
            named,
            token,
            session,
        }
    }

    /// Finds the door of a request, and the desk of the page that it names.
    fn find_door(
        &self,
        listener: Listener,
        hosts: &[String],
        cookie: Option<&str>,
    ) -> (Option<DoorKind>, Option<Arc<OpenDesk>>) {
        let [host] = hosts else {
            return (None, None);
        };
        if listener == Listener::Socket {
            return ((host == SOCKET_NAME).then_some(DoorKind::Socket), None);
        }
        let mut desks = self.list_desks().into_iter();
        if let Some(door) = self.find_device_door(listener, host) {
            let signed_in = |open: &Arc<OpenDesk>| open.desk.access.find_session(cookie?).map(drop);
            let open = desks.find(|open| signed_in(open).is_some());
            return (Some(door), open);
        }
        if listener != Listener::Network {
            return (None, None);
        }
        if self.list.page == *host {
            return (Some(DoorKind::Page), Some(Arc::clone(&self.list)));
        }
        match desks.find(|open| open.page == *host) {
            Some(open) => (Some(DoorKind::Page), Some(open)),
            None => (self.fixed.contains(host).then_some(DoorKind::Fixed), None),
        }
    }

    /// Finds the door of a request at an address of devices. `None` if the listener has no such address.
    fn find_device_door(&self, listener: Listener, host: &str) -> Option<DoorKind> {
        let mut addresses = self.devices.addresses.iter().zip(0..);
        addresses.find_map(|(address, at)| match listener {
            _ if address.host != host => None,
            // Each TLS listener has the certificate of one address.
            Listener::Tls(own) => (own == at).then_some(DoorKind::Tls),
            // Without TLS, each machine on the way could read the cookie, so addresses for TLS are refused here.
            Listener::Network => address.listens.is_none().then_some(DoorKind::Device),
            Listener::Socket => None,
        })
    }

    /// Answers a request that the judge allowed.
    async fn find_answer(
        self: &Arc<Self>,
        caller: CallerKind,
        arrival: Arrival,
        mut parts: Parts,
        mut body: Body,
    ) -> Result<Response, RequestFault> {
        let desks = self.list_desks();
        let open = match caller {
            CallerKind::Stranger => return Ok(page::show_closed(parts.uri.path())),
            CallerKind::Owner if arrival.facts.kind == RequestKind::Owner => {
                return self.take_order(&parts, body).await;
            }
            CallerKind::Anybody if arrival.facts.kind == RequestKind::SignIn && !arrival.facts.is_read => {
                let kind = session_kind(arrival.facts.door);
                parts.extensions.insert(kind);
                let is_tls = arrival.facts.own_origin.starts_with("https:");
                parts.extensions.insert(NeedsTls(is_tls));
                let (bytes, form) = signed::read_sign_in(body).await?;
                body = Body::from(bytes);
                let is_known = |open: &&Arc<OpenDesk>| open.desk.access.has_code(form.text("code"), kind);
                // At an address of devices, the code alone says which repository it is for.
                arrival
                    .page
                    .or_else(|| desks.iter().find(is_known).map(Arc::clone))
            }
            CallerKind::Anybody => arrival.page,
            CallerKind::Person => {
                if let (Some(open), Some(session), RequestKind::Form) =
                    (&arrival.page, &arrival.session, arrival.facts.kind)
                    && session.kind == SessionKind::Device
                {
                    body = signed::require_signature(&open.desk, session, parts.uri.path(), body).await?;
                }
                arrival.page
            }
            CallerKind::Token | CallerKind::Owner => {
                let named = arrival.named.as_deref();
                let reached = reach_of(arrival.token.as_deref());
                parts.extensions.insert(reached);
                let is_list = parts.uri.path() == LIST_PATH && named.is_none();
                match is_list && arrival.facts.kind == RequestKind::Data {
                    // A token may reach several, of which none is named.
                    true => None,
                    false => choose_desk(&desks, arrival.facts.kind, arrival.token.as_deref(), named)?,
                }
            }
        };
        self.add_author(
            &mut parts,
            caller,
            (arrival.session, arrival.token),
            open.as_deref(),
        );
        let routes = open.map_or_else(|| self.user.routes.clone(), |open| open.routes.clone());
        let answer = routes.oneshot(Request::from_parts(parts, body));
        if arrival.facts.kind == RequestKind::Agent {
            let task = StoppedOnDrop::new(self.agents.spawn(answer));
            let lost = |_| {
                let what = "the call ended without a result";
                RequestFault::new(StatusCode::INTERNAL_SERVER_ERROR, "run-lost", what)
            };
            let Ok(response) = task.await.map_err(lost)?;
            return Ok(response);
        }
        let Ok(response) = answer.await;
        Ok(response)
    }

    /// Adds the author of a request, as handlers see it.
    fn add_author(
        &self,
        parts: &mut Parts,
        caller: CallerKind,
        (session, token): (Option<SignedIn>, Option<Box<ServiceToken>>),
        open: Option<&OpenDesk>,
    ) {
        if caller == CallerKind::Person
            && let (Some(session), Some(open)) = (session, open)
        {
            let (desk, cookie) = (Arc::clone(&open.desk), session.cookie.clone());
            parts.extensions.insert(CallerStanding::of_session(desk, cookie));
            parts.extensions.insert(session);
        }
        if caller == CallerKind::Token
            && let Some(token) = token
        {
            let secret = find_token(&parts.headers).unwrap_or_default();
            let standing = CallerStanding::of_token(Arc::clone(&self.tokens), secret);
            parts.extensions.insert(standing);
            parts.extensions.insert(CallerToken(token.name.clone()));
            parts.extensions.insert(AgentToken(token.name));
        }
    }

    /// Returns the places at which the user's other devices reach the service.
    pub fn devices(&self) -> &DevicePlaces {
        &self.devices
    }

    fn list_desks(&self) -> Vec<Arc<OpenDesk>> {
        // An entry is complete before it is added, so a panic elsewhere leaves no half of one.
        self.desks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the kind of the sessions that count at a door.
fn session_kind(door: Option<DoorKind>) -> SessionKind {
    match door {
        Some(DoorKind::Device | DoorKind::Tls) => SessionKind::Device,
        Some(DoorKind::Page | DoorKind::Fixed | DoorKind::Socket) | None => SessionKind::Usual,
    }
}

/// Chooses the desk of a program's request. `None` for the models of the user alone.
fn choose_desk(
    desks: &[Arc<OpenDesk>],
    kind: RequestKind,
    token: Option<&ServiceToken>,
    named: Option<&str>,
) -> Result<Option<Arc<OpenDesk>>, RequestFault> {
    let known: Vec<&KnownRepository> = desks.iter().map(|open| &open.desk.known).collect();
    let at = choose_repository(&known, kind, token, named)?;
    Ok(at.and_then(|at| desks.get(at)).map(Arc::clone))
}

fn usage(message: &str) -> EffectError {
    EffectError::new(agentos_host::Cause::Usage, "usage", message)
}

#[cfg(test)]
mod tests;

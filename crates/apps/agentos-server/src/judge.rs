//! The judge: whether a request may be answered, and for whom.
//!
//! Owns: the rules, as a function of facts. Never: reads a socket, a clock or a secret; the facts say what a secret is.
//!
//! A service has three doors. Each request comes in at one of them:
//!
//! | door | who knows it | what it answers |
//! |---|---|---|
//! | the Unix socket | programs of the user that are in no sandbox | everything for programs, without a token: they have the user's rights anyway |
//! | a fixed name, such as `127.0.0.1` | every program of this machine | `/v1`, `/mcp` and reading `/api`, each with a token of its scope; nothing consents |
//! | the random name of a repository's page | browsers that were led there by a link | pages and forms, with a cookie |
//! | an address of devices, from the user's settings | whoever the user's tunnel or proxy lets in | pages with the cookie of a device, which does what it signs; and what a fixed name answers to programs |
//! | an address of devices for TLS | every machine of that network | pages with the cookie of a device, which does what it signs |
//!
//! Every local service of the peers was broken in one of these ways, so each rule names the attack that it ends:
//!
//! | rule | attack |
//! |---|---|
//! | the Host is one of this service's own names | a name of the attacker that resolves to this machine (DNS rebinding) |
//! | a cookie counts at the random name of this start alone | another program on another port of a name that is known, to which browsers send the cookie too |
//! | an Origin, if there is one, is this service's own; `null` is none | a request by a page of another site |
//! | `Sec-Fetch-Site` is `same-origin` or `none`, except that a link may lead here | the same, in browsers that send no Origin |
//! | never in a frame | a page that is laid over this one (clickjacking) |
//! | no other protocol than the WebSocket of the events, for which every other rule is applied first | a page of another site that opens a socket, which no same-origin rule prevents |
//! | no secret in a query | secrets in histories, logs and `Referer` |
//! | an effect of a person has a cookie, an own Origin, the type of a form, and the secret of the form | cross-site forms |
//! | a token has one scope, and no scope consents | a client's key, or an agent that reads its own settings, approves what it proposed |

use agentos_host::TokenScope;

/// Kind of a request, by its method and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Style, script and sign of life: no data.
    Public,
    /// Page for signing in, and signing in with a code.
    SignIn,
    /// Page with data.
    Page,
    /// Effect of a form.
    Form,
    /// Request to a model, in the form of a vendor.
    Models,
    /// Data for a program, or for the page's script.
    Data,
    /// Effect for a program.
    Effect,
    /// Message of an agent, in the Model Context Protocol.
    Agent,
    /// Order to the service itself, such as to serve a further repository.
    Owner,
    /// Method that no path here has.
    Unknown,
}

/// Door at which a request comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoorKind {
    /// Unix socket of the user.
    Socket,
    /// Name that is the same at each start.
    Fixed,
    /// Random name of a repository's page.
    Page,
    /// Address at which the user's other devices reach the service, by a tunnel or a proxy of the user.
    Device,
    /// Address at which the service itself speaks TLS with the user's other devices.
    Tls,
}

/// Another protocol that a request wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpgradeWish {
    /// The request wants no other protocol.
    #[default]
    None,
    /// A WebSocket of the events.
    Events,
    /// Any other protocol, or a WebSocket at another path.
    Other,
}

/// Result of looking at a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenState {
    /// No token was sent.
    #[default]
    Missing,
    /// No token has this secret.
    Unknown,
    /// The token has ended.
    Ended,
    /// A valid token of this scope.
    Valid(TokenScope),
}

/// Facts of a request. Texts are as they were sent: untrusted.
#[derive(Debug, Clone)]
pub struct RequestFacts {
    /// Door. `None` if the request names none of the service's own names, or several.
    pub door: Option<DoorKind>,
    /// Kind of the request.
    pub kind: RequestKind,
    /// True for the methods `GET` and `HEAD`.
    pub is_read: bool,
    /// Origin of the service's own pages under the name of the request.
    pub own_origin: String,
    /// Every Host of the request: its header lines, and the one of an absolute address.
    pub hosts: Vec<String>,
    /// Every Origin.
    pub origins: Vec<String>,
    /// `Sec-Fetch-Site`. `None` if the client sends none.
    pub fetch_site: Option<String>,
    /// `Sec-Fetch-Mode`. `None` if the client sends none.
    pub fetch_mode: Option<String>,
    /// `Sec-Fetch-Dest`. `None` if the client sends none.
    pub fetch_target: Option<String>,
    /// Media type of the body, without parameters, in lower case. `None` if there is none.
    pub media_type: Option<String>,
    /// True if the query has a member that is named like a secret.
    pub has_query_secret: bool,
    /// Another protocol that the request wants.
    pub upgrade: UpgradeWish,
    /// Token of a program.
    pub token: TokenState,
    /// True if the cookie is the one of an open session of this door.
    pub has_session: bool,
}

/// Allowed author of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// Any program of this machine.
    Anybody,
    /// Person who is signed in.
    Person,
    /// Program with the token that the facts are about.
    Token,
    /// Program of the user, over the Unix socket.
    Owner,
    /// Browser that opened a page under a fixed name. It is shown how the page is opened.
    Stranger,
}

/// Reason why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// The name is not one of this service.
    #[error("this service does not have that name")]
    WrongHost,
    /// Another site sent the request.
    #[error("another site sent this request")]
    ForeignSite,
    /// The page would be in a frame.
    #[error("the page is not shown in a frame")]
    InFrame,
    /// A secret is in the address.
    #[error("a secret does not belong into an address; it may be in histories and logs now, so replace it")]
    SecretInAddress,
    /// Another protocol is wanted.
    #[error("this service speaks no other protocol")]
    NoUpgrade,
    /// No person is signed in, or no token was sent.
    #[error("sign in, or send a token")]
    SignedOut,
    /// The token is wrong.
    #[error("the token is wrong or revoked")]
    WrongToken,
    /// The token has ended.
    #[error("the token has ended; make another one")]
    EndedToken,
    /// The token has another scope.
    #[error("this path needs a token of the scope `{}`", .0.as_str())]
    WrongScope(TokenScope),
    /// The effect needs a person.
    #[error("no token consents, proposes here or gives orders: use the page, or the service's Unix socket")]
    NeedsPerson,
    /// The name has pages alone, or none.
    #[error("this is not answered under this name")]
    WrongDoor,
    /// The body has another type than this effect takes.
    #[error(
        "this body has the wrong type: send `application/json` as its `Content-Type`; forms are taken from the page alone"
    )]
    WrongType,
    /// No path has this method.
    #[error("there is no such method here")]
    WrongMethod,
}

impl RequestRefusal {
    /// Returns the HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::WrongHost | Self::WrongDoor => 421,
            Self::ForeignSite | Self::InFrame | Self::WrongScope(_) | Self::NeedsPerson => 403,
            Self::SecretInAddress | Self::NoUpgrade => 400,
            Self::SignedOut | Self::WrongToken | Self::EndedToken => 401,
            Self::WrongType => 415,
            Self::WrongMethod => 405,
        }
    }

    /// Returns the code of the refusal.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::WrongHost => "wrong-host",
            Self::ForeignSite => "foreign-site",
            Self::InFrame => "in-frame",
            Self::SecretInAddress => "secret-in-address",
            Self::NoUpgrade => "no-upgrade",
            Self::SignedOut => "signed-out",
            Self::WrongToken => "wrong-token",
            Self::EndedToken => "ended-token",
            Self::WrongScope(_) => "wrong-scope",
            Self::NeedsPerson => "needs-person",
            Self::WrongDoor => "wrong-door",
            Self::WrongType => "wrong-type",
            Self::WrongMethod => "wrong-method",
        }
    }
}

/// Decides about a request.
///
/// # Errors
/// With the first rule that the request breaks.
pub fn judge_request(facts: &RequestFacts) -> Result<CallerKind, RequestRefusal> {
    // Two lines of Host are a way around checks of a proxy, and this service has none in front of it.
    // First, because nothing else that a browser says means anything under a name of the attacker.
    let ([_], Some(door)) = (facts.hosts.as_slice(), facts.door) else {
        return Err(RequestRefusal::WrongHost);
    };
    refuse_foreign(facts)?;
    if facts.upgrade == UpgradeWish::Other {
        return Err(RequestRefusal::NoUpgrade);
    }
    if facts.has_query_secret {
        return Err(RequestRefusal::SecretInAddress);
    }
    if facts.kind == RequestKind::Unknown {
        return Err(RequestRefusal::WrongMethod);
    }
    match door {
        DoorKind::Socket => judge_owner(facts),
        DoorKind::Fixed => judge_program(facts),
        // Whoever reaches the machine reaches this address, so it has what a device needs, and nothing for programs.
        DoorKind::Page | DoorKind::Tls => judge_browser(facts),
        DoorKind::Device => match facts.kind {
            RequestKind::Models | RequestKind::Agent | RequestKind::Effect | RequestKind::Owner => {
                judge_program(facts)
            }
            RequestKind::Data if facts.token != TokenState::Missing => judge_program(facts),
            _ => judge_browser(facts),
        },
    }
}

/// Decides about a request over the Unix socket.
fn judge_owner(facts: &RequestFacts) -> Result<CallerKind, RequestRefusal> {
    match facts.kind {
        RequestKind::Public => Ok(CallerKind::Anybody),
        // The page is bound to a browser and its cookie.
        RequestKind::SignIn | RequestKind::Page | RequestKind::Form => Err(RequestRefusal::WrongDoor),
        RequestKind::Unknown => Err(RequestRefusal::WrongMethod),
        RequestKind::Models | RequestKind::Data | RequestKind::Agent => Ok(CallerKind::Owner),
        RequestKind::Effect | RequestKind::Owner => {
            require_type(facts, Some("application/json"))?;
            Ok(CallerKind::Owner)
        }
    }
}

/// Decides about a request under a fixed name. A cookie has no meaning here.
fn judge_program(facts: &RequestFacts) -> Result<CallerKind, RequestRefusal> {
    match facts.kind {
        RequestKind::Public => Ok(CallerKind::Anybody),
        RequestKind::Page => Ok(CallerKind::Stranger),
        RequestKind::SignIn if facts.is_read => Ok(CallerKind::Stranger),
        RequestKind::SignIn | RequestKind::Form => Err(RequestRefusal::WrongDoor),
        RequestKind::Unknown => Err(RequestRefusal::WrongMethod),
        RequestKind::Effect | RequestKind::Owner => Err(RequestRefusal::NeedsPerson),
        RequestKind::Data => require_token(facts, TokenScope::Read),
        RequestKind::Models => {
            require_token(facts, TokenScope::Models)?;
            if !facts.is_read {
                require_type(facts, Some("application/json"))?;
            }
            Ok(CallerKind::Token)
        }
        RequestKind::Agent => {
            require_token(facts, TokenScope::Agent)?;
            if !facts.is_read && facts.media_type.is_some() {
                require_type(facts, Some("application/json"))?;
            }
            Ok(CallerKind::Token)
        }
    }
}

/// Decides about a request under the name of a repository's page. A token has no meaning here.
fn judge_browser(facts: &RequestFacts) -> Result<CallerKind, RequestRefusal> {
    let form = Some("application/x-www-form-urlencoded");
    match facts.kind {
        RequestKind::Public => Ok(CallerKind::Anybody),
        RequestKind::SignIn if facts.is_read => Ok(CallerKind::Anybody),
        RequestKind::SignIn => {
            require_origin(facts)?;
            require_type(facts, form)?;
            Ok(CallerKind::Anybody)
        }
        RequestKind::Page | RequestKind::Data => {
            let person = require_person(facts)?;
            // Browsers open a WebSocket to any site, with its cookie, and always say from which page.
            if facts.upgrade == UpgradeWish::Events {
                require_origin(facts)?;
            }
            Ok(person)
        }
        RequestKind::Form => {
            let person = require_person(facts)?;
            require_origin(facts)?;
            require_type(facts, form)?;
            Ok(person)
        }
        // A cookie is sent by the browser without the person's will, so it permits no effect of a program.
        RequestKind::Effect | RequestKind::Models | RequestKind::Agent | RequestKind::Owner => {
            Err(RequestRefusal::WrongDoor)
        }
        RequestKind::Unknown => Err(RequestRefusal::WrongMethod),
    }
}

fn require_token(facts: &RequestFacts, scope: TokenScope) -> Result<CallerKind, RequestRefusal> {
    match facts.token {
        TokenState::Missing => Err(RequestRefusal::SignedOut),
        TokenState::Unknown => Err(RequestRefusal::WrongToken),
        TokenState::Ended => Err(RequestRefusal::EndedToken),
        TokenState::Valid(found) if found == scope => Ok(CallerKind::Token),
        TokenState::Valid(_) => Err(RequestRefusal::WrongScope(scope)),
    }
}

/// Refuses what another site sent, or shows in a frame.
fn refuse_foreign(facts: &RequestFacts) -> Result<(), RequestRefusal> {
    if facts.origins.iter().any(|origin| *origin != facts.own_origin) {
        return Err(RequestRefusal::ForeignSite);
    }
    let target = facts.fetch_target.as_deref();
    if matches!(
        target,
        Some("iframe" | "frame" | "embed" | "object" | "fencedframe")
    ) {
        return Err(RequestRefusal::InFrame);
    }
    // A link of another site may lead here: it shows nothing to that site, and a cookie with `SameSite=Strict` is not sent.
    let is_visit =
        facts.is_read && facts.fetch_mode.as_deref() == Some("navigate") && target == Some("document");
    match facts.fetch_site.as_deref() {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if is_visit => Ok(()),
        Some(_) => Err(RequestRefusal::ForeignSite),
    }
}

/// Requires an Origin. Whether it is the own one was decided before.
fn require_origin(facts: &RequestFacts) -> Result<(), RequestRefusal> {
    match facts.origins.as_slice() {
        // Every browser since 2020 sends it with a POST, so only a program or something strange sends none.
        [] => Err(RequestRefusal::ForeignSite),
        [_] => Ok(()),
        [_, _, ..] => Err(RequestRefusal::ForeignSite),
    }
}

fn require_type(facts: &RequestFacts, wanted: Option<&str>) -> Result<(), RequestRefusal> {
    match facts.media_type.as_deref() == wanted {
        true => Ok(()),
        false => Err(RequestRefusal::WrongType),
    }
}

fn require_person(facts: &RequestFacts) -> Result<CallerKind, RequestRefusal> {
    if facts.has_session {
        Ok(CallerKind::Person)
    } else {
        Err(RequestRefusal::SignedOut)
    }
}

#[cfg(test)]
mod tests;

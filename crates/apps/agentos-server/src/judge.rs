//! The judge: whether a request may be answered, and for whom.
//!
//! Owns: the rules, as a function of facts. Never: reads a socket, a clock or a secret; the facts say whether a secret was right.
//!
//! Every local service of the peers was broken in one of these ways, so each rule names the attack that it ends:
//!
//! | rule | attack |
//! |---|---|
//! | the Host is one of this service's own names | a name of the attacker that resolves to this machine (DNS rebinding) |
//! | an Origin, if there is one, is this service's own; `null` is none | a request by a page of another site |
//! | `Sec-Fetch-Site` is `same-origin` or `none`, except that a link may lead here | the same, in browsers that send no Origin |
//! | never in a frame | a page that is laid over this one (clickjacking) |
//! | no secret in a query | secrets in histories, logs and `Referer` |
//! | an effect of a person has a cookie, an own Origin, the type of a form, and the secret of the form | cross-site forms |
//! | an effect of a program has the token and JSON; a cookie is no permission | scripts that ride on a person's session |
//! | an agent has the agents' token, with which it can propose and not approve | an agent that reads its own settings and approves what it proposed |

/// Kind of a request, by its method and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Style, script, and the page for signing in: no data.
    Public,
    /// Signing in with a code.
    SignIn,
    /// Page with data.
    Page,
    /// Effect of a form.
    Form,
    /// Data for a program, or for the page's script.
    Data,
    /// Effect for a program.
    Effect,
    /// Message of an agent, in the Model Context Protocol.
    Agent,
    /// Method that no path here has.
    Unknown,
}

/// Result of looking at a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretState {
    /// No secret was sent.
    #[default]
    Missing,
    /// Another one was sent.
    Wrong,
    /// The right one was sent.
    Right,
}

/// Facts of a request. Texts are as they were sent: untrusted.
#[derive(Debug, Clone)]
pub struct RequestFacts {
    /// Kind of the request.
    pub kind: RequestKind,
    /// True for the methods `GET` and `HEAD`.
    pub is_read: bool,
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
    /// True if the request wants another protocol.
    pub is_upgrade: bool,
    /// Token of a program.
    pub token: SecretState,
    /// Token of agents, from the same header. It opens the path of agents alone.
    pub agent_token: SecretState,
    /// Cookie of a person's session.
    pub cookie: SecretState,
}

/// Allowed author of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// Anybody on this machine.
    Anybody,
    /// Person who is signed in.
    Person,
    /// Program with the token.
    Program,
    /// Agent with a token that lets it read and propose.
    Agent,
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
    /// Nobody is signed in, or no token was sent.
    #[error("sign in, or send the token")]
    SignedOut,
    /// The token is wrong.
    #[error("the token is wrong")]
    WrongToken,
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
            Self::WrongHost => 421,
            Self::ForeignSite | Self::InFrame => 403,
            Self::SecretInAddress | Self::NoUpgrade => 400,
            Self::SignedOut | Self::WrongToken => 401,
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
            Self::WrongType => "wrong-type",
            Self::WrongMethod => "wrong-method",
        }
    }
}

/// Decides about a request. `names` are the service's own values of Host.
///
/// # Errors
/// With the first rule that the request breaks.
pub fn judge_request(facts: &RequestFacts, names: &[String]) -> Result<CallerKind, RequestRefusal> {
    // Two lines of Host are a way around checks of a proxy, and this service has none in front of it.
    // First, because nothing else that a browser says means anything under a name of the attacker.
    let [host] = facts.hosts.as_slice() else {
        return Err(RequestRefusal::WrongHost);
    };
    if !names.contains(host) {
        return Err(RequestRefusal::WrongHost);
    }
    refuse_foreign(facts, host)?;
    if facts.is_upgrade {
        return Err(RequestRefusal::NoUpgrade);
    }
    if facts.has_query_secret {
        return Err(RequestRefusal::SecretInAddress);
    }
    let form = Some("application/x-www-form-urlencoded");
    match facts.kind {
        RequestKind::Unknown => Err(RequestRefusal::WrongMethod),
        RequestKind::Public => Ok(CallerKind::Anybody),
        RequestKind::SignIn => {
            require_origin(facts)?;
            require_type(facts, form)?;
            Ok(CallerKind::Anybody)
        }
        RequestKind::Page => require_person(facts),
        RequestKind::Form => {
            let person = require_person(facts)?;
            require_origin(facts)?;
            require_type(facts, form)?;
            Ok(person)
        }
        RequestKind::Data => match facts.token {
            SecretState::Right => Ok(CallerKind::Program),
            SecretState::Wrong => Err(RequestRefusal::WrongToken),
            SecretState::Missing => require_person(facts),
        },
        RequestKind::Effect => {
            match facts.token {
                SecretState::Right => {}
                SecretState::Wrong => return Err(RequestRefusal::WrongToken),
                // A cookie is sent by the browser without anybody's will, so it permits no effect here.
                SecretState::Missing => return Err(RequestRefusal::SignedOut),
            }
            require_type(facts, Some("application/json"))?;
            Ok(CallerKind::Program)
        }
        RequestKind::Agent => {
            match (facts.agent_token, facts.token) {
                (SecretState::Right, _) | (_, SecretState::Right) => {}
                (SecretState::Missing, SecretState::Missing) => return Err(RequestRefusal::SignedOut),
                (SecretState::Missing | SecretState::Wrong, SecretState::Missing | SecretState::Wrong) => {
                    return Err(RequestRefusal::WrongToken);
                }
            }
            if !facts.is_read && facts.media_type.is_some() {
                require_type(facts, Some("application/json"))?;
            }
            Ok(CallerKind::Agent)
        }
    }
}

/// Refuses what another site sent, or shows in a frame.
fn refuse_foreign(facts: &RequestFacts, host: &str) -> Result<(), RequestRefusal> {
    let own = format!("http://{host}");
    if facts.origins.iter().any(|origin| *origin != own) {
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
    match facts.cookie {
        SecretState::Right => Ok(CallerKind::Person),
        SecretState::Missing | SecretState::Wrong => Err(RequestRefusal::SignedOut),
    }
}

#[cfg(test)]
mod tests;

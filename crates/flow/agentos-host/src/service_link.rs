//! Programs of the user and the running service: joining it with a repository, and a link that signs one browser in.
//!
//! Owns: the one request over the service's Unix socket, and the file that leads a browser to the link. Never: asks an address of the
//! network: another program could listen there after the service has ended.

use std::path::PathBuf;
use std::time::Duration;

use agentos_api::ErrorReport;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_net::{Auth, Deadline, HttpClient, HttpUrl, NetConfig, Request};
use agentos_tool::Secret;
use serde::{Deserialize, Serialize};

use crate::Host;
use agentos_ground::error::usage_error;
use agentos_ground::own_file::write_own_text;
use agentos_ground::runtime::block_on;
use agentos_ground::service_files::ServiceAddress;

/// Code of errors about a service that is not found.
const CODE: &str = "no-service";
/// Longest time for the service's answer. It opens the repository and reads nothing else.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Path at which a service is joined, on its Unix socket.
pub const JOIN_PATH: &str = "/service/join";

/// Request of a program of the user to a running service: serve a repository, and give a link to its page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinOrder {
    /// Folder in the repository. `None` for the repository that is served longest.
    pub folder: Option<PathBuf>,
    /// Further policies for the repository. They are compared with the policies under which it is served already.
    pub policies: Vec<PathBuf>,
    /// True for a link to the list of all repositories: no repository is joined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// Answer to a [`JoinOrder`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// Address with a code that signs one browser in, once.
    pub link: String,
    /// Name of the repository.
    pub repository: String,
}

/// Link to the page of a repository in the running service.
#[derive(Debug)]
pub struct ServiceLink {
    /// The service.
    pub service: ServiceAddress,
    /// Name of the repository.
    pub repository: String,
    /// Address with a code that signs one browser in, once.
    pub link: Secret,
}

impl Host {
    /// Asks the running service to serve a repository, and for a link to its page.
    ///
    /// # Errors
    /// If no service runs, it is of a version that does not know this request, or it refuses.
    pub fn join_service(&self, order: &JoinOrder) -> Result<ServiceLink, EffectError> {
        let service = self.find_service()?.ok_or_else(no_service)?;
        let socket = service.socket.clone().ok_or_else(no_service)?;
        let internal = |error: &dyn std::error::Error| EffectError::from_error(Cause::Internal, CODE, error);
        let client = HttpClient::new(NetConfig {
            socket: Some(socket),
            ..NetConfig::default()
        })
        .map_err(|error| internal(&error))?;
        let url =
            HttpUrl::parse(&format!("http://localhost{JOIN_PATH}")).map_err(|error| internal(&error))?;
        let body = serde_json::to_value(order).map_err(|error| internal(&error))?;
        let request = Request::post(url, Auth::None, body);
        let deadline = Deadline::after(ANSWER_TIME);
        let answer = block_on(client.send(&request, &deadline))?.map_err(|_| no_service())?;
        if let Ok(joined) = serde_json::from_slice::<JoinAnswer>(&answer.body) {
            return Ok(ServiceLink {
                link: Secret::new(&joined.link),
                repository: joined.repository,
                service,
            });
        }
        let report = serde_json::from_slice::<ErrorReport>(&answer.body).ok();
        Err(match report {
            // A service of an earlier version has no such path, or wants a token.
            Some(report) if service.program == env!("CARGO_PKG_VERSION") => {
                let mut error =
                    EffectError::new(report.error.cause, &report.error.code, report.error.message);
                error.hint = report.error.hint;
                error.next = report.error.next;
                error
            }
            Some(_) | None => other_version(&service),
        })
    }

    /// Opens a link in the user's browser. Returns false if there is no browser to open it.
    ///
    /// # Errors
    /// If the file that leads there cannot be written.
    pub fn open_service_link(&self, link: &ServiceLink) -> Result<bool, EffectError> {
        let file = self.service_folder()?.join("open.html");
        // The link consists of letters, digits and `:/#.-_`, so it needs no escaping; another one is shown and not opened.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ":/#.-_[]".contains(letter);
        if !link.link.expose().chars().all(plain) {
            return Ok(false);
        }
        let page = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={0}\">\n<title>AgentOS</title>\n<a href=\"{0}\">Open AgentOS</a>\n",
            link.link.expose()
        );
        write_own_text(&file, &page, CODE)?;
        Ok(agentos_launch::open_in_browser(&file, &self.find_user_programs()))
    }
}

/// Makes the error of a service that does not understand this program.
fn other_version(service: &ServiceAddress) -> EffectError {
    let version = match service.program.as_str() {
        "" => "an earlier version",
        version => &format!("version {version}"),
    };
    usage_error(format!(
        "{version} of the service runs as process {}, and this program is {}",
        service.process,
        env!("CARGO_PKG_VERSION")
    ))
    .hint("end that process, and start the service again")
}

fn no_service() -> EffectError {
    usage_error("no service of yours runs on this machine")
        .suggest_steps([agentos_api::NextStep::StartService])
}

//! A link to the running service, which signs one browser in.
//!
//! Owns: asking the service for the code, over its Unix socket, and the file that leads a browser there. Never: sends the token to an
//! address: whoever listens there after the service has ended would have it.

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_net::{Auth, Deadline, HttpClient, HttpUrl, NetConfig, Request};
use agentos_tool::Secret;
use serde_json::{Value, json};

use std::time::Duration;

use crate::error::usage_error;
use crate::host::Host;
use crate::own_file::write_own_text;
use crate::runtime::block_on;
use crate::service_files::ServiceAddress;

/// Code of errors about a service that is not found.
const CODE: &str = "no-service";
/// Longest time for the service's answer, which is made from memory.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Link to the running service.
#[derive(Debug)]
pub struct ServiceLink {
    /// The service.
    pub service: ServiceAddress,
    /// Address with a code that signs one browser in, once.
    pub link: Secret,
}

impl Host {
    /// Asks the running service for a link.
    ///
    /// # Errors
    /// If no service runs, or it does not answer.
    pub fn request_service_link(&self) -> Result<ServiceLink, EffectError> {
        let service = self.find_service()?.ok_or_else(no_service)?;
        let socket = service.socket.clone().ok_or_else(no_service)?;
        let token = self.service_token(false)?;
        let client = HttpClient::new(NetConfig {
            socket: Some(socket),
            ..NetConfig::default()
        })
        .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
        let url = HttpUrl::parse("http://localhost/api/codes")
            .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
        let request = Request::post(url, Auth::Bearer(token), json!({}));
        let deadline = Deadline::after(ANSWER_TIME);
        let answer = block_on(client.send(&request, &deadline))?.map_err(|_| no_service())?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let link = body.get("link").and_then(Value::as_str).ok_or_else(|| {
            usage_error("the service that runs gives no link").hint("end it and start it again")
        })?;
        Ok(ServiceLink {
            link: Secret::new(link),
            service,
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

fn no_service() -> EffectError {
    usage_error("no service of yours runs on this machine")
        .suggest_steps([agentos_api::NextStep::StartService])
}

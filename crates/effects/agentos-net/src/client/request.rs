//! Requests to a server, and how a key is sent with them.
//!
//! Owns: the parts of a request. Never: sends one.

use agentos_tool::Secret;
use serde_json::Value;

use crate::HttpUrl;

/// Method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Asks the server to do something.
    Post,
    /// Asks the server to end something.
    Delete,
}

/// Way in which a key is sent.
#[derive(Debug, Clone)]
pub enum Auth {
    /// No key.
    None,
    /// Header `Authorization: Bearer …`.
    Bearer(Secret),
    /// In a header of its own.
    Header(&'static str, Secret),
}

impl From<Option<&Secret>> for Auth {
    /// Returns [`Auth::Bearer`] if there is a key, else [`Auth::None`].
    fn from(key: Option<&Secret>) -> Self {
        // An empty variable in the environment means that there is no key.
        key.filter(|key| !key.is_empty())
            .map_or(Self::None, |key| Self::Bearer(key.clone()))
    }
}

/// Request to a server.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method of the request.
    pub method: Method,
    /// Address of the request.
    pub url: HttpUrl,
    /// More headers; never a key.
    pub headers: Vec<(&'static str, String)>,
    /// Headers whose names a protocol derives from its messages; never a key. A name that is none refuses the request.
    pub derived_headers: Vec<(String, String)>,
    /// Body, sent as JSON. `None` for a request without one.
    pub body: Option<Value>,
    /// Fields of a form, sent as the body instead of JSON. Empty for a request without a form.
    pub form: Vec<(&'static str, Secret)>,
    /// Key, and how it is sent.
    pub auth: Auth,
}

impl Request {
    /// Creates a request that reads `url`.
    #[must_use]
    pub fn get(url: HttpUrl, auth: Auth) -> Self {
        Self {
            method: Method::Get,
            url,
            headers: Vec::new(),
            derived_headers: Vec::new(),
            body: None,
            form: Vec::new(),
            auth,
        }
    }

    /// Creates a request that sends a form to `url`. Values are secrets, since forms carry codes and tokens of a sign-in.
    #[must_use]
    pub fn post_form(url: HttpUrl, auth: Auth, form: Vec<(&'static str, Secret)>) -> Self {
        Self {
            method: Method::Post,
            form,
            ..Self::get(url, auth)
        }
    }

    /// Creates a request that sends `body` to `url`.
    #[must_use]
    pub fn post(url: HttpUrl, auth: Auth, body: Value) -> Self {
        Self {
            method: Method::Post,
            url,
            headers: Vec::new(),
            derived_headers: Vec::new(),
            body: Some(body),
            form: Vec::new(),
            auth,
        }
    }
}

impl Request {
    /// Counts the bytes of the JSON body, as it is sent. 0 without one.
    #[must_use]
    pub fn count_json_bytes(&self) -> u64 {
        let mut counter = ByteCounter(0);
        // Writing a value to a writer that never fails cannot fail.
        if let Some(body) = &self.body {
            let _ = serde_json::to_writer(&mut counter, body);
        }
        counter.0
    }
}

/// Writer that counts bytes and keeps none.
struct ByteCounter(u64);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self
            .0
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes the fields of a form as a body.
pub(super) fn write_form(form: &[(&'static str, Secret)]) -> String {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in form {
        body.append_pair(name, value.expose());
    }
    body.finish()
}

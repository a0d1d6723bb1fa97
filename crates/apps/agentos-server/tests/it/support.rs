//! A running service, and requests to it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use agentos_testkit::cli::{Cli, send_signal};
use agentos_testkit::http::{RawAnswer, begin_request, send_bytes};
use agentos_testkit::repo::{TestRepo, write_file};
use serde_json::Value;

pub const LIB: &str = "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n";
pub const FIX: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i64, b: i64) -> i64 {\n-    a - b\n+    a + b\n }\n";

/// A service that ends with the value.
pub struct Service {
    pub repo: TestRepo,
    pub address: String,
    pub token: String,
    pub agent_token: String,
    /// Program with the user's home, which must stay as long as the service.
    pub cli: Cli,
    code: String,
    child: Child,
}

/// Parts of a request.
#[derive(Default)]
pub struct Sent<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub host: Option<&'a str>,
    pub headers: Vec<(&'a str, String)>,
    pub body: String,
}

/// A person who is signed in.
pub struct Person {
    pub cookie: String,
    pub form: String,
}

impl Service {
    pub fn start() -> Self {
        let repo = TestRepo::new();
        repo.write("src/lib.rs", LIB);
        repo.commit_all("begin");
        Self::start_in(repo)
    }

    pub fn start_in(repo: TestRepo) -> Self {
        Self::start_with(repo, |_| {})
    }

    /// Starts a service whose user's settings are prepared first.
    pub fn start_with(repo: TestRepo, prepare: impl FnOnce(&Cli)) -> Self {
        Self::start_with_vars(repo, &[], prepare)
    }

    /// Starts a service for a user with these profiles, each a name and its other fields, and these variables.
    pub fn start_with_profiles(repo: TestRepo, profiles: &[(&str, Value)], vars: &[(&str, &str)]) -> Self {
        Self::start_with_vars(repo, vars, |cli| {
            let folder = cli.home().join(".config/agentos/profiles");
            for (name, fields) in profiles {
                let mut profile = fields.clone();
                profile["provider"] = Value::from(*name);
                profile["name"] = Value::from(*name);
                write_file(&folder.join(format!("{name}.json")), profile.to_string());
            }
        })
    }

    fn start_with_vars(repo: TestRepo, vars: &[(&str, &str)], prepare: impl FnOnce(&Cli)) -> Self {
        let mut cli = Cli::new(env!("CARGO_BIN_EXE_agentos-server"))
            .unwrap()
            .in_dir(repo.path());
        for (name, value) in vars {
            cli = cli.env(*name, *value);
        }
        prepare(&cli);
        let mut child = cli
            .command(&["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let link = lines.next().unwrap().unwrap();
        let api = lines.next().unwrap().unwrap();
        let code = link.split_once('#').unwrap().1.to_owned();
        let address = api
            .split_once("http://")
            .unwrap()
            .1
            .split_once("/api")
            .unwrap()
            .0
            .to_owned();
        let read = |name: &str| {
            let text = std::fs::read_to_string(token_file(cli.home(), name)).unwrap();
            text.trim().to_owned()
        };
        let (token, agent_token) = (read("token"), read("agent-token"));
        Self {
            repo,
            address,
            token,
            agent_token,
            cli,
            code,
            child,
        }
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn send(&self, sent: &Sent<'_>) -> RawAnswer {
        let mut text = format!("{} {} HTTP/1.1\r\n", sent.method, sent.path);
        write!(
            text,
            "Host: {}\r\nConnection: close\r\n",
            sent.host.unwrap_or(&self.address)
        )
        .unwrap();
        for (name, value) in &sent.headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        if sent.method == "POST" {
            write!(text, "Content-Length: {}\r\n", sent.body.len()).unwrap();
        }
        write!(text, "\r\n{}", sent.body).unwrap();
        send_bytes(&self.address, text.as_bytes()).unwrap()
    }

    /// Sends a request of a program, reads until `seen`, and closes the connection.
    pub fn send_and_leave(&self, path: &str, body: &str, seen: &str) {
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: {0}\r\nAuthorization: Bearer {1}\r\nContent-Type: application/json\r\nContent-Length: {2}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        let mut stream = begin_request(&self.address, text.as_bytes()).unwrap();
        let mut read = Vec::new();
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&read).contains(seen) {
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&piece[..count]);
        }
    }

    /// Sends a form as a browser does from this service's own page.
    pub fn post_form(&self, path: &str, cookie: &str, pairs: &[(&str, &str)]) -> RawAnswer {
        self.send(&Sent {
            method: "POST",
            path,
            headers: vec![
                ("Origin", self.origin()),
                ("Sec-Fetch-Site", "same-origin".to_owned()),
                ("Content-Type", "application/x-www-form-urlencoded".to_owned()),
                ("Cookie", format!("agentos-session={cookie}")),
            ],
            body: encode(pairs),
            ..Sent::default()
        })
    }

    pub fn get(&self, path: &str, cookie: &str) -> RawAnswer {
        let headers = vec![("Cookie", format!("agentos-session={cookie}"))];
        self.send(&Sent {
            method: "GET",
            path,
            headers,
            ..Sent::default()
        })
    }

    /// Sends a request of a program.
    pub fn call(&self, method: &str, path: &str, body: &str) -> RawAnswer {
        let headers = vec![
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
        ];
        self.send(&Sent {
            method,
            path,
            headers,
            body: body.to_owned(),
            ..Sent::default()
        })
    }

    pub fn sign_in(&self) -> Person {
        let signed = self.post_form("/signin", "", &[("code", &self.code)]);
        assert_eq!(signed.status, 303, "{}", signed.body);
        let line = signed.header("set-cookie").unwrap();
        assert!(line.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{line}");
        let cookie = line
            .split_once('=')
            .unwrap()
            .1
            .split_once(';')
            .unwrap()
            .0
            .to_owned();
        let form = hidden(&self.get("/", &cookie).body, "form");
        Person { cookie, form }
    }

    /// Proposes a diff over the API, and returns its run.
    pub fn propose(&self, diff: &str) -> String {
        let body = serde_json_text(&[("answer", diff), ("message", "Make add add")]);
        let proposed = self.call("POST", "/api/proposals", &body);
        assert_eq!(proposed.status, 200, "{}", proposed.body);
        let run = proposed.body.split_once("\"run\":\"").unwrap().1;
        run.split_once('"').unwrap().0.to_owned()
    }

    /// Returns what an attack could change: the file, the last commit, and the number of open requests.
    pub fn state(&self) -> (String, String, usize) {
        let open = self
            .call("GET", "/api/requests", "")
            .body
            .matches("\"asked\":")
            .count();
        (
            self.read("src/lib.rs"),
            self.repo.git(&["rev-parse", "HEAD"]),
            open,
        )
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo.path().join(path)).unwrap()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends the service as Ctrl-C does, and returns its exit status.
    pub fn interrupt(&mut self) -> Option<i32> {
        assert!(send_signal(self.child.id(), "INT"));
        self.child.wait().unwrap().code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token_file(home: &Path, name: &str) -> std::path::PathBuf {
    home.join(".local/state/agentos/server").join(name)
}

/// Returns the value of a hidden member of a form.
pub fn hidden(page: &str, name: &str) -> String {
    let after = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("{page}"))
        .1;
    after.split_once('"').unwrap().0.to_owned()
}

pub fn encode(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        write!(text, "{name}=").unwrap();
        for byte in value.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
                _ => write!(text, "%{byte:02X}").unwrap(),
            }
        }
    }
    text
}

/// Makes a JSON object of texts.
pub fn serde_json_text(pairs: &[(&str, &str)]) -> String {
    let pairs: std::collections::BTreeMap<_, _> = pairs.iter().copied().collect();
    serde_json::to_string(&pairs).unwrap()
}

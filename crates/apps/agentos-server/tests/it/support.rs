//! A running service, and requests to it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use agentos_host::{Environment, Host, NewToken, TokenScope};
use agentos_testkit::cli::{Cli, send_signal};
use agentos_testkit::http::{RawAnswer, begin_request, send_bytes, send_local};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::closed_port;
use serde_json::Value;

pub const LIB: &str = "pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n";
pub const FIX: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i64, b: i64) -> i64 {\n-    a - b\n+    a + b\n }\n";

/// A service that ends with the value.
pub struct Service {
    pub repo: TestRepo,
    /// Address of the network.
    pub address: String,
    /// Value of Host of the repository's page.
    pub page: String,
    /// Token that reaches `/v1`.
    pub token: String,
    /// Token that reaches `/mcp`.
    pub agent_token: String,
    /// Token that reads `/api`.
    pub read_token: String,
    /// Program with the user's home, which must stay as long as the service.
    pub cli: Cli,
    /// First words of the program, up to the address of its API.
    pub greeting: String,
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

    /// Starts a service that other devices reach at `http://localhost`, as over a tunnel.
    pub fn start_for_devices(repo: TestRepo) -> Self {
        let place = closed_port().unwrap();
        let port = place.rsplit_once(':').unwrap().1;
        let prepare = |cli: &Cli| {
            let file = cli.home().join(".config/agentos/config.toml");
            write_file(&file, format!("device_addresses = \"http://localhost:{port}\"\n"));
        };
        Self::start_at(repo, &[], Some(&format!("127.0.0.1:{port}")), prepare)
    }

    fn start_with_vars(repo: TestRepo, vars: &[(&str, &str)], prepare: impl FnOnce(&Cli)) -> Self {
        Self::start_at(repo, vars, None, prepare)
    }

    fn start_at(
        repo: TestRepo,
        vars: &[(&str, &str)],
        listen: Option<&str>,
        prepare: impl FnOnce(&Cli),
    ) -> Self {
        let mut cli = Cli::new(env!("CARGO_BIN_EXE_agentos-server"))
            .unwrap()
            .in_dir(repo.path());
        for (name, value) in vars {
            cli = cli.env(*name, *value);
        }
        prepare(&cli);
        let (child, greeting, address) = start_program(&cli, listen.unwrap_or("127.0.0.1:0"));
        let mut service = Self {
            address,
            page: String::new(),
            token: make_token(&cli, repo.path(), TokenScope::Models),
            agent_token: make_token(&cli, repo.path(), TokenScope::Agent),
            read_token: make_token(&cli, repo.path(), TokenScope::Read),
            repo,
            cli,
            greeting,
            code: String::new(),
            child,
        };
        let (page, code) = service.join(service.repo.path());
        (service.page, service.code) = (page, code);
        service
    }

    /// Joins the service with a repository. Returns the name of its page, and a code that signs one browser in.
    pub fn join(&self, folder: &Path) -> (String, String) {
        self.order(&serde_json::json!({ "folder": folder, "policies": [] }))
    }

    /// Gives the service an order over the Unix socket. Returns the name of the page and the code of its answer.
    pub fn order(&self, order: &Value) -> (String, String) {
        let joined = self.call("POST", "/service/join", &order.to_string());
        assert_eq!(joined.status, 200, "{}", joined.body);
        let answer: Value = serde_json::from_str(&joined.body).unwrap();
        let link = answer["link"].as_str().unwrap();
        let (place, code) = link.split_once("/signin#").unwrap();
        (place.strip_prefix("http://").unwrap().to_owned(), code.to_owned())
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.page)
    }

    /// Returns the product, as the user's programs have it in a folder.
    pub fn host_of_folder(&self, folder: &Path) -> Host {
        open_host(&self.cli, folder)
    }

    pub fn host(&self) -> Host {
        self.host_of_folder(self.repo.path())
    }

    /// Returns the path of the Unix socket.
    pub fn socket(&self) -> std::path::PathBuf {
        token_file(self.cli.home(), "socket")
    }

    /// Returns the name under which a path is answered.
    fn host_of(&self, path: &str) -> &str {
        let fixed = ["/v1", "/mcp", "/api", "/metrics", "/healthz", "/repositories"];
        match fixed.iter().any(|start| path.starts_with(start)) {
            true => &self.address,
            false => &self.page,
        }
    }

    pub fn send(&self, sent: &Sent<'_>) -> RawAnswer {
        let text = self.write_request(sent, self.host_of(sent.path));
        send_bytes(&self.address, text.as_bytes()).unwrap()
    }

    /// Sends a request over the Unix socket.
    pub fn send_local(&self, sent: &Sent<'_>) -> RawAnswer {
        let text = self.write_request(sent, "localhost");
        send_local(&self.socket(), text.as_bytes()).unwrap()
    }

    fn write_request(&self, sent: &Sent<'_>, host: &str) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", sent.method, sent.path);
        write!(
            text,
            "Host: {}\r\nConnection: close\r\n",
            sent.host.unwrap_or(host)
        )
        .unwrap();
        for (name, value) in &sent.headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        if sent.method == "POST" {
            write!(text, "Content-Length: {}\r\n", sent.body.len()).unwrap();
        }
        write!(text, "\r\n{}", sent.body).unwrap();
        text
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

    /// Sends a request of a program: to `/v1` with its token, and everything else as the user over the Unix socket.
    pub fn call(&self, method: &str, path: &str, body: &str) -> RawAnswer {
        let mut headers = vec![("Content-Type", "application/json".to_owned())];
        let is_client = path.starts_with("/v1");
        headers.extend(is_client.then(|| ("Authorization", format!("Bearer {}", self.token))));
        let sent = Sent {
            method,
            path,
            headers,
            body: body.to_owned(),
            ..Sent::default()
        };
        match is_client {
            true => self.send(&sent),
            false => self.send_local(&sent),
        }
    }

    pub fn sign_in(&self) -> Person {
        self.sign_in_with(&self.code)
    }

    /// Signs a browser in with a code.
    pub fn sign_in_with(&self, code: &str) -> Person {
        let signed = self.post_form("/signin", "", &[("code", code)]);
        assert_eq!(signed.status, 303, "{}", signed.body);
        let cookie = read_cookie(&signed);
        let form = hidden(&self.get("/", &cookie).body, "form");
        Person { cookie, form }
    }

    /// Proposes a diff over the API, and returns its run.
    pub fn propose(&self, diff: &str) -> String {
        self.propose_at("/api/proposals", diff)
    }

    /// Proposes a diff in one of several repositories.
    pub fn propose_in(&self, folder: &Path, diff: &str) -> String {
        let id = self.host_of_folder(folder).known_repository().unwrap().id;
        self.propose_at(&format!("/repositories/{id}/api/proposals"), diff)
    }

    fn propose_at(&self, path: &str, diff: &str) -> String {
        let body = serde_json_text(&[("answer", diff), ("message", "Make add add")]);
        let proposed = self.call("POST", path, &body);
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

    /// Kills the service, and starts it again for the same user.
    pub fn restart(&mut self) {
        self.kill();
        (self.child, self.greeting, self.address) = start_program(&self.cli, "127.0.0.1:0");
        (self.page, self.code) = self.join(self.repo.path());
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

impl Service {
    /// Returns the name of the session of the repository.
    pub fn usual_session(&self) -> String {
        open_host(&self.cli, self.repo.path()).usual_session().to_string()
    }
}

/// Starts the program, and reads its first words and the address in them.
fn start_program(cli: &Cli, listen: &str) -> (Child, String, String) {
    let mut child = cli
        .command(&["--listen", listen])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut greeting = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        greeting.push_str(&line);
        greeting.push('\n');
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    let address = greeting.split_once("API   http://").unwrap().1;
    let address = address.split_once(',').unwrap().0.to_owned();
    (child, greeting, address)
}

fn open_host(cli: &Cli, folder: &Path) -> Host {
    let vars = [("HOME".to_owned(), cli.home().display().to_string())];
    Host::new(Environment::new(vars, folder.to_owned()))
}

/// Returns the value of the cookie that an answer sets.
pub fn read_cookie(signed: &RawAnswer) -> String {
    let line = signed.header("set-cookie").unwrap();
    assert!(line.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{line}");
    let (_, value) = line.split_once('=').unwrap();
    value.split_once(';').unwrap().0.to_owned()
}

/// Makes a token for a repository, as `agentos serve token add` does.
fn make_token(cli: &Cli, folder: &Path, scope: TokenScope) -> String {
    let host = open_host(cli, folder);
    let order = NewToken {
        name: scope.as_str().to_owned(),
        scope,
        repositories: host.known_repository().into_iter().collect(),
        days: 90,
    };
    host.add_service_token(&order).unwrap().secret.expose().to_owned()
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

//! What lies outside the sandbox for the rogue to reach: files, a home, sockets, a process, a repository.
//!
//! Owns: preparing it, so open that nothing but the sandbox protects it, and measuring it. Never: uses anything of
//! the machine's own.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::error::GateError;
use crate::witness::{self, State};

/// The user that the product runs tools as when root starts it; the rogue's own test becomes it too.
const TOOL_USER: u32 = 65_533;

const ROGUE: &str = include_str!("../../../../scripts/rogue/rogue.py");

const CANARIES: &[&str] = &[
    "write",
    "append",
    "truncate",
    "unlink",
    "rename",
    "link",
    "symlink",
    "fd",
    "own",
    "inherited",
];

/// Python, from the system's folders first: those every sandbox shows.
pub(super) fn python() -> Option<PathBuf> {
    let places = ["/usr/bin/python3", "/bin/python3", "/usr/local/bin/python3"];
    places.iter().map(PathBuf::from).find(|place| place.is_file())
}

/// Everything outside.
pub(super) struct Ground {
    scratch: tempfile::TempDir,
    repository: PathBuf,
    token: String,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    hidden: UnixListener,
    victim: Child,
}

/// How it was before.
pub(super) struct Before {
    repository: State,
    files: BTreeMap<PathBuf, String>,
}

type Finding = (&'static str, &'static str, bool, String);

impl Ground {
    pub(super) fn prepare() -> Result<Self, GateError> {
        let scratch = tempfile::TempDir::new().map_err(GateError::file("the temporary folder"))?;
        let top = scratch.path().to_owned();
        let token = format!("agentos-rogue-{}", std::process::id());
        for folder in ["outside", "home/.ssh"] {
            std::fs::create_dir_all(top.join(folder)).map_err(GateError::file(&top))?;
        }
        for name in CANARIES {
            put(&top.join(format!("outside/canary-{name}")), "canary\n")?;
        }
        for (path, text) in [("home/.ssh/id_rogue", "secret\n"), ("home/.profile", "# mine\n")] {
            put(&top.join(path), text)?;
        }
        put(&Path::new("/dev/shm").join(&token), "canary\n")?;
        let repository = witness::make_repository(&top)?;
        let spare_above = top.join("spare");
        std::fs::create_dir_all(&spare_above).map_err(GateError::file(&spare_above))?;
        witness::make_repository(&spare_above)?;
        let socket = top.join("outside/socket");
        let failed = || GateError::file("a socket for the rogue");
        let tcp = TcpListener::bind("127.0.0.1:0").map_err(failed())?;
        let udp = UdpSocket::bind("127.0.0.1:0").map_err(failed())?;
        let unix = UnixListener::bind(&socket).map_err(failed())?;
        let hidden = abstract_socket(&token).map_err(failed())?;
        let victim = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn()
            .map_err(GateError::file("sleep"))?;
        let ground = Self {
            scratch,
            repository,
            token,
            tcp,
            udp,
            unix,
            hidden,
            victim,
        };
        ground.write_suite()?;
        ground.open()?;
        Ok(ground)
    }

    /// The rogue and its configuration, committed, so that they are in every copy.
    fn write_suite(&self) -> Result<(), GateError> {
        let failed = || GateError::file("a socket for the rogue");
        let config = json!({
            "repository": self.repository, "spare": self.spare(), "outside": self.outside(),
            "home": self.home(), "token": self.token, "pid": std::process::id(), "victim": self.victim.id(),
            "tcp": self.tcp.local_addr().map_err(failed())?.port(),
            "udp": self.udp.local_addr().map_err(failed())?.port(),
            "unix": self.outside().join("socket"),
        });
        let profiles = self.home().join(".config/agentos/profiles");
        std::fs::create_dir_all(&profiles).map_err(GateError::file(&profiles))?;
        let agent = json!({
            "provider": super::answers::PROFILE, "adapter": "acp", "timeout_seconds": 60,
            "program": {"command": python(), "args": ["rogue.py", "rogue.json", "acp-direct-write"]},
        });
        put(
            &profiles.join(format!("{}.json", super::answers::PROFILE)),
            &agent.to_string(),
        )?;
        put(&self.repository.join("rogue.py"), ROGUE)?;
        put(&self.repository.join("rogue.json"), &config.to_string())?;
        witness::commit_all(&self.repository, "the rogue and its configuration")
    }

    /// Opens everything to everybody: where an attempt fails, it is not for want of plain permissions.
    pub(super) fn open(&self) -> Result<(), GateError> {
        open_below(self.scratch.path())?;
        open_up(&Path::new("/dev/shm").join(&self.token), 0o666)?;
        let own = self.outside().join("canary-own");
        // Only an owner may change modes; where root starts the product, tools are this user.
        let owner = Some(TOOL_USER);
        match std::os::unix::fs::chown(&own, owner, owner) {
            Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => {
                Err(GateError::file(own)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn repository(&self) -> &Path {
        &self.repository
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.scratch.path().join("outside")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    fn spare(&self) -> PathBuf {
        self.scratch.path().join("spare/repository")
    }

    pub(super) fn measure(&self) -> Result<Before, GateError> {
        Ok(Before {
            repository: State::measure(&self.repository)?,
            files: self.files()?,
        })
    }

    /// Every file outside that is not the repository's.
    fn files(&self) -> Result<BTreeMap<PathBuf, String>, GateError> {
        let mut files = BTreeMap::new();
        for folder in [self.outside(), self.spare(), self.home()] {
            // The product keeps its own keys and settings in the home.
            let own = |path: &Path| {
                path.starts_with(".config") || path.starts_with(".agentos") || path.starts_with(".local")
            };
            let mut found = BTreeMap::new();
            witness::list(&folder, &folder, &own, &mut found)?;
            files.extend(found.into_iter().map(|(path, seen)| (folder.join(path), seen)));
        }
        Ok(files)
    }

    /// What is different now, seen from outside.
    pub(super) fn differences(&self, before: &Before) -> Result<Vec<Finding>, GateError> {
        let repository = match State::measure(&self.repository) {
            Ok(after) => before.repository.differences(&after),
            Err(error) => vec![format!("it cannot be read any more: {error}")],
        };
        let after = self.files()?;
        let changed: Vec<String> = before
            .files
            .keys()
            .chain(after.keys())
            .filter(|path| before.files.get(*path) != after.get(*path))
            .map(|path| path.display().to_string())
            .collect();
        let shared = std::fs::read_to_string(Path::new("/dev/shm").join(&self.token)).unwrap_or_default();
        let alive = Path::new("/proc")
            .join(self.victim.id().to_string())
            .join("cmdline");
        let alive = std::fs::read(alive).is_ok_and(|line| line.starts_with(b"sleep"));
        let heard = self.heard();
        let left = left_behind();
        let say = |list: &[String]| match list.is_empty() {
            true => "as before".to_owned(),
            false => list.join("; "),
        };
        Ok(vec![
            (
                "repository",
                "the repository is byte-identical",
                repository.is_empty(),
                say(&repository),
            ),
            (
                "outside",
                "every file outside is as before",
                changed.is_empty(),
                say(&changed),
            ),
            (
                "shared-memory-outside",
                "shared memory is as before",
                shared == "canary\n",
                shared.clone(),
            ),
            (
                "victim",
                "the other process lives",
                alive,
                format!("alive: {alive}"),
            ),
            (
                "silence",
                "no socket outside heard anything",
                heard.is_empty(),
                say(&heard),
            ),
            (
                "processes-left",
                "no process of the rogue is left",
                left.is_empty(),
                say(&left),
            ),
        ])
    }

    /// Sockets that a connection or a packet reached.
    fn heard(&self) -> Vec<String> {
        let mut heard = Vec::new();
        if self.tcp.set_nonblocking(true).is_ok() && self.tcp.accept().is_ok() {
            heard.push("TCP".to_owned());
        }
        if self.udp.set_nonblocking(true).is_ok() && self.udp.recv(&mut [0; 16]).is_ok() {
            heard.push("UDP".to_owned());
        }
        for (name, socket) in [("unix", &self.unix), ("abstract", &self.hidden)] {
            if socket.set_nonblocking(true).is_ok() && socket.accept().is_ok() {
                heard.push(name.to_owned());
            }
        }
        heard
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // It may have ended: that was judged before.
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = std::fs::remove_file(Path::new("/dev/shm").join(&self.token));
    }
}

/// Processes of this run's rogue that still live: their command line names the script.
fn left_behind() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let rogue = |place: PathBuf| {
        let line = std::fs::read(place.join("cmdline")).ok()?;
        let parts: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_rogue = parts.get(1) == Some(&b"rogue.py".as_slice());
        is_rogue.then(|| format!("process {}", place.display()))
    };
    entries
        .flatten()
        .filter_map(|entry| rogue(entry.path()))
        .collect()
}

#[cfg(target_os = "linux")]
fn abstract_socket(name: &str) -> std::io::Result<UnixListener> {
    use std::os::linux::net::SocketAddrExt;
    UnixListener::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn abstract_socket(_name: &str) -> std::io::Result<UnixListener> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn put(path: &Path, text: &str) -> Result<(), GateError> {
    std::fs::write(path, text).map_err(GateError::file(path))
}

fn open_up(path: &Path, mode: u32) -> Result<(), GateError> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(GateError::file(path))
}

fn open_below(folder: &Path) -> Result<(), GateError> {
    open_up(folder, 0o777)?;
    for entry in std::fs::read_dir(folder).map_err(GateError::file(folder))? {
        let path = entry.map_err(GateError::file(folder))?.path();
        let about = path.symlink_metadata().map_err(GateError::file(&path))?;
        // What the product keeps for itself stays as it made it: it may refuse keys that others can read.
        if path.ends_with(".git/agentos") || path.ends_with(".config") || path.ends_with(".agentos") {
            continue;
        }
        if about.is_dir() {
            open_below(&path)?;
        } else if !about.is_symlink() {
            let executable = about.permissions().mode() & 0o111;
            open_up(&path, 0o666 | executable)?;
        }
    }
    Ok(())
}

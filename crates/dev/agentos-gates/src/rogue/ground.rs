//! Everything outside the sandbox that the rogue could reach: files, a home, sockets, processes, a repository with a history.
//!
//! Owns: preparing it with open permissions, so that only the sandbox protects it. Never: uses files of the machine.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::basics::{AGENT, DIRECT, PROXIED, run_quietly, write_file};
use super::listeners::Listeners;
use super::past;
use super::suite::{self, AttemptRow};
use super::toolbox;
use super::widening;
use crate::error::GateError;
use crate::witness;

/// Owner of the files that the tool could change if it were outside, if root starts the product.
pub(super) const TOOL_USER: u32 = 65_533;

/// Name of the cache of most runs.
const MAIN_CACHE: &str = "main";

/// Key of the neighbour's shared memory and message queue, which is unlikely to be in use on a machine.
const KEY: u32 = 0x526f_6700;

/// Finds Python in the folders that every sandbox shows; `None` if it is not there.
pub(super) fn find_python() -> Option<PathBuf> {
    // The sandbox shows system folders only, so a Python of the user's home or of a virtual environment would
    // not start there.
    let places = ["/usr/bin/python3", "/bin/python3", "/usr/local/bin/python3"];
    places.iter().map(PathBuf::from).find(|place| place.is_file())
}

/// Returns the user who started the gate.
///
/// # Errors
/// When no temporary file can be created, whose owner that user is.
pub(super) fn gate_user() -> Result<u32, GateError> {
    let failed = || GateError::file("a temporary file");
    // The owner of a new file is the effective user id; asking the system for it would need `unsafe` or another
    // crate.
    let file = tempfile::NamedTempFile::new().map_err(failed())?;
    Ok(file.as_file().metadata().map_err(failed())?.uid())
}

/// Everything outside the sandbox, removed when dropped.
pub(super) struct Ground {
    scratch: tempfile::TempDir,
    caches: tempfile::TempDir,
    repository: PathBuf,
    token: String,
    /// A text that every file which a tool must not read contains, and no other file.
    pub(super) marker: String,
    /// The attempts that the rogue makes here.
    pub(super) table: Vec<AttemptRow>,
    /// Sockets that record connections.
    pub(super) listeners: Listeners,
    victim: Child,
    neighbour: Child,
    /// The user who starts the product; `None` if it is the one who starts the gate.
    pub(super) user: Option<u32>,
}

impl Ground {
    /// Prepares everything for a product that `user` starts; with `None`, the user who started the gate does.
    pub(super) fn prepare(python: &Path, user: Option<u32>) -> Result<Self, GateError> {
        let scratch = scratch_folder()?;
        let caches = scratch_folder()?;
        let top = scratch.path().to_owned();
        let half = user.map_or("starter", |_| "user");
        let token = format!("agentos-rogue-{}-{half}", std::process::id());
        let marker = format!("kept-apart {token}");
        let repository = witness::make_repository(&top)?;
        suite::copy_files(&repository)?;
        let table = suite::read_table(python, &repository)?;
        lay_out(&top, &table, &marker)?;
        let listeners = Listeners::open(&top.join("outside"), &top.join("shown"), &token)?;
        let owner = match (user, gate_user()?) {
            // If root starts the product, its tools run as another user, and files of root would be protected
            // by ordinary permissions.
            (None, 0) => TOOL_USER,
            (None, user) => user,
            (Some(user), _) => user,
        };
        let mut started = started_as("sleep", &["600"], owner)?;
        let victim = started.spawn().map_err(GateError::file("sleep"))?;
        open_below(&top, owner)?;
        let (neighbour, numbers) = start_neighbour(python, &top, (&token, &marker), owner)?;
        let ground = Self {
            scratch,
            caches,
            repository,
            token,
            marker,
            table,
            listeners,
            victim,
            neighbour,
            user,
        };
        let objects = past::write_history(&ground.repository, &ground.marker)?;
        // The product keeps nothing in a cache whose parent folder another user can write to.
        change_owner(ground.caches(), ground.owner_id()?)?;
        set_mode(ground.caches(), 0o755)?;
        ground.make_cache(MAIN_CACHE)?;
        ground.write_configuration(python, &numbers, &objects)?;
        ground.open()?;
        Ok(ground)
    }

    /// Writes the rogue's configuration and commits it, so that every copy has it; then writes files that are not committed.
    fn write_configuration(&self, python: &Path, numbers: &Value, objects: &Value) -> Result<(), GateError> {
        let (tcp, allowed, udp) = self.listeners.ports()?;
        let config = json!({
            "repository": self.repository, "caches": self.caches(), "spare": self.spare_folder(), "outside": self.outside(), "home": self.home(),
            "shown": self.shown(), "token": self.token, "pid": std::process::id(), "victim": self.victim.id(),
            "tcp": tcp, "udp": udp, "allowed": allowed, "host": "localhost", "unix": self.outside().join("socket"),
            "key": KEY, "msg": numbers["msg"], "shm": numbers["shm"], "objects": objects,
        });
        write_file(&self.repository.join("rogue.json"), &config.to_string())?;
        write_file(&self.repository.join(".gitignore"), "target/\n*.log\n")?;
        set_mode(&self.repository.join("by_path.sh"), 0o755)?;
        witness::commit_all(&self.repository, "the rogue and its configuration")?;
        for name in [".env", "private.log"] {
            write_file(&self.repository.join(name), &self.marker)?;
        }
        fill_shared(&self.repository.join("target"), &self.outside())?;
        let profiles = self.home().join(".config/agentos/profiles");
        make_folders(&profiles)?;
        let host = format!("localhost:{allowed}");
        for (name, adapter, mode, hosts) in [
            (DIRECT, "acp", &["acp-direct-write"][..], &[][..]),
            (AGENT, "acp", &["survivors"], &[]),
            (PROXIED, "agent", &["--scene", "proxy"], &[&host]),
        ] {
            let args = [&["rogue.py", "rogue.json"], mode].concat();
            let profile = json!({
                "provider": name, "name": name, "adapter": adapter, "timeout_seconds": 120,
                "program": {"command": python, "args": args, "hosts": hosts},
            });
            write_file(&profiles.join(format!("{name}.json")), &profile.to_string())?;
        }
        toolbox::lay_out(self, python, &profiles, &config)?;
        widening::lay_out(self, python, &profiles)
    }

    /// Opens everything to every user, so that ordinary permissions cannot be the reason why an attempt fails.
    pub(super) fn open(&self) -> Result<(), GateError> {
        let owner = self.owner_id()?;
        open_below(self.scratch.path(), owner)?;
        // Only the owner of a file may change its mode, and if root starts the product, tools run as another user.
        let canaries = if (self.user, owner) == (None, 0) {
            TOOL_USER
        } else {
            owner
        };
        for folder in [self.outside(), self.spare_folder(), self.shown()] {
            open_below(&folder, canaries)?;
        }
        // A mode that is not the open one, so that a change of it would be visible.
        set_mode(&self.outside().join("tree/a/b"), 0o755)
    }

    /// Returns the user who starts the product.
    pub(super) fn owner_id(&self) -> Result<u32, GateError> {
        self.user.map_or_else(gate_user, Ok)
    }

    /// Creates a cache that only the user can read, like one in a home.
    pub(super) fn make_cache(&self, name: &str) -> Result<PathBuf, GateError> {
        let cache = self.caches().join(name);
        make_folders(&cache)?;
        set_mode(&cache, 0o700)?;
        change_owner(&cache, self.owner_id()?)?;
        Ok(cache)
    }

    /// Returns the folder of all caches.
    pub(super) fn caches(&self) -> &Path {
        self.caches.path()
    }

    /// Returns the cache of every run, except those that test caches.
    pub(super) fn cache(&self) -> PathBuf {
        self.caches().join(MAIN_CACHE)
    }

    /// Makes a command run as the user who starts the product.
    pub(super) fn as_user(&self, command: &mut Command) {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
    }

    pub(super) fn top_folder(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Returns the folder of the blobs in the product's evidence.
    pub(super) fn blob_folder(&self) -> PathBuf {
        self.repository.join(".git/agentos/blobs")
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.scratch.path().join("outside")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Returns the folder that is shown to the tool with `--read`.
    pub(super) fn shown(&self) -> PathBuf {
        self.scratch.path().join("shown")
    }

    pub(super) fn spare_folder(&self) -> PathBuf {
        self.scratch.path().join("spare/repository")
    }

    pub(super) fn run_token(&self) -> &str {
        &self.token
    }

    /// Returns paths at which a run could leave a file for another run.
    pub(super) fn places_left(&self) -> [String; 2] {
        let token = &self.token;
        [
            format!("/dev/shm/{token}-shared-memory-left"),
            format!("/tmp/{token}-temporary-file-left"),
        ]
    }

    /// Returns the ids of the gate's process and of those that it started here.
    pub(super) fn own_processes(&self) -> [u32; 3] {
        [std::process::id(), self.victim.id(), self.neighbour.id()]
    }

    /// Returns true if the process that attempts tried to end is still alive.
    pub(super) fn victim_lives(&self) -> bool {
        let line = format!("/proc/{}/cmdline", self.victim.id());
        std::fs::read(line).is_ok_and(|line| line.starts_with(b"sleep"))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Errors mean that a process has ended, which was judged before. The neighbour removes its shared memory when its
        // input ends.
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        drop(self.neighbour.stdin.take());
        let _ = self.neighbour.wait();
        for place in self.places_left() {
            let _ = std::fs::remove_file(place);
        }
        // A tool may have left so many levels of folders that the standard library's recursion would overflow the stack.
        // `rm` does not recurse.
        for folder in [self.scratch.path(), self.caches.path()] {
            remove_below(folder);
        }
    }
}

/// Removes a folder with everything in it, or a link.
pub(super) fn remove_below(folder: &Path) {
    if folder.symlink_metadata().is_err() {
        return;
    }
    // Errors are ignored: everything here is in a temporary folder.
    if !folder.is_symlink() {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(folder).status();
    }
    let _ = Command::new("rm").arg("-rf").arg(folder).status();
}

/// Creates a folder outside `/tmp`. In `/tmp` the sandbox has a writable folder of its own, in which a tool could create a
/// path that only looks like one outside.
fn scratch_folder() -> Result<tempfile::TempDir, GateError> {
    tempfile::TempDir::new_in("/var/tmp")
        .or_else(|_| tempfile::TempDir::new())
        .map_err(GateError::file("the temporary folder"))
}

/// Creates the folders outside and their files.
fn lay_out(top: &Path, table: &[AttemptRow], marker: &str) -> Result<(), GateError> {
    let folders = "outside/private outside/tree/a/b home/.ssh home/.aws shown spare";
    for folder in folders.split(' ') {
        make_folders(&top.join(folder))?;
    }
    for name in table.iter().map(|row| row.attempt.as_str()).chain(["inherited"]) {
        write_file(&top.join(format!("outside/canary-{name}")), "canary\n")?;
    }
    let secret = format!("{marker}\n");
    for (path, text) in [
        ("home/.ssh/id_rogue", secret.as_str()),
        ("home/.aws/credentials", &secret),
        ("home/.bash_history", &secret),
        ("outside/canary-read-canary", &secret),
        ("outside/private/notes.txt", &secret),
        ("home/.profile", "# mine\n"),
        ("neighbour.py", suite::NEIGHBOUR),
        ("speaker.py", suite::SPEAKER),
    ] {
        write_file(&top.join(path), text)?;
    }
    fill_shared(&top.join("shown"), &top.join("outside"))?;
    run_quietly(Command::new("mkfifo").arg(top.join("shown/gate")))?;
    witness::make_repository(&top.join("spare")).map(drop)
}

/// Creates a folder and its parents.
pub(super) fn make_folders(folder: &Path) -> Result<(), GateError> {
    std::fs::create_dir_all(folder).map_err(GateError::file(folder))
}

/// Fills a folder that is shown to the tool.
fn fill_shared(folder: &Path, outside: &Path) -> Result<(), GateError> {
    make_folders(folder)?;
    for name in ["file", "spare", "movable"] {
        write_file(&folder.join(name), "canary\n")?;
    }
    make_link(outside, &folder.join("link-outside"))
}

/// Creates a symbolic link to `to` at `place`.
pub(super) fn make_link(to: &Path, place: &Path) -> Result<(), GateError> {
    run_quietly(Command::new("ln").arg("-sfn").arg(to).arg(place))
}

/// Returns a command that runs as the user `owner` if root started the gate, otherwise as the gate's user.
fn started_as(program: impl AsRef<OsStr>, args: &[&str], owner: u32) -> Result<Command, GateError> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    if gate_user()? == 0 {
        command.uid(owner).gid(owner);
    }
    Ok(command)
}

/// Starts the neighbour and waits until its shared memory exists. Returns the process and the ids of what it holds.
fn start_neighbour(
    python: &Path,
    top: &Path,
    (token, marker): (&str, &str),
    owner: u32,
) -> Result<(Child, Value), GateError> {
    let failed = || GateError::file("the rogue's neighbour");
    let script = top.join("neighbour.py").display().to_string();
    let mut command = started_as(python, &[&script, &KEY.to_string(), token, marker], owner)?;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().map_err(failed())?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        BufReader::new(stdout).read_line(&mut line).map_err(failed())?;
    }
    Ok((child, serde_json::from_str(&line).unwrap_or_default()))
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), GateError> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(GateError::file(path))
}

/// Gives everything below a folder to `owner`, if that is permitted, and opens it to every user.
pub(super) fn open_below(folder: &Path, owner: u32) -> Result<(), GateError> {
    change_owner(folder, owner)?;
    set_mode(folder, 0o777)?;
    for entry in std::fs::read_dir(folder).map_err(GateError::file(folder))? {
        let path = entry.map_err(GateError::file(folder))?.path();
        let about = path.symlink_metadata().map_err(GateError::file(&path))?;
        // The product's own files keep their modes, because it refuses keys that others can read.
        if path.ends_with(".git/agentos") || path.ends_with(".agentos") {
            continue;
        }
        if path.ends_with(".config") {
            change_owner_below(&path, owner)?;
        } else if about.is_dir() {
            open_below(&path, owner)?;
        } else if !about.is_symlink() {
            change_owner(&path, owner)?;
            let executable = about.permissions().mode() & 0o111;
            set_mode(&path, 0o666 | executable)?;
        }
    }
    Ok(())
}

/// Gives everything below a folder to `owner` and follows no link.
pub(super) fn change_owner_below(path: &Path, owner: u32) -> Result<(), GateError> {
    change_owner(path, owner)?;
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).map_err(GateError::file(path))? {
            change_owner_below(&entry.map_err(GateError::file(path))?.path(), owner)?;
        }
    }
    Ok(())
}

/// Gives a file to `owner`. It is not an error that only root may do that.
fn change_owner(path: &Path, owner: u32) -> Result<(), GateError> {
    match std::os::unix::fs::lchown(path, Some(owner), Some(owner)) {
        Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => {
            Err(GateError::file(path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

//! What a run leaves behind when it does not end by itself: Ctrl-C, a time limit, kill -9 of the program, a program of the
//! tool's that will not end.
//!
//! Nothing of a tool may go on: no process, no mount, no folder. After kill -9 the folder is there until the next run.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use agentos_net::Deadline;
use agentos_testkit::cli::interrupt;
use agentos_testkit::repo::TestRepo;

use crate::support::{agentos, cache_of, runs_in, sandbox_holds, small_repo};

/// How long a process may take to come or to go. It takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tool that does not end when it is asked to, with a child in a session of its own: both are known by how long they
/// mean to sleep, which no other process on the machine does.
struct Stubborn {
    repo: TestRepo,
    seconds: String,
}

impl Stubborn {
    fn new(case: u32) -> Self {
        Self {
            repo: small_repo(),
            seconds: format!("{}{case}", 1_000_000 + std::process::id()),
        }
    }

    fn begin(&self, flags: &[&str]) -> Child {
        let script = format!(
            "echo x >> README.md; trap '' TERM INT HUP; setsid sleep {0} & sleep {0}",
            self.seconds
        );
        let run = ["run", "-p", "command"];
        let args = [&run[..], flags, &["--", "sh", "-c", &script]].concat();
        agentos()
            .in_dir(self.repo.path())
            .env("XDG_CACHE_HOME", cache_of(&self.repo))
            .command(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Begins, and waits until both sleep.
    fn at_work(&self) -> Child {
        let mut child = self.begin(&[]);
        self.until(2);
        assert!(child.try_wait().unwrap().is_none());
        assert!(self.mounted() > 0 && self.folders() == 1);
        child
    }

    fn until(&self, sleeping: usize) {
        let deadline = Deadline::after(PATIENCE);
        // The kernel takes the mounts of an ended process away a moment after the process.
        while self.sleeping() != sleeping || (sleeping == 0 && self.mounted() != 0) {
            assert!(!deadline.remaining().is_zero(), "there are {}", self.sleeping());
        }
    }

    /// Processes of the tool.
    fn sleeping(&self) -> usize {
        let end = format!("sleep\0{}\0", self.seconds);
        let found = processes().filter_map(|place| std::fs::read(place.join("cmdline")).ok());
        found.filter(|words| *words == end.as_bytes()).count()
    }

    /// Folders of runs.
    fn folders(&self) -> usize {
        runs_in(&cache_of(&self.repo)).len()
    }

    /// Processes, of whatever namespace, that see a mount of one of the copies.
    fn mounted(&self) -> usize {
        let copies = cache_of(&self.repo).join("agentos/copies").display().to_string();
        let found = processes().filter_map(|place| std::fs::read_to_string(place.join("mountinfo")).ok());
        found.filter(|mounts| mounts.contains(&copies)).count()
    }

    fn is_as_before(&self) {
        assert_eq!(self.repo.status(), "");
        assert_eq!(self.repo.git(&["rev-list", "--count", "--all"]).trim(), "1");
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let all = std::fs::read_dir(Path::new("/proc")).unwrap().flatten();
    all.map(|entry| entry.path()).filter(|place| {
        let name = place.file_name().unwrap().to_string_lossy();
        name.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[test]
fn ctrl_c_leaves_no_process_no_mount_and_no_folder() {
    if !sandbox_holds() {
        return;
    }
    let tool = Stubborn::new(1);
    let mut child = tool.at_work();
    assert!(interrupt(&child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((tool.sleeping(), tool.mounted(), tool.folders()), (0, 0, 0));
    tool.is_as_before();
}

#[test]
fn a_time_limit_leaves_no_process_no_mount_and_no_folder() {
    if !sandbox_holds() {
        return;
    }
    let tool = Stubborn::new(2);
    let mut child = tool.begin(&["--timeout", "1"]);
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_eq!((tool.sleeping(), tool.mounted(), tool.folders()), (0, 0, 0));
    tool.is_as_before();
}

#[test]
fn after_kill_nine_the_tool_ends_and_the_next_run_takes_its_folder_away() {
    if !sandbox_holds() {
        return;
    }
    let tool = Stubborn::new(3);
    let mut child = tool.at_work();
    child.kill().unwrap();
    child.wait().unwrap();
    // The system ends what was held with what held it.
    tool.until(0);
    assert_eq!((tool.mounted(), tool.folders()), (0, 1));
    tool.is_as_before();
    let next = agentos()
        .in_dir(tool.repo.path())
        .env("XDG_CACHE_HOME", cache_of(&tool.repo))
        .run(&["tool", "run", "-p", "command", "--", "touch", "new"])
        .unwrap();
    assert_eq!(next.code, Some(0), "{next}");
    assert_eq!(tool.folders(), 0);
}

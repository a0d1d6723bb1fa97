//! A held process on Windows, or on Wine, which knows tokens and jobs and enforces a part of them.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_winbox::{
    ConfinedProcess, JobLimits, ProcessPipes, ProcessStart, open_to_low_integrity, start_process, try_layers,
};

const LIMITS: JobLimits = JobLimits {
    cpu: Duration::from_secs(60),
    memory_bytes: 1 << 30,
    processes: 8,
};

/// Where Windows is; tests need no other.
const SYSTEM: &str = r"C:\Windows";

fn shell() -> PathBuf {
    Path::new(SYSTEM).join("System32").join("cmd.exe")
}

/// Says why this is not looked at, where Wine runs this.
fn is_skipped_on_wine(what: &str) -> bool {
    let wine = Path::new(SYSTEM).join("System32").join("winecfg.exe").exists();
    if wine {
        eprintln!("skipped: Wine does not enforce {what}");
    }
    wine
}

fn begun(words: &[&str], limits: JobLimits) -> (ConfinedProcess, ProcessPipes) {
    let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let env = [("SystemRoot", SYSTEM), ("GIVEN", "one")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    start_process(&ProcessStart {
        program: &shell(),
        args: &args,
        env: &env,
        cwd: &std::env::temp_dir(),
        limits,
    })
    .unwrap()
}

fn said(held: &ConfinedProcess, pipes: ProcessPipes) -> (u32, String) {
    let ProcessPipes {
        stdin,
        mut stdout,
        stderr,
    } = pipes;
    drop((stdin, stderr));
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    held.wait().unwrap();
    (held.code().unwrap(), text)
}

#[test]
fn everything_that_holds_can_be_made() {
    try_layers(&LIMITS).unwrap();
}

#[test]
fn it_speaks_on_its_three_streams_and_its_code_is_told() {
    let words = ["/d", "/v:on", "/c", "set /p HEARD=& echo !HEARD!& exit 7"];
    let (held, mut pipes) = begun(&words, LIMITS);
    pipes.stdin.write_all(b"one line\r\n").unwrap();
    let (code, text) = said(&held, pipes);
    assert!(text.contains("one line"), "{text}");
    assert_eq!(code, 7);
}

#[test]
fn its_environment_is_what_was_given() {
    let (held, pipes) = begun(&["/d", "/c", "echo %GIVEN%-%USERPROFILE%"], LIMITS);
    let (_, text) = said(&held, pipes);
    assert!(text.starts_with("one-%USERPROFILE%"), "{text}");
}

#[test]
fn it_ends_with_its_job() {
    let (held, pipes) = begun(&["/d", "/k"], LIMITS);
    held.end_all();
    held.wait().unwrap();
    assert_ne!(held.code().unwrap(), 0);
    drop(pipes);
}

#[test]
fn a_child_beyond_the_number_is_not_started() {
    if is_skipped_on_wine("the number of processes of a job") {
        return;
    }
    let one = JobLimits {
        processes: 1,
        ..LIMITS
    };
    let inner = format!("{} /d /c echo child", shell().display());
    let (held, pipes) = begun(&["/d", "/c", &inner], one);
    let (_, text) = said(&held, pipes);
    assert!(!text.contains("child"), "{text}");
}

#[test]
fn only_an_opened_folder_is_written_to() {
    if is_skipped_on_wine("the integrity levels of files") {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let open = tempfile::tempdir_in(top.path()).unwrap();
    open_to_low_integrity(open.path(), true).unwrap();
    for (folder, writes) in [(open.path(), true), (top.path(), false)] {
        let place = folder.join("written");
        let (held, pipes) = begun(&["/d", "/c", "echo x>", &place.display().to_string()], LIMITS);
        said(&held, pipes);
        assert_eq!(place.exists(), writes, "{}", place.display());
    }
}

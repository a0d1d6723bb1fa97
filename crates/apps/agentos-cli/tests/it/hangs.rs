//! Files that configure something and are none: a FIFO, a device, a link.
//!
//! Owns: that every one of them is refused, or passed over as git does, without waiting for anybody.

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, make_fifo, make_link, write_file};

use crate::support::{LIB_FIXED, SLOPPY_FIX, sandbox_holds, small_repo};

/// Seconds after which a call has hung.
const LIMIT: &str = "60";

/// The program under test, which is ended when it hangs.
struct Limited(Cli);

impl Limited {
    fn new(repo: &TestRepo) -> Self {
        Self(Cli::new("timeout").unwrap().in_dir(repo.path()))
    }

    fn run(&self, args: &[&str], input: &str) -> CliOutput {
        let program = ["--signal=KILL", LIMIT, env!("CARGO_BIN_EXE_agentos")];
        let output = self
            .0
            .run_with_input(&[&program[..], args].concat(), input.as_bytes())
            .unwrap();
        // `timeout` ends by the signal that it sends.
        assert!(
            output.code.is_some_and(|code| code < 124),
            "{args:?} hangs: {output}"
        );
        output
    }
}

#[test]
fn a_profile_that_is_no_regular_file_is_refused_at_once() {
    let lead = "cannot read `.agentos/profiles/openai.json`: ";
    for (make, told) in [
        (
            (|repo: &TestRepo| make_fifo(&repo.path().join(".agentos/profiles/openai.json")))
                as fn(&TestRepo),
            "it is not a regular file",
        ),
        (
            |repo| {
                make_fifo(&repo.outside().join("fifo"));
                repo.write(".agentos/profiles/x", "");
                let fifo = repo.outside().join("fifo");
                make_link(
                    &repo.path().join(".agentos/profiles/openai.json"),
                    fifo.to_str().unwrap(),
                );
            },
            "it is a symbolic link",
        ),
        (
            |repo| {
                repo.write(".agentos/profiles/x", "");
                make_link(&repo.path().join(".agentos/profiles/openai.json"), "/dev/zero");
            },
            "it is a symbolic link",
        ),
    ] {
        let repo = small_repo();
        make(&repo);
        let cli = Limited::new(&repo);
        let health = cli.run(&["tool", "health", "-p", "openai"], "");
        assert!(health.stdout.contains(&format!("{lead}{told}")), "{health}");
        cli.run(&["doctor"], "");
        cli.run(&["profile", "list"], "");
        let run = cli.run(&["run", "-p", "openai", "x"], "");
        assert!(run.to_string().contains(told), "{run}");
    }
}

#[test]
fn a_file_of_the_users_that_is_no_regular_file_is_refused_at_once() {
    for (place, args) in [
        (
            "agentos/profiles/openai.json",
            &["tool", "health", "-p", "openai"][..],
        ),
        ("agentos/policy/own.toml", &["policy", "show"]),
        ("agentos/policy/own.toml", &["apply", "-"]),
    ] {
        let repo = small_repo();
        let cli = Limited::new(&repo);
        make_fifo(&cli.0.home().join(".config").join(place));
        let output = cli.run(args, SLOPPY_FIX);
        assert_ne!(output.code, Some(0), "{place}: {output}");
        assert!(
            output.to_string().contains("it is not a regular file"),
            "{place}: {output}"
        );
        let head = repo.git(&["rev-list", "--count", "HEAD"]);
        assert_eq!(head, "1", "{place}");
    }
}

/// Git follows no link at these places of a work tree (gitattributes(5), gitignore(5)).
#[test]
fn a_tracked_link_to_a_fifo_configures_nothing() {
    for name in [
        ".gitattributes",
        ".gitignore",
        "src/.gitattributes",
        "src/.gitignore",
    ] {
        let repo = small_repo();
        let fifo = repo.outside().join("fifo");
        make_fifo(&fifo);
        make_link(&repo.path().join(name), fifo.to_str().unwrap());
        repo.commit_all("a link");
        let cli = Limited::new(&repo);
        let landed = cli.run(&["apply", "-"], SLOPPY_FIX);
        assert_eq!(landed.code, Some(0), "{name}: {landed}");
        assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
        assert_eq!(repo.status(), "", "{name}");
        if sandbox_holds() {
            let ran = cli.run(
                &["run", "-p", "command", "x", "--", "sh", "-c", "echo 1 > new.txt"],
                "",
            );
            assert_eq!(ran.code, Some(0), "{name}: {ran}");
        }
    }
}

#[test]
fn attributes_that_only_libgit2_could_read_through_a_fifo_are_refused() {
    for (make, text) in [
        (
            (|repo: &TestRepo| {
                repo.write("src/.gitattributes", "*.rs text\n");
                repo.commit_all("attributes");
                make_fifo(&repo.path().join(".gitattributes"));
            }) as fn(&TestRepo),
            ".gitattributes`: it is not a regular file, and git follows no link there",
        ),
        (
            |repo| make_fifo(&repo.path().join(".git/info/attributes")),
            "info/attributes`: it is not a regular file, and git follows no link there",
        ),
    ] {
        let repo = small_repo();
        make(&repo);
        let output = Limited::new(&repo).run(&["apply", "-"], SLOPPY_FIX);
        assert_ne!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains(text), "{output}");
    }
}

/// A shell's `<(...)` is a FIFO, and whoever names a file knows what it is.
#[test]
fn a_fifo_that_is_named_in_the_call_is_read() {
    let repo = small_repo();
    let fifo = repo.outside().join("answer");
    make_fifo(&fifo);
    let name = fifo.to_str().unwrap();
    let writer = {
        let fifo = fifo.clone();
        std::thread::spawn(move || write_file(&fifo, SLOPPY_FIX))
    };
    let landed = Limited::new(&repo).run(&["apply", name], "");
    writer.join().unwrap();
    assert_eq!(landed.code, Some(0), "{landed}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}

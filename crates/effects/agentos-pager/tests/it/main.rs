//! The pager from outside: real programs that read, or stop reading.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests: a panic is the failure"
)]
#![cfg(unix)]

use agentos_api::NextStep;
use agentos_pager::{PagerEnvironment, PagerError, PagerProgram};
use agentos_testkit::repo::{make_dir, set_mode, write_file};

fn pager(line: &str) -> PagerProgram {
    let around = PagerEnvironment {
        agentos_pager: Some(line),
        pager: None,
        less: None,
        path: "/usr/bin:/bin",
        home: None,
        repository: None,
    };
    PagerProgram::find_chosen(&around).unwrap().unwrap()
}

#[test]
fn the_pager_gets_the_whole_text_and_the_usual_flags_of_less() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("seen");
    let script = format!("cat > {0}; echo \"$LESS\" >> {0}", place.display());
    pager(&format!("sh -c '{script}'"))
        .show_text(b"one\ntwo\n")
        .unwrap();
    assert_eq!(std::fs::read_to_string(place).unwrap(), "one\ntwo\nFRX\n");
}

#[test]
fn who_leaves_before_the_end_has_seen_enough() {
    let long = vec![b'x'; 4 << 20];
    for line in ["true", "sh -c 'head -c 10 > /dev/null'", "false"] {
        pager(line).show_text(&long).unwrap();
    }
}

#[test]
fn what_cannot_be_started_is_named() {
    let no_program = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let error = pager(no_program).show_text(b"text").unwrap_err();
    assert!(matches!(error, PagerError::Start { .. }), "{error}");
    assert!(error.hint().contains("`PAGER`"));
    assert_eq!(error.next_steps(), [NextStep::PrintAtOnce]);
}

#[test]
fn a_pager_that_a_package_of_the_repository_brought_is_not_started() {
    let repository = tempfile::tempdir().unwrap();
    make_dir(&repository.path().join(".git"));
    let planted = repository.path().join("sh");
    write_file(&planted, "#!/bin/sh\n");
    set_mode(&planted, 0o755);
    let chosen = |path: &str| {
        let around = PagerEnvironment {
            agentos_pager: Some("sh"),
            pager: None,
            less: None,
            path,
            home: None,
            repository: Some(repository.path()),
        };
        PagerProgram::find_chosen(&around)
    };
    let entry = repository.path().display();
    let error = chosen(&entry.to_string()).unwrap_err();
    let expected = format!(
        "the pager `sh` is only in the repository, at `{}`",
        planted.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        chosen(&format!("{entry}:/bin")).unwrap(),
        chosen("/bin").unwrap(),
        "the planted one stands first"
    );
}

//! Which file a program is, and which one is not started.

use agentos_testkit::repo::{set_mode, write_file};

use super::*;

/// Writes a program that prints a version.
fn make_program(folder: &Path, name: &str, prints: &str) -> PathBuf {
    let file = folder.join(name);
    write_file(&file, format!("#!/bin/sh\necho '{prints}'\n"));
    set_mode(&file, 0o755);
    file
}

#[test]
fn a_program_is_found_next_to_this_one_first() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let running = own.path().join("agentos");
    let search = ProgramSearch::in_folders([other.path().to_owned()]);
    let find = || OwnProgram::find("agentos-x", "1.2.3", &running, &search);
    assert!(matches!(find(), Err(LaunchError::Missing(name)) if name == "agentos-x"));
    let elsewhere = make_program(other.path(), "agentos-x", "agentos-x 1.2.3");
    assert_eq!(find().unwrap().file, elsewhere);
    let sibling = make_program(own.path(), "agentos-x", "agentos-x 1.2.3 (abc)");
    assert_eq!(find().unwrap().file, sibling);
}

#[test]
fn a_program_of_another_version_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let running = folder.path().join("agentos");
    for (prints, found) in [
        ("agentos-x 1.2.2", "1.2.2"),
        ("hello", "unknown"),
        ("", "unknown"),
    ] {
        make_program(folder.path(), "agentos-x", prints);
        let error = OwnProgram::find("agentos-x", "1.2.3", &running, &ProgramSearch::default());
        let Err(LaunchError::Version { found: seen, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(seen, found, "{prints}");
    }
}

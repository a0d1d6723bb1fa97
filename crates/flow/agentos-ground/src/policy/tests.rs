//! Tests of the sources: files that would not be read, a missing home folder, and the owner of the machine's policy.

use agentos_testkit::repo::write_file;

use super::*;

#[test]
fn rules_of_the_user_that_would_not_be_read_are_an_error() {
    let cases = [
        ("policy/a.toml", None),
        ("policy/a.TOML", None),
        ("policy/README.md", None),
        (
            "policy/d.tml",
            Some("`~/.config/agentos/policy/d.tml` would not be read as rules"),
        ),
        (
            "policy/sub/d.toml",
            Some("`~/.config/agentos/policy/sub` is a folder"),
        ),
        (
            "policy.toml",
            Some("`~/.config/agentos/policy.toml` would not be read as rules"),
        ),
    ];
    for (name, expected) in cases {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".config/agentos").join(name);
        write_file(&file, "version = 1\n");
        let vars = [("HOME".to_owned(), home.path().display().to_string())];
        let ground = Ground::new(Environment::new(vars, home.path().join("repository")));
        let found = outer_layers(&ground, &[]);
        match expected {
            None => assert_eq!(
                found.unwrap().len(),
                usize::from(!name.ends_with(".md")),
                "{name}"
            ),
            Some(part) => {
                let error = found.unwrap_err();
                assert_eq!(error.code, "unreadable-policy");
                assert!(error.message.contains(part), "{}", error.message);
            }
        }
    }
}

#[test]
fn without_a_home_no_policy_is_guessed() {
    let ground = Ground::new(Environment::new([], PathBuf::from("/")));
    let error = outer_layers(&ground, &[]).unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.hint.as_deref()),
        ("no-home", Some("set `HOME`, on Windows `USERPROFILE`"))
    );
}

#[test]
fn only_root_may_write_the_machines_policy() {
    let cases = [
        (0, 0o100_644, None),
        (0, 0o40_755, None),
        (0, 0o41_777, None),
        (0, 0o100_664, Some("can be written by others than root")),
        (0, 0o100_646, Some("can be written by others than root")),
        (1000, 0o100_600, Some("belongs to user 1000, not to root")),
    ];
    for (owner, mode, expected) in cases {
        assert_eq!(
            permission_fault(owner, mode).as_deref(),
            expected,
            "{owner} {mode:o}"
        );
    }
}

//! The names in a commit, and the settings it is made with, are those that git itself would take.

use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{SLOPPY_FIX, agentos, small_repo};

fn names(repo: &TestRepo, revision: &str) -> String {
    repo.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", revision])
}

#[test]
fn the_commit_of_a_landing_has_the_names_that_gits_own_commit_has() {
    let repo = small_repo();
    let file = repo.outside().join("settings");
    write_file(
        &file,
        "[user]\n\tname = Of The File\n\temail = file@example.com\n[committer]\n\tname = By The File\n",
    );
    for name in ["user.name", "user.email"] {
        repo.git(&["config", "--unset", name]);
    }
    let file = file.to_str().unwrap();
    let cases: [&[(&str, &str)]; 4] = [
        &[("GIT_CONFIG_GLOBAL", file)],
        &[
            ("GIT_CONFIG_SYSTEM", file),
            ("GIT_CONFIG_NOSYSTEM", "no"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ],
        &[
            ("GIT_CONFIG_GLOBAL", file),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
        ],
        &[
            ("GIT_CONFIG_GLOBAL", file),
            ("GIT_COMMITTER_NAME", "C"),
            ("GIT_COMMITTER_EMAIL", "c@example.com"),
        ],
    ];
    for vars in cases {
        let mut cli = agentos().without_identity().unwrap().in_dir(repo.path());
        for (name, value) in vars {
            cli = cli.env(name, value);
        }
        let output = cli
            .run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
            .unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        let ours = names(&repo, "HEAD");
        let mut git = agentos_testkit::cli::program("git");
        git.args(["commit", "--quiet", "--allow-empty", "-m", "git's own"])
            .current_dir(repo.path())
            .env_clear()
            .envs(cli.world());
        assert!(git.status().unwrap().success());
        assert_eq!(ours, names(&repo, "HEAD"), "{vars:?}");
        repo.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    }
}

#[test]
fn a_file_that_leaves_names_out_leaves_nobody() {
    let repo = small_repo();
    for name in ["user.name", "user.email"] {
        repo.git(&["config", "--unset", name]);
    }
    for nothing in ["", "/dev/null", "/nowhere/settings"] {
        let cli = agentos().in_dir(repo.path()).env("GIT_CONFIG_GLOBAL", nothing);
        let output = cli
            .run_with_input(&["apply", "-", "--json"], SLOPPY_FIX.as_bytes())
            .unwrap();
        assert_eq!(output.code, Some(8), "{output}");
        assert_eq!(output.json().unwrap()["code"], "no-identity");
    }
}

#[test]
fn signatures_are_wished_for_in_the_file_that_the_environment_names() {
    let repo = small_repo();
    let file = repo.outside().join("settings");
    write_file(
        &file,
        "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n",
    );
    let cli = agentos().in_dir(repo.path()).env("GIT_CONFIG_GLOBAL", &file);
    let output = cli
        .run_with_input(&["apply", "-", "--json"], SLOPPY_FIX.as_bytes())
        .unwrap();
    assert_eq!(output.code, Some(8), "{output}");
    assert_eq!(output.json().unwrap()["code"], "not-signed");
}

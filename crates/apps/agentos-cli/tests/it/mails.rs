//! Patches in mails: each becomes a commit with its author, date and message, as with `git am`.

use agentos_testkit::repo::TestRepo;

use crate::support::{pipe_in, run_in, small_repo};

/// Author, date, subject, text and `Signed-off-by` of the last commits, the oldest first.
fn history(repo: &TestRepo, count: usize) -> String {
    let count = format!("-{count}");
    let text = repo.git(&[
        "log",
        "--reverse",
        "--date=raw",
        "--format=%an <%ae> %ad | %s%n%b",
        &count,
    ]);
    let own = |line: &&str| !line.starts_with("AgentOS-");
    text.lines()
        .filter(own)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Two commits of another person, and the mailbox that git makes of them. The repository is back at the commit before.
fn mailed() -> (TestRepo, String, String) {
    let repo = small_repo();
    repo.write("n.txt", "one\ntwo\nthree\n");
    repo.commit_all("numbers");
    let person = [
        "-c",
        "user.name=Jürgen Groß",
        "-c",
        "user.email=j@example.com",
        "commit",
        "-qa",
        "--date",
        "1700000000 +0530",
        "-m",
    ];
    repo.write("n.txt", "one\nTWO\nthree\n");
    repo.git(
        &[
            &person[..],
            &[
                "n: zwei groß, and a subject that is so long that git folds it in the header of a mail",
                "-m",
                "It was small.\n\nFrom now on it is not.",
                "-m",
                "Signed-off-by: Jürgen Groß <j@example.com>",
            ],
        ]
        .concat(),
    );
    repo.write("n.txt", "one\nTWO!\nthree\n");
    repo.write("new.txt", "new\n");
    repo.git(&["add", "new.txt"]);
    repo.git(&[&person[..], &["second"]].concat());
    let mailbox = repo.git(&["format-patch", "--stdout", "--cover-letter", "-2"]);
    let expected = history(&repo, 2);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~2"]);
    (repo, mailbox + "\n", format!("{expected}\n{tree}"))
}

#[test]
fn a_mailbox_becomes_the_commits_that_were_mailed() {
    let (repo, mailbox, expected) = mailed();
    let landed = pipe_in(&repo, &["apply", "-", "--yes"], &mailbox);
    assert_eq!(landed.code, Some(0), "{landed}");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(format!("{}\n{tree}", history(&repo, 2)), expected);
    // The committer is the person who landed it, and the trailers of the mail are still trailers.
    assert_eq!(
        repo.git(&["log", "-1", "--format=%cn"]),
        repo.git(&["config", "user.name"])
    );
    let signed = repo.git(&[
        "log",
        "-1",
        "--skip=1",
        "--format=%(trailers:key=Signed-off-by,valueonly)",
    ]);
    assert_eq!(signed.trim(), "Jürgen Groß <j@example.com>");
    let text = landed.to_string();
    assert!(
        text.contains("mail 2 of 2, `second`: landed 2 files on main"),
        "{text}"
    );
    assert!(
        text.contains("the commit's author is Jürgen Groß <j@example.com>"),
        "{text}"
    );
    let verified = run_in(&repo, &["evidence", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified}");
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert!(!repo.has("new.txt"));
}

#[test]
fn a_series_stops_at_the_mail_that_does_not_land() {
    let (repo, mailbox, _) = mailed();
    let broken = mailbox.replacen("-TWO\n+TWO!", "-other\n+TWO!", 1);
    let stopped = pipe_in(
        &repo,
        &["apply", "-", "--yes"],
        &format!("{broken}{}", mailbox.replace("second", "third")),
    );
    assert_eq!(stopped.code, Some(6), "{stopped}");
    assert!(
        stopped.to_string().contains("mail 2 of 4, `second`: "),
        "{stopped}"
    );
    assert!(
        stopped
            .to_string()
            .contains("; the 2 mails after it were not tried"),
        "{stopped}"
    );
    assert_eq!(repo.git(&["log", "-1", "--format=%an"]).trim(), "Jürgen Groß");
    assert_eq!(repo.status(), "");
}

#[test]
fn a_series_goes_on_where_it_was_left() {
    let (repo, mailbox, expected) = mailed();
    let landed = pipe_in(&repo, &["apply", "-", "--yes"], &mailbox);
    assert_eq!(landed.code, Some(0), "{landed}");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // Without leave, a mail that is there already ends the series like any other that does not land.
    let stopped = pipe_in(&repo, &["apply", "-", "--yes"], &mailbox);
    assert_eq!(stopped.code, Some(6), "{stopped}");
    assert!(
        stopped.to_string().contains("; the mail after it was not tried"),
        "{stopped}"
    );
    let resumed = pipe_in(&repo, &["apply", "-", "--yes", "--allow-empty"], &mailbox);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert!(!resumed.to_string().contains("not tried"), "{resumed}");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(format!("{}\n{tree}", history(&repo, 2)), expected);
}

#[test]
fn consent_and_a_later_approval_keep_the_author() {
    let repo = small_repo();
    let mail = "From: Anna <anna@example.com>\nDate: Fri, 20 Nov 2026 10:11:12 +0100\nSubject: [PATCH] ci\n\n---\ndiff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml\nnew file mode 100644\n--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: push\n";
    let asked = pipe_in(&repo, &["apply", "-"], mail);
    assert_eq!(asked.code, Some(4), "{asked}");
    let approved = run_in(&repo, &["approve", "@", "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved}");
    assert_eq!(history(&repo, 1), "Anna <anna@example.com> 1795165872 +0100 | ci");
}

#[test]
fn a_mail_that_cannot_be_a_commit_is_refused() {
    let repo = small_repo();
    repo.write("f", "one\n");
    let base = repo.commit_all("f");
    let diff = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n";
    let cases = [
        "From: \nSubject: s\n\n",
        "From: a@example.com\nSubject: [PATCH]\n\n",
    ];
    for headers in cases {
        let refused = pipe_in(&repo, &["apply", "-", "--json"], &format!("{headers}{diff}"));
        assert_eq!(refused.code, Some(6), "{refused}");
        assert_eq!(refused.json().unwrap()["code"], "bad-mail", "{refused}");
        assert_eq!(repo.git(&["rev-parse", "HEAD"]).trim(), base.trim());
    }
    let (series, mailbox, _) = mailed();
    let refused = pipe_in(&series, &["apply", "-", "-m", "mine"], &mailbox);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.to_string().contains("the file has 2 mails"), "{refused}");
}

//! Line ends: index and work tree hold what git's own checkout of the same commit would have put there.

use agentos_executor::TargetSpec;
use agentos_landing::FileState;
use agentos_testkit::repo::{TestRepo, read_file, remove_file, write_file};

use crate::support::{Edit, Sink, accept, assert_sound, land, land_in, open, text};

fn bytes(content: &[u8]) -> Option<FileState> {
    Some(FileState::regular(content))
}

const HERE: TargetSpec = TargetSpec::CurrentBranch;

/// Contents of every kind, as a commit may have them, and each with its second line changed.
const CONTENTS: [(&str, &[u8], &[u8]); 8] = [
    ("lf", b"one\ntwo\nthree\n", b"one\nTWO\nthree\n"),
    ("crlf", b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nthree\r\n"),
    ("mixed", b"one\r\ntwo\nthree\n", b"one\r\nTWO\nthree\n"),
    ("no-end", b"one\ntwo\nthree", b"one\nTWO\nthree"),
    ("lone-cr", b"one\rtwo\nthree\n", b"one\rTWO\nthree\n"),
    ("zero", b"one\ntwo\n\0\n", b"one\nTWO\n\0\n"),
    ("control", b"\x01\x02\x03\none\n", b"\x01\x02\x03\nONE\n"),
    ("old-end", b"one\ntwo\n\x1a", b"one\nTWO\n\x1a"),
];

/// Attributes of all files, and a setting.
const WAYS: [(&str, &str); 18] = [
    ("", "core.autocrlf=true"),
    ("", "core.autocrlf=input"),
    ("", "core.eol=crlf"),
    ("* text=auto", "core.autocrlf=true"),
    ("* text=auto", "core.autocrlf=input"),
    ("* text=auto", "core.eol=crlf"),
    ("* text=auto", "core.eol=lf"),
    ("* text=auto eol=crlf", "core.eol=lf"),
    ("* text=auto eol=lf", "core.autocrlf=true"),
    ("* text", "core.autocrlf=true"),
    ("* text eol=crlf", "core.autocrlf=input"),
    ("* eol=crlf", "core.eol=lf"),
    ("* -text", "core.autocrlf=true"),
    ("* binary", "core.autocrlf=true"),
    ("* crlf", "core.eol=crlf"),
    ("* -crlf", "core.autocrlf=true"),
    ("* crlf=input", "core.autocrlf=true"),
    ("* text=unknown crlf=auto", "core.autocrlf=true"),
];

/// A checked-out repository in which the way was chosen before anything was written to the work tree.
fn repository(attributes: &str, setting: &str, files: &[(&str, &[u8])]) -> TestRepo {
    let repo = TestRepo::new();
    write_file(&repo.path().join(".git/info/attributes"), "* -text\n");
    for (path, content) in files {
        repo.write(path, content);
    }
    repo.commit_all("contents as they are");
    write_file(
        &repo.path().join(".git/info/attributes"),
        format!("{attributes}\n"),
    );
    let (name, value) = setting.split_once('=').unwrap();
    repo.git(&["config", name, value]);
    for (path, _) in files {
        remove_file(&repo.path().join(path));
    }
    repo.git(&["checkout", "--quiet", "-f", "HEAD"]);
    repo
}

/// What the index has, and the bytes of each file.
fn state(repo: &TestRepo) -> (String, Vec<Vec<u8>>) {
    let staged = repo.git(&["ls-files", "--stage"]);
    let paths = repo.git(&["ls-files"]);
    (
        staged,
        paths
            .lines()
            .map(|path| read_file(&repo.path().join(path)))
            .collect(),
    )
}

/// The change is landed here; then git itself takes the same way on a checkout of the commit before.
fn lands_as_git_would(repo: &TestRepo, edits: &[Edit<'_>], told: &str) {
    let receipt = land(repo, &HERE, edits).unwrap_or_else(|error| panic!("{told}: {error}"));
    assert_eq!(receipt.kept, Vec::<String>::new(), "{told}");
    assert_sound(repo);
    let ours = state(repo);
    repo.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    repo.git(&["read-tree", "--reset", "-u", &receipt.tree]);
    assert_eq!(ours, state(repo), "{told}");
}

#[test]
fn what_is_landed_is_what_git_would_check_out() {
    let olds: Vec<_> = CONTENTS.iter().map(|(name, old, _)| (*name, *old)).collect();
    for (attributes, setting) in WAYS {
        let repo = repository(attributes, setting, &olds);
        let changed = CONTENTS.iter().map(|(name, _, new)| (*name, bytes(new)));
        let edits: Vec<Edit<'_>> = changed.chain([("d/new", text("a\nb\n"))]).collect();
        lands_as_git_would(&repo, &edits, &format!("`{attributes}`, {setting}"));
    }
}

#[test]
fn after_a_landing_git_sees_nothing_to_commit_and_the_way_back_is_exact() {
    for (attributes, setting) in WAYS {
        let repo = repository(attributes, setting, &[("f", b"one\ntwo\n"), ("g", b"x\ny\n")]);
        let before = state(&repo);
        let receipt = land(
            &repo,
            &HERE,
            &[("f", text("one\n2\n")), ("g", None), ("h", text("h\n"))],
        )
        .unwrap();
        // Not by the dates of the files, but by what they hold.
        repo.git(&["update-index", "--really-refresh"]);
        assert_eq!(repo.status(), "", "{attributes} {setting}");
        let inverse = open(&repo).change_of(&receipt.files).unwrap().inverse().unwrap();
        let back: Vec<_> = inverse
            .files()
            .iter()
            .map(|file| (file.path.as_str().to_owned(), file.new.clone()))
            .collect();
        let edits: Vec<Edit<'_>> = back
            .iter()
            .map(|(path, new)| (path.as_str(), new.clone()))
            .collect();
        land(&repo, &HERE, &edits).unwrap();
        assert_eq!(state(&repo), before, "{attributes} {setting}");
    }
}

#[test]
fn a_file_that_git_sees_as_unchanged_is_not_in_the_way() {
    let way = ("* text=auto", "core.autocrlf=true");
    for (in_work_tree, is_clean) in [
        (&b"one\ntwo\n"[..], true),
        (b"one\r\ntwo\r\n", true),
        (b"one\r\ntwo\n", true),
        (b"one\r\ntwo", false),
        (b"one\r\n\r\ntwo\r\n", false),
    ] {
        let repo = repository(way.0, way.1, &[("f", b"one\ntwo\n")]);
        repo.write("f", in_work_tree);
        let seen = repo.git(&["diff", "--name-only"]);
        let landed = land(&repo, &HERE, &[("f", text("one\n2\n"))]);
        assert_eq!(
            landed.as_ref().err().map(|error| error.code()),
            (!is_clean).then_some("dirty-overlap")
        );
        let now = read_file(&repo.path().join("f"));
        if is_clean {
            assert_eq!((seen.as_str(), now.as_slice()), ("", &b"one\r\n2\r\n"[..]));
        } else {
            assert_eq!((seen.as_str(), now.as_slice()), ("f", in_work_tree));
        }
    }
}

#[test]
fn who_wants_no_line_end_lost_loses_none() {
    let repo = repository("* text=auto", "core.autocrlf=true", &[("f", b"one\ntwo\n")]);
    repo.git(&["config", "core.safecrlf", "true"]);
    repo.write("f", b"one\r\ntwo\n");
    let error = land(&repo, &HERE, &[("f", text("one\n2\n"))]).unwrap_err();
    assert_eq!(error.code(), "dirty-overlap");
    assert_eq!(read_file(&repo.path().join("f")), b"one\r\ntwo\n");
    // Nothing is lost of what a checkout wrote.
    repo.write("f", b"one\r\ntwo\r\n");
    land(&repo, &HERE, &[("f", text("one\n2\n"))]).unwrap();
    assert_eq!(read_file(&repo.path().join("f")), b"one\r\n2\r\n");
}

#[test]
fn a_commit_whose_line_ends_git_would_not_keep_is_refused() {
    for attributes in ["* text", "* text eol=crlf", "* eol=lf"] {
        let repo = repository(attributes, "core.autocrlf=true", &[("f", b"one\n")]);
        for path in ["f", "new"] {
            let error = land(&repo, &HERE, &[(path, bytes(b"one\r\ntwo\r\n"))]).unwrap_err();
            let said = format!(
                "`{path}` has line ends that git would change with the next `git add`: its attributes make it text"
            );
            assert_eq!((error.code(), error.to_string()), ("line-ends", said));
            assert!(error.hint().unwrap().contains("-text"));
            let rehearsed = land(
                &repo,
                &TargetSpec::DryRun(Box::new(HERE)),
                &[(path, bytes(b"a\r\n"))],
            );
            assert_eq!(rehearsed.unwrap_err().code(), "line-ends");
        }
        assert_eq!(repo.status(), "");
    }
}

#[test]
fn attributes_that_come_with_the_change_hold_for_its_files() {
    let repo = repository("", "core.eol=lf", &[("a.txt", b"a\nb\n"), ("other.txt", b"o\n")]);
    let edits = [
        (".gitattributes", text("*.txt text eol=crlf\n")),
        ("a.txt", text("a\nB\n")),
        ("n.txt", text("n\n")),
    ];
    lands_as_git_would(&repo, &edits, "they come");
    repo.git(&["reset", "--quiet", "--hard"]);
    land(&repo, &HERE, &edits).unwrap();
    assert_eq!(read_file(&repo.path().join("n.txt")), b"n\r\n");
    // And they go.
    let edits = [
        (".gitattributes", None),
        ("a.txt", text("a\nb\n")),
        ("n.txt", text("N\n")),
    ];
    lands_as_git_would(&repo, &edits, "they go");
}

#[test]
fn a_landing_cut_short_is_finished_with_the_line_ends_it_began_with() {
    let repo = repository("* text=auto", "core.autocrlf=true", &[("f", b"one\ntwo\n")]);
    let mut sink = Sink(|intent: &_| {
        repo.write("z", "in the way");
        accept(intent)
    });
    let edits = [("f", text("one\n2\n")), ("n", text("n\n")), ("z/y", text("y\n"))];
    let error = land_in(&open(&repo), &HERE, &edits, &mut sink).unwrap_err();
    assert_eq!(error.code(), "unfinished");
    remove_file(&repo.path().join("z"));
    write_file(&repo.path().join(".git/info/attributes"), "* -text\n");
    open(&repo).recover().unwrap().unwrap();
    for (path, content) in [("f", &b"one\r\n2\r\n"[..]), ("n", b"n\r\n"), ("z/y", b"y\r\n")] {
        assert_eq!(read_file(&repo.path().join(path)), content);
    }
}

#[test]
fn another_file_that_is_as_young_as_the_index_stays_known_as_unchanged() {
    let repo = repository(
        "* text=auto",
        "core.autocrlf=true",
        &[("f", b"one\n"), ("young", b"y\nz\n")],
    );
    agentos_testkit::repo::set_modified(&repo.path().join("young"), 2_000_000_000);
    repo.git(&["add", "--renormalize", "young"]);
    repo.git(&["update-index", "--refresh"]);
    land(&repo, &HERE, &[("f", text("1\n"))]).unwrap();
    assert_eq!(repo.git(&["diff-files", "--name-only"]), "");
}

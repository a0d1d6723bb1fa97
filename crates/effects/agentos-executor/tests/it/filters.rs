//! Files that hold other bytes in a commit than in the work tree are refused where that makes a difference.

use agentos_executor::TargetSpec;
use agentos_testkit::repo::write_file;

use crate::support::{example, land, text};

fn branch(name: &str) -> TargetSpec {
    TargetSpec::Branch(name.to_owned())
}

#[test]
fn a_file_that_git_converts_is_refused_in_a_work_tree() {
    let cases = [
        ("a.txt filter=lfs\n", "filter=lfs"),
        ("a.txt ident\n", "ident"),
        (
            "a.txt working-tree-encoding=UTF-16\n",
            "working-tree-encoding=UTF-16",
        ),
    ];
    for (attributes, by) in cases {
        let repo = example();
        write_file(&repo.path().join(".git/info/attributes"), attributes);
        let error = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap_err();
        let expected = format!("`a.txt` is converted on checkout ({by}), which is not supported");
        assert_eq!((error.code(), error.to_string()), ("filtered-path", expected));
        // In a commit alone only a filter makes a difference.
        let other = land(&repo, &branch("other"), &[("a.txt", text("x\n"))]);
        let expected = by.starts_with("filter").then_some("filtered-path");
        assert_eq!(other.err().map(|error| error.code()), expected, "{by}");
    }
}

#[test]
fn attributes_count_wherever_they_stand() {
    let macros = "[attr]large filter=lfs\nb.txt large\n";
    let cases = [
        (".gitattributes", macros),
        (".gitattributes", "\u{feff}dir/*.txt filter=lfs\n"),
        ("dir/.gitattributes", "*.txt filter=lfs\n"),
        (".git/info/attributes", macros),
        ("../attributes", macros),
    ];
    for (file, text_of) in cases {
        let repo = example();
        let place = match file.strip_prefix("../") {
            Some(name) => repo.outside().join(name),
            None => repo.path().join(file),
        };
        write_file(&place, text_of);
        if file.starts_with("../") {
            repo.git(&["config", "core.attributesFile", place.to_str().unwrap()]);
        }
        let error = land(&repo, &TargetSpec::CurrentBranch, &[("dir/b.txt", text("x\n"))]).unwrap_err();
        assert_eq!(error.code(), "filtered-path", "{file}");
        let other = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]);
        assert!(other.is_ok(), "{file}: {other:?}");
    }
}

#[test]
fn a_file_that_a_filter_makes_is_refused_on_every_target() {
    let repo = example();
    repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    repo.write("dir/.gitattributes", "raw/*.bin -filter\nb.txt filter=own\n");
    repo.commit_all("attributes");
    // What the work tree says has no part in a commit on another branch.
    repo.write(".gitattributes", "");
    let here = TargetSpec::CurrentBranch;
    let there = branch("topic");
    for (path, is_refused) in [
        ("new/x.bin", true),
        ("dir/x.bin", true),
        ("dir/b.txt", true),
        ("dir/raw/x.bin", false),
        ("a.txt", false),
    ] {
        for spec in [&TargetSpec::DryRun(Box::new(there.clone())), &there] {
            let landed = land(&repo, spec, &[(path, text("x\n"))]);
            let expected = is_refused.then_some("filtered-path");
            assert_eq!(landed.err().map(|error| error.code()), expected, "{path}");
        }
    }
    // It can go.
    assert!(land(&repo, &there, &[("dir/b.txt", None)]).is_ok());
    repo.git(&["checkout", "--quiet", "--", ".gitattributes"]);
    // The change's own attributes count, too.
    let head = repo.git(&["rev-parse", "main"]);
    let edits = [
        ("lib/.gitattributes", text("*.dat filter=lfs\n")),
        ("lib/x.dat", text("x\n")),
    ];
    for spec in [&here, &there, &TargetSpec::DryRun(Box::new(here.clone()))] {
        let error = land(&repo, spec, &edits).unwrap_err();
        let expected = "`lib/x.dat` is converted on checkout (filter=lfs), which is not supported";
        assert_eq!(error.to_string(), expected, "{spec:?}");
    }
    assert_eq!(
        (repo.status(), repo.git(&["rev-parse", "main"])),
        (String::new(), head)
    );
}

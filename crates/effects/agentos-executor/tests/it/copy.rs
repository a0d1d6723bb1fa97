//! Copies of a base for tools: whole, shared, turned into the next base, and without what is withheld.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use agentos_executor::{BaseCopy, CopyFolder, Repository, ShownFiles, TargetSpec};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, set_mode, write_file};

use crate::support::open;

/// A copy of HEAD, and the paths that were asked about.
fn copied(repo: &TestRepo, key: &str, hidden: &[&str]) -> (BaseCopy, Vec<String>) {
    let repository: Repository = open(repo);
    let target = repository.resolve(&TargetSpec::AtHead).unwrap();
    let asked = RefCell::new(Vec::new());
    let shown = ShownFiles {
        key,
        may: &|path, _| {
            asked.borrow_mut().push(path.to_owned());
            !hidden.contains(&path)
        },
    };
    let copy = repository.copy(&copies_of(repo), &target, None, &shown).unwrap();
    (copy, asked.into_inner())
}

/// The folder of the repository's copies, in the cache of a user who has one.
fn copies_of(repo: &TestRepo) -> CopyFolder {
    open(repo).open_copies(Some(&cache(repo))).unwrap()
}

fn cache(repo: &TestRepo) -> PathBuf {
    repo.outside().join("cache/agentos")
}

/// Names of what lies in the folder of copies.
fn kept(repo: &TestRepo) -> BTreeSet<String> {
    let entries = fs::read_dir(copies_of(repo).path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("base-")).collect()
}

/// Every file below a folder, links by where they lead.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let place = entry.unwrap().path();
            let name = place.strip_prefix(folder).unwrap().display().to_string();
            if place.is_symlink() {
                all.insert(name, format!("-> {}", fs::read_link(&place).unwrap().display()));
            } else if place.is_dir() {
                all.insert(format!("{name}/"), String::new());
                open.push(place);
            } else {
                all.insert(name, fs::read_to_string(&place).unwrap());
            }
        }
    }
    all
}

/// What git itself checks out.
fn checked_out(repo: &TestRepo) -> BTreeMap<String, String> {
    let place = repo.outside().join("checked-out");
    let path = place.display().to_string();
    repo.git(&["worktree", "add", "-q", "--detach", &path]);
    let mut all = files(&place);
    all.remove(".git");
    repo.git(&["worktree", "remove", "--force", &path]);
    all
}

fn repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.txt", "one\n");
    repo.write("dir/b.txt", "b\n");
    repo.write("dir/deep/c.txt", "c\n");
    repo.write("run.sh", "#!/bin/sh\n");
    set_mode(&repo.path().join("run.sh"), 0o755);
    make_link(&repo.path().join("link"), "dir");
    repo.commit_all("first");
    repo
}

#[test]
fn a_copy_is_what_git_would_check_out() {
    let repo = repo();
    let (copy, asked) = copied(&repo, "k", &[]);
    assert_eq!(files(&copy.files()), checked_out(&repo));
    assert_eq!(asked.len(), 5);
    assert_eq!(copy.withheld(), [] as [&str; 0]);
}

#[test]
fn a_copy_that_several_hands_write_is_the_same() {
    let repo = repo();
    for number in 0..700 {
        let path = format!("many/{}/{}/{number}.txt", number % 7, number / 100);
        repo.write(&path, format!("{number}\n"));
    }
    repo.commit_all("many");
    let (copy, _) = copied(&repo, "k", &[]);
    assert_eq!(files(&copy.files()), checked_out(&repo));
}

/// The commit of a tree that no proper git makes: these entries as they are, mode and name before the object's id.
fn commit_raw(repo: &TestRepo, entries: &[(&str, &str)]) {
    let raw = repo.outside().join("raw-tree");
    let bytes = entries.iter().flat_map(|(named, id)| {
        let id = git2::Oid::from_str(id).unwrap();
        [named.as_bytes(), &[0], id.as_bytes()].concat()
    });
    write_file(&raw, bytes.collect::<Vec<u8>>());
    let kind = ["hash-object", "-t", "tree", "-w", "--literally"];
    let tree = repo.git(&[&kind[..], &[&raw.display().to_string()]].concat());
    let commit = repo.git(&["commit-tree", "-m", "hostile", tree.trim()]);
    repo.git(&["update-ref", "HEAD", commit.trim()]);
}

#[test]
fn a_base_that_names_a_link_and_a_folder_alike_writes_nothing_through_the_link() {
    let repo = repo();
    let outside = repo.outside().join("theirs");
    make_dir(&outside);
    make_link(&repo.path().join("out"), &outside.display().to_string());
    repo.commit_all("a link");
    let id = |name: &str| {
        repo.git(&["rev-parse", &format!("HEAD:{name}")])
            .trim()
            .to_owned()
    };
    let (link, folder) = (id("out"), id("dir"));
    for entries in [
        [("120000 a", link.as_str()), ("40000 a", folder.as_str())],
        [("40000 a", folder.as_str()), ("120000 a", link.as_str())],
    ] {
        commit_raw(&repo, &entries);
        let repository = open(&repo);
        let target = repository.resolve(&TargetSpec::AtHead).unwrap();
        let shown = ShownFiles {
            key: "k",
            may: &|_, _| true,
        };
        let refused = repository
            .copy(&copies_of(&repo), &target, None, &shown)
            .unwrap_err();
        assert!(refused.to_string().contains("files/a"), "{refused}");
        let left = kept(&repo);
        assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
        assert_eq!(files(&outside), BTreeMap::new());
    }
}

#[cfg(unix)]
#[test]
fn a_copy_shows_names_that_no_change_may_have() {
    let repo = repo();
    let names = [
        ".gitmodules",
        "sub/.gitmodules",
        "aux.c",
        "a?b",
        "a:b",
        "C:x",
        "a\\b",
        "..\\up",
        "a.",
        "a ",
        "...",
        "zero\u{200b}width",
    ];
    for name in names {
        repo.write(name, format!("{name}\n"));
    }
    repo.commit_all("names");
    let (copy, asked) = copied(&repo, "k", &["aux.c", "sub/.gitmodules"]);
    // Policy is asked about these names like about any other, and what it withholds is not there.
    assert!(
        names.iter().all(|name| asked.iter().any(|path| path == name)),
        "{asked:?}"
    );
    let all = files(&copy.files());
    for name in names {
        let expected = (!["aux.c", "sub/.gitmodules"].contains(&name)).then(|| format!("{name}\n"));
        assert_eq!(all.get(name).cloned(), expected, "{name}");
    }
    let history = repo.outside().join("history");
    make_dir(&history);
    copy.give_history(&history).unwrap();
    let listed = repo.git(&[
        "--git-dir",
        &history.join(".git").display().to_string(),
        "ls-files",
        "-z",
    ]);
    assert!(
        listed.contains("\0a\\b\0") && !listed.contains("aux.c"),
        "{listed}"
    );
}

#[test]
fn a_base_whose_names_leave_the_copy_or_reach_gits_own_files_makes_no_copy() {
    let repo = repo();
    let id = |name: &str| {
        repo.git(&["rev-parse", &format!("HEAD:{name}")])
            .trim()
            .to_owned()
    };
    let (file, folder) = (id("a.txt"), id("dir"));
    let hostile = [
        ("40000 ..", folder.as_str()),
        ("40000 .", &folder),
        ("100644 ../up", &file),
        ("100644 /etc", &file),
        ("40000 .git", &folder),
        ("40000 .GIT", &folder),
        ("100644 git~1", &file),
        ("100644 .git ", &file),
        ("100644 a\\.git\\config", &file),
        ("100644 a\nb", &file),
        ("160000 .git", &file),
        ("120000 .git", &file),
        ("120000 .gitmodules", &file),
    ];
    for entry in hostile {
        commit_raw(&repo, &[entry]);
        let repository = open(&repo);
        let target = repository.resolve(&TargetSpec::AtHead).unwrap();
        let shown = ShownFiles {
            key: "k",
            may: &|_, _| true,
        };
        let made = repository.copy(&copies_of(&repo), &target, None, &shown);
        assert!(made.is_err(), "{entry:?}");
        assert!(!repo.outside().join("up").exists());
    }
}

#[test]
fn the_second_run_over_a_base_asks_nothing() {
    let repo = repo();
    let first = copied(&repo, "k", &["a.txt"]).0;
    let (second, asked) = copied(&repo, "k", &["a.txt"]);
    assert_eq!((first.files(), asked), (second.files(), Vec::<String>::new()));
    assert_eq!(second.withheld(), ["a.txt"]);
    assert!(!second.files().join("a.txt").exists());
}

#[test]
fn when_the_base_moves_on_the_copy_follows_and_asks_about_what_differs() {
    let repo = repo();
    let old = copied(&repo, "k", &[]).0.files();
    // Changed, gone, a file for a folder, a folder for a file, another mode, a link for a file.
    repo.write("a.txt", "two\n");
    repo.git(&["rm", "-rq", "dir", "link"]);
    repo.write("dir", "now a file\n");
    repo.write("link/in", "now a folder\n");
    set_mode(&repo.path().join("run.sh"), 0o644);
    repo.commit_all("second");
    let (copy, mut asked) = copied(&repo, "k", &[]);
    assert_eq!(files(&copy.files()), checked_out(&repo));
    asked.sort();
    assert_eq!(asked, ["a.txt", "dir", "link/in", "run.sh"]);
    assert!(!old.exists(), "a repository keeps one copy");
}

#[test]
fn another_key_asks_again_and_shows_and_hides_by_the_new_answers() {
    let repo = repo();
    let (copy, _) = copied(&repo, "one", &["dir/b.txt", "dir/deep/c.txt"]);
    assert!(!copy.files().join("dir").exists());
    drop(copy);
    let (copy, asked) = copied(&repo, "two", &["a.txt"]);
    assert_eq!(asked.len(), 5);
    assert_eq!(copy.withheld(), ["a.txt"]);
    let names: Vec<String> = files(&copy.files()).into_keys().collect();
    assert_eq!(
        names,
        [
            "dir/",
            "dir/b.txt",
            "dir/deep/",
            "dir/deep/c.txt",
            "link",
            "run.sh"
        ]
    );
}

#[test]
fn of_the_copies_of_earlier_bases_nothing_is_left() {
    let repo = repo();
    for number in 0..3 {
        repo.write("a.txt", format!("{number}\n"));
        repo.commit_all("next");
        drop(copied(&repo, "k", &[]));
        // As an earlier version left one, and a process that was killed while it wrote.
        let copies = copies_of(&repo).path().to_owned();
        write_file(&copies.join("base-gone.lock"), "");
        make_dir(&copies.join("base-killed.new/files"));
        drop(copied(&repo, "k", &[]));
        let names = kept(&repo);
        assert_eq!(names.len(), 2, "{names:?}");
        let (copy, lock) = (names.first().unwrap(), names.last().unwrap());
        assert_eq!(*lock, format!("{copy}.lock"));
    }
}

#[test]
fn many_that_want_a_copy_of_one_base_get_the_same() {
    let repo = repo();
    for number in 0..4 {
        repo.write("a.txt", format!("{number}\n"));
        repo.commit_all("next");
        std::thread::scope(|scope| {
            let wants = || {
                let (copy, _) = copied(&repo, "k", &[]);
                (copy.files(), files(&copy.files()))
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(wants)).collect();
            let all: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
            assert_eq!(all[0].1["a.txt"], format!("{number}\n"));
            assert!(all.iter().all(|one| *one == all[0]));
        });
    }
}

#[test]
fn a_copy_in_use_stays_as_it_is() {
    let repo = repo();
    let (used, _) = copied(&repo, "k", &[]);
    let before = files(&used.files());
    repo.write("a.txt", "two\n");
    repo.commit_all("second");
    let (copy, _) = copied(&repo, "k", &[]);
    assert_ne!(used.files(), copy.files());
    assert_eq!(files(&used.files()), before);
    assert_eq!(files(&copy.files()), checked_out(&repo));
}

#[test]
fn a_copy_with_a_broken_listing_is_made_anew() {
    let repo = repo();
    let (copy, _) = copied(&repo, "k", &[]);
    let listing = copy.files().with_file_name("listing");
    drop(copy);
    agentos_testkit::repo::write_file(&listing, "k\n100644 cut");
    repo.write("a.txt", "two\n");
    repo.commit_all("second");
    let (copy, asked) = copied(&repo, "k", &[]);
    assert_eq!(asked.len(), 5);
    assert_eq!(files(&copy.files()), checked_out(&repo));
}

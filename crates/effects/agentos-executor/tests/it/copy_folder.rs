//! Where copies lie, and that what somebody else could have put there is never used.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agentos_executor::{BaseCopy, CopyFolder, ExecError, ShownFiles, TargetSpec};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, set_mode, write_file};

use sha2::{Digest, Sha256};

use crate::support::{example, open};

fn cache(repo: &TestRepo) -> PathBuf {
    repo.outside().join("cache/agentos")
}

fn copies_of(repo: &TestRepo) -> CopyFolder {
    open(repo).open_copies(Some(&cache(repo))).unwrap()
}

fn copy_in(repo: &TestRepo, folder: &CopyFolder, key: &str) -> Result<BaseCopy, ExecError> {
    let repository = open(repo);
    let target = repository.resolve(&TargetSpec::AtHead).unwrap();
    let shown = ShownFiles {
        key,
        may: &|path, _| path != "dir/b.txt" || key != "hide",
    };
    repository.copy(folder, &target, None, &shown)
}

fn is_below_cache(repo: &TestRepo, folder: &CopyFolder) -> bool {
    folder.path().starts_with(cache(repo))
}

fn mode(place: &Path) -> u32 {
    fs::symlink_metadata(place).unwrap().mode() & 0o777
}

#[test]
fn copies_lie_in_the_users_cache_closed_to_others() {
    let (repo, other) = (example(), example());
    set_mode(repo.outside(), 0o755);
    let copies = copies_of(&repo);
    let again = copies_of(&repo);
    assert!(is_below_cache(&repo, &copies));
    assert_eq!(copies.path(), again.path());
    let elsewhere = open(&other).open_copies(Some(&cache(&repo))).unwrap();
    assert_ne!(copies.path(), elsewhere.path());
    let copy = copy_in(&repo, &copies, "k").unwrap();
    let base = copy.files().parent().unwrap().to_owned();
    for place in [copies.path().parent().unwrap(), copies.path(), &base] {
        assert_eq!(mode(place), 0o700, "{}", place.display());
    }
    assert!(!repo.path().join(".git/agentos/copies").exists());
}

#[test]
fn nothing_but_the_files_belongs_to_the_tools_user() {
    let repo = example();
    let copies = copies_of(&repo);
    let own = fs::metadata(copies.path()).unwrap().uid();
    if own != 0 {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::AtHead).unwrap();
    let shown = ShownFiles {
        key: "k",
        may: &|_, _| true,
    };
    let of = |owner| repository.copy(&copies, &target, Some(owner), &shown).unwrap();
    let (one, other) = (of(4242), of(4243));
    assert_ne!(one.files(), other.files(), "a copy is never another user's");
    assert_eq!(of(4242).files(), one.files());
    for (copy, owner) in [(&one, 4242), (&other, 4243)] {
        for name in ["", "a.txt", "dir", "dir/b.txt"] {
            let found = fs::symlink_metadata(copy.files().join(name)).unwrap();
            assert_eq!((found.uid(), found.gid()), (owner, owner), "{name}");
        }
        let base = copy.files().parent().unwrap().to_owned();
        for name in [
            "",
            "withheld",
            "listing",
            "root",
            "index",
            "rules",
            "template",
            "objects",
            "objects/pack",
        ] {
            let found = fs::symlink_metadata(base.join(name)).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o022), (own, 0), "{name}");
        }
        for entry in fs::read_dir(copy.objects().join("pack")).unwrap() {
            let found = entry.unwrap().metadata().unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (own, 0o444));
        }
    }
}

/// What an archive can bring along: it knows the base's tree and can compute every name.
#[test]
fn a_copy_that_came_with_the_repository_is_never_used() {
    let repo = example();
    let theirs = repo.outside().join("private");
    write_file(&theirs.join("notes.txt"), "private\n");
    let key: String = Sha256::digest("k")
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = format!("base-{}-{key}", repo.git(&["rev-parse", "HEAD^{tree}"]));
    for cache in [Some(cache(&repo)), None] {
        let old = repo.path().join(".git/agentos/copies");
        let forged = old.join(&name);
        make_dir(&forged);
        make_link(&forged.join("files"), &theirs.display().to_string());
        write_file(&forged.join("withheld"), "");
        let copies = open(&repo).open_copies(cache.as_deref()).unwrap();
        let copy = copy_in(&repo, &copies, "k").unwrap();
        assert!(copy.files().join("a.txt").is_file() && !copy.files().join("notes.txt").exists());
        assert!(!old.exists(), "what earlier versions kept is removed");
        assert!(theirs.join("notes.txt").is_file());
    }
}

#[test]
fn old_copies_that_are_a_link_are_left_alone() {
    let repo = example();
    let theirs = repo.outside().join("theirs");
    write_file(&theirs.join("run-x/kept"), "theirs\n");
    set_mode(&theirs, 0o755);
    make_dir(&repo.path().join(".git/agentos"));
    make_link(
        &repo.path().join(".git/agentos/copies"),
        &theirs.display().to_string(),
    );
    for cache in [Some(cache(&repo)), None] {
        let copies = open(&repo).open_copies(cache.as_deref()).unwrap();
        assert!(!copies.path().starts_with(&theirs));
        copy_in(&repo, &copies, "k").unwrap();
    }
    assert!(repo.path().join(".git/agentos/copies").is_symlink());
    assert_eq!(
        (mode(&theirs), fs::read_dir(&theirs).unwrap().count()),
        (0o755, 1)
    );
}

/// What is wrong with a cache, and how it comes to be so.
type Case = (&'static str, fn(&TestRepo));

#[test]
fn a_cache_that_others_could_write_to_is_not_used() {
    let wrong: &[Case] = &[
        ("the cache is a link", |repo| {
            make_dir(&repo.outside().join("elsewhere"));
            make_dir(cache(repo).parent().unwrap());
            make_link(&cache(repo), "../elsewhere");
        }),
        ("the folder of copies is a link", |repo| {
            make_dir(&repo.outside().join("elsewhere"));
            make_dir(&cache(repo));
            make_link(&cache(repo).join("copies"), "../../elsewhere");
        }),
        ("the folder of copies is open", |repo| {
            make_dir(&cache(repo).join("copies"));
            set_mode(&cache(repo), 0o755);
            set_mode(&cache(repo).join("copies"), 0o755);
        }),
        ("others may write above it", |repo| {
            make_dir(cache(repo).parent().unwrap());
            set_mode(cache(repo).parent().unwrap(), 0o777);
        }),
        ("it is a file", |repo| write_file(&cache(repo).join("copies"), "")),
    ];
    for (what, make) in wrong {
        let repo = example();
        make(&repo);
        let copies = copies_of(&repo);
        assert!(!is_below_cache(&repo, &copies), "{what}");
        assert_eq!(mode(copies.path()), 0o700, "{what}");
        assert!(
            copy_in(&repo, &copies, "k")
                .unwrap()
                .files()
                .join("a.txt")
                .is_file()
        );
        let elsewhere = repo.outside().join("elsewhere");
        assert!(
            !elsewhere.exists() || fs::read_dir(elsewhere).unwrap().count() == 0,
            "{what}"
        );
    }
}

#[test]
fn without_a_cache_a_copy_is_this_processs_own_and_gone_with_it() {
    let repo = example();
    let state = repo.path().join(".git/agentos");
    // As a process that was killed left one, as an archive brings a link, and as another process has one in use.
    make_dir(&state.join("copies.0/base-x/files"));
    make_dir(&repo.outside().join("theirs/in"));
    make_link(&state.join("copies.1"), "../../../theirs");
    let used = open(&repo).open_copies(None).unwrap();
    let copies = open(&repo).open_copies(None).unwrap();
    assert_ne!(used.path(), copies.path());
    for one in [&used, &copies] {
        assert_eq!(mode(one.path()), 0o700);
        copy_in(&repo, one, "k").unwrap();
    }
    assert!(!state.join("copies.0/base-x").exists());
    let paths = [used.path().to_owned(), copies.path().to_owned()];
    drop((used, copies));
    assert!(paths.iter().all(|path| !path.exists()));
    assert!(repo.outside().join("theirs/in").is_dir());
}

#[test]
fn a_link_in_place_of_a_lock_or_a_record_is_not_written_through() {
    let repo = example();
    let copies = copies_of(&repo);
    let base = copy_in(&repo, &copies, "hide").unwrap().files();
    let base = base.parent().unwrap().to_owned();
    let theirs = repo.outside().join("theirs");
    // The record of what is withheld, and the copy then moves to the next base.
    for record in ["withheld", "root", "listing"] {
        write_file(&theirs, "theirs\n");
        fs::rename(base.join(record), base.join("aside")).unwrap();
        make_link(&base.join(record), &theirs.display().to_string());
        let _ = copy_in(&repo, &copies, "hide").map(drop);
        fs::remove_file(base.join(record)).unwrap();
        fs::rename(base.join("aside"), base.join(record)).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs\n");
    }
    make_link(&base.join("aside"), &theirs.display().to_string());
    fs::rename(base.join("aside"), base.join("withheld")).unwrap();
    repo.write("a.txt", "moved on\n");
    repo.commit_all("second");
    let copy = copy_in(&repo, &copies, "hide").unwrap();
    assert_eq!(copy.withheld(), ["dir/b.txt"]);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs\n");
    // The lock of the next copy.
    let lock = copy.files().parent().unwrap().with_extension("lock");
    drop(copy);
    fs::remove_file(&lock).unwrap();
    let target = repo.outside().join("made-by-link");
    make_link(&lock, &target.display().to_string());
    assert!(copy_in(&repo, &copies, "hide").is_err());
    assert!(!target.exists());
}

#[test]
fn a_link_in_place_of_a_folder_of_a_copy_is_refused() {
    let repo = example();
    let copies = copies_of(&repo);
    let base = copy_in(&repo, &copies, "k").unwrap().files();
    let base = base.parent().unwrap().to_owned();
    let private = repo.outside().join("private");
    make_dir(&private);
    for name in ["files", "objects", "rules"] {
        fs::rename(base.join(name), base.join("aside")).unwrap();
        make_link(&base.join(name), &private.display().to_string());
        let refused = copy_in(&repo, &copies, "k").map(drop).unwrap_err();
        assert!(refused.to_string().contains(name), "{refused}");
        fs::remove_file(base.join(name)).unwrap();
        fs::rename(base.join("aside"), base.join(name)).unwrap();
    }
    copy_in(&repo, &copies, "k").unwrap();
}

#[test]
fn a_copys_name_says_nothing_of_the_base() {
    let (repo, other) = (example(), example());
    let names = [&repo, &other].map(|repo| {
        let base = copy_in(repo, &copies_of(repo), "k").unwrap().files();
        let again = copy_in(repo, &copies_of(repo), "k").unwrap().files();
        assert_eq!(base, again);
        base.parent().unwrap().file_name().unwrap().to_owned()
    });
    assert_eq!(
        repo.git(&["rev-parse", "HEAD^{tree}"]),
        other.git(&["rev-parse", "HEAD^{tree}"])
    );
    assert_ne!(names[0], names[1]);
}

#[test]
fn copies_of_a_repository_that_is_gone_are_removed() {
    let (repo, gone) = (example(), example());
    let theirs = open(&gone)
        .open_copies(Some(&cache(&repo)))
        .unwrap()
        .path()
        .to_owned();
    assert!(theirs.is_dir());
    drop(gone);
    copies_of(&repo);
    assert!(!theirs.exists());
}

#[test]
fn what_was_being_made_by_a_killed_process_is_not_used() {
    let repo = example();
    let copies = copies_of(&repo);
    let copy = copy_in(&repo, &copies, "k").unwrap();
    let base = copy.files().parent().unwrap().to_owned();
    drop(copy);
    // As if it had been killed before the last step: everything is there but its name.
    let unfinished = base.with_extension("new");
    fs::rename(&base, &unfinished).unwrap();
    write_file(&unfinished.join("files/a.txt"), "half\n");
    let copy = copy_in(&repo, &copies, "k").unwrap();
    assert_eq!(
        fs::read_to_string(copy.files().join("a.txt")).unwrap(),
        "one\ntwo\nthree\n"
    );
    assert!(!unfinished.exists());
}

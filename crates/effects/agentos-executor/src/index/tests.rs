//! An index that was edited here says what git says of the same edit, and nothing that a file holds is a crash.

use agentos_testkit::repo::{TestRepo, read_file, write_file};
use sha1::{Digest, Sha1};

use super::file::{Fault, IndexFile, NewEntry, Stat};

/// Files deep and shallow, and one with a name that its length field cannot hold.
fn example(version: &str) -> TestRepo {
    let repo = small(version);
    let long = format!("{}/x", vec!["n".repeat(200); 21].join("/"));
    let entry = format!("100644,{},{long}", repo.git(&["rev-parse", ":a"]));
    repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
    repo.git(&["write-tree"]);
    repo
}

fn small(version: &str) -> TestRepo {
    let repo = TestRepo::new();
    for path in ["a", "a.b", "dir/a", "dir/b", "dir/deep/c", "dir.x", "z/last"] {
        repo.write(path, path);
    }
    repo.commit_all("base");
    repo.git(&["update-index", "--index-version", version]);
    repo
}

fn parse(repo: &TestRepo) -> IndexFile {
    IndexFile::parse(read_file(&repo.path().join(".git/index"))).unwrap()
}

fn written(index: &IndexFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.write(&mut bytes).unwrap();
    bytes
}

type Edit = (&'static [&'static str], &'static [&'static str]);

const EDITS: &[Edit] = &[
    (&[], &[]),
    (&[], &["dir/a"]),
    (&["dir/a"], &["dir/a"]),
    (&["a", "z/last"], &[]),
    (&[], &["0", "dir/deep/c2", "dir/new/x", "zz"]),
    (&[], &["b", "a-", "a0", "dir"]),
    (&["a"], &["a/file/in/a/folder"]),
    (&[], &["dir/deep/c/below"]),
    (&["dir/a", "dir/b", "dir/deep/c"], &[]),
    (&["not/there"], &["dir/deep"]),
];

#[test]
fn an_edit_says_what_git_says_of_it() {
    for version in ["2", "3", "4"] {
        let repo = example(version);
        let place = repo.path().join(".git/index");
        let before = read_file(&place);
        let id = repo.git(&["rev-parse", ":z/last"]);
        for (gone, new) in EDITS {
            write_file(&place, &before);
            let mut index = parse(&repo);
            for path in *gone {
                repo.git(&["update-index", "--force-remove", path]);
            }
            for path in *new {
                let entry = format!("100755,{id},{path}");
                repo.git(&["update-index", "--add", "--replace", "--cacheinfo", &entry]);
            }
            let wanted = (repo.git(&["ls-files", "--stage"]), repo.git(&["write-tree"]));
            let entries: Vec<_> = new.iter().map(|path| entry(path, &id)).collect();
            index.edit(gone.iter().copied(), &[]);
            index.edit(std::iter::empty(), &entries);
            index.forget_trees_of(gone.iter().chain(*new).copied());
            write_file(&place, written(&index));
            let found = (repo.git(&["ls-files", "--stage"]), repo.git(&["write-tree"]));
            assert!(
                found == wanted,
                "{version} {gone:?} {new:?}: {}",
                found.0.replace(&"n".repeat(200), "n")
            );
            repo.git(&["fsck", "--strict"]);
            let marked = index.entries().filter(|entry| entry.size() == 1000);
            assert_eq!(marked.count(), new.len());
        }
    }
}

fn entry<'a>(path: &'a str, id: &str) -> NewEntry<'a> {
    NewEntry {
        path,
        mode: 0o100_755,
        id: git2::Oid::from_str(id).unwrap().as_bytes().try_into().unwrap(),
        stat: Stat {
            size: 1000,
            ..Stat::default()
        },
    }
}

#[test]
fn what_is_not_edited_stays_byte_for_byte() {
    for version in ["2", "3", "4"] {
        let repo = example(version);
        repo.write("later", "later");
        repo.git(&["add", "--intent-to-add", "later"]);
        repo.git(&["update-index", "--assume-unchanged", "a"]);
        repo.git(&["update-index", "--skip-worktree", "dir/a"]);
        let before = read_file(&repo.path().join(".git/index"));
        let index = IndexFile::parse(before.clone()).unwrap();
        let flags = |path: &str| {
            let entry = index.get(path, 0).unwrap();
            (entry.is_skipped(), entry.is_intent_to_add(), entry.is_special())
        };
        assert_eq!(flags("later"), (false, true, true));
        assert_eq!(flags("dir/a"), (true, false, true));
        assert_eq!(flags("a"), (false, false, false));
        assert!(before == written(&index), "version {version}");
    }
}

#[test]
fn conflicts_are_seen_and_end_with_a_new_entry() {
    let repo = TestRepo::new();
    repo.write("a", "base\n");
    let base = repo.commit_all("base");
    let id = repo.git(&["rev-parse", ":a"]);
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.git(&["checkout", "--quiet", "-b", "theirs", &base]);
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    assert!(!repo.git_ok(&["merge", "--quiet", "main"]));
    let mut index = parse(&repo);
    assert_eq!(
        [0, 1, 2, 3].map(|stage| index.get("a", stage).is_some()),
        [false, true, true, true]
    );
    index.edit(std::iter::empty(), &[entry("a", &id)]);
    assert_eq!(
        [0, 1, 2, 3].map(|stage| index.get("a", stage).is_some()),
        [true, false, false, false]
    );
}

#[test]
fn an_index_that_cannot_be_trusted_is_told_by_its_fault() {
    let sum = |content: &[u8]| [content, Sha1::digest(content).as_slice()].concat();
    let whole = read_file(&example("2").path().join(".git/index"));
    let content = &whole[..whole.len() - 20];
    let with = |at: usize, bytes: &[u8]| {
        let mut content = content.to_vec();
        content[at..at + bytes.len()].copy_from_slice(bytes);
        sum(&content)
    };
    for (bytes, fault) in [
        (Vec::new(), Fault::Short),
        (b"DIRC".to_vec(), Fault::Short),
        (whole[..whole.len() - 1].to_vec(), Fault::Checksum),
        (with(4, &[0, 0, 0, 5]), Fault::Version),
        (with(0, b"CRID"), Fault::Version),
        (sum(&content[..40]), Fault::Short),
        (with(12 + 62, b"zz"), Fault::Name),
        (with(12 + 62, b"z"), Fault::Order),
        (sum(&[content, b"link\0\0\0\0"].concat()), Fault::Needs(*b"link")),
        (sum(&[content, b"XTRA\0\0\0\x09"].concat()), Fault::Short),
    ] {
        assert_eq!(IndexFile::parse(bytes).err(), Some(fault));
    }
    // Git leaves the checksum out where it is told to.
    assert!(IndexFile::parse([content, &[0; 20]].concat()).is_ok());
}

#[test]
fn no_byte_of_an_index_makes_a_crash() {
    for version in ["2", "4"] {
        let whole = read_file(&small(version).path().join(".git/index"));
        let content = &whole[..whole.len() - 20];
        for at in 0..content.len() {
            for byte in [0, 0x0f, 0x40, 0x7f, 0x80, 0xff] {
                let mut spoiled = content.to_vec();
                spoiled[at] = byte;
                spoiled.extend_from_slice(&[0; 20]);
                if let Ok(mut index) = IndexFile::parse(spoiled) {
                    index.edit(["dir/a"].into_iter(), &[entry("dir/b", &"1".repeat(40))]);
                    index.forget_trees_of(["dir/a", "dir/b"].into_iter());
                    IndexFile::parse(written(&index)).unwrap();
                }
            }
        }
    }
}

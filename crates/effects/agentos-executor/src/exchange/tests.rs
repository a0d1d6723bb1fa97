//! An exchange of two files, in steps where the file system has none of its own.

use agentos_testkit::repo::{TestRepo, write_file};

use super::*;
use crate::FailPoints;

/// A staged file and one in its place.
fn prepare(fail: FailPoints) -> (TestRepo, Repository) {
    let repo = TestRepo::new();
    repo.write("a.txt", "base");
    repo.write(".agentos-r-0.tmp", "staged");
    let repository = Repository::discover(repo.path()).unwrap().with_fail_points(fail);
    (repo, repository)
}

#[test]
fn the_steps_end_as_one_exchange_does() {
    type Exchange = fn(&Repository, &Path, &Path) -> io::Result<ExchangeResult>;
    for way in [exchange as Exchange, exchange_by_steps as Exchange] {
        let (repo, repository) = prepare(FailPoints::default());
        let at = |name: &str| repo.path().join(name);
        let done = way(&repository, &at(".agentos-r-0.tmp"), &at("a.txt"));
        assert_eq!(done.unwrap(), ExchangeResult::Wholly);
        assert_eq!(repo.read("a.txt"), b"staged");
        assert_eq!(repo.read(".agentos-r-0.tmp"), b"base");
        assert!(!repo.has(".agentos-r-0-spare.tmp"));
        let gone = way(&repository, &at(".agentos-r-0.tmp"), &at("missing"));
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(repo.read(".agentos-r-0.tmp"), b"base");
    }
}

#[test]
fn what_is_saved_between_two_steps_is_not_replaced() {
    let other = TestRepo::new();
    let place = other.path().join("a.txt");
    let theirs = place.clone();
    let fail = FailPoints::meeting("place made free", move || write_file(&theirs, "theirs"));
    let (_repo, repository) = prepare(fail);
    other.write("a.txt", "base");
    other.write(".agentos-r-0.tmp", "staged");
    let staged = other.path().join(".agentos-r-0.tmp");
    let done = exchange_by_steps(&repository, &staged, &place);
    assert_eq!(done.unwrap(), ExchangeResult::SavedMeanwhile);
    for (name, content) in [
        ("a.txt", "theirs"),
        (".agentos-r-0.tmp", "staged"),
        (".agentos-r-0-spare.tmp", "base"),
    ] {
        assert_eq!(other.read(name), content.as_bytes(), "{name}");
    }
}

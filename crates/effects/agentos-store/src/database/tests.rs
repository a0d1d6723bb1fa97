//! Files that are no database, other versions, and who may read the folder.

use tempfile::TempDir;

use super::*;

#[test]
fn a_file_that_is_no_database_is_replaced() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path().join("agentos");
    drop(LedgerStore::open(&folder).unwrap());
    agentos_testkit::repo::write_file(
        &folder.join(FILE),
        "this is not a database, but it is long enough to be taken for one".repeat(99),
    );
    let store = LedgerStore::open(&folder).unwrap();
    assert_eq!(store.read_mark().unwrap(), None);
}

#[test]
fn tables_of_another_version_are_replaced() {
    let folder = TempDir::new().unwrap();
    let db = Connection::open(folder.path().join(FILE)).unwrap();
    db.execute_batch("CREATE TABLE session (x); PRAGMA user_version = 99;")
        .unwrap();
    drop(db);
    let store = LedgerStore::open(folder.path()).unwrap();
    assert_eq!(store.read_mark().unwrap(), None);
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let above = TempDir::new().unwrap();
    let folder = above.path().join("a/agentos");
    LedgerStore::open(&folder).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn several_threads_open_a_new_database_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    LedgerStore::open(folder.path()).unwrap();
                });
            }
        });
    }
}

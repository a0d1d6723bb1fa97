//! The owner-only file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentos_credentials::{CredentialError, FileStore, SecretStore};
use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};
use agentos_tool::Secret;
use tempfile::TempDir;

use crate::CANARY;

struct Home {
    _temp: TempDir,
    path: PathBuf,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        Self {
            path: temp.path().join(".agentos/credentials.json"),
            _temp: temp,
        }
    }

    fn store(&self) -> SecretStore {
        SecretStore::File(FileStore::new(self.path.clone()))
    }

    fn with_key(self) -> Self {
        self.store()
            .set_key("openai.api_key", &Secret::new(CANARY))
            .unwrap();
        self
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap()
    }

    /// The error of reading, with the temporary folder's name taken out.
    fn refusal(&self) -> String {
        let error = self.store().read_key("openai.api_key").unwrap_err();
        assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("canary"));
        format!("{error} [{}]", error.hint().unwrap_or_default())
            .replace(self.folder().to_str().unwrap(), "~/.agentos")
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_key_is_kept_replaced_and_removed() {
    let home = Home::new();
    let store = home.store();
    assert!(store.read_key("a").unwrap().is_none());
    assert!(!store.remove_key("a").unwrap());
    assert!(!home.folder().exists(), "looking makes nothing");
    store.set_key("a", &Secret::new("one")).unwrap();
    store.set_key("b", &Secret::new("two")).unwrap();
    store.set_key("a", &Secret::new("three")).unwrap();
    assert_eq!(store.read_key("a").unwrap().unwrap().expose(), "three");
    assert_eq!(store.read_key("b").unwrap().unwrap().expose(), "two");
    assert!(store.remove_key("a").unwrap());
    assert!(store.read_key("a").unwrap().is_none());
    assert_eq!(store.read_key("b").unwrap().unwrap().expose(), "two");
    insta::assert_snapshot!(fs::read_to_string(&home.path).unwrap(), @r#"
    {
      "version": 1,
      "keys": {
        "b": "two"
      }
    }
    "#);
}

#[test]
fn folder_and_file_are_the_owners_alone() {
    let home = Home::new().with_key();
    assert_eq!(mode(home.folder()), 0o700);
    assert_eq!(mode(&home.path), 0o600);
    let names: Vec<_> = fs::read_dir(home.folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(names.iter().all(|path| mode(path) == 0o600), "{names:?}");
    assert_eq!(names.len(), 2, "the keys and the lock: {names:?}");
}

#[test]
fn what_others_can_reach_is_refused() {
    let wide_file = Home::new().with_key();
    set_mode(&wide_file.path, 0o640);
    let wide_folder = Home::new().with_key();
    set_mode(wide_folder.folder(), 0o770);
    let link = Home::new().with_key();
    fs::rename(&link.path, link.folder().join("elsewhere")).unwrap();
    make_link(&link.path, "elsewhere");
    let folder = Home::new().with_key();
    fs::remove_file(&folder.path).unwrap();
    make_dir(&folder.path);
    let all: Vec<String> = [wide_file, wide_folder, link, folder]
        .iter()
        .map(Home::refusal)
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    `~/.agentos/credentials.json` has mode 640: other users can read or write it [chmod 600 ~/.agentos/credentials.json]
    `~/.agentos` has mode 770: other users can write to it [chmod 700 ~/.agentos]
    `~/.agentos/credentials.json` is not a regular file [move it away]
    `~/.agentos/credentials.json` is not a regular file [move it away]
    ");
}

#[test]
fn a_folder_that_others_can_only_read_is_fine() {
    let home = Home::new().with_key();
    set_mode(home.folder(), 0o755);
    assert_eq!(
        home.store().read_key("openai.api_key").unwrap().unwrap().expose(),
        CANARY
    );
}

#[test]
fn a_damaged_file_is_refused_and_left_alone() {
    let texts = [
        "",
        "{\"version\": 1, \"keys\": {\"a\": \"sk-canary\"",
        "{\"version\": 1, \"keys\": \"sk-canary\"}",
        "{\"version\": 2, \"keys\": {}}",
        "{\"version\": 1, \"keys\": {}, \"sk-canary\": 1}",
    ];
    let all: Vec<String> = texts
        .iter()
        .map(|text| {
            let home = Home::new().with_key();
            write_file(&home.path, text);
            assert!(home.store().set_key("b", &Secret::new("two")).is_err());
            assert_eq!(fs::read_to_string(&home.path).unwrap(), *text);
            home.refusal()
        })
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    `~/.agentos/credentials.json` is not a file of keys: invalid JSON at line 1 column 0 [move the file away and set the keys again]
    `~/.agentos/credentials.json` is not a file of keys: invalid JSON at line 1 column 40 [move the file away and set the keys again]
    `~/.agentos/credentials.json` is not a file of keys: invalid JSON at line 1 column 34 [move the file away and set the keys again]
    `~/.agentos/credentials.json` is not a file of keys: version 2 is not supported, only version 1 [move the file away and set the keys again]
    `~/.agentos/credentials.json` is not a file of keys: invalid JSON at line 1 column 38 [move the file away and set the keys again]
    ");
}

#[test]
fn a_command_that_was_killed_before_leaves_nothing_in_the_way() {
    let home = Home::new().with_key();
    let left_over = home.folder().join("credentials.json.new");
    write_file(&left_over, "half");
    home.store().set_key("b", &Secret::new("two")).unwrap();
    assert!(!left_over.exists());
    assert_eq!(
        home.store().read_key("openai.api_key").unwrap().unwrap().expose(),
        CANARY
    );
}

#[test]
fn many_commands_at_once_lose_no_key() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let store = home.store();
            scope.spawn(move || store.set_key(&format!("key-{n}"), &Secret::new("value")).unwrap());
        }
    });
    for n in 0..8 {
        assert!(
            home.store().read_key(&format!("key-{n}")).unwrap().is_some(),
            "{n}"
        );
    }
}

#[test]
fn names_and_lengths_have_limits() {
    let home = Home::new();
    let store = home.store();
    for bad in ["", "../x", "a b", "a/b", "ключ"] {
        assert!(
            matches!(store.read_key(bad), Err(CredentialError::Name(_))),
            "{bad}"
        );
    }
    assert!(matches!(
        store.set_key("a", &Secret::new(" \n")),
        Err(CredentialError::Length { .. })
    ));
    assert!(store.set_key("a", &Secret::new(&"k".repeat(65_536))).is_ok());
    assert!(matches!(
        store.set_key("a", &Secret::new(&"k".repeat(65_537))),
        Err(CredentialError::Length { .. })
    ));
    assert_eq!(store.read_key("a").unwrap().unwrap().expose().len(), 65_536);
}

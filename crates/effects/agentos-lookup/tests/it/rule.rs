//! The rule as tables, over real folders.

use std::path::{Path, PathBuf};

use agentos_lookup::{ProgramSearch, absolute_path, is_executable};
use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};
use tempfile::TempDir;

/// A home with a repository at `home/repo`, and system folders next to it.
struct Ground {
    _folder: TempDir,
    top: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let ground = Self { _folder: folder, top };
        make_dir(&ground.at("home/repo/.git"));
        make_dir(&ground.at("bin"));
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    fn program(&self, name: &str) {
        let place = self.at(name);
        make_dir(place.parent().unwrap());
        write_file(&place, "#!/bin/sh\n");
        set_mode(&place, 0o755);
    }

    /// A `PATH`: each word below the top, except for what stands after `=`, which is taken as it is.
    fn variable(&self, words: &[&str]) -> String {
        let entry = |word: &&str| match word.strip_prefix('=') {
            Some(entry) => entry.to_owned(),
            None => self.at(word).display().to_string(),
        };
        words.iter().map(entry).collect::<Vec<_>>().join(":")
    }

    /// The place found, or the error, for a call made in `place`; paths begin at the top.
    fn found(&self, named: &str, path: &[&str], place: Option<&str>) -> String {
        let search = ProgramSearch::in_variable(&self.variable(path))
            .with_home(Some(&self.at("home")))
            .outside_repository(place.map(|place| self.at(place)).as_deref());
        let told = match search.find_program(named) {
            Ok(place) => place.display().to_string(),
            Err(error) => error.to_string(),
        };
        told.replace(&format!("{}/", self.top.display()), "")
    }
}

#[test]
fn a_path_is_taken_as_it_stands_and_must_not_depend_on_the_current_folder() {
    let ground = Ground::new();
    ground.program("bin/tool");
    ground.program("home/own/tool");
    write_file(&ground.at("bin/text"), "");
    set_mode(&ground.at("bin/text"), 0o644);
    let full = |name: &str| ground.at(name).display().to_string();
    let cases = [
        (full("bin/tool"), "bin/tool"),
        ("~/own/tool".to_owned(), "home/own/tool"),
        ("~/tool".to_owned(), "`~/tool` was not found"),
        (full("nowhere"), "`nowhere` was not found"),
        (full("bin"), "`bin` was not found"),
        // The system says why it cannot be started.
        (full("bin/text"), "bin/text"),
        ("./tool".to_owned(), "`./tool` is a relative path"),
        ("bin/tool".to_owned(), "`bin/tool` is a relative path"),
        ("..\\tool".to_owned(), "`..\\tool` is a relative path"),
        ("~other/tool".to_owned(), "`~other/tool` is a relative path"),
        (String::new(), "`` was not found"),
    ];
    for (named, expected) in cases {
        assert_eq!(ground.found(&named, &["bin"], None), expected, "{named}");
    }
    let unknown_home = ProgramSearch::in_variable("").find_program("~/own/tool");
    assert_eq!(
        unknown_home.unwrap_err().to_string(),
        "`~/own/tool` is a relative path"
    );
}

#[test]
fn a_name_is_found_in_the_first_absolute_folder_that_has_such_a_program() {
    let ground = Ground::new();
    ground.program("bin/tool");
    ground.program("late/tool");
    ground.program("late/other");
    make_dir(&ground.at("early/tool"));
    write_file(&ground.at("early/other"), "");
    set_mode(&ground.at("early/other"), 0o644);
    let cases: [(&str, &[&str], &str); 8] = [
        ("tool", &["bin", "late"], "bin/tool"),
        ("tool", &["late", "bin"], "late/tool"),
        ("tool", &["nowhere", "late"], "late/tool"),
        // A folder of that name, and a file without permission to execute.
        ("tool", &["early", "late"], "late/tool"),
        ("other", &["early", "late"], "late/other"),
        ("other", &["early"], "`other` was not found"),
        (
            "tool",
            &["=", "=.", "=bin", "=node_modules/.bin"],
            "`tool` was not found",
        ),
        ("tool", &["=.", "=", "late"], "late/tool"),
    ];
    for (named, path, expected) in cases {
        assert_eq!(ground.found(named, path, None), expected, "{named} {path:?}");
    }
}

#[test]
fn no_relative_entry_is_searched_even_where_the_current_folder_has_the_program() {
    // Tests run in their crate's folder; `/proc/self/cwd` would be the same folder by an absolute name.
    let here = std::env::current_dir().unwrap();
    let below_root = here.strip_prefix("/").unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = format!("{}/bin:{}", up.display(), below_root.display());
    assert!(up.join("bin/sh").is_file(), "the entry would lead to a program");
    assert!(ProgramSearch::in_variable(&relative).find_program("sh").is_err());
}

#[test]
fn folders_of_the_repository_are_skipped_wherever_they_stand_in_the_path() {
    let ground = Ground::new();
    ground.program("bin/gpg");
    ground.program("home/repo/node_modules/.bin/gpg");
    ground.program("home/repo/.git/hooks/gpg");
    ground.program("home/repo-tools/gpg");
    make_link(&ground.at("alias"), "home/repo/node_modules/.bin");
    make_link(&ground.at("home/linked"), "repo");
    let repository = Some("home/repo");
    let planted = "`gpg` is only in the repository, at `home/repo/node_modules/.bin/gpg`";
    make_dir(&ground.at("home/.git"));
    make_dir(&ground.at("other"));
    let cases: [(&[&str], Option<&str>, &str); 11] = [
        (&["home/repo/node_modules/.bin", "bin"], repository, "bin/gpg"),
        (&["home/repo/.git/hooks", "bin"], repository, "bin/gpg"),
        (&["alias", "bin"], repository, "bin/gpg"),
        (
            &["home/repo-tools/../repo/node_modules/.bin", "bin"],
            repository,
            "bin/gpg",
        ),
        (
            &["home/repo/node_modules/.bin", "bin"],
            Some("home/linked"),
            "bin/gpg",
        ),
        (&["home/repo/node_modules/.bin"], repository, planted),
        // The call may be made deep in the repository, or outside of every one.
        (
            &["home/repo/node_modules/.bin", "bin"],
            Some("home/repo/node_modules"),
            "bin/gpg",
        ),
        (
            &["home/repo/node_modules/.bin", "bin"],
            Some("other"),
            "home/repo/node_modules/.bin/gpg",
        ),
        // A name that begins alike is another folder.
        (&["home/repo-tools", "bin"], repository, "home/repo-tools/gpg"),
        (
            &["home/repo/node_modules/.bin", "bin"],
            None,
            "home/repo/node_modules/.bin/gpg",
        ),
        // Settings kept in a repository at the home take no folder of programs away.
        (
            &["home/repo/node_modules/.bin", "bin"],
            Some("home"),
            "home/repo/node_modules/.bin/gpg",
        ),
    ];
    for (path, repository, expected) in cases {
        assert_eq!(
            ground.found("gpg", path, repository),
            expected,
            "{path:?} {repository:?}"
        );
    }
}

#[test]
fn a_link_out_of_the_users_own_folder_is_the_users_own_decision() {
    let ground = Ground::new();
    ground.program("home/repo/target/gpg");
    make_link(&ground.at("bin/gpg"), "../home/repo/target/gpg");
    assert_eq!(ground.found("gpg", &["bin"], Some("home/repo")), "bin/gpg");
}

#[test]
fn a_linked_working_tree_and_its_main_one_are_one_repository() {
    let ground = Ground::new();
    ground.program("bin/gpg");
    ground.program("home/repo/node_modules/.bin/gpg");
    ground.program("home/tree/node_modules/.bin/gpg");
    make_dir(&ground.at("home/repo/.git/worktrees/tree"));
    let named_by = [
        format!(
            "gitdir: {}\n",
            ground.at("home/repo/.git/worktrees/tree").display()
        ),
        "gitdir: ../repo/.git/worktrees/tree\n".to_owned(),
    ];
    for text in named_by {
        write_file(&ground.at("home/tree/.git"), text);
        for entry in ["home/repo/node_modules/.bin", "home/tree/node_modules/.bin"] {
            assert_eq!(ground.found("gpg", &[entry, "bin"], Some("home/tree")), "bin/gpg");
        }
    }
    // A file that names nothing leaves the working tree itself.
    for text in ["", "gitdir:", "gitdir: \n", "something else"] {
        write_file(&ground.at("home/tree/.git"), text);
        let found = ground.found("gpg", &["home/tree/node_modules/.bin", "bin"], Some("home/tree"));
        assert_eq!(found, "bin/gpg", "{text:?}");
    }
}

#[test]
fn a_path_that_a_person_names_is_absolute_or_below_the_home() {
    let home = Some(Path::new("/home/me"));
    let cases = [
        ("/etc/key", home, Some("/etc/key")),
        ("~/key", home, Some("/home/me/key")),
        ("~/key", None, None),
        ("~/key", Some(Path::new("me")), None),
        ("key", home, None),
        ("./key", home, None),
        ("", home, None),
    ];
    for (named, home, expected) in cases {
        assert_eq!(
            absolute_path(named, home).as_deref(),
            expected.map(Path::new),
            "{named}"
        );
    }
}

#[test]
fn a_program_is_a_file_with_permission_to_execute() {
    let ground = Ground::new();
    ground.program("bin/tool");
    make_link(&ground.at("bin/link"), "tool");
    make_link(&ground.at("bin/broken"), "nowhere");
    write_file(&ground.at("bin/text"), "");
    set_mode(&ground.at("bin/text"), 0o644);
    let cases = [
        ("bin/tool", true),
        ("bin/link", true),
        ("bin/broken", false),
        ("bin/text", false),
        ("bin", false),
    ];
    for (name, expected) in cases {
        assert_eq!(is_executable(&ground.at(name)), expected, "{name}");
    }
}

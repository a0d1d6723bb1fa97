//! What is shown to a program, and what only lies next to it.

use std::path::PathBuf;

use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};
use tempfile::TempDir;

use super::*;

/// A home with a repository at `home/work/repo`, and room next to them.
struct Ground {
    top: TempDir,
    places: Places,
}

impl Ground {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap();
        make_dir(&real.join("home/work/repo/.git"));
        let places = Places {
            home: Some(real.join("home")),
            repository: Some(real.join("home/work/repo")),
            ..Places::default()
        };
        Self { top, places }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let place = self.at(name);
        make_dir(place.parent().unwrap());
        write_file(&place, text);
        set_mode(&place, 0o755);
        place
    }

    fn link(&self, name: &str, to: &str) {
        let place = self.at(name);
        make_dir(place.parent().unwrap());
        make_link(&place, to);
    }

    fn shown(&self, program: &str) -> Vec<String> {
        let top = self.at("");
        let all = self.places.readable(&self.at(program));
        let inside = all.iter().filter_map(|place| place.strip_prefix(&top).ok());
        inside.map(|place| place.display().to_string()).collect()
    }
}

#[test]
fn a_program_by_path_is_shown_without_what_lies_next_to_it() {
    let ground = Ground::new();
    let repo = "home/work/repo";
    for name in [
        &format!("{repo}/.env") as &str,
        &format!("{repo}/lib/x"),
        &format!("{repo}/libexec/x"),
        "home/lib/private",
        "home/work/fmt.sh",
        "home/work/other/.git/config",
        "home/work/other/lib/x",
        "home/private/key",
        "home/versioned/bin/.git/config",
        "home/versioned/lib/x",
    ] {
        ground.write(name, "");
    }
    let alone = [
        &format!("{repo}/gen.sh") as &str,
        &format!("{repo}/bin/gen.sh"),
        &format!("{repo}/deep/bin/gen.sh"),
        &format!("{repo}/.git/hooks/gen.sh"),
        &format!("{repo}/.git/bin/gen.sh"),
        "home/gen.sh",
        "home/bin/gen.sh",
        "home/work/gen.sh",
        "home/work/bin/gen.sh",
        "home/work/other/bin/gen.sh",
        "home/versioned/bin/gen.sh",
        "elsewhere/gen.sh",
        "elsewhere/bin/gen.sh",
    ];
    for name in alone {
        ground.write(name, "#!/bin/sh\n");
        assert_eq!(ground.shown(name), [name]);
    }
}

#[test]
fn a_link_is_shown_with_its_target_and_nothing_next_to_either() {
    let ground = Ground::new();
    ground.write("home/private/tool", "");
    ground.write("home/private/key", "");
    ground.link("home/tools/bin/tool", "../../private/tool");
    assert_eq!(
        ground.shown("home/tools/bin/tool"),
        ["home/private/tool", "home/tools/bin/tool"]
    );
    // The installation is one, and a part of it leads out of it.
    ground.write("opt/x/bin/tool", "");
    ground.write("opt/x/libexec/part", "");
    ground.link("opt/x/lib", "../../home/private");
    ground.link("opt/x/lib64", "/");
    assert_eq!(ground.shown("opt/x/bin/tool"), ["opt/x/bin", "opt/x/libexec"]);
}

#[test]
fn an_environment_is_shown_with_the_python_that_it_was_made_of() {
    let ground = Ground::new();
    // pyenv is a clone, and the versions that it builds lie in its working tree.
    ground.write("home/.pyenv/.git/HEAD", "");
    let version = "home/.pyenv/versions/3.11.7";
    ground.write(&format!("{version}/bin/python3.11"), "");
    ground.write(&format!("{version}/lib/python3.11/os.py"), "");
    ground.write(&format!("{version}/share/key"), "");
    ground.link(&format!("{version}/bin/python"), "python3.11");
    ground.write("tools/v/pyvenv.cfg", "");
    let python = ground.at(&format!("{version}/bin/python"));
    ground.link("tools/v/bin/python", &python.display().to_string());
    let script = format!("#!{}\n", ground.at("tools/v/bin/python").display());
    ground.write("tools/v/bin/aider", &script);
    assert_eq!(
        ground.shown("tools/v/bin/aider"),
        [
            "home/.pyenv/versions/3.11.7/bin",
            "home/.pyenv/versions/3.11.7/lib",
            "tools/v/bin",
            "tools/v/pyvenv.cfg",
        ]
    );
}

#[test]
fn an_interpreter_is_a_program() {
    let ground = Ground::new();
    let key = ground.write("home/.ssh/id_ed25519", "");
    set_mode(&key, 0o600);
    let script = format!("#!{}\n", key.display());
    ground.write("home/work/repo/gen.sh", &script);
    assert_eq!(ground.shown("home/work/repo/gen.sh"), ["home/work/repo/gen.sh"]);
    let own = ground.write("home/private/interpreter", "");
    ground.write("home/work/repo/gen.sh", &format!("#!{} -x\n", own.display()));
    assert_eq!(
        ground.shown("home/work/repo/gen.sh"),
        ["home/private/interpreter", "home/work/repo/gen.sh"]
    );
}

#[test]
fn no_folder_of_the_search_path_shows_the_home_or_the_repository() {
    let mut ground = Ground::new();
    for name in [
        "home/work/repo/scripts/x",
        "home/work/repo/bin/x",
        "home/clone/.git/config",
        "usual/bin/x",
        "bare/HEAD",
        "bare/objects/x",
    ] {
        ground.write(name, "");
    }
    ground.link("alias", "home");
    ground.places.path = [
        "",
        "home",
        "home/work",
        "home/work/repo",
        "home/work/repo/.",
        "home/work/repo/scripts",
        "home/work/repo/bin",
        "home/work/repo/.git",
        "home/work/repo/bin/..",
        "home/clone",
        "home/clone/.git",
        "alias",
        "alias/work",
        "bare",
        "missing",
        "usual/bin",
    ]
    .map(|name| ground.at(name))
    .to_vec();
    ground.places.path.push(PathBuf::from("/"));
    ground.places.rustup_home = Some(ground.at("home"));
    assert_eq!(ground.shown("usual/bin/x"), ["usual/bin"]);
    assert_eq!(
        ground.shown("home/work/repo/bin/x"),
        ["home/work/repo/bin/x", "usual/bin"]
    );
}

#[test]
fn what_was_installed_into_the_repository_goes_on_working() {
    let mut ground = Ground::new();
    for name in [
        "home/work/repo/.venv/pyvenv.cfg",
        "home/work/repo/.venv/bin/python",
        "home/work/repo/.venv/bin/tool",
        "home/work/repo/.venv/lib/x",
        "home/work/repo/node_modules/one/cli.js",
    ] {
        ground.write(name, "");
    }
    ground.link("home/work/repo/node_modules/.bin/one", "../one/cli.js");
    let environment = [
        "home/work/repo/.venv/bin",
        "home/work/repo/.venv/lib",
        "home/work/repo/.venv/pyvenv.cfg",
    ];
    assert_eq!(ground.shown("home/work/repo/.venv/bin/tool"), environment);
    let packages = "home/work/repo/node_modules";
    assert_eq!(ground.shown("home/work/repo/node_modules/.bin/one"), [packages]);
    ground.places.path = ["home/work/repo/.venv/bin", "home/work/repo/node_modules/.bin"]
        .map(|name| ground.at(name))
        .to_vec();
    assert_eq!(
        ground.shown("home/work/repo/.venv/bin/tool"),
        [&environment[..], &["home/work/repo/node_modules/.bin"]].concat()
    );
}

#[test]
fn a_home_folder_is_never_readable_as_a_whole() {
    let mut ground = Ground::new();
    ground.write("home/.cargo/bin/cargo", "");
    ground.write("home/.rustup/settings.toml", "");
    ground.write("home/.cargo/credentials.toml", "");
    ground.write("home/my-tool", "");
    ground.places.path = vec![ground.at("home/.cargo/bin"), ground.at("home")];
    assert_eq!(
        ground.shown("home/.cargo/bin/cargo"),
        ["home/.cargo/bin", "home/.rustup"]
    );
    assert_eq!(
        ground.shown("home/my-tool"),
        ["home/.cargo/bin", "home/.rustup", "home/my-tool"]
    );
}

#[test]
fn a_tool_manager_that_is_a_clone_is_readable_by_its_parts() {
    let mut ground = Ground::new();
    ground.write("home/.pyenv/.git/config", "");
    ground.write("home/.pyenv/shims/python3", "");
    ground.write("home/.pyenv/libexec/pyenv", "");
    ground.write("home/.pyenv/versions/3/bin/python3", "");
    ground.places.path = vec![ground.at("home/.pyenv/shims")];
    assert_eq!(
        ground.shown("home/.pyenv/shims/python3"),
        ["home/.pyenv/libexec", "home/.pyenv/shims", "home/.pyenv/versions"]
    );
}

#[test]
fn what_a_script_was_installed_with_is_readable() {
    let ground = Ground::new();
    let python = ground.write("python/bin/python3", "");
    ground.write("python/lib/x", "");
    ground.write("venv/pyvenv.cfg", "");
    ground.write("venv/bin/tool", &format!("#!{} -s\nimport x\n", python.display()));
    ground.write("npm/node_modules/one/cli.js", "#!/usr/bin/env node\n");
    assert_eq!(
        ground.shown("venv/bin/tool"),
        ["python/bin", "python/lib", "venv/bin", "venv/pyvenv.cfg"]
    );
    assert_eq!(ground.shown("npm/node_modules/one/cli.js"), ["npm/node_modules"]);
}

#[test]
fn a_program_is_found_where_it_can_be_executed() {
    let places = Places {
        path: vec!["/nowhere".into(), "/bin".into()],
        ..Places::default()
    };
    assert_eq!(places.find("sh"), Some(PathBuf::from("/bin/sh")));
    assert_eq!(places.find("no-such-program"), None);
    assert_eq!(places.find("./scripts/mod"), Some(PathBuf::from("./scripts/mod")));
}

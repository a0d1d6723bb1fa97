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
    ground.write("home/tools/gen.sh", &script);
    assert_eq!(ground.shown("home/tools/gen.sh"), ["home/tools/gen.sh"]);
    let own = ground.write("home/private/interpreter", "");
    ground.write("home/tools/gen.sh", &format!("#!{} -x\n", own.display()));
    assert_eq!(
        ground.shown("home/tools/gen.sh"),
        ["home/private/interpreter", "home/tools/gen.sh"]
    );
}

/// The finding: a link or a text of a repository named a file, and the file was shown with the folders next to it.
#[test]
fn a_repository_names_nothing_of_the_users() {
    let mut ground = Ground::new();
    let key = ground.write("home/.ssh/id_ed25519", "key");
    set_mode(&key, 0o600);
    ground.write("home/.config/gh/bin/python3", "");
    ground.write("home/.config/gh/lib/hosts.yml", "token");
    ground.write("home/.pyenv/versions/3.12/bin/python3.12", "");
    ground.write("home/.pyenv/versions/3.12/lib/x", "");
    ground.write("home/.local/share/uv/credentials/bin/python3", "");
    ground.write("home/.local/share/uv/python/cpython-3.13/bin/python3.13", "");
    ground.write("home/.local/share/uv/python/cpython-3.13/lib/x", "");
    ground.write("home/.local/share/pipx/venvs/pre-commit/bin/python", "");
    ground.write("home/own/python/bin/python3.11", "");
    ground.write("home/own/python/lib/x", "");
    ground.write("home/kept/py/bin/python3.10", "");
    ground.link("home/bin/python3", "../kept/py/bin/python3.10");
    ground.write("managed/installs/python/3/bin/python", "");
    let repo = "home/work/repo";
    ground.write(&format!("{repo}/lib/private"), "");
    ground.write(&format!("{repo}/bin/tool"), "");
    ground.places.path = ["home/own/python/bin", "home/bin", "home/work/repo/scripts"]
        .map(|name| ground.at(name))
        .to_vec();
    ground.link(&format!("{repo}/scripts"), "../../.config/gh/bin");
    ground.places.toolchains = vec![
        ground.at("managed/installs"),
        ground.at(&format!("{repo}/managed")),
    ];
    ground.link(&format!("{repo}/managed"), "../../.config/gh");
    let cases = [
        // A file that is no program, and a program in a folder that holds something else.
        ("home/.ssh/id_ed25519", false),
        ("home/.ssh", false),
        ("home/.config/gh/bin/python3", false),
        ("home/.config/gh/lib/hosts.yml", false),
        ("home/.local/share/uv/credentials/bin/python3", false),
        ("home/missing", false),
        // The folders of managers.
        ("home/.pyenv/versions/3.12/bin/python3.12", true),
        ("home/.local/share/uv/python/cpython-3.13/bin/python3.13", true),
        ("home/.local/share/pipx/venvs/pre-commit/bin/python", true),
        ("managed/installs/python/3/bin/python", true),
        // The search path, and what a program of it leads to.
        ("home/own/python/bin/python3.11", true),
        ("home/kept/py/bin/python3.10", true),
        ("home/work/repo/bin/tool", true),
    ];
    for (number, (to, is_shown)) in cases.into_iter().enumerate() {
        let named = ground.places.readable_if_known(&ground.at(to));
        assert_eq!(named.is_ok(), is_shown, "a text that names {to}");
        // Links of the repository: by the user's command line, and in a check's environment.
        let link = format!("{repo}/link{number}/python");
        ground.link(&link, &ground.at(to).display().to_string());
        assert_eq!(
            ground.places.readable_if_known(&ground.at(&link)).is_ok(),
            is_shown,
            "a link to {to}"
        );
        let is_listed = !ground.places.unshown(&ground.at(&link)).is_empty();
        assert_eq!(is_listed, !is_shown, "a link to {to} as a program");
        let shown = ground.shown(&link);
        let is_in = |place: &String| place == &link || ground.at(to).starts_with(ground.at(place));
        assert_eq!(
            shown.iter().any(is_in),
            is_shown,
            "a link to {to} shows {shown:?}"
        );
        // The first line of a script of the repository.
        let script = format!("{repo}/script{number}.sh");
        ground.write(&script, &format!("#!{}\n", ground.at(to).display()));
        let shown = ground.shown(&script);
        let is_in = |place: &String| ground.at(to).starts_with(ground.at(place));
        assert_eq!(
            shown.iter().any(is_in),
            is_shown,
            "a script of {to} shows {shown:?}"
        );
    }
}

#[test]
fn a_folder_that_the_user_names_is_not_followed_through_a_link_of_the_repository() {
    let mut ground = Ground::new();
    ground.write("home/.config/gh/lib/hosts.yml", "token");
    ground.write("home/.config/gh/bin/tool", "");
    let repo = "home/work/repo";
    ground.link(&format!("{repo}/.venv"), "../../.config/gh");
    ground.link(&format!("{repo}/node_modules"), "../../.config/gh");
    // A link of the user's on the way changes nothing.
    ground.link("home/project", "work/repo");
    ground.places.path = [".venv/bin", "node_modules/bin", "node_modules"]
        .iter()
        .flat_map(|name| [format!("{repo}/{name}"), format!("home/project/{name}")])
        .map(|name| ground.at(&name))
        .collect();
    for name in [
        &format!("{repo}/.venv/bin/tool") as &str,
        "home/project/.venv/bin/tool",
    ] {
        assert_eq!(ground.shown(name), Vec::<String>::new(), "{name}");
        let unshown = ground.places.unshown(&ground.at(name));
        assert_eq!(unshown.len(), 1, "{name}");
        assert_eq!(
            unshown.first().unwrap().real,
            ground.at("home/.config/gh/bin/tool")
        );
    }
    for (name, is_ok) in [
        ("home/.config/gh/lib", true),
        ("home/project/.venv/lib", false),
        ("home/work/repo/.venv", false),
        ("home/work/repo", true),
    ] {
        assert_eq!(
            ground.places.follow_own(&ground.at(name)).is_ok(),
            is_ok,
            "{name}"
        );
    }
    for (name, is_ok) in [("home/.config/gh", false), ("/usr/share", true), ("home", false)] {
        assert_eq!(
            ground.places.folder_if_known(&ground.at(name)).is_ok(),
            is_ok,
            "{name}"
        );
    }
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

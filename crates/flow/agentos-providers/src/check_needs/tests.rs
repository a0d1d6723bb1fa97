//! The needs of a command, and what a repository cannot add to them.

use std::sync::Arc;

use agentos_landing::MemoryBase;

use super::*;

#[test]
fn the_kind_of_a_command_follows_from_its_programs_or_from_the_project() {
    use ToolKind::{Cargo, Go, Node, Python};
    let files = ["Cargo.toml", "package.json", "docs/go.mod"];
    let cases: [(&str, &[ToolKind]); 10] = [
        ("cargo test", &[Cargo]),
        ("cd a && RUSTFLAGS=-g ~/.cargo/bin/cargo check", &[Cargo]),
        ("(go vet ./...; pytest)", &[Python, Go]),
        ("sh -c 'npm test'", &[Cargo, Node]),
        ("make check", &[Cargo, Node]),
        ("./ci.sh", &[Cargo, Node]),
        ("grep -q 'a + b' src/lib.rs", &[]),
        ("test -f target/x", &[]),
        ("python3 -m pytest -q", &[Python]),
        ("", &[]),
    ];
    let mut base = MemoryBase::default();
    for file in files {
        base.put(file, Arc::from(&b""[..]));
    }
    for (command, expected) in cases {
        let found: Vec<ToolKind> = find_kinds(command, &base).into_iter().collect();
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn a_machine_without_caches_gets_settings_alone() {
    let environment = Environment::new([], PathBuf::from("/"));
    let (places, base) = (Places::default(), MemoryBase::default());
    let around = CheckSurroundings {
        environment: &environment,
        places: &places,
        work_dir: Path::new("/no/such/folder"),
        base: &base,
    };
    let names = |command: &str| {
        let needs = find_needs(command, &around);
        assert_eq!(
            (needs.views, needs.readable),
            (Vec::new(), Vec::new()),
            "{command}"
        );
        needs
            .env
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names("true"), "");
    assert_eq!(names("cargo test"), "CARGO_NET_OFFLINE");
    assert_eq!(names("pytest"), "PIP_NO_INDEX");
    assert_eq!(names("go test ./..."), "GOPROXY GOSUMDB GOTOOLCHAIN GOFLAGS");
}

/// Every text of a project by which its tools choose a toolchain, and every link that stands for one. The check is shown what it
/// is shown without them.
#[cfg(unix)]
#[test]
fn no_file_of_the_repository_widens_what_is_shown() {
    use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};

    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    let (home, work) = (top.join("home"), top.join("home/work"));
    let secret = home.join(".aws/bin/python3");
    for file in [&secret, &home.join(".aws/lib/credentials")] {
        make_dir(file.parent().unwrap());
        write_file(file, "");
        set_mode(file, 0o755);
    }
    make_dir(&work.join(".git/hooks"));
    let environment = Environment::new([("HOME".to_owned(), home.display().to_string())], work.clone());
    let places = Places {
        home: Some(home.clone()),
        repository: Some(work.clone()),
        ..Places::default()
    };
    let mut base = MemoryBase::default();
    for file in ["Cargo.toml", "go.mod", "package.json", "pyproject.toml"] {
        base.put(file, Arc::from(&b""[..]));
    }
    let look = |hook: &str| {
        let around = CheckSurroundings {
            environment: &environment,
            places: &places,
            work_dir: &work,
            base: &base,
        };
        let mut needs = find_needs("sh -c 'python3 t.py; go test; npm test; cargo test'", &around);
        around.add_pre_commit(&mut needs, hook);
        let views: Vec<_> = needs.views.iter().map(|view| view.from.clone()).collect();
        (needs.readable, views, needs.unshown.len())
    };
    assert_eq!(look(""), (Vec::new(), Vec::new(), 0));
    let path = secret.display();
    let texts = [
        ("rust-toolchain.toml", format!("[toolchain]\npath = \"{path}\"\n")),
        (".tool-versions", format!("python path:{path}\n")),
        (".python-version", format!("{path}\n")),
        (".nvmrc", format!("{path}\n")),
        (".node-version", format!("{path}\n")),
        (
            ".envrc",
            format!("export PATH={path}:$PATH PYENV_ROOT={path} CARGO_HOME={path}\n"),
        ),
        (".env", format!("PATH={path}\n")),
        ("mise.toml", format!("[env]\n_.path = \"{path}\"\n")),
        (
            "package.json",
            format!("{{\"scripts\": {{\"test\": \"{path}\"}}, \"volta\": {{\"extends\": \"{path}\"}}}}"),
        ),
        (".npmrc", format!("prefix={path}\nscript-shell={path}\n")),
        ("Makefile", format!("SHELL = {path}\n")),
        ("go.work", format!("use {path}\n")),
        ("uv.toml", format!("cache-dir = \"{path}\"\n")),
        (
            ".cargo/config.toml",
            format!("[build]\ntarget-dir = \"{path}\"\n"),
        ),
        (
            ".pre-commit-config.yaml",
            format!("default_language_version: {{python: {path}}}\n"),
        ),
    ];
    for (name, text) in &texts {
        make_dir(work.join(name).parent().unwrap());
        write_file(&work.join(name), text);
    }
    assert_eq!(look(""), (Vec::new(), Vec::new(), 0), "texts");
    for name in ["target", "node_modules", "venv"] {
        make_link(&work.join(name), &home.join(".aws").display().to_string());
    }
    assert_eq!(look(""), (Vec::new(), Vec::new(), 0), "links of folders");
    let hook = format!("#!/bin/sh\nINSTALL_PYTHON='{path}'\n");
    assert_eq!(look(&hook), (Vec::new(), Vec::new(), 1), "a hook");
    write_file(&home.join(".aws/key"), "");
    let hook = format!("INSTALL_PYTHON={}\n", home.join(".aws/key").display());
    assert_eq!(
        look(&hook),
        (Vec::new(), Vec::new(), 1),
        "a hook that names a key"
    );
    let venv = work.join(".venv");
    make_dir(&venv.join("bin"));
    write_file(&venv.join("pyvenv.cfg"), format!("home = {path}\n"));
    make_link(&venv.join("bin/python"), "../../../.aws/bin/python3");
    let (readable, views, unshown) = look("");
    assert_eq!((readable, unshown), (Vec::new(), 1), "an environment");
    assert!(views.iter().all(|view| *view == venv), "{views:?}");
}

//! `run --check` with the real build tools of other languages: their packages, their caches, and the managers of their versions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, set_mode, write_file};

use crate::support::{SLOPPY_FIX, agentos, sandbox_holds, small_repo};

/// Packs a module for Go's file proxy. Go takes modules from zip files only.
const MAKE_PROXY: &str = "\
import os, sys, zipfile
top = sys.argv[1] + '/example.com/dep/@v'
os.makedirs(top)
mod = 'module example.com/dep\\n'
open(top + '/list', 'w').write('v1.0.0\\n')
open(top + '/v1.0.0.info', 'w').write('{\"Version\":\"v1.0.0\"}')
open(top + '/v1.0.0.mod', 'w').write(mod)
with zipfile.ZipFile(top + '/v1.0.0.zip', 'w') as z:
    z.writestr('example.com/dep@v1.0.0/go.mod', mod)
    z.writestr('example.com/dep@v1.0.0/dep.go', 'package dep\\n\\nfunc Two() int { return 2 }\\n')
";

/// Returns the search path of the tests.
fn search_path() -> OsString {
    let world = agentos().world();
    let path = world.into_iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value).unwrap_or_default()
}

/// Finds a program on the search path. Says on the screen that a test is skipped if there is none.
fn find(name: &str) -> Option<PathBuf> {
    let path = search_path();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: `{name}` is not installed");
    }
    found
}

/// Finds a program in the folders that every confined process sees.
fn find_in_system(name: &str) -> Option<PathBuf> {
    let found = ["/usr/bin", "/bin"]
        .into_iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no `{name}` in the system's folders");
    }
    found
}

/// Runs a preparing program as the user of `cli`, in a folder. Says on the screen that a test is skipped if it fails.
fn prepare(cli: &Cli, folder: &Path, program: &str, args: &[&str], env: &[(&str, &str)]) -> bool {
    let output = agentos_testkit::cli::program(program)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .envs(cli.world())
        .envs(env.iter().copied())
        .output();
    let failed = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("skipped: `{program} {}` failed: {failed}", args.join(" "));
    false
}

/// Lands a recorded answer after a check, and returns the end of the check's output.
fn run_check(cli: &Cli, repo: &TestRepo, check: &str) -> (CliOutput, String) {
    let answer = repo.outside().join("answer.md");
    write_file(&answer, SLOPPY_FIX);
    let recorded = [
        "run",
        "fix",
        "-p",
        "replay",
        "--json",
        "--dry-run",
        "--check",
        check,
    ];
    let args = [&recorded[..], &["--replay", answer.to_str().unwrap()]].concat();
    let output = cli.run(&args).unwrap();
    let report = output.json().unwrap_or_default();
    let said = report["check"]["said"].as_str().unwrap_or_default().to_owned();
    (output, said)
}

#[test]
fn npm_tests_a_project_with_an_installed_package() {
    let (true, Some(_), Some(_)) = (sandbox_holds(), find("npm"), find_in_system("node")) else {
        return;
    };
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let dep = repo.outside().join("dep");
    make_dir(&dep);
    write_file(
        &dep.join("package.json"),
        r#"{ "name": "dep", "version": "1.0.0" }"#,
    );
    write_file(&dep.join("index.js"), "module.exports = 2;\n");
    // A packed package, because npm only links a folder.
    if !prepare(&cli, &dep, "npm", &["pack", "--offline"], &[]) {
        return;
    }
    let package = r#"{ "name": "x", "version": "1.0.0", "scripts": { "test": "node test.js" } }"#;
    repo.write("package.json", package);
    repo.write("test.js", "if (require('dep') !== 2) process.exit(1);\ntry { require('fs').writeFileSync('node_modules/dep/made', 'x') } catch {}\nconsole.log('dep is there');\n");
    repo.write(".gitignore", "node_modules/\n");
    let packed = dep.join("dep-1.0.0.tgz");
    let install = ["install", "--offline", "--no-audit", packed.to_str().unwrap()];
    if !prepare(&cli, repo.path(), "npm", &install, &[]) {
        return;
    }
    repo.commit_all("npm");
    let (output, said) = run_check(&cli, &repo, "auto");
    assert!(output.stderr.contains("the check is `npm test`"), "{output}");
    assert_eq!(output.code, Some(0), "{output}");
    assert!(said.contains("dep is there"), "{said}");
    // Whether it may write there or not, nothing of it stays.
    assert!(!repo.has("node_modules/dep/made"));
}

#[test]
fn python_tests_a_project_with_its_environment() {
    let (true, Some(python)) = (sandbox_holds(), find_in_system("python3")) else {
        return;
    };
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let python = python.to_str().unwrap();
    if !prepare(
        &cli,
        repo.path(),
        python,
        &["-m", "venv", "--without-pip", ".venv"],
        &[],
    ) {
        return;
    }
    let ask = [
        "-c",
        "import sysconfig; open('site', 'w').write(sysconfig.get_path('purelib'))",
    ];
    let inside = repo.path().join(".venv/bin/python");
    if !prepare(&cli, repo.path(), inside.to_str().unwrap(), &ask, &[]) {
        return;
    }
    let site = PathBuf::from(String::from_utf8(repo.read("site")).unwrap());
    write_file(&site.join("dep.py"), "two = 2\n");
    // The first line of an installed program names the environment by its own path.
    let program = repo.path().join(".venv/bin/dep-tool");
    write_file(
        &program,
        format!("#!{}\nimport dep; print('tool', dep.two)\n", inside.display()),
    );
    set_mode(&program, 0o755);
    repo.write(".gitignore", ".venv/\nsite\n");
    repo.write("test_x.py", "import dep, unittest\nclass X(unittest.TestCase):\n    def test_two(self): self.assertEqual(dep.two, 2)\n");
    repo.commit_all("python");
    let (output, said) = run_check(&cli, &repo, "python3 -m unittest -v && dep-tool");
    assert_eq!(output.code, Some(0), "{output}");
    assert!(said.contains("test_two") && said.contains("tool 2"), "{said}");
}

/// The finding: a link `.venv/bin/python` of a clone showed the folder two levels above its target to the check.
#[test]
fn an_environment_of_a_clone_shows_no_folder_of_the_users() {
    if !sandbox_holds() {
        return;
    }
    for to in [".config/gh/hosts.yml", ".aws/sso/cache"] {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let secret = "SECRET-of-the-user";
        write_file(&cli.home().join(".config/gh/hosts.yml"), secret);
        write_file(&cli.home().join(".aws/credentials"), secret);
        write_file(&cli.home().join(".aws/sso/cache/x"), secret);
        repo.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
        make_dir(&repo.path().join(".venv/bin"));
        let target = cli.home().join(to);
        make_link(&repo.path().join(".venv/bin/python"), target.to_str().unwrap());
        repo.git(&["add", "-A", "-f"]);
        repo.commit_all("a clone");
        let check = format!(
            "python3 --version; cat {home}/.config/gh/hosts.yml {home}/.aws/credentials {home}/.aws/sso/cache/x; false",
            home = cli.home().display()
        );
        let (output, said) = run_check(&cli, &repo, &check);
        assert!(!said.contains(secret), "{said}");
        assert!(!output.to_string().contains(secret), "{output}");
        assert!(output.stderr.contains("is not shown"), "{output}");
    }
}

#[test]
fn go_tests_a_module_with_a_dependency_of_its_cache() {
    let (true, Some(_), Some(_)) = (sandbox_holds(), find("go"), find("python3")) else {
        return;
    };
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let home = cli.home().display().to_string();
    // A list: the first folder has the modules.
    let cli = cli.env("GOPATH", format!("{home}/first:{home}/second"));
    let proxy = repo.outside().join("proxy");
    if !prepare(
        &cli,
        repo.path(),
        "python3",
        &["-c", MAKE_PROXY, proxy.to_str().unwrap()],
        &[],
    ) {
        return;
    }
    repo.write(
        "go.mod",
        "module x\n\ngo 1.19\n\nrequire example.com/dep v1.0.0\n",
    );
    repo.write(
        "x.go",
        "package x\n\nimport \"example.com/dep\"\n\nfunc Two() int { return dep.Two() }\n",
    );
    let test = "package x\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";
    repo.write("x_test.go", test);
    let from = format!("file://{}", proxy.display());
    let offline = [
        ("GOPROXY", from.as_str()),
        ("GOSUMDB", "off"),
        ("GOFLAGS", "-mod=mod"),
        ("GOTOOLCHAIN", "local"),
    ];
    if !prepare(&cli, repo.path(), "go", &["test", "./..."], &offline) {
        return;
    }
    repo.commit_all("go");
    let (output, said) = run_check(&cli, &repo, "auto");
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("the check is `go test ./...`"), "{output}");
    assert!(said.contains("ok") && !said.contains("downloading"), "{said}");
}

#[test]
fn the_programs_of_toolchain_managers_are_found_in_the_users_home() {
    let (true, Some(python)) = (sandbox_holds(), find_in_system("python3")) else {
        return;
    };
    let path = search_path().into_string().unwrap();
    let python = python.to_str().unwrap();
    // The manager's folder, the folder on the search path, and whether its programs are scripts that look for a version.
    for (manager, root, on_path, version, shim) in [
        (
            "pyenv",
            ".pyenv",
            "shims",
            "versions/3.99.1/bin",
            Some("PYENV_ROOT"),
        ),
        (
            "asdf",
            ".asdf",
            "shims",
            "installs/python/3.99.1/bin",
            Some("ASDF_DATA_DIR"),
        ),
        (
            "mise",
            ".local/share/mise",
            "installs/python/3.99.1/bin",
            "installs/python/3.99.1/bin",
            None,
        ),
        (
            "nvm",
            ".nvm",
            "versions/node/v99.1.0/bin",
            "versions/node/v99.1.0/bin",
            None,
        ),
    ] {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let root = cli.home().join(root);
        let bin = root.join(version);
        make_dir(&bin);
        make_link(&bin.join("python3"), python);
        write_file(&bin.join("managed"), format!("#!/bin/sh\necho by {manager}\n"));
        set_mode(&bin.join("managed"), 0o755);
        if let Some(variable) = shim {
            for name in ["python3", "managed"] {
                make_dir(&root.join("shims"));
                let file = root.join("shims").join(name);
                let script =
                    format!("#!/bin/sh\nexec \"${{{variable}:-$HOME/none}}/{version}/{name}\" \"$@\"\n");
                write_file(&file, script);
                set_mode(&file, 0o755);
            }
        }
        // What a manager keeps next to its versions is not shown.
        write_file(&root.join("credentials"), "secret\n");
        let first = root.join(on_path).display().to_string();
        let cli = cli.env("PATH", format!("{first}:{path}"));
        let check = format!(
            "managed && python3 -c 'print(6 * 7)' && command -v python3 && test ! -e {}/credentials",
            root.display()
        );
        let (output, said) = run_check(&cli, &repo, &check);
        assert_eq!(output.code, Some(0), "{manager}: {output}");
        assert!(
            said.contains(&format!("by {manager}\n42\n{first}")),
            "{manager}: {said}"
        );
    }
}

//! Which names need a person, and which do not.

use crate::support::*;

/// Each path must get the answer, for the built-in rule of that name.
fn asks(rule: &str, paths: &[&str]) {
    let set = PolicySet::builtin().unwrap();
    for path in paths {
        for change in [modify(path), create(path), delete(path)] {
            let decision = set.judge(&change, &local());
            let by: Vec<&str> = decision.deciding().map(|reason| reason.rule.as_str()).collect();
            assert_eq!(decision.effect().as_str(), "ask", "{path}");
            assert!(by.contains(&rule), "{path}: {by:?}");
        }
    }
}

#[test]
fn hooks_are_known_by_name_in_any_folder() {
    asks(
        "default.hooks",
        &[
            "tools/git/pre-commit",
            "tools/git/PRE-COMMIT",
            "pre-push",
            "a/b/post-checkout",
            "a/post-merge",
            "a/prepare-commit-msg",
            "a/commit-msg",
            "a/pre-rebase",
            "a/post-commit",
            "a/applypatch-msg",
            "a/pre-receive",
            "a/post-update",
            "a/post-rewrite",
            "a/reference-transaction",
            "a/fsmonitor-watchman",
            "a/pre-commit.exe",
            "a/hooks/update",
            "a/hooks/lib.sh",
            "a/githooks/lib/common",
            ".hooks/any",
            "web/.husky/_/husky.sh",
        ],
    );
}

#[test]
fn the_folder_that_git_takes_hooks_from_needs_a_person() {
    let plain = PolicySet::builtin().unwrap();
    let cases = [
        (None, "tools/git/helper.sh", "allow"),
        (Some("tools/git"), "tools/git/helper.sh", "ask protected-path"),
        (Some("./tools/GIT/"), "Tools/git/lib/a.py", "ask protected-path"),
        (Some("tools/git"), "tools/git", "ask protected-path"),
        (Some("tools/git"), "tools/github/a.py", "allow"),
        (Some("../hooks"), "hooks/a.py", "allow"),
        (Some("/etc/hooks"), "etc/hooks/a.py", "allow"),
    ];
    for (value, path, expected) in cases {
        let set = plain.clone().with_hooks_path(value);
        assert_eq!(
            word(&set.judge(&modify(path), &local())),
            expected,
            "{value:?} {path}"
        );
    }
}

#[test]
fn another_hooks_folder_is_another_policy() {
    let hash = |value| {
        PolicySet::builtin()
            .unwrap()
            .with_hooks_path(value)
            .sha256()
            .to_owned()
    };
    assert_eq!(hash(None), PolicySet::builtin().unwrap().sha256());
    assert_eq!(hash(Some("/etc/hooks")), hash(None));
    assert_eq!(hash(Some("a/b")), hash(Some("./a/b/")));
    assert_ne!(hash(Some("a/b")), hash(None));
    assert_ne!(hash(Some("a/b")), hash(Some("a/c")));
}

#[test]
fn what_runs_by_itself_needs_a_person() {
    asks(
        "default.ci",
        &[
            ".semaphore/semaphore.yml",
            ".tekton/run.yaml",
            ".teamcity/settings.kts",
            "buildspec.yml",
            ".builds/linux.yml",
            ".gitlab-ci-deploy.yml",
            "ci/azure-pipelines-nightly.yml",
            ".cirrus.star",
            ".drone.jsonnet",
            "action.yml",
            "tools/setup/action.yaml",
            "netlify.toml",
            "vercel.json",
            ".goreleaser.yaml",
        ],
    );
    asks(
        "default.agents",
        &[
            ".claude-plugin/plugin.json",
            "plugin/hooks/hooks.json",
            ".kilocode/rules.md",
            ".trae/rules/a.md",
            ".factory/a.md",
            ".openhands/setup.sh",
            "crush.json",
            "docs/AGENT.md",
            "sub/AGENTS.md",
            ".augment-guidelines",
            ".continue/config.yaml",
            ".continuerc.json",
        ],
    );
    asks(
        "default.editor",
        &[
            ".gdbinit",
            ".lldbinit",
            "a.sublime-project",
            ".zed/tasks.json",
            ".vim/vimrc",
            ".nvimrc",
            ".exrc",
            ".devcontainer/Dockerfile",
        ],
    );
}

#[test]
fn what_builds_and_tests_start_needs_a_person() {
    asks(
        "default.build",
        &[
            "tests/conftest.py",
            "lib/evil.pth",
            "sitecustomize.py",
            ".eslintrc.js",
            "web/.prettierrc.cjs",
            "web/tailwind.config.ts",
            "nix/shell.nix",
            "app/publish.gradle",
            "app/publish.gradle.kts",
            "buildSrc/src/main/kotlin/A.kt",
            "tools/bazel",
            ".bazelrc",
            "ci.bazelrc",
            ".bazeliskrc",
            "BSDmakefile",
            "GNUmakefile",
            "Makefile.common",
            "Makefile-linux",
            "rules.mk",
            "Dockerfile-prod",
            "docker/Dockerfile.dev",
            "docker-bake.hcl",
            "Earthfile",
            "Snakefile",
            "wscript",
            "meson.build",
            "meson.options",
            "turbo.json",
            "nx.json",
            ".gitpod.yml",
            "CMakeLists.txt",
            "cmake/a.cmake",
            "configure.ac",
            "build.zig",
            "setup.py",
            "noxfile.py",
            "tox.ini",
            "Rakefile",
            "Justfile",
            "Taskfile.yml",
            "Taskfile.dist.yaml",
        ],
    );
    asks(
        "default.dependencies",
        &[
            "mise.toml",
            ".mise.local.toml",
            "bunfig.toml",
            ".bundle/config",
            "pnpmfile.cjs",
            ".pnpmfile.cjs",
        ],
    );
}

#[test]
fn ordinary_names_that_look_alike_need_nobody() {
    let set = PolicySet::builtin().unwrap();
    let paths = [
        "src/hooks/useThing.ts",
        "src/hooks/update.ts",
        "git/hooks/README.md",
        "src/update",
        "docs/pre-commit.md",
        "src/pre_commit.rs",
        "docs/makefile.md",
        "src/makefile_parser.rs",
        "src/dockerfile.ts",
        "src/config.ts",
        "src/action.ts",
        "docs/action.md",
        "src/agent.rs",
        "src/token.rs",
        "docs/secrets.md",
        "src/secrets/mod.rs",
        "src/build/plan.rs",
        "src/main.zig",
        "conf/main.toml",
        "docs/nix.md",
        "i18n/en.json",
        "src/rc.js",
        "docs/azure-pipelines.md",
    ];
    for path in paths {
        assert_eq!(word(&set.judge(&modify(path), &local())), "allow", "{path}");
    }
}

#[test]
fn files_that_hold_keys_stay_here() {
    let set = PolicySet::builtin().unwrap();
    let kept = [
        ".npmrc",
        ".yarnrc.yml",
        ".envrc",
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".netrc",
        "_netrc",
        ".my.cnf",
        ".pgpass",
        ".s3cfg",
        "id_work_rsa",
        "id_ed25519_sk",
        "id_ecdsa",
        "keys/a.p8",
        "a.p12",
        "a.pfx",
        "a.key",
        "a.pem",
        "a.keytab",
        "a.jks",
        "a.kdbx",
        "kubeconfig",
        ".kube/config",
        ".dockercfg",
        ".docker/config.json",
        "rclone.conf",
        "secrets/db",
        "app/secrets.yml",
        "app/secrets.env",
        "app/secrets.toml",
        "wp-config.php",
        "local.settings.json",
        "appsettings.Production.json",
        ".vault_pass.txt",
        ".terraformrc",
        "terraform.tfvars",
        "prod.tfstate",
        "prod.tfstate.backup",
        "my-service-account-1.json",
        "gcp-prod.json",
        "token.json",
        "credentials.json",
        ".aws/credentials",
        ".gnupg/secring.gpg",
        ".ssh/known_hosts",
        ".ENV",
    ];
    for path in kept {
        assert_eq!(
            word(&set.decide_read(path, b"", &cloud())),
            "deny secret",
            "{path}"
        );
        assert_eq!(word(&set.decide_read(path, b"", &local())), "allow", "{path}");
    }
    let sent = [
        "docs/secrets.md",
        "src/token.rs",
        "src/tokens.json",
        ".env.example",
        ".env.sample",
        ".env.template",
        "example.env",
        "secrets.example.yml",
        "src/secrets/mod.rs",
        "src/kubeconfig.go",
        "appsettings.json",
        "id_ed25519.pub",
        "src/credentials.rs",
        "docs/npmrc.md",
        "src/id_parser.rs",
        "src/netrc.py",
    ];
    for path in sent {
        assert_eq!(word(&set.decide_read(path, b"", &cloud())), "allow", "{path}");
    }
}

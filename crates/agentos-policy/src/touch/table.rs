//! The names of each part of a project.
//!
//! Owns: the table and its exceptions. Never: compiles or asks them. Case does not matter; a name at any depth
//! begins with `**/`.

use super::Part::{self, Ecosystem as E, Touch as T};
use super::{Ecosystem, Touch};

/// Names that are in the table by their look and not by what they are.
pub(super) const EXCEPTIONS: &[(&[Part], &[&str])] = &[
    // Made to be shared.
    (
        &[T(Touch::SecretsFiles)],
        &[
            "**/.env.{example,sample,template,dist}",
            "**/*.{example,sample,template}",
            "**/*.{example,sample,template}.{env,json,yml,yaml,toml,ini}",
            "**/{example,sample,template}.env",
            "**/*.pub",
        ],
    ),
    // Text and programs about such files.
    (
        &[T(Touch::Licence)],
        &["**/{license,licence,copying,notice}*.{rs,py,js,jsx,ts,tsx,go,java,kt,rb,php,c,h,cc,cpp,cs}"],
    ),
    (
        &[T(Touch::Build)],
        &[
            "**/{make,docker,container}file*.{md,rst,adoc,snap}",
            "**/{make,docker,container}file*.{rs,py,js,jsx,ts,tsx,go,java,kt,rb,php,c,h,cc,cpp,cs}",
        ],
    ),
];

/// Which names belong to what.
pub(super) const TABLE: &[(&[Part], &[&str])] = &[
    (&[T(Touch::Dependencies), E(Ecosystem::Cargo)], &["**/cargo.toml"]),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Cargo)],
        &["**/cargo.lock"],
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Npm)], NPM),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Npm)],
        NPM_LOCKS,
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Python)], PYTHON),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Python)],
        PYTHON_LOCKS,
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Go)], &["**/go.{mod,work}"]),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Go)],
        &["**/go.{sum,work.sum}"],
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Ruby)],
        &["**/{gemfile,gems.rb,.bundle/config}", "**/*.gemspec"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Ruby)],
        &["**/{gemfile.lock,gems.locked}"],
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Php)],
        &["**/composer.json"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Php)],
        &["**/composer.lock"],
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Jvm)], JVM),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Jvm)],
        &["**/gradle.lockfile"],
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Dotnet)], DOTNET),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Dotnet)],
        &["**/{packages.lock.json,paket.lock}"],
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Apple)],
        &["**/{package.swift,podfile,cartfile}", "**/*.podspec"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Apple)],
        APPLE_LOCKS,
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Dart)],
        &["**/pubspec.yaml"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Dart)],
        &["**/pubspec.lock"],
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Elixir)], &["**/mix.exs"]),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Elixir)],
        &["**/mix.lock"],
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Haskell)],
        &["**/{stack.yaml,cabal.project}"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Haskell)],
        HASKELL_LOCKS,
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Cpp)],
        &["**/{vcpkg.json,conanfile.txt,conanfile.py}"],
    ),
    (
        &[T(Touch::Dependencies), E(Ecosystem::Zig)],
        &["**/build.zig.zon"],
    ),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Nix)],
        &["**/flake.lock"],
    ),
    (&[T(Touch::Dependencies), E(Ecosystem::Machine)], MACHINE),
    (
        &[T(Touch::Dependencies), T(Touch::LockFiles), E(Ecosystem::Machine)],
        &["**/{devbox.lock,devenv.lock}"],
    ),
    (&[T(Touch::Ci)], CI),
    (&[T(Touch::Build)], BUILD),
    (&[T(Touch::Hooks)], HOOKS),
    (&[T(Touch::Agents)], AGENTS),
    (&[T(Touch::Editor)], EDITOR),
    (&[T(Touch::Policy)], &[".agentos", ".agentos/**"]),
    (&[T(Touch::GitAttributes)], GIT_ATTRIBUTES),
    (&[T(Touch::Licence)], LICENCE),
    (&[T(Touch::Tests)], TESTS),
    (&[T(Touch::SecretsFiles)], SECRETS_FILES),
    (&[T(Touch::Generated)], GENERATED),
    (&[T(Touch::Vendored)], VENDORED),
];

const NPM: &[&str] = &[
    "**/{package,deno,jsr,bower}.{json,jsonc,json5,yaml}",
    "**/{pnpm-workspace.yaml,bunfig.toml}",
    "**/.{npmrc,yarnrc,yarnrc.yml}",
    "**/{,.}pnpmfile.{cjs,js,mjs}",
    "**/.yarn/**",
];

const NPM_LOCKS: &[&str] = &[
    "**/{package-lock,npm-shrinkwrap}.{json,jsonc,json5,yaml}",
    "**/{yarn.lock,pnpm-lock.yaml,bun.lock,bun.lockb,deno.lock}",
];

const PYTHON: &[&str] = &[
    "**/{pyproject.toml,setup.cfg,pipfile,pixi.toml}",
    "**/{requirements,constraints}*.{txt,in}",
    "**/requirements/*.{txt,in}",
    "**/{environment,conda}.{yml,yaml}",
    "**/{pip.conf,uv.toml}",
];

const PYTHON_LOCKS: &[&str] = &[
    "**/{pipfile.lock,poetry.lock,uv.lock,pdm.lock,pixi.lock}",
    "**/conda-lock.{yml,yaml}",
];

const JVM: &[&str] = &[
    "**/{pom.xml,libs.versions.toml,gradle-wrapper.properties,project.clj,deps.edn}",
    "**/*.sbt",
];

const DOTNET: &[&str] = &[
    "**/{packages.config,directory.packages.props,nuget.config,paket.dependencies}",
    "**/*.{csproj,fsproj,vbproj}",
];

const APPLE_LOCKS: &[&str] = &["**/{package.resolved,podfile.lock,cartfile.resolved}"];

const HASKELL_LOCKS: &[&str] = &["**/{stack.yaml.lock,cabal.project.freeze}"];

const MACHINE: &[&str] = &[
    "**/{,.}mise{,.local}.toml",
    "**/{.tool-versions,devbox.json,devenv.yaml,brewfile}",
];

const GENERATED: &[&str] = &[
    "**/{generated,__generated__,.generated}/**",
    "**/*.min.{js,css,mjs}",
    "**/*.{js,css,mjs}.map",
    "**/*.pb.{go,cc,h,dart}",
    "**/*.{g,freezed}.dart",
    "**/*.{designer,g}.cs",
    "**/{*_pb2,*_pb2_grpc}.py",
    "**/*.generated.*",
];

const VENDORED: &[&str] = &[
    "**/{vendor,vendored,third_party,third-party,thirdparty,node_modules,bower_components,pods,carthage}/**",
];

const CI: &[&str] = &[
    ".github/{workflows,actions}",
    ".github/{workflows,actions}/**",
    ".github/{dependabot,renovate}.{yml,yaml,json,json5}",
    ".{gitea,forgejo}/workflows/**",
    "{,.github/,.gitlab/,docs/}codeowners",
    "**/action.{yml,yaml}",
    "**/.gitlab-ci{,-*,.*}.{yml,yaml}",
    ".gitlab/ci/**",
    ".{circleci,buildkite,ci,azure-pipelines,woodpecker,semaphore,tekton,teamcity,builds,pipelines,harness,jenkins}/**",
    ".{woodpecker,build,mergify,zuul,codefresh}.{yml,yaml}",
    "{codefresh,wercker,appspec,skaffold,render}.{yml,yaml}",
    "**/azure-pipelines*.{yml,yaml}",
    "**/buildspec*.{yml,yaml}",
    "bitbucket-pipelines.yml",
    "{.travis,.appveyor,appveyor,.cirrus,cloudbuild,codecov}.{yml,yaml}",
    "{.drone.*,.cirrus.star,netlify.toml,vercel.json,fly.toml,railway.toml,railway.json,dagger.json}",
    "{,.}goreleaser.*",
    ".releaserc*",
    "**/jenkinsfile*",
    "**/dangerfile{,.*}",
    "{renovate.json,renovate.json5,.renovaterc,.renovaterc.json}",
];

const BUILD: &[&str] = &[
    // Rust, Zig
    "**/{build.rs,build.zig}",
    "**/.cargo/config{,.toml}",
    "**/rust-toolchain{,.toml}",
    // Make and its kin
    "**/{,bsd,gnu}makefile*",
    "**/{justfile,.justfile,rakefile,sconstruct,sconscript,snakefile,earthfile,wscript,cakefile,thorfile,guardfile}",
    "**/*.{mk,cmake,just,smk,ninja}",
    "**/cmake{lists.txt,presets.json,userpresets.json}",
    "**/{meson.build,meson.options,meson_options.txt,configure,configure.ac,configure.in,autogen.sh}",
    "**/{,.}taskfile{,.dist}.{yml,yaml}",
    "**/{procfile,vagrantfile,tiltfile,.envrc,fastfile,capfile}",
    // Containers
    "**/{docker,container}file*",
    "**/.dockerignore",
    "**/*.{dockerfile,containerfile}",
    "**/{docker-compose,compose}*.{yml,yaml}",
    "**/docker-bake{,.override}.{hcl,json}",
    "**/.gitpod.{yml,yaml,dockerfile}",
    // Java and its kin
    "**/*.gradle{,.kts}",
    "**/buildsrc/**",
    "**/{gradle.properties,gradlew,gradlew.bat,mvnw,mvnw.cmd,.sbtopts,.jvmopts}",
    "**/.mvn/**",
    // Python
    "**/{setup,conftest,noxfile,fabfile,dodo,sitecustomize,usercustomize}.py",
    "**/{tox.ini,pytest.ini,.pylintrc,pylintrc,.pdbrc}",
    "**/*.pth",
    // JavaScript
    "**/*.config.{js,cjs,mjs,ts,cts,mts}",
    "**/.*rc.{js,cjs,mjs,ts,cts,mts}",
    "**/.{babelrc,mocharc}{,.json,.jsonc,.yml,.yaml}",
    "**/{gulpfile,gruntfile,jakefile}{,.*}",
    "**/{turbo,nx,lerna}.{json,jsonc}",
    "**/binding.gyp",
    // Bazel, Nix, .NET
    "**/{build,workspace}{,.bazel,.bzlmod}",
    "**/{module.bazel,.bazeliskrc,.bazelversion}",
    "**/*.bazelrc",
    "**/tools/bazel",
    "**/*.bzl",
    "**/*.nix",
    "**/directory.build.{props,targets}",
    // Ruby, R, Perl
    "**/.{irbrc,pryrc,rprofile,renviron}",
    "**/build.pl",
    // Xcode
    "**/*.{xcodeproj,xcworkspace}/**",
];

const HOOKS: &[&str] = &[
    "**/.{husky,hooks,githooks,git-hooks}/**",
    "**/{githooks,git-hooks,git_hooks}/**",
    // What git starts, by name: in any folder, since `core.hooksPath` may name any.
    "**/{applypatch-msg,pre-applypatch,post-applypatch}{,.exe}",
    "**/{pre-commit,pre-merge-commit,prepare-commit-msg,commit-msg,post-commit}{,.exe}",
    "**/{pre-rebase,post-checkout,post-merge,pre-push,post-rewrite,pre-auto-gc,sendemail-validate}{,.exe}",
    "**/{pre-receive,post-receive,post-update,proc-receive,reference-transaction,push-to-checkout}{,.exe}",
    "**/{fsmonitor-watchman,post-index-change,p4-changelist,p4-prepare-changelist,p4-post-changelist,p4-pre-submit}{,.exe}",
    "**/hooks/update{,.exe}",
    // What hooks start.
    "**/hooks/*.{sh,bash,zsh,pl}",
    "hooks/{pre,post,commit,prepare,update,applypatch,reference,sendemail,fsmonitor,push}*",
    "**/.pre-commit-{config,hooks}.{yml,yaml}",
    "**/{,.}lefthook{,-local}.{yml,yaml,toml,json}",
    "**/.{lintstagedrc,huskyrc,simple-git-hooks,overcommit}*",
];

const AGENTS: &[&str] = &[
    "**/{claude,claude.local,agents,agents.override,agent,gemini,qwen,crush,jules,skill,copilot-instructions}.md",
    "{conventions,warp}.md",
    "**/*.{instructions,chatmode,prompt}.md",
    "**/.{claude,claude-plugin,cursor,gemini,codex,continue,cline,clinerules,roo,windsurf,goose,opencode,amazonq}/**",
    "**/.{kiro,qwen,crush,augment,junie,agents,agent,kilocode,trae,factory,openhands,aiassistant,rovodev,devin}/**",
    "**/.{warp,zencoder,tabnine,codeium,serena,mcp,skills,firebender,copilot}/**",
    "**/.{cursorrules,cursorignore,clinerules,windsurfrules,goosehints,roorules,roomodes,rules}",
    "**/.{kilocoderules,kilocodemodes,augment-guidelines,plandex,geminiignore}",
    "**/.continuerc*",
    "**/.aider*",
    "**/{,.}{mcp,opencode,crush}.{json,jsonc}",
    "**/hooks/hooks.json",
    "{.coderabbit,.sweep,sweep}.{yml,yaml}",
    ".github/copilot*",
    ".github/copilot*/**",
    ".github/{instructions,prompts,chatmodes,agents}/**",
];

const EDITOR: &[&str] = &[
    "**/.{vscode,idea,fleet,zed,vs,devcontainer,nvim,vim,helix,run,settings,theia,emacs.d}/**",
    "**/.devcontainer.json",
    "**/*.{code-workspace,sublime-project,sublime-workspace}",
    "**/.{vimrc,lvimrc,exrc,nvimrc,nvim.lua,dir-locals.el,dir-locals-2.el}",
    "**/.{gdbinit,lldbinit,radare2rc}",
    "**/_{vimrc,exrc}",
];

const GIT_ATTRIBUTES: &[&str] = &[
    "**/.gitattributes",
    "**/.gitmodules",
    "**/.lfsconfig",
    "**/.gitconfig",
];

const LICENCE: &[&str] = &[
    "**/{license,licence,copying,notice}",
    "**/{license,licence,copying,notice}{.,-}*",
];

const TESTS: &[&str] = &[
    "**/{test,tests,spec,specs,__tests__,testdata}/**",
    "**/*{_test,_spec,.test,.spec}.*",
    "**/{test_,spec_}*.*",
    "**/tests.rs",
];

const SECRETS_FILES: &[&str] = &[
    // Environments
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/.envrc",
    // Keys and key stores, by ending
    "**/*.{pem,key,p8,p12,pfx,pkcs12,jks,jceks,keystore,keytab,kdb,kdbx,ppk,asc,gpg,ovpn,agekey,kubeconfig}",
    // ssh
    "**/{id_rsa,id_dsa,id_ecdsa,id_ed25519}{,.*}",
    "**/id_*{rsa,dsa,ecdsa,ed25519,_sk}",
    // One program's account
    "**/.{netrc,pgpass,htpasswd,pypirc,git-credentials,my.cnf,mylogin.cnf,s3cfg,boto,dockercfg,smbcredentials,msmtprc}",
    "**/{_netrc,pgpass.conf,kubeconfig,kubeconfig.yml,kubeconfig.yaml,rclone.conf,.rclone.conf}",
    "**/{.npmrc,.yarnrc.yml,.pip/pip.conf,.gem/credentials,.m2/settings.xml,.composer/auth.json,auth.json}",
    "**/.cargo/credentials*",
    "**/.{ssh,gnupg,aws,azure,kube,gcloud}/**",
    "**/.config/{gh,gcloud,rclone,hub}/**",
    "**/.docker/config.json",
    "**/.{vault-token,vault_pass*,vault-pass*}",
    "**/{.terraformrc,terraform.rc,credentials.tfrc.json}",
    "**/*.tfstate{,.*}",
    "**/*.tfvars{,.json}",
    // Settings that hold keys
    "**/{credentials,secrets,service-account,client_secret}{,.*,_*,-*}.{json,yml,yaml,toml,ini}",
    "**/*{service-account,service_account,serviceaccount,firebase-adminsdk}*.json",
    "**/{gcp-*,token,application_default_credentials}.json",
    "**/{wp-config.php,local.settings.json}",
    "**/appsettings.*.json",
    "secrets/**",
];

//! The names of each part of a project.
//!
//! Owns: the table and its exceptions. Never: compiles or asks them. Case does not matter; a name at any depth
//! begins with `**/`.

use super::Touch;

/// Names that are in the table by their look and not by what they are.
pub(super) const EXCEPTIONS: &[(Touch, &[&str])] = &[
    // Made to be shared.
    (
        Touch::SecretsFiles,
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
        Touch::Build,
        &[
            "**/{make,docker,container}file*.{md,rst,adoc,snap}",
            "**/{make,docker,container}file*.{rs,py,js,jsx,ts,tsx,go,java,kt,rb,php,c,h,cc,cpp,cs}",
        ],
    ),
];

/// Which names belong to what.
pub(super) const TABLE: &[(Touch, &[&str])] = &[
    (Touch::Dependencies, DEPENDENCIES),
    (Touch::Ci, CI),
    (Touch::Build, BUILD),
    (Touch::Hooks, HOOKS),
    (Touch::Agents, AGENTS),
    (Touch::Editor, EDITOR),
    (Touch::Policy, &[".agentos", ".agentos/**"]),
    (Touch::GitAttributes, GIT_ATTRIBUTES),
    (Touch::Licence, LICENCE),
    (Touch::Tests, TESTS),
    (Touch::SecretsFiles, SECRETS_FILES),
];

const DEPENDENCIES: &[&str] = &[
    // Rust
    "**/cargo.{toml,lock}",
    // JavaScript
    "**/{package,package-lock,npm-shrinkwrap,deno,jsr,bower}.{json,jsonc,json5,yaml}",
    "**/{yarn.lock,pnpm-lock.yaml,pnpm-workspace.yaml,bun.lock,bun.lockb,deno.lock,bunfig.toml}",
    "**/.{npmrc,yarnrc,yarnrc.yml}",
    "**/{,.}pnpmfile.{cjs,js,mjs}",
    "**/.yarn/**",
    // Python
    "**/{pyproject.toml,setup.cfg,pipfile,pipfile.lock,poetry.lock,uv.lock,pdm.lock,pixi.toml,pixi.lock}",
    "**/{requirements,constraints}*.{txt,in}",
    "**/requirements/*.{txt,in}",
    "**/{environment,conda,conda-lock}.{yml,yaml}",
    "**/{pip.conf,uv.toml}",
    // Go
    "**/go.{mod,sum,work,work.sum}",
    // Ruby
    "**/{gemfile,gemfile.lock,gems.rb,gems.locked,.bundle/config}",
    "**/*.gemspec",
    // PHP
    "**/composer.{json,lock}",
    // Java, Kotlin, Scala, Clojure
    "**/{pom.xml,gradle.lockfile,libs.versions.toml,gradle-wrapper.properties,project.clj,deps.edn}",
    "**/*.sbt",
    // .NET
    "**/{packages.config,packages.lock.json,directory.packages.props,nuget.config,paket.dependencies,paket.lock}",
    "**/*.{csproj,fsproj,vbproj}",
    // Swift, Dart, Elixir, Haskell, Nix, C++
    "**/{package.swift,package.resolved,podfile,podfile.lock,cartfile,cartfile.resolved}",
    "**/*.podspec",
    "**/pubspec.{yaml,lock}",
    "**/mix.{exs,lock}",
    "**/{stack.yaml,stack.yaml.lock,cabal.project,cabal.project.freeze,flake.lock}",
    "**/{vcpkg.json,conanfile.txt,conanfile.py,build.zig.zon}",
    // Whole machines
    "**/{,.}mise{,.local}.toml",
    "**/{.tool-versions,devbox.json,devbox.lock,devenv.yaml,devenv.lock,brewfile}",
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

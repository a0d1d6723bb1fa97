//! Which part of a project a path belongs to.
//!
//! Owns: the table of names. Never: what may be done to them; rules say that. A name counts whether or not the
//! file exists yet.

use std::fmt::Write as _;

use globset::{GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::glob;

/// A part of a project that deserves a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Manifests and lock files of package managers.
    Dependencies,
    /// Continuous integration, and who must review.
    Ci,
    /// What runs when the project is built.
    Build,
    /// What git or a commit starts.
    Hooks,
    /// Instructions and settings of coding agents.
    Agents,
    /// Settings of editors and their tasks.
    Editor,
    /// AgentOS's own policy and settings.
    Policy,
    /// Files that change how git treats other files.
    GitAttributes,
    /// Licence texts.
    Licence,
    /// Tests.
    Tests,
    /// Files that usually hold keys.
    SecretsFiles,
}

impl Touch {
    /// The word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependencies => "dependencies",
            Self::Ci => "ci",
            Self::Build => "build",
            Self::Hooks => "hooks",
            Self::Agents => "agents",
            Self::Editor => "editor",
            Self::Policy => "policy",
            Self::GitAttributes => "git-attributes",
            Self::Licence => "licence",
            Self::Tests => "tests",
            Self::SecretsFiles => "secrets-files",
        }
    }

    fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

/// A set of [`Touch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Touches(u32);

impl Touches {
    pub(crate) fn insert(&mut self, touch: Touch) {
        self.0 |= touch.bit();
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// The words, sorted.
    pub(crate) fn words(self) -> Vec<String> {
        let mut words: Vec<String> = TABLE
            .iter()
            .filter(|(touch, _)| self.0 & touch.bit() != 0)
            .map(|(touch, _)| touch.as_str().to_owned())
            .collect();
        words.sort();
        words
    }
}

impl FromIterator<Touch> for Touches {
    fn from_iter<I: IntoIterator<Item = Touch>>(from: I) -> Self {
        let mut set = Self::default();
        from.into_iter().for_each(|touch| set.insert(touch));
        set
    }
}

/// The table, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct TouchTable {
    globs: GlobSet,
    owners: Vec<Touch>,
    exceptions: GlobSet,
}

impl TouchTable {
    /// # Errors
    /// Never for the table as it stands; a test compiles it.
    pub(crate) fn compile() -> Result<Self, globset::Error> {
        let mut globs = GlobSetBuilder::new();
        let mut owners = Vec::new();
        for (touch, patterns) in TABLE {
            for pattern in *patterns {
                for glob in glob::compile(pattern)? {
                    globs.add(glob);
                    owners.push(*touch);
                }
            }
        }
        let mut exceptions = GlobSetBuilder::new();
        for pattern in NOT_SECRET {
            for glob in glob::compile(pattern)? {
                exceptions.add(glob);
            }
        }
        Ok(Self {
            globs: globs.build()?,
            owners,
            exceptions: exceptions.build()?,
        })
    }

    /// What a folded path belongs to.
    pub(crate) fn of(&self, candidate: &globset::Candidate<'_>) -> Touches {
        self.globs
            .matches_candidate(candidate)
            .into_iter()
            .filter_map(|index| self.owners.get(index).copied())
            .filter(|touch| *touch != Touch::SecretsFiles || !self.exceptions.is_match_candidate(candidate))
            .collect()
    }

    /// The table as text, for the policy's hash: other names are another policy.
    pub(crate) fn text() -> String {
        let mut text = String::new();
        for (touch, patterns) in TABLE {
            let _ = writeln!(text, "{} {patterns:?}", touch.as_str());
        }
        let _ = writeln!(text, "not secret {NOT_SECRET:?}");
        text
    }
}

/// Names that look like key files and are made to be shared.
const NOT_SECRET: &[&str] = &[
    "**/.env.{example,sample,template,dist}",
    "**/*.{example,sample,template}",
    "**/*.pub",
];

const TABLE: &[(Touch, &[&str])] = &[
    (Touch::Dependencies, DEPENDENCIES),
    (Touch::Ci, CI),
    (Touch::Build, BUILD),
    (Touch::Hooks, HOOKS),
    (Touch::Agents, AGENTS),
    (Touch::Editor, EDITOR),
    (Touch::Policy, &[".agentos", ".agentos/**"]),
    (
        Touch::GitAttributes,
        &[
            "**/.gitattributes",
            "**/.gitmodules",
            "**/.lfsconfig",
            "**/.gitconfig",
        ],
    ),
    (
        Touch::Licence,
        &[
            "**/{license,licence,copying,notice}",
            "**/{license,licence,copying,notice}{.,-}*",
        ],
    ),
    (Touch::Tests, TESTS),
    (Touch::SecretsFiles, SECRETS_FILES),
];

const DEPENDENCIES: &[&str] = &[
    // Rust
    "**/cargo.{toml,lock}",
    // JavaScript
    "**/{package,package-lock,npm-shrinkwrap,deno,jsr,bower}.{json,jsonc,json5,yaml}",
    "**/{yarn.lock,pnpm-lock.yaml,pnpm-workspace.yaml,bun.lock,bun.lockb,deno.lock}",
    "**/.{npmrc,yarnrc,yarnrc.yml,pnpmfile.cjs}",
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
    "**/{gemfile,gemfile.lock,gems.rb,gems.locked}",
    "**/*.gemspec",
    // PHP
    "**/composer.{json,lock}",
    // Java, Kotlin, Scala
    "**/{pom.xml,gradle.lockfile,libs.versions.toml,gradle-wrapper.properties,build.sbt}",
    // .NET
    "**/{packages.config,packages.lock.json,directory.packages.props,nuget.config,paket.dependencies,paket.lock}",
    "**/*.{csproj,fsproj,vbproj}",
    // Swift, Dart, Elixir, Haskell, Nix, C++
    "**/{package.swift,package.resolved,podfile,podfile.lock,cartfile,cartfile.resolved}",
    "**/pubspec.{yaml,lock}",
    "**/mix.{exs,lock}",
    "**/{stack.yaml,stack.yaml.lock,cabal.project,cabal.project.freeze,flake.nix,flake.lock}",
    "**/{vcpkg.json,conanfile.txt,conanfile.py}",
];

const CI: &[&str] = &[
    ".github/{workflows,actions}",
    ".github/{workflows,actions}/**",
    ".github/{dependabot,renovate}.{yml,yaml,json,json5}",
    ".{gitea,forgejo}/workflows/**",
    "{,.github/,.gitlab/,docs/}codeowners",
    ".gitlab-ci.{yml,yaml}",
    ".gitlab/ci/**",
    ".circleci/**",
    ".buildkite/**",
    ".ci/**",
    ".azure-pipelines/**",
    ".woodpecker/**",
    ".woodpecker.{yml,yaml}",
    "azure-pipelines*.{yml,yaml}",
    "bitbucket-pipelines.yml",
    "{.travis,.appveyor,appveyor,.drone,.cirrus,cloudbuild,codecov}.{yml,yaml}",
    "**/jenkinsfile*",
    "{renovate.json,renovate.json5,.renovaterc,.renovaterc.json}",
];

const BUILD: &[&str] = &[
    "**/build.rs",
    "**/.cargo/config{,.toml}",
    "**/rust-toolchain{,.toml}",
    "**/{makefile,gnumakefile,makefile.am,makefile.in,justfile,.justfile,rakefile,sconstruct,sconscript}",
    "**/*.{mk,cmake}",
    "**/cmakelists.txt",
    "**/{meson.build,meson_options.txt,build.ninja,configure,configure.ac,autogen.sh}",
    "**/{dockerfile,containerfile,.dockerignore}",
    "**/{dockerfile,containerfile}.*",
    "**/*.dockerfile",
    "**/{docker-compose,compose}*.{yml,yaml}",
    "**/{build,settings,init}.gradle{,.kts}",
    "**/{gradle.properties,gradlew,gradlew.bat,mvnw,mvnw.cmd}",
    "**/.mvn/**",
    "**/setup.py",
    "**/{tox.ini,noxfile.py,sitecustomize.py,usercustomize.py}",
    "**/{webpack,vite,rollup,babel,esbuild,jest,vitest,next,nuxt,svelte,astro,postcss,eslint}.config.{js,cjs,mjs,ts,cts,mts}",
    "**/{gulpfile,gruntfile}.{js,ts,cjs,mjs}",
    "**/{build,workspace}{,.bazel,.bzlmod}",
    "**/{module.bazel,.bazelrc}",
    "**/*.bzl",
    "**/directory.build.{props,targets}",
    "**/{procfile,vagrantfile,tiltfile,taskfile.yml,.envrc}",
];

const HOOKS: &[&str] = &[
    "**/.husky/**",
    "**/.githooks/**",
    "**/.git-hooks/**",
    "{hooks,githooks,git-hooks}/{pre,post,commit,prepare,update,applypatch,reference,sendemail,fsmonitor,push}*",
    "**/.pre-commit-{config,hooks}.{yml,yaml}",
    "**/{,.}lefthook{,-local}.{yml,yaml,toml,json}",
    "**/.{lintstagedrc,huskyrc,simple-git-hooks,overcommit}*",
];

const AGENTS: &[&str] = &[
    "**/{claude,claude.local,agents,agents.override,gemini,qwen}.md",
    "{agent,conventions,warp}.md",
    "**/.{claude,cursor,gemini,codex,continue,cline,clinerules,roo,windsurf,goose,opencode,amazonq,kiro,qwen,crush,augment,junie,agents,agent}/**",
    "**/.{cursorrules,cursorignore,clinerules,windsurfrules,goosehints,roorules,roomodes,rules}",
    "**/.aider*",
    "**/{.mcp,mcp,opencode}.{json,jsonc}",
    ".github/copilot*",
    ".github/copilot*/**",
    ".github/{instructions,prompts,chatmodes,agents}/**",
];

const EDITOR: &[&str] = &[
    "**/.{vscode,idea,fleet,zed,vs,devcontainer,nvim}/**",
    "**/.devcontainer.json",
    "**/*.code-workspace",
    "**/.{vimrc,exrc,nvimrc,nvim.lua,dir-locals.el}",
];

const TESTS: &[&str] = &[
    "**/{test,tests,spec,specs,__tests__,testdata}/**",
    "**/*{_test,_spec,.test,.spec}.*",
    "**/{test_,spec_}*.*",
    "**/tests.rs",
];

const SECRETS_FILES: &[&str] = &[
    "**/.env",
    "**/.env.*",
    "**/*.env",
    "**/*.{pem,key,p12,pfx,jks,keystore,kdbx,ppk,asc,gpg,ovpn}",
    "**/{id_rsa,id_dsa,id_ecdsa,id_ed25519}{,.*}",
    "**/.{netrc,pgpass,htpasswd,pypirc,git-credentials,vault-token}",
    "**/.{ssh,gnupg,aws,azure,kube}/**",
    "**/.docker/config.json",
    "**/{credentials,secrets,service-account,client_secret}{,.*,_*,-*}.{json,yml,yaml,toml,ini}",
    "**/{credentials,secrets}.{json,yml,yaml,toml,ini}",
    "**/*.tfstate{,.backup}",
    "**/*.tfvars",
];

//! Names of files that decide what is downloaded: manifests, lock files, and settings of package managers.
//!
//! Owns: the rows of `dependencies` and `lock-files`, with the package managers they belong to. Never: build scripts.

use super::super::TablePart::{Ecosystem as E, Touch as T};
use super::super::{Ecosystem, TablePart, Touch};
use super::NameSource::{Icons, Linguist, Manual, Renovate, Review, Syft, Trivy};
use super::TableRow;

const MANIFEST: TablePart = T(Touch::Dependencies);
const LOCK: TablePart = T(Touch::LockFiles);

pub(super) const ROWS: &[TableRow] = &[
    // Rust
    (
        &[MANIFEST, E(Ecosystem::Cargo)],
        &[Trivy, Renovate],
        &["**/cargo.toml"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Cargo)],
        &[Syft, Trivy, Linguist],
        &["**/cargo.lock"],
    ),
    // JavaScript and TypeScript
    (
        &[MANIFEST, E(Ecosystem::Npm)],
        &[Icons, Renovate, Syft],
        &[
            "**/{package,deno,jsr,bower}.{json,jsonc,json5,yaml}",
            "**/{pnpm-workspace.yaml,bunfig.toml,.bowerrc,.yarnclean,lerna.json,rush.json}",
            "**/.{npmrc,yarnrc,yarnrc.yml,yarnrc.yaml}",
            "**/{,.}pnpmfile.{cjs,js,mjs}",
            "**/.yarn/**",
            "**/{.nvmrc,.node-version,.bun-version,.esmrc,snowpack.deps.json,.ncurc}",
            "**/.ncurc.{json,yml,js,cjs}",
        ],
    ),
    (
        &[MANIFEST, E(Ecosystem::Npm)],
        &[Review],
        &["**/.pnp.{cjs,js,loader.mjs,data.json}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Npm)],
        &[Syft, Trivy, Linguist],
        &[
            "**/{package-lock,npm-shrinkwrap}.{json,jsonc,json5,yaml}",
            "**/{yarn.lock,pnpm-lock.yaml,bun.lock,bun.lockb,deno.lock}",
        ],
    ),
    // Python
    (
        &[MANIFEST, E(Ecosystem::Python)],
        &[Icons, Renovate, Linguist],
        &[
            "**/{pyproject.toml,setup.cfg,pipfile,pixi.toml,manifest.in}",
            "**/{requirements,constraints}*.{txt,in,pip}",
            "**/{dev,test,tests,doc,docs,build,ci,lint,prod,base,local,optional}{-,_}{requirements,constraints}.{txt,in}",
            "**/requirements/*.{txt,in}",
            "**/{environment,conda}.{yml,yaml}",
            "**/{pip.conf,pip.ini,uv.toml,.uv.toml,pdm.toml,.pdm-python,.pdm.toml,.python-version,runtime.txt}",
            "**/{meta.yaml,conda-build.yaml,conda_build_config.yaml,.condarc,anaconda-project.yml,hatch.toml,buildozer.spec}",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Python)],
        &[Syft, Trivy, Linguist],
        &[
            "**/{pipfile.lock,poetry.lock,uv.lock,pdm.lock,pixi.lock,requirements.lock,requirements-dev.lock}",
            "**/{pylock.toml,pylock.*.toml,*.py.lock}",
            "**/conda-lock.{yml,yaml}",
        ],
    ),
    // Go
    (
        &[MANIFEST, E(Ecosystem::Go)],
        &[Syft, Renovate],
        &["**/go.{mod,work}", "**/{gopkg.toml,glide.yaml}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Go)],
        &[Linguist, Trivy],
        &[
            "**/go.{sum,work.sum}",
            "**/{gopkg.lock,glide.lock}",
            "**/vendor/modules.txt",
        ],
    ),
    // Ruby
    (
        &[MANIFEST, E(Ecosystem::Ruby)],
        &[Linguist, Syft, Renovate],
        &[
            "**/{gemfile,gemfile.local,gems.rb,.bundle/config,.ruby-version,.ruby-gemset,appraisals,.gemrc,jarfile,mavenfile}",
            "**/gemfiles/*.gemfile",
            "**/*.gemspec",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Ruby)],
        &[Syft, Linguist],
        &["**/{gemfile.lock,gemfile.next.lock,gems.locked,jars.lock}"],
    ),
    // PHP
    (
        &[MANIFEST, E(Ecosystem::Php)],
        &[Renovate, Trivy],
        &["**/composer.json", "**/{symfony.json,phive.xml}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Php)],
        &[Syft, Trivy],
        &["**/{composer.lock,symfony.lock}"],
    ),
    // Java, Kotlin, Scala, Clojure
    (
        &[MANIFEST, E(Ecosystem::Jvm)],
        &[Renovate, Linguist],
        &[
            "**/{pom.xml,libs.versions.toml,gradle-wrapper.properties,maven-wrapper.properties,project.clj,deps.edn,bb.edn}",
            "**/{versions.props,ivy.xml,ivysettings.xml,build.boot,profiles.clj}",
            "**/*.{sbt,versions.toml}",
            "**/project/{build.properties,plugins.sbt,dependencies.scala}",
        ],
    ),
    (
        &[MANIFEST, E(Ecosystem::Jvm)],
        &[Review, Manual],
        &["**/shadow-cljs.edn", "**/{build.sc,build.mill,.mill-version}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Jvm)],
        &[Syft, Trivy, Renovate],
        &[
            "**/{gradle.lockfile,buildscript-gradle.lockfile,versions.lock,build.sbt.lock,verification-metadata.xml}",
        ],
    ),
    // .NET
    (
        &[MANIFEST, E(Ecosystem::Dotnet)],
        &[Renovate, Linguist],
        &[
            "**/{packages.config,directory.packages.props,nuget.config,paket.dependencies,paket.references}",
            "**/{global.json,dotnet-tools.json}",
            "**/*.{csproj,fsproj,vbproj,nuspec}",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Dotnet)],
        &[Syft, Trivy],
        &["**/{packages.lock.json,paket.lock,project.assets.json}"],
    ),
    // Swift, Objective-C
    (
        &[MANIFEST, E(Ecosystem::Apple)],
        &[Linguist, Renovate],
        &[
            "**/{package.swift,podfile,cartfile,cartfile.private,mintfile,.swift-version,.xcode-version}",
            "**/*.podspec{,.json}",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Apple)],
        &[Syft, Trivy],
        &["**/{package.resolved,.package.resolved,podfile.lock,cartfile.resolved}"],
    ),
    // Dart and Flutter
    (
        &[MANIFEST, E(Ecosystem::Dart)],
        &[Renovate, Syft],
        &[
            "**/{pubspec,pubspec_overrides}.{yaml,yml}",
            "**/{.fvmrc,.fvm/fvm_config.json,melos.yaml}",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Dart)],
        &[Syft, Trivy],
        &["**/pubspec.lock"],
    ),
    // Elixir, Erlang, Gleam
    (
        &[MANIFEST, E(Ecosystem::Elixir)],
        &[Renovate],
        &["**/{mix.exs,gleam.toml}"],
    ),
    (
        &[MANIFEST, E(Ecosystem::Elixir)],
        &[Review, Linguist],
        &["**/{rebar.config,rebar.config.script,emakefile,erlang.mk}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Elixir)],
        &[Syft, Linguist],
        &["**/{mix.lock,rebar.lock,rebar.config.lock}"],
    ),
    // Haskell
    (
        &[MANIFEST, E(Ecosystem::Haskell)],
        &[Linguist, Icons, Review],
        &[
            "**/{stack.yaml,cabal.project,cabal.project.local,cabal.config}",
            "**/*.cabal",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Haskell)],
        &[Syft],
        &["**/{stack.yaml.lock,cabal.project.freeze}"],
    ),
    // C and C++
    (
        &[MANIFEST, E(Ecosystem::Cpp)],
        &[Syft, Renovate],
        &["**/{vcpkg.json,vcpkg-configuration.json,conanfile.txt,conanfile.py,conandata.yml,.gclient}"],
    ),
    (
        &[MANIFEST, E(Ecosystem::Cpp)],
        &[Linguist, Manual],
        &["**/{cpm.cmake,deps.cmake,dub.json,dub.sdl,clib.json,west.yml}"],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Cpp)],
        &[Syft, Trivy],
        &["**/{conan.lock,dub.selections.json,package-lock.cmake}"],
    ),
    // Zig, Nix
    (&[MANIFEST, E(Ecosystem::Zig)], &[Manual], &["**/build.zig.zon"]),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Nix)],
        &[Linguist],
        &["**/flake.lock", "**/npins/sources.json", "**/nix/sources.json"],
    ),
    // A whole machine
    (
        &[MANIFEST, E(Ecosystem::Machine)],
        &[Renovate, Icons, Linguist],
        &[
            "**/{,.}mise{,.local}.toml",
            "**/{,.}mise/config.toml",
            "**/{.tool-versions,devbox.json,devenv.yaml,brewfile,apkbuild,pkgbuild,aptfile,.sdkmanrc,.java-version,.go-version}",
            "**/{.terraform-version,.terragrunt-version,.jvmrc,aqua.yaml,.prototools,snapcraft.yaml,flatpak.yml}",
        ],
    ),
    (
        &[MANIFEST, LOCK, E(Ecosystem::Machine)],
        &[Linguist, Manual],
        &["**/{devbox.lock,devenv.lock,brewfile.lock.json,mise.lock,mise.local.lock}"],
    ),
    // Other languages
    (
        &[MANIFEST],
        &[Review, Syft, Linguist],
        &[
            "**/*.{opam,nimble,rockspec,ipkg}",
            "**/opam",
            "**/{dune-project,dune-workspace}",
            "**/cpanfile",
        ],
    ),
    (
        &[MANIFEST],
        &[Icons, Trivy, Linguist],
        &[
            "**/{v.mod,vpkg.json,wally.toml,kcl.mod,typst.toml,xmake.lua,jsonnetfile.json,esy.json,bsconfig.json,rescript.json}",
            "**/{elm.json,elm-package.json,shard.yml,spago.yaml,spago.dhall,packages.dhall,gleam.toml,alire.toml,fpm.toml}",
            "**/{juliaproject.toml,renv.lock,haxelib.json,.luarocks/config.lua,eask,cask,project.godot,move.toml,scarb.toml}",
            "**/{puppetfile,berksfile,policyfile.rb,berksfile.lock,foundry.toml,soldeer.lock,remappings.txt}",
            "{project,manifest,juliamanifest}.toml",
            "description",
            "**/pklproject{,.deps.json}",
        ],
    ),
    (
        &[MANIFEST, LOCK],
        &[Icons, Manual],
        &[
            "**/{cpanfile.snapshot,carton.lock,opam.locked,dune.lock,shard.lock,jsonnetfile.lock.json,kcl.mod.lock,wally.lock}",
            "**/{puppetfile.lock,policyfile.lock.json,nimble.lock,lake-manifest.json,esy.lock,spago.lock,move.lock,scarb.lock}",
            "**/*.opam.locked",
            "**/{module.bazel.lock,maven_install.json,rebar.lock}",
        ],
    ),
    // Infrastructure
    (
        &[MANIFEST],
        &[Review, Renovate],
        &[
            "**/{spack.yaml,chart.yaml,chart.yml,helmfile.yaml,helmfile.yml,vendir.yml,galaxy.yml}",
            "**/{requirements,galaxy}.{yml,yaml}",
            "**/{versions.tf,terragrunt.hcl,kustomization.yaml,kustomization.yml,.terraform/modules/modules.json}",
        ],
    ),
    (
        &[MANIFEST, LOCK],
        &[Review, Syft],
        &[
            "**/.terraform.lock.hcl",
            "**/{chart,requirements}.lock",
            "**/{spack.lock,vendir.lock.yml,helmfile.lock,werf-includes.lock}",
        ],
    ),
];

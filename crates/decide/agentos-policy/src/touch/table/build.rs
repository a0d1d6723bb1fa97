//! Names of files that run when the project is built, started, or entered with a shell.
//!
//! Owns: the rows of `build` that are build systems, task runners, containers, infrastructure and shells. Never:
//! linters and test runners; `tools` has them.

use super::super::TablePart::Touch as T;
use super::super::{TablePart, Touch};
use super::NameSource::{Icons, Linguist, Manual, Renovate, Review};
use super::TableRow;

const BUILD: TablePart = T(Touch::Build);

pub(super) const ROWS: &[TableRow] = &[
    // Rust, Zig
    (
        &[BUILD],
        &[Manual],
        &[
            "**/{build.rs,build.zig}",
            "**/.cargo/config{,.toml}",
            "**/rust-toolchain{,.toml}",
            "**/.config/nextest.toml",
        ],
    ),
    // Make and other languages of rules
    (
        &[BUILD],
        &[Linguist, Icons],
        &[
            "**/{,bsd,gnu}makefile*",
            "**/{justfile,.justfile,rakefile,sconstruct,sconscript,scsub,snakefile,earthfile,wscript,cakefile,thorfile,guardfile}",
            "**/{mkfile,kbuild,kconfig,imakefile,jamfile,jamroot,tupfile,tupfile.lua,tuprules.tup,fakefile,slakefile,nukefile,phakefile}",
            "**/{buildfile,.buckconfig,buck,targets,m3makefile,descrip.mms,rexfile,appfile,matchfile,gymfile,deliverfile,snapfile,scanfile}",
            "**/{steepfile,hobofile,cheffile,modulefile,singularity,.gn,android.bp,build.gn,build.ninja,xmakefile,batect,bakefile}",
            "**/*.{mk,mak,make,cmake,just,smk,ninja,gn,gni,bp,am,pri,pro,qbs,cake,fsx.lock,rake,build}",
            "**/cmake{lists.txt,presets.json,userpresets.json,cache.txt}",
            "**/cmakelists.txt.in",
            "**/{meson.build,meson.options,meson_options.txt,configure,configure.ac,configure.in,autogen.sh,aclocal.m4}",
            "**/{acinclude.m4,compile_flags.txt,compile_commands.json,premake4.lua,premake5.lua,xmake.lua,setup.ml,build.fsx,build.cake}",
            "**/{,.}taskfile{,.dist}.{yml,yaml}",
            "**/.taskrc.{yml,yaml}",
            "**/{batect,batect-bundle,moon,pants,bazel,buck,please,dodo,tusk,mask,makefile}.{yml,yaml,toml}",
            "**/{.plzconfig,plzconfig,maskfile.md,runfile,.runfile,magefile.go,mage.go}",
            "**/magefiles/**",
            "**/{procfile,procfile.windows,vagrantfile,tiltfile,fastfile,pluginfile,capfile}",
            "**/make.bat",
        ],
    ),
    // Shells: read when one starts, or when a folder is entered
    (
        &[BUILD],
        &[Linguist, Icons],
        &[
            "**/.{bashrc,bash_profile,bash_aliases,bash_login,bash_logout,bash_functions,profile,login,kshrc,cshrc,tcshrc,inputrc}",
            "**/.{zshrc,zshenv,zprofile,zlogin,zlogout,xinitrc,xsession,xprofile,tmux.conf,screenrc,flaskenv,hushlogin,dircolors}",
            "**/{bashrc,bash_profile,zshrc,zshenv,zprofile,xinitrc,config.fish,bashrc_apple_terminal}",
            "**/.{curlrc,wgetrc,ackrc,gemrc,ripgreprc,mrconfig,arcconfig,tm_properties}",
            "**/{_curlrc,profile.ps1,microsoft.powershell_profile.ps1}",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &[
            "**/.envrc{,.*}",
            "**/direnv.toml",
            "**/{.direnvrc,direnvrc,.autoenv,.autoenv.zsh,.in,.out,.env.zsh,.sdkmanrc,.nix-shell,.shadowenv.d/**,.tarsrc}",
            "**/.{direnv,autoenv}/**",
        ],
    ),
    // Containers
    (
        &[BUILD],
        &[Linguist, Icons, Renovate],
        &[
            "**/{docker,container}file*",
            "**/.{dockerignore,containerignore}",
            "**/*.{dockerfile,containerfile}",
            "**/{docker-compose,compose,podman-compose}*.{yml,yaml}",
            "**/docker-bake{,.override}.{hcl,json}",
            "**/.gitpod.{yml,yaml,dockerfile}",
            "**/*.{def.sif,nomad}",
            "**/{docker-stack,stack,docker-cloud,tutum}.{yml,yaml}",
        ],
    ),
    // Infrastructure
    (
        &[BUILD],
        &[Review, Icons, Renovate],
        &[
            "**/ansible.cfg",
            "**/.ansible.cfg",
            "**/.ansible-lint{,.yml,.yaml,-ignore}",
            "**/{terragrunt.hcl,terraform.rc,.terraformrc,nomad.hcl,waypoint.hcl,packer.json,.kitchen.yml,kitchen.yml,.kitchen.local.yml}",
            "**/*.{pkr.hcl,tf.json,tofu}",
            "**/{.htaccess,supervisord.conf,crontab}",
            "**/{supabase/config.toml,firebase.json,.firebaserc,firestore.rules,storage.rules,database.rules.json}",
            "**/{helmfile,k3d,kind-config,minikube,tilt,devspace,skaffold,okteto,telepresence}.{yml,yaml}",
        ],
    ),
    // Java and its kin
    (
        &[BUILD],
        &[Renovate, Linguist, Icons],
        &[
            "**/*.gradle{,.kts,.dcl}",
            "**/buildsrc/**",
            "**/{gradle.properties,gradlew,gradlew.bat,mvnw,mvnw.cmd,.sbtopts,.jvmopts,jvm.config,maven.config}",
            "**/.mvn/**",
            "**/gradle/wrapper/**",
            "**/{build.xml,ant.xml,ivy.xml,build.properties,lombok.config,mill,millw,sbt,build.boot,leiningen.clj,jbang-catalog.json}",
            "**/*.main.kts",
            "**/{build.mill.scala,.scalafmt.conf,.scalafix.conf,scala-cli.scala,project.scala}",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &["**/{shadow-cljs.edn,build.sc,build.mill,user.clj,dev/user.clj,.lein/**,figwheel-main.edn}"],
    ),
    // Python
    (
        &[BUILD],
        &[Icons, Linguist, Manual],
        &[
            "**/{setup,conftest,noxfile,fabfile,dodo,sitecustomize,usercustomize,pavement,hatch_build}.py",
            "**/{pdm_build,versioneer,toxfile,manage,locustfile,sconstruct,gunicorn.conf,gunicorn_config,celeryconfig}.py",
            "**/{ipython_config,ipython_kernel_config,jupyter_lab_config,jupyter_server_config,jupyter_console_config}.{py,json}",
            "**/.{ipython,jupyter}/**",
            "**/*.pth",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &[
            "tasks.py",
            "**/jupyter_notebook_config.{py,json}",
            "**/mlproject",
            "**/dvc.yaml",
            "**/.dvc/config{,.local}",
            "**/dvc.lock",
        ],
    ),
    // JavaScript
    (
        &[BUILD],
        &[Icons],
        &[
            "**/*.config.{js,cjs,mjs,ts,cts,mts,jsx,tsx,coffee}",
            "**/*.conf.{js,cjs,mjs,ts,coffee}",
            "**/.*rc.{js,cjs,mjs,ts,cts,mts,coffee}",
            "**/{gulpfile,gruntfile,jakefile,plopfile,brocfile,knexfile}{,.*}",
            "**/{brunch-config,ember-cli-build,wallaby,protractor,rollup-config,jest-preset,jest-setup,auto-config}.{js,cjs,mjs,ts,coffee}",
            "**/gatsby-{browser,config,node,ssr}.{js,mjs,ts,tsx}",
            "**/{webpack,rollup,esbuild,rspack,vite,vitest,jest,karma,metro}.*.{js,cjs,mjs,ts,mts,cts,coffee}",
            "**/{turbo,nx,lerna,rush,angular,.angular-cli,angular-cli,nest-cli,.nest-cli,ng-package,project,workspace}.{json,jsonc}",
            "**/{ionic.config,capacitor.config,tauri.conf,tauri.config,tauri.linux.conf,tauri.macos.conf,tauri.windows.conf}.json",
            "**/{tauri.toml,electron-builder.json,electron-builder.yml,electron-builder.json5,forge.config.json,nodemon.json,ecosystem.json}",
            "**/{nodemon-debug.json,.adonisrc.json,.ember-cli,.sequelizerc,.umirc.js,.fatherrc,.parcelrc,.swcrc,.nuxtrc,.vuerc,fuse.js}",
            "**/{bashly,bashly-settings,.replit,replit.nix,.stackblitzrc,sandbox.config,meteor.settings}{,.json,.yml,.yaml}",
            "**/.{storybook,meteor,expo,dumi,umi,vitepress,vuepress,docusaurus}/{config,main,preview,manager,packages}{,.*}",
            "**/*.config.*.{js,cjs,mjs,ts,cts,mts}",
            "**/{esbuild,webpack}.{js,cjs,mjs,ts,cts,mts}",
            "**/karma-main.{js,ts}",
            "**/{nestconfig.json,.nestconfig.json,.io-config.json,jest.json,drizzle.config.json,windi.config.json,.firebaserc}",
            "**/binding.gyp",
            "**/*.{gyp,gypi}",
            "**/{artisan,ace,please}",
        ],
    ),
    // Bazel, Nix, .NET
    (
        &[BUILD],
        &[Linguist, Icons, Renovate],
        &[
            "**/{build,workspace}{,.bazel,.bzlmod}",
            "**/*.{build.bazel,workspace.bazel}",
            "**/{module.bazel,.bazeliskrc,.bazelversion,.bazelignore,bazelisk,pants,pants.ini}",
            "**/*.bazelrc",
            "**/tools/bazel",
            "**/*.bzl",
            "**/*.{nix,star}",
            "**/directory.{build,packages,solution}.{props,targets,rsp}",
            "**/*.{props,targets,proj,vcxproj,sqlproj,wixproj,njsproj,pyproj,csproj.user,runsettings,ruleset,rsp,cake,psake.ps1}",
            "**/{psakefile.ps1,build.fsx,paket.targets,nuget.exe,.paket/**,global.asax,launchsettings.json}",
        ],
    ),
    // Other languages
    (
        &[BUILD],
        &[Linguist, Icons],
        &[
            "**/.{irbrc,pryrc,rprofile,renviron,simplecov,byebugrc,rdebugrc,yardopts}",
            "**/rprofile.site",
            "**/{build.pl,makefile.pl,makevars,makevars.win,dist.ini,makefile.maker,install.rb,extconf.rb,mkrf_conf.rb,gulpfile.rb}",
            "**/{configure.win,cleanup,cleanup.win,.rbuildignore,dub.selections.json,nim.cfg,nimble.cfg,config.nims,fpc.cfg,pom.scm}",
            "**/*.nims",
            "**/{dune,dune.inc,myocamlbuild.ml,_tags,_oasis,opam.export,setup.hs,setup.lhs,package.yaml,hie.yaml,cradle.yaml}",
            "**/{deps,.gclient,project.ede,nextflow.config,suite.rc,project.godot,export_presets.cfg,luarocks.lua,rockspec,.busted,.luacov}",
            "**/{build.jl,startup.jl,makedocs.jl,deps/build.jl,shard.override.yml,.crystal-version,coffee.config}",
            "**/.latexmkrc",
            "**/{latexmkrc,arara.yaml,build.lua,tectonic.toml}",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &[
            "**/.ghci{,_history}",
            "**/{.ocamlinit,.utoprc,.utop,ghci.conf,.haskeline,.stack-work/**,.iex.exs,.erlang}",
        ],
    ),
    // Xcode
    (
        &[BUILD],
        &[Manual],
        &[
            "**/*.{xcodeproj,xcworkspace}/**",
            "**/*.{xcconfig,xcscheme}",
            "**/ci_scripts/**",
            "**/.xcode.env{,.local}",
        ],
    ),
];

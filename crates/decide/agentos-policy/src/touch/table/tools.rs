//! Settings of linters, formatters, test runners and similar tools: they name programs, or files that are loaded as
//! code.
//!
//! Owns: the rows of `build` for such tools. Never: settings that only choose among built-in behaviour of a tool,
//! such as `.editorconfig`, `.prettierignore` or `tsconfig.json`.

use super::super::TablePart::Touch as T;
use super::super::{TablePart, Touch};
use super::NameSource::{Icons, Linguist, Manual, Review};
use super::TableRow;

const BUILD: TablePart = T(Touch::Build);

pub(super) const ROWS: &[TableRow] = &[
    // Python
    (
        &[BUILD],
        &[Linguist, Icons, Manual],
        &[
            "**/{tox.ini,pytest.ini,.pytest.ini,.pylintrc,pylintrc,pylintrc.toml,.pylintrc.toml,.pdbrc,.pdbrc.py,nose.cfg,.noserc,unittest.cfg}",
            "**/{ruff,.ruff,pytest,.pytest,mypy,.mypy,ty,pyre,pytype,black,.black,isort,.isort,nox,tox}.{toml,ini,cfg}",
            "**/{.isort.cfg,.style.yapf,.pycodestyle,.pydocstyle,.pydocstyle.ini,.pydocstylerc,.autopep8,.yapfignore,.pep8,.vulture.ini,.prospector.yml}",
            "**/{.prospector.yaml,.pyre_configuration.local,pyrightconfig.json,basedpyrightconfig.json,.importlinter,.landscape.yml,wily.cfg}",
            "**/{.readthedocs,readthedocs,.pyup,.sourcery,mkdocs}.{yml,yaml}",
            "**/{.scrapy,scrapy.cfg,pyscript.toml,pyoxidizer.bzl,behave.ini,.behaverc,alembic.ini,pyinfra.py,.coverage.toml}",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &[
            "**/.flake8",
            "**/{,.}mypy.ini",
            "**/{.coveragerc,.pyre_configuration,.covrc,.bumpversion.cfg,.bumpversion.toml}",
        ],
    ),
    // JavaScript
    (
        &[BUILD],
        &[Icons, Linguist],
        &[
            "**/.{babelrc,mocharc,eslintrc,stylelintrc,prettierrc,commitlintrc,postcssrc,posthtmlrc,svgrrc,remarkrc}{,.json,.jsonc,.json5,.yml,.yaml,.toml}",
            "**/.{nycrc,c8rc,textlintrc,cracorc,puppeteerrc,syncpackrc,jestrc,lighthouserc,graphqlrc,linaria,pug-lintrc,jscsrc}{,.json,.yml,.yaml}",
            "**/.{releaserc,czrc,jshintrc,jslintrc,htmlhintrc,hintrc,modernizrrc,cz,knip,happo,histoire,solhint,soliumrc}{,.json,.yml,.yaml,.toml}",
            "**/.config/{eslintrc,stylelintrc,prettierrc,postcssrc,babelrc,commitlintrc,mocharc,remarkrc,svgrrc,lintstagedrc}{,.*}",
            "**/.{babel-plugin-macrosrc,markdownlint-cli2,oxlintrc,oxfmtrc,rslint,stryker.conf,stryker.config,testcaferc}{,.json,.jsonc,.yaml}",
            "**/{stryker.conf,karma.conf,jest.config,jest-e2e.config,jest-e2e,nyc.config,playwright.config,cypress,cypress.env,wdio.conf}.json",
            "**/{biome,.biome,rome,tslint,.oxlintrc,dprint,.dprint,cz,typedoc,api-extractor,lint-staged,tsup,tsdown,knip}.{json,jsonc}",
            "**/{mocha.opts,mocha.env.js,.istanbul.yml,.taprc,.nodetaprc,.esformatter,.jsbeautifyrc,.tern-project,.tern-config}",
            "**/{lighthouserc,.size-limit,.bundlewatch.config,bundlesize.config,.percy}.{json,yml,yaml}",
            "**/{.histoire,knip,lighthouserc,.knip,typedoc}.{js,cjs,mjs,ts,cts}",
            "**/.{commitlint,tazerc}{,.json,.yaml,.yml}",
            "**/rslint.{json,jsonc}",
            "**/.markdownlint{,.json,.jsonc,.yaml,.yml}",
        ],
    ),
    (&[BUILD], &[Review], &["**/karma.conf.{js,cjs,mjs,ts,coffee}"]),
    // Ruby, PHP, Perl
    (
        &[BUILD],
        &[Linguist, Icons, Manual],
        &[
            "**/{.rspec-local,.rspec_parallel,.reek,.reek.yml,.erb-lint.yml,.erb_lint.yml,.haml-lint.yml,.slim-lint.yml,.standard.yml}",
            "**/{.scss-lint.yml,.sass-lint.yml,.fasterer.yml,.rufo,.mdlrc,.cane,.roodi.yml,cucumber.yml,sorbet/config,.pronto.yml,.i18n-tasks.yml}",
            "**/{phpstan.neon,phpstan.neon.dist,phpstan.dist.neon,phpunit.xml,phpunit.xml.dist,phpunit.dist.xml,psalm.xml,psalm.xml.dist,infection.json5}",
            "**/{phpcs.xml,phpcs.xml.dist,.phpcs.xml,.phpcs.xml.dist,phpmd.xml,ruleset.xml,grumphp.yml,grumphp.yml.dist,pint.json,infection.json}",
            "**/{.php_cs,.php_cs.dist,.php_cs.php,.php_cs.dist.php,.php-cs-fixer.dist.php,ecs.php,rector.php.dist,deptrac.yaml,behat.yml,behat.yml.dist}",
            "**/{codeception.yml,codeception.dist.yml,phpbench.json,phpspec.yml,captainhook.json,deployer.php,deploy.php,castor.php,scoper.inc.php,robofile.php}",
            "**/{.perlcriticrc,.perltidyrc,.proverc.local,weaver.ini,perlcriticrc,.php.ini,php.ini,.user.ini,box.json,box.json.dist,.phpactor.json}",
        ],
    ),
    (
        &[BUILD],
        &[Review, Manual],
        &[
            "**/{.proverc,.rspec,.rubocop.yml,.rubocop.yaml,.solargraph.yml,.solargraph.yaml,.php-cs-fixer.php,rector.php}",
            "**/.rubocop{,_*,-*,.*}.{yml,yaml}",
        ],
    ),
    // Go, C and C++, Java, Swift, Lua, others
    (
        &[BUILD],
        &[Review, Manual],
        &["**/.golangci.{yml,yaml,toml,json}"],
    ),
    (
        &[BUILD],
        &[Icons, Linguist, Manual],
        &[
            "**/{revive.toml,.revive.toml,staticcheck.conf,.air.toml,air.toml,.air.conf,gqlgen.yml,sqlc.yaml,sqlc.yml,buf.yaml,buf.gen.yaml,buf.work.yaml}",
            "**/{.mockery.yaml,.mockery.yml,mockery.yml,.ko.yaml,ko.yaml,tools.go,codegen.yml,codegen.ts,codegen.yaml,openapitools.json}",
            "**/{clippy.toml,.clippy.toml,rustfmt.toml,.rustfmt.toml,cbindgen.toml,cross.toml,trunk.toml,dioxus.toml,bacon.toml,.bacon.toml,tarpaulin.toml}",
            "**/{.tarpaulin.toml,miri.toml,kani.toml,wasm-pack.toml,dylint.toml,leptosfmt.toml,mutants.toml,.cargo/mutants.toml,release-plz.toml}",
            "**/{.clang-tidy,.clangd,.cppcheck,cppcheck.cfg,.astylerc,.ccls,.ycm_extra_conf.py,.vimspector.json,.color_coded,.include-what-you-use}",
            "**/{checkstyle,pmd,detekt,ktlint,google_checks,sun_checks}*.{xml,yml,yaml}",
            "**/{.swiftlint.yml,.swiftformat,.swift-format,.slather.yml,.sourcery.yml,swiftgen.yml,.periphery.yml,.spi.yml,tuist.swift}",
            "**/{.luacheckrc,.luaurc,.stylua.toml,stylua.toml,selene.toml,.luarc.json,.credo.exs,.formatter.exs,.dialyzer_ignore.exs,.sobelow-conf}",
            "**/{.hlint.yaml,.hlint.yml,.stylish-haskell.yaml,fourmolu.yaml,weeder.toml,weeder.dhall,.ormolu,.ocamlformat,.merlin,.lintr,.styler.r}",
            "**/{analysis_options.yaml,build.yaml,dart_test.yaml,dart_code_metrics.yaml,.eslintrc-auto-import.json,.clj-kondo/**,.cljfmt.edn}",
            "**/{.lsp/config.edn,tests.edn,.shellcheckrc,shellcheckrc,.bashunit.env,.shellspec,.sqlfluff,.sqlfluffignore,.sqlpls,dbt_project.yml}",
            "**/{.hhconfig,.flowconfig,.watchmanconfig,.vale.ini,.proselintrc,.lintr.yml,.yamllint,.yamllint.yml,.yamllint.yaml,.ecrc,.alexrc}",
            "**/{hardhat.config.json,truffle.js,truffle-config.js,truffle-box.json,brownie-config.yaml,ape-config.yaml,slither.config.json,.slither.config.json}",
            "**/{postgrest.conf,flyway.conf,flyway.toml,liquibase.properties,.sqitch.conf,sqitch.conf,atlas.hcl,prisma.yml,ormconfig.json}",
            "**/{.ort.yml,conda-project.yml,kedro.yml,metaflow.yml,prefect.yaml,.prefectignore,wandb/settings,.mlflow*}",
            "**/.trunk/{trunk.yaml,configs/**,plugins/**}",
        ],
    ),
    // Read and run when a shell or an interpreter starts in the folder, or a debugger, a database's shell, an editor.
    (
        &[BUILD],
        &[Manual],
        &[
            "**/.profile.d/**",
            "**/{.tmux.sh,.localrc,.rvmrc,.powrc,.powenv,.psqlrc,.sqliterc,.pythonrc,.pythonrc.py,.pystartup,.noderc,.pryrc.rb,.ctags}",
            "**/{gdbinit,*-gdb.py,*-gdb.gdb,.r2rc,.perldb,.octaverc,.exrc.lua,session.vim,.wezterm.lua,.nrepl.edn,.lein-env}",
            "**/{.ctags.d,.chezmoiscripts}/**",
            "**/renv/activate.r",
        ],
    ),
    // Loaded as code by a framework or a build before anything of the project is.
    (
        &[BUILD],
        &[Manual],
        &[
            "**/{config.ru,config/boot.rb,config/application.rb,config/environment.rb,bin/rails,bin/setup,bin/console}",
            "**/{spec/spec_helper,spec/rails_helper,test/test_helper}.rb",
            "**/{_plugins/*.rb,gemfile.rb,docs/conf.py,doc/conf.py,docs/source/conf.py,alembic/env.py,migrations/env.py,hubconf.py}",
            "**/{invoke.yaml,invoke.yml,invoke.json,dodo,doit.cfg,config/config.exs,config/runtime.exs,_targets.r,rebar3.config}",
            "**/{book.toml,.hygen.js,.size-limit.js,.xo-config.js,.markdownlint-cli2.cjs,.ladle/config.mjs,cypress/support/e2e.js}",
            "**/{robo.php,artisan.php,.phan/config.php,.blade.format.json,tlint.json,waf,project.pbxproj,project.swift,build.mjs}",
            "**/*.{sln,slnx,launch}",
            "**/{.arara.yaml,.ebextensions/*.config,.platform/hooks/**,.rtx.toml,.volta.json,.moon/*.yml}",
            "**/{rust-analyzer,.rust-analyzer}.toml",
            "**/{rust-project.json,omnisharp.json,procfile.dev,.lando.yml,devfile.yaml,postbuild}",
            "**/.ddev/*.yaml",
            "**/{debian/rules,debian/control,debian/*.install,debian/*.postinst,debian/*.preinst,debian/*.prerm,debian/*.postrm}",
            "**/*.{ebuild,desktop}",
            "**/{autorun.inf,.crontab}",
        ],
    ),
];

//! Names of files that run on other people's machines when a change arrives, and of settings of scanners.
//!
//! Owns: the rows of `ci` and `scanners`. Never: build scripts, which also run locally.

use super::super::TablePart::Touch as T;
use super::super::Touch;
use super::NameSource::{Icons, Linguist, Manual, Renovate, Review};
use super::TableRow;

pub(super) const ROWS: &[TableRow] = &[
    (
        &[T(Touch::Ci)],
        &[Renovate, Icons],
        &[
            ".github/{workflows,actions}",
            ".github/{workflows,actions}/**",
            "workflow-templates/**",
            ".github/{dependabot,renovate}.{yml,yaml,json,json5}",
            ".{gitea,forgejo}/{workflows,actions}/**",
            "**/action.{yml,yaml}",
            "**/.gitlab-ci{,-*,.*}.{yml,yaml}",
            ".gitlab/ci/**",
            "**/azure-pipelines*.{yml,yaml}",
            "**/*azure*pipeline*.{yml,yaml}",
            "{,.}bitbucket-pipelines.{yml,yaml}",
            "**/jenkinsfile*",
            "**/*.jenkinsfile",
            "{.woodpecker,.travis,.appveyor,appveyor,cloudbuild,buildkite,bitrise,.vela,circle}.{yml,yaml}",
            ".{circleci,buildkite,azuredevops,woodpecker}/**",
        ],
    ),
    (
        &[T(Touch::Ci)],
        &[Icons, Manual],
        &[
            "{,.github/,.gitlab/,docs/,.gitea/,.bitbucket/,.forgejo/}codeowners",
            "**/owners{,_aliases}",
            ".{ci,azure-pipelines,semaphore,tekton,teamcity,builds,pipelines,harness,jenkins,concourse,drone,screwdriver}/**",
            ".{github-workflows,gitlab-ci,travis-ci,cirrus,codebuild,cloudbuild,bitrise,earthly,dagger,spinnaker,argocd,argo,kokoro,zuul.d}/**",
            "zuul.d/**",
            ".{build,mergify,zuul,codefresh,kodiak,prow,codeship}.{yml,yaml,toml}",
            "{zuul,codefresh,wercker,appspec,skaffold,render,screwdriver,concourse,pipeline,drone,semaphore,bitbucket}.{yml,yaml}",
            "**/buildspec*.{yml,yaml}",
            "{.cirrus,codecov,.circleci,.gitlab-ci-local,.tekton,.kodiak,mergify,shippable,magnum,.nevercode}.{yml,yaml}",
            "{.drone.*,.cirrus.star,netlify.*,vercel.json,vercel.ts,now.json,fly.toml,railway.toml,railway.json,dagger.json}",
            "captain-definition",
            "{amplify,app,dokku,zeabur,heroku,.platform.app,eas,firebase,apphosting,nixpacks,devspace}.{json,yml,yaml,toml}",
            "{codeship-services,codeship-steps,.scrutinizer,.hound,.styleci,.probot,.golangci-lint,cloudformation,template}.{yml,yaml}",
            "{,.}goreleaser.*",
            "{,.}release-it.*",
            "{,.}release-plz.toml",
            "{release,dist,dist-workspace,release-please-config,.release-please-manifest}.{toml,json}",
            ".releaserc*",
            ".autorc",
            "zeabur.json{5,c}",
            ".config/releaserc*",
            "**/dangerfile{,.*}",
            "{renovate.json,renovate.json5,renovate-config.json,.renovaterc,.renovaterc.json,.renovaterc.json5}",
            ".github/{settings,labeler,mergify,auto_assign,stale,release-drafter,release,copilot-setup-steps,ghalint}.{yml,yaml}",
            "{serverless,samconfig,copilot,sst.config,wrangler,now,cdk}.{yml,yaml,json,jsonc,toml,ts,js}",
            "{wrangler,werf,werf-giterminism,werf-includes,steadybit,.steadybit,garden,okteto,tugger}.{yml,yaml,toml}",
            "**/{pulumi,pulumi.*}.{yml,yaml}",
        ],
    ),
    (
        &[T(Touch::Ci)],
        &[Review],
        &["{,.}codemagic.{yml,yaml}", ".codecov.{yml,yaml}"],
    ),
    (
        &[T(Touch::Scanners)],
        &[Review, Linguist, Manual],
        &[
            // Secrets
            "**/{,.}gitleaks{,.*}.toml",
            "**/.{gitleaksignore,gitleaks-baseline.json,gitguardian.yml,gitguardian.yaml,ggignore,secretlintrc,secretlintignore}",
            "**/.secretlintrc.{json,yml,yaml,js}",
            "**/.secrets.baseline",
            "**/trufflehog*.{yml,yaml}",
            "**/{.trufflehog*,.talismanrc,.whispers.yml,.detect-secrets.cfg,.noseyparker*,.git-secrets*,.gitallowed}",
            // Dependencies and images
            "**/.{trivyignore,trivyignore.yaml,grype.yaml,grypeignore,snyk,nancy-ignore,nsprc,auditignore,pyup.yml,safety-policy.yml}",
            "**/{trivy.yaml,trivy-secret.yaml,osv-scanner.toml,.safety-policy.yml,audit-ci.json,audit-ci.jsonc,.anchore.yaml,.dockle*}",
            "**/{deny.toml,audit.toml,.cargo/audit.toml,.whitesource,.pip-audit*,.bundler-audit.yml,suppression.xml}",
            "**/{dependency-check-suppression*.xml,owasp-suppressions.xml,.dependency-review*,socket.yml,.clair*,.syft.yaml}",
            "**/supply-chain/{config.toml,audits.toml,imports.lock}",
            // Source code
            "**/{.semgrepignore,semgrep.yml,semgrep.yaml,.semgrep.yml,.semgrep.yaml,.bandit,bandit.yml,bandit.yaml,.bandit.yml}",
            "**/.{semgrep,codeql}/**",
            "**/{codeql-config,qodana,.codacy,.codeclimate,.deepsource,.sourcery,.lgtm,lgtm,.shiftleft,horusec-config}.{yml,yaml,toml,json}",
            "**/{sonar-project,.sonarcloud,sonarlint}.{properties,yml,yaml}",
            "**/{sonarcloud.yaml,sonarqube.analysis.xml,.sonarlint/**,.brakeman.ignore,brakeman.yml,brakeman.ignore,.gosec*,gosec.json}",
            "**/{nuclei-ignore,.nuclei-ignore,.zap/**,phpstan-baseline.neon,psalm-baseline.xml,detekt-baseline.xml,lint-baseline.xml}",
            "**/{findbugs-exclude,spotbugs-exclude,spotbugs-exclude-filter,pmd-exclude}*.xml",
            "**/{findbugs,spotbugs}*.xml",
            "**/.rubocop{_,-}todo.yml",
            // Infrastructure
            "**/{.checkov.yml,.checkov.yaml,.checkov.baseline,checkov.yml,.tfsec.yml,.tfsec/**,tfsec.yml,.kics*,.tflint.hcl,.tfsecignore}",
            "**/{.cfnlintrc,.cfnlintrc.yaml,.cfnlintrc.yml,.terrascan*,.kube-linter.yaml,.kube-linter.yml,.kubescape*,.polaris*,polaris.yaml}",
            "**/{.hadolint.yml,.hadolint.yaml,hadolint.yml,hadolint.yaml,.dive-ci,.conftest*,.dockerlint*,zizmor.yml,.github/zizmor.yml,actionlint.yml}",
            "**/{actionlint.yaml,.github/actionlint.yaml,.poutine.yml,.harden-runner*,.scorecard.yml,.github/codeql/**,.ls-lint.yml}",
            "**/.{kics,checkov,snyk,trivy,gitleaks,bearer}/**",
            "**/{bearer.yml,bearer.ignore,.bearer.yml,.mega-linter.yml,.mega-linter.yaml,.megalinter.yml,.github/super-linter.env,.jscpd.json}",
            // Review by machines
            "**/{.coveralls.yml,coveralls.yml,.codecov/**,.diffcover*,diff-quality*}",
        ],
    ),
    (
        &[T(Touch::Scanners)],
        &[Manual],
        &[
            "**/{.trivy.yaml,.osv-scanner.toml,.ggshield.yaml,.ggshield.yml,.auditjs.json,sonar-scanner.properties}",
            // What tools that search leave out
            "**/{.ignore,.rgignore,.fdignore}",
        ],
    ),
    (
        &[T(Touch::Ci)],
        &[Manual],
        &[
            "**/{.jenkins.yml,tekton.yaml,.bitrise.yml,bors.toml,.packit.yaml,.packit.yml,.testing-farm.yaml,.gocd.yaml,.sourcehut.yml,.build.yml}",
            ".gitlab/*.{yml,yaml}",
            "**/{jenkins,.jenkins}/*.groovy",
            ".dependabot/config.yml",
            "**/{.do/app.yaml,apprunner.yaml,netlify/functions/**}",
        ],
    ),
];

//! The names of each part of a project, each row with the public lists that it was taken from.
//!
//! Owns: the table and its exceptions. Never: part of the program: `written` has these names sorted, and their
//! digest. Case does not matter; a name at any depth begins with `**/`.

use super::TablePart::{self, Touch as T};
use super::Touch;

mod build;
mod ci;
mod dependencies;
mod settings;
mod tools;

/// Parts that the names of a row belong to, the lists that name them, and the patterns.
pub(super) type TableRow = (
    &'static [TablePart],
    &'static [NameSource],
    &'static [&'static str],
);

/// A public list of file names. A row names every list that it was compared with, and some of its names may be in one of
/// them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameSource {
    /// `lib/linguist/languages.yml` of github-linguist: `filenames` and `extensions`.
    Linguist,
    /// The file names of `material-icon-theme` 5.38 (npm), one icon for each tool.
    Icons,
    /// The default `fileMatch` patterns of the managers of `renovate` 39 (npm).
    Renovate,
    /// The globs of the catalogers of anchore/syft.
    Syft,
    /// The file names of aquasecurity/trivy, `pkg/fanal/types/const.go`.
    Trivy,
    /// The manual of the tool that reads the file, by the name that the file has there.
    Manual,
    /// Manuals of git: githooks(5), gitattributes(5), gitmodules(5), gitrepository-layout(5).
    Git,
    /// `vendor.yml`, `generated.rb` and `documentation.yml` of github-linguist.
    Attributes,
    /// Security review of 2026-11, in which a file of this name was landed without asking.
    Review,
    /// Common usage without a list.
    Custom,
}

pub(super) const EXCEPTIONS: &[&[TableRow]] = &[&[
    // Made to be shared.
    (
        &[T(Touch::SecretsFiles)],
        &[NameSource::Custom],
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
        &[NameSource::Custom],
        &["**/{license,licence,copying,notice}*.{rs,py,js,jsx,ts,tsx,go,java,kt,rb,php,c,h,cc,cpp,cs}"],
    ),
    (
        &[T(Touch::Build)],
        &[NameSource::Custom],
        &[
            "**/{make,docker,container}file*.{md,rst,adoc,snap}",
            "**/{make,docker,container}file*.{rs,py,js,jsx,ts,tsx,go,java,kt,rb,php,c,h,cc,cpp,cs}",
        ],
    ),
]];

/// Names by part.
pub(super) const TABLE: &[&[TableRow]] = &[
    dependencies::ROWS,
    ci::ROWS,
    build::ROWS,
    tools::ROWS,
    settings::ROWS,
    PLAIN,
];

const PLAIN: &[TableRow] = &[
    (
        &[T(Touch::Licence)],
        &[NameSource::Attributes, NameSource::Icons],
        LICENCE,
    ),
    (
        &[T(Touch::Tests)],
        &[NameSource::Attributes, NameSource::Manual],
        TESTS,
    ),
    (
        &[T(Touch::SecretsFiles)],
        &[NameSource::Manual, NameSource::Linguist],
        SECRETS_FILES,
    ),
    (&[T(Touch::Generated)], &[NameSource::Attributes], GENERATED),
    (&[T(Touch::Vendored)], &[NameSource::Attributes], VENDORED),
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

/// Returns every row of the sections.
pub(super) fn table_rows(table: &'static [&'static [TableRow]]) -> impl Iterator<Item = &'static TableRow> {
    table.iter().copied().flatten()
}

//! `cargo xtask dist`: the release archive, packed by cargo-dist.
//!
//! Owns: the pages that go into it, which the program and `cargo about` print. Never: packs, publishes or checks a sum;
//! cargo-dist does, as `[workspace.metadata.dist]` says.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::metadata::Metadata;

/// What the archive takes along; `include` of `[workspace.metadata.dist]` names it.
const PAGES: &str = "target/pages";
/// What each shell calls its completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "agentos.bash"),
    ("elvish", "agentos.elv"),
    ("fish", "agentos.fish"),
    ("powershell", "_agentos.ps1"),
    ("zsh", "_agentos"),
];
/// The system's zlib would have to be there wherever the archive goes.
const STATIC_ZLIB: (&str, &str) = ("LIBZ_SYS_STATIC", "1");

/// Has the product built as it is released and packed with its pages.
///
/// # Errors
/// When it does not build or a tool is missing.
pub fn run(sh: &Shell) -> Result<bool> {
    cmd!(sh, "cargo build --quiet --package agentos --bins")
        .quiet()
        .run()?;
    write_pages(sh, &Metadata::load(sh)?.debug().join("agentos"))?;
    let (name, value) = STATIC_ZLIB;
    let pack = cmd!(sh, "dist build --artifacts=host --allow-dirty").env(name, value);
    pack.quiet()
        .run()
        .context("`cargo install --locked cargo-dist` installs what packs a release")?;
    Ok(true)
}

/// Builds the product as its users have it, below the target folder's `dist`; returns the program.
///
/// # Errors
/// When it does not build.
pub fn build(sh: &Shell) -> Result<PathBuf> {
    let (name, value) = STATIC_ZLIB;
    let build = cmd!(sh, "cargo build --locked --profile dist --package agentos --bins");
    build
        .env(name, value)
        .quiet()
        .run()
        .context("the product does not build")?;
    let target = Metadata::load(sh)?.target_directory;
    Ok(Path::new(&target)
        .join("dist")
        .join(format!("agentos{}", std::env::consts::EXE_SUFFIX)))
}

/// Writes completions, manual pages, and the licences of all that is linked in.
fn write_pages(sh: &Shell, program: &Path) -> Result<()> {
    sh.remove_path(PAGES)?;
    for (shell, file) in COMPLETIONS {
        let text = cmd!(sh, "{program} completions {shell}").quiet().output()?.stdout;
        sh.write_file(format!("{PAGES}/completions/{file}"), text)?;
    }
    let verbs = cmd!(sh, "{program} man --list").quiet().read()?;
    for verb in std::iter::once("").chain(verbs.lines()) {
        let words: Vec<&str> = verb.split_whitespace().collect();
        let name = [&["agentos"], words.as_slice()].concat().join("-");
        let page = cmd!(sh, "{program} man {words...}").quiet().output()?.stdout;

        sh.write_file(format!("{PAGES}/man/man1/{name}.1"), page)?;
    }
    let product = "crates/apps/agentos-cli/Cargo.toml";
    let about = cmd!(
        sh,
        "cargo about generate --offline --config .cargo/about.toml --manifest-path {product} --fail"
    );
    let about = about.args([
        "--output-file",
        &format!("{PAGES}/THIRD-PARTY.md"),
        ".cargo/about.hbs",
    ]);
    about
        .quiet()
        .run()
        .context("`cargo install --locked cargo-about --features cli` installs what lists licences")
}

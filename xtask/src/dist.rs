//! `cargo xtask dist`: the release archive, packed by cargo-dist.
//!
//! Owns: the pages in the archive, which the program and `cargo about` print. Never: packs, publishes or computes a
//! checksum; cargo-dist does, as `[workspace.metadata.dist]` says.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::metadata::Metadata;

/// Folder of the pages; `include` of `[workspace.metadata.dist]` adds it to the archive.
const PAGES: &str = "target/pages";
/// The file name of the completions for each shell, as that shell expects it.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "agentos.bash"),
    ("elvish", "agentos.elv"),
    ("fish", "agentos.fish"),
    ("powershell", "_agentos.ps1"),
    ("zsh", "_agentos"),
];
/// Links zlib into the program. Otherwise every machine that runs the archive would need the system's zlib.
const STATIC_ZLIB: (&str, &str) = ("LIBZ_SYS_STATIC", "1");

/// Writes the pages and lets cargo-dist build and pack the product.
///
/// # Errors
/// When the product does not build, or cargo-dist or cargo-about is not installed.
pub fn run(sh: &Shell) -> Result<bool> {
    cmd!(sh, "cargo build --quiet --package agentos --bins")
        .quiet()
        .run()?;
    write_pages(sh, &Metadata::load(sh)?.debug_folder().join("agentos"))?;
    let (name, value) = STATIC_ZLIB;
    let pack = cmd!(sh, "dist build --artifacts=host --allow-dirty").env(name, value);
    pack.quiet()
        .run()
        .context("cargo-dist failed; `cargo install --locked cargo-dist` installs it")?;
    Ok(true)
}

/// Builds the product with the release profile, in the folder `dist` of the target folder, and returns the program's path.
///
/// # Errors
/// When the product does not build.
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

/// Writes completions, manual pages, and the licences of all linked crates.
///
/// # Errors
/// When the program or `cargo about` fails, or a page cannot be written.
fn write_pages(sh: &Shell, program: &Path) -> Result<()> {
    // Removed first: a page of a verb that no longer exists must not be packed.
    sh.remove_path(PAGES)?;
    for (shell, file) in COMPLETIONS {
        let text = cmd!(sh, "{program} completions {shell}").quiet().output()?.stdout;
        sh.write_file(format!("{PAGES}/completions/{file}"), text)?;
    }
    let verbs = cmd!(sh, "{program} man --list").quiet().read()?;
    // The empty verb is the page of `agentos` itself.
    for verb in std::iter::once("").chain(verbs.lines()) {
        let words: Vec<&str> = verb.split_whitespace().collect();
        let name = [&["agentos"], words.as_slice()].concat().join("-");
        let page = cmd!(sh, "{program} man {words...}").quiet().output()?.stdout;

        sh.write_file(format!("{PAGES}/man/man1/{name}.1"), page)?;
    }
    let product = "crates/apps/agentos-cli/Cargo.toml";
    // `--fail`: a crate whose licence is not accepted must stop the release.
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
        .context("cargo-about failed; `cargo install --locked cargo-about --features cli` installs it")
}

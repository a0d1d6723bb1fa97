//! The browser for the tests of the page: Chromium, and the packages that drive it.
//!
//! Owns: the folder `.browser`. Never: replaces a browser that is there, or waits long for a network that is not.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::python::run_quietly;

/// Folder of the packages.
const FOLDER: &str = ".browser";
/// Files that say which packages.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];
/// Usual places of a browser; the same list is in `agentos-testkit`.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/google-chrome"];

/// Prepares the browser and its packages.
///
/// # Errors
/// When one of them is missing and cannot be installed; the message is the reason for skipping its users.
pub fn prepare_browser(sh: &Shell) -> Result<()> {
    let has_node = cmd!(sh, "node --version").quiet().ignore_stderr().read().is_ok();
    ensure!(has_node, "there is no node");
    prepare_packages(sh)?;
    let is_named = sh
        .var_os("AGENTOS_CHROMIUM")
        .is_some_and(|value| !value.is_empty());
    if is_named || BROWSERS.iter().any(|place| Path::new(place).is_file()) {
        return Ok(());
    }
    let user = cmd!(sh, "id -u").quiet().read().unwrap_or_default();
    ensure!(user == "0", "there is no Chromium, and only root may install it");
    // A machine without a network must learn that within seconds.
    let quick = [
        "-qq",
        "-o",
        "Acquire::Retries=0",
        "-o",
        "Acquire::http::Timeout=15",
    ];
    let install = ["install", "--yes", "--no-install-recommends", "chromium"];
    run_quietly(cmd!(sh, "timeout 60 apt-get {quick...} update"))?;
    let command = cmd!(sh, "timeout 240 apt-get {quick...} {install...}");
    run_quietly(command.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Installs the packages of the lock file, unless they are there.
fn prepare_packages(sh: &Shell) -> Result<()> {
    let read = |folder: &str, name| sh.read_file(format!("{folder}/{name}"));
    let same = |name| read(FOLDER, name).ok() == read("scripts/browser", name).ok();
    if LISTS.into_iter().all(same) && sh.path_exists(format!("{FOLDER}/node_modules")) {
        return Ok(());
    }
    sh.create_dir(FOLDER)?;
    let _folder = sh.push_dir(FOLDER);
    for name in LISTS {
        sh.copy_file(format!("../scripts/browser/{name}"), name)?;
    }
    let quick = ["--fetch-retries=0", "--fetch-timeout=20000"];
    // No script of a package runs: none of them needs one.
    let installed = run_quietly(cmd!(
        sh,
        "timeout 120 npm ci --ignore-scripts --no-audit --no-fund {quick...}"
    ));
    if installed.is_err() {
        // Half of the packages must not count as all of them.
        sh.remove_path("node_modules")?;
    }
    installed.context("the packages of scripts/browser cannot be installed")
}

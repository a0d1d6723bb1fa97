//! The scripts that judge evidence a second time, which are Python: finding or preparing one that can run them.
//!
//! Owns: the virtual environment `.venv-evidence`. Never: runs a script; the tests do.

use std::path::Path;
use std::process::Command;

use crate::llama::{loud, quiet};

/// Makes the virtual environment where no Python with the packages is found.
///
/// # Errors
/// The reason why tests will compare nothing with it.
pub fn prepare(root: &Path) -> Result<String, String> {
    let folder = root.join(".venv-evidence");
    let own = folder.join("bin/python");
    let has =
        |python: &Path| quiet(Command::new(python).args(["-c", "import cryptography, securesystemslib"]));
    if has(&own) || has(Path::new("python3")) {
        return Ok("found".to_owned());
    }
    loud(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
    ];
    let requirements = root.join("scripts/evidence/requirements.txt");
    loud(Command::new(&own).args(pip).arg(requirements))?;
    if has(&own) {
        Ok("made".to_owned())
    } else {
        Err("the packages were installed but cannot be imported".to_owned())
    }
}

//! A real browser with the packages that drive it, where they are installed.
//!
//! Owns: finding them, and running a script of `scripts/browser`. Never: installs one; `cargo xtask ci` does.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Usual places of a browser that the scripts can drive.
const BROWSERS: [&str; 3] = [
    "/usr/bin/chromium",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// A browser and the folder with the packages.
#[derive(Debug, Clone)]
pub struct RealBrowser {
    program: PathBuf,
    packages: PathBuf,
}

impl RealBrowser {
    /// The browser that `AGENTOS_CHROMIUM` names, else a usual one, with the packages in `.browser` at the top of the
    /// repository. `None`, after saying on standard error what is missing, when something is.
    #[must_use]
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("AGENTOS_CHROMIUM").filter(|value| !value.is_empty());
        let program = match named {
            Some(named) => Some(PathBuf::from(named)),
            None => BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file()),
        };
        let packages = top_folder().join(".browser");
        let has_node = Command::new("node")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok();
        match program {
            Some(program) if has_node && packages.join("node_modules/playwright-core").is_dir() => {
                Some(Self {
                    program,
                    packages: packages.canonicalize().ok()?,
                })
            }
            program => {
                let how = format!(
                    "skipped: no browser to drive (Chromium: {}, node: {has_node}, packages: {}); `scripts/browser/README.md` explains how to prepare it",
                    program.is_some(),
                    packages.join("node_modules").is_dir(),
                );
                writeln!(io::stderr(), "{how}").ok();
                None
            }
        }
    }

    /// Runs a script with these facts, and gives its exit code and what it printed.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run_script(&self, script: &str, mut facts: Value) -> io::Result<(Option<i32>, String)> {
        if let Some(facts) = facts.as_object_mut() {
            facts.insert("tools".to_owned(), json!(self.packages));
            facts.insert("chromium".to_owned(), json!(self.program));
        }
        let mut child = Command::new("node")
            .arg(top_folder().join("scripts/browser").join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A script that ends before it reads says why in its output.
            input.write_all(facts.to_string().as_bytes()).ok();
        }
        let output = child.wait_with_output()?;
        Ok((
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        ))
    }
}

fn top_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

//! The other programs of the product: `agentos serve` starts `agentos-server`.
//!
//! Owns: where they are searched, and the words when one is missing. Never: starts a program of a repository.

use std::ffi::OsString;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_launch::{LaunchError, OwnProgram};
use agentos_lookup::ProgramSearch;

use crate::Ground;

impl Ground {
    /// Runs another program of the product in the place of this one. Returns its exit status, on systems that cannot replace a process.
    ///
    /// # Errors
    /// If it is not installed, or has another version.
    pub fn run_program(&self, name: &str, args: &[OsString]) -> Result<i32, EffectError> {
        let running = self
            .environment()
            .helper_program()
            .map_err(|error| EffectError::from_error(Cause::Internal, "helper", &error))?;
        let program = OwnProgram::find(
            name,
            env!("CARGO_PKG_VERSION"),
            &running,
            &self.find_user_programs(),
        )
        .map_err(|error| word_launch(&error))?;
        program.take_over(args).map_err(|error| word_launch(&error))
    }

    /// Returns the search for programs of the user, without those of the repository.
    pub fn find_user_programs(&self) -> ProgramSearch {
        let environment = self.environment();
        ProgramSearch::in_variable(environment.get("PATH").unwrap_or_default())
            .with_home(environment.home_dir().as_deref())
            .outside_repository(Some(&self.repository_dir()))
    }
}

fn word_launch(error: &LaunchError) -> EffectError {
    let hint = match error {
        LaunchError::Missing(name) => {
            format!(
                "build it with `cargo build -p {name}`, or install all programs with `cargo xtask install`"
            )
        }
        LaunchError::Version { .. } => {
            "install all programs of one version, as with `cargo xtask install`".to_owned()
        }
        LaunchError::Start { .. } => "see whether the file is a program for this machine".to_owned(),
    };
    EffectError::from_error(Cause::Usage, "program-missing", error).hint(hint)
}

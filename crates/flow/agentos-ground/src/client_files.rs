//! Settings files of agents of other programs, to which the user lets this program add lines.
//!
//! Owns: where such a file is, and the copy of it as it was. Never: decides what is added.

use std::path::PathBuf;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

use crate::Ground;
use crate::error::usage_error;
use crate::own_file::{read_own_text, write_own_text};

/// Code of errors about these files.
const CODE: &str = "client-file";
/// Largest file, in bytes.
const LARGEST: u64 = 4 << 20;
/// End of the name of the copy.
const COPY: &str = ".before-agentos";

impl Ground {
    /// Reads a settings file. A name that begins with `~/` is below the user's home, and any other below the repository. `None` if there
    /// is no file.
    ///
    /// # Errors
    /// If others can change the file, or it cannot be read.
    pub fn read_client_file(&self, name: &str) -> Result<Option<String>, EffectError> {
        read_own_text(self.environment(), &self.find_client_file(name)?, CODE, LARGEST)
    }

    /// Replaces a settings file whose text is still `current`. Returns the path of the copy of the file as it was. `None` if there was no
    /// file.
    ///
    /// # Errors
    /// If the file changed in between, or cannot be written.
    pub fn write_client_file(
        &self,
        name: &str,
        current: Option<&str>,
        text: &str,
    ) -> Result<Option<PathBuf>, EffectError> {
        let path = self.find_client_file(name)?;
        // The agent itself may write its settings at any time.
        if self.read_client_file(name)?.as_deref() != current {
            let message = format!("`{name}` changed while it was being added to");
            return Err(EffectError::new(Cause::Usage, CODE, message).hint("try again"));
        }
        let copy = current.map(|current| {
            let mut copy = path.clone().into_os_string();
            copy.push(COPY);
            let copy = PathBuf::from(copy);
            write_own_text(&copy, current, CODE).map(|()| copy)
        });
        let copy = copy.transpose()?;
        write_own_text(&path, text, CODE)?;
        Ok(copy)
    }

    fn find_client_file(&self, name: &str) -> Result<PathBuf, EffectError> {
        match name.strip_prefix("~/") {
            Some(below) => {
                let home = self.environment().home_dir();
                let home = home.ok_or_else(|| usage_error("there is no home folder").hint("set `HOME`"))?;
                Ok(home.join(below))
            }
            None => Ok(self.repository_dir().join(name)),
        }
    }
}

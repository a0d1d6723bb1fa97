//! The tokens of a running service, as the file has them now.
//!
//! Owns: noticing that the file was replaced. Never: answers from an older file.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use agentos_engine::ports::EffectError;
use agentos_tool::Timestamp;

use super::{FILE, TokenAnswer, TokenTable};
use crate::Ground;
use crate::files::{FileMark, read_mark};

/// The tokens, read again after each change of their file.
#[derive(Debug)]
pub struct TokenWatch {
    ground: Ground,
    path: PathBuf,
    kept: Mutex<Option<(FileMark, TokenTable)>>,
}

impl TokenWatch {
    /// Watches the tokens of a user.
    ///
    /// # Errors
    /// Without a home folder.
    pub fn new(ground: &Ground) -> Result<Self, EffectError> {
        Ok(Self {
            path: ground.service_folder()?.join(FILE),
            ground: ground.clone(),
            kept: Mutex::default(),
        })
    }

    /// Decides what a secret is now.
    pub fn find(&self, secret: &str, now: &Timestamp) -> TokenAnswer {
        let Some(mark) = read_mark(&self.path) else {
            return TokenAnswer::Unknown;
        };
        // The value is replaced in one step, so it is valid even after a panic of another thread.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(known, _)| *known != mark) {
            match self.ground.read_token_table() {
                Ok(table) => *kept = Some((mark, table)),
                Err(error) => {
                    tracing::warn!(code = error.code, "the tokens cannot be read, so each is refused");
                    *kept = None;
                }
            }
        }
        let table = kept.as_ref().map(|(_, table)| table);
        table.map_or(TokenAnswer::Unknown, |table| table.find(secret, now))
    }
}

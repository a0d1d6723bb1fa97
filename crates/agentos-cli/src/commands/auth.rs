//! `agentos tool auth set|status|clear`.
//!
//! Owns: reading a key and saying where one is. Never: prints one.

use crate::app::{App, Done, usage};
use crate::args::tool::{AuthClearArgs, AuthSetArgs};
use crate::exit::Exit;

/// Keeps a key.
pub fn set(_app: &App, args: &AuthSetArgs) -> Done {
    Err(usage(format!("{:?}", args.store)))
}

/// Shows where keys come from.
pub fn status(_app: &App) -> Done {
    Ok(Exit::Done)
}

/// Forgets a key.
pub fn clear(_app: &App, args: &AuthClearArgs) -> Done {
    Err(usage(args.provider.clone()))
}

//! Provider profiles: typed, validated, layered; pure parsing.
//!
//! Owns: what a profile may say, which of several layers wins, and where each value came from. Never: reads a file
//! or the environment, holds a key in a profile, or lets a repository send a person's key elsewhere. Start at
//! [`resolve`].

mod abilities;
mod builtin;
mod environment;
mod error;
mod file;
mod key;
mod models;
mod profile;
mod program;
mod resolve;
mod stack;
mod template;

pub use builtin::builtin;
pub use environment::{EnvNames, env_names};
pub use error::ProfileError;
pub use file::{
    AdapterKind, CapabilitiesFile, HttpFile, LimitField, Mode, ParamsFile, PriceFile, ProfileFile, nearest,
    parse,
};
pub use models::{KnownModel, known_model, known_models, nearest_model};
pub use profile::{KeyUse, Origin, Params, Profile, ProvidedKey, Resolved};
pub use program::{ProgramFile, address};
pub use resolve::{Flags, Layers, resolve};

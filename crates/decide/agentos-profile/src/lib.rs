//! Provider profiles: parsed, validated, and merged from several layers.
//!
//! Owns: the fields of a profile, the order of the layers, and the origin of each value. Never: reads a file or the
//! environment, stores a key in a profile, lets a repository change a provider that the user or the product defines, or send a user's key to
//! another address. Start at
//! [`resolve_profile`].

mod abilities;
mod builtin;
mod environment;
mod error;
mod file;
mod key;
mod models;
mod pool;
mod profile;
mod program;
mod repository;
mod resolve;
mod stack;
mod template;
mod timeouts;

pub use builtin::builtin_profiles;
pub use environment::{EnvNames, env_names};
pub use error::ProfileError;
pub use file::{
    AdapterKind, CapabilitiesFile, HttpFile, LimitField, Mode, ParamsFile, PriceFile, ProfileFile,
    TimeoutsFile, nearest_word, parse_profile,
};
pub use models::{KnownModel, known_model, known_models, nearest_model};
pub use pool::{MemberFile, PoolFile, PoolNotify};
pub use profile::{KeyUse, Origin, Params, Profile, ProvidedKey, ResolvedProfile, Timeouts};
pub use program::{ProgramFile, ToolboxClass, split_address};
pub use repository::{LeftOutFields, ProviderOwner, REPOSITORY_RULES, RepositoryRule};
pub use resolve::{ModelLayer, ProfileLayers, resolve_profile};
pub use stack::ProfileFlags;

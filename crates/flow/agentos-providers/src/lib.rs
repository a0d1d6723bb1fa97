//! What the user can ask: models, programs and toolboxes, and what is known about each.
//!
//! Owns: profiles, settings, adapters made from profiles, the confinement of programs and toolboxes. Never: sends a task or a message.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod added_server;
pub mod approver;
pub mod called_tool;
pub mod check_needs;
pub mod check_presets;
pub mod edit_format;
pub mod key_checks;
pub mod known_tools;
pub mod learned_windows;
pub mod model_name;
pub mod pool_files;
pub mod prices;
pub mod probe;
pub mod profile_file;
pub mod profile_values;
pub mod programs;
pub mod provider_keys;
pub mod server_probe;
pub mod servers;
pub mod session;
pub mod settings;
pub mod sign_in;
pub mod tool_calls;
pub mod tool_notices;
pub mod toolboxes;
pub mod tools;
pub mod user_model_file;
pub mod user_models;

use agentos_ground::Ground;

/// Models, programs and toolboxes that the user has, with settings and keys. Cheap to make for each call.
#[derive(Debug, Clone, Copy)]
pub struct Providers<'a> {
    ground: &'a Ground,
}

impl<'a> Providers<'a> {
    /// Makes the handle of a ground.
    #[must_use]
    pub fn of(ground: &'a Ground) -> Self {
        Self { ground }
    }
}

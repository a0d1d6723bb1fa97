//! Landing as its users see it: the public corpora, the dialects, properties, and the reports.
//!
//! Owns: the in-memory base. Never: touches a repository.

mod dialects;
mod hostile;
mod landing;
mod memory;
mod properties;
mod refusals;

//! Landing as its users see it: the public corpora, properties, and the reports.
//!
//! Owns: the in-memory base. Never: touches a repository.

mod hostile;
mod landing;
mod memory;

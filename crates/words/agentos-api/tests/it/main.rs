//! The published shapes as JSON, read back as they were written.

mod events;
mod reports;

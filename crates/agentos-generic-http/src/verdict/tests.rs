//! The health table.

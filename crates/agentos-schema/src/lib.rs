//! The committed JSON Schemas and validation against them

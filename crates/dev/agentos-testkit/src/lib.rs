//! Test support: temporary repositories, fake servers, recorded fixtures, a redactor; never in a product

pub mod agents;
pub mod browser;
pub mod cli;
pub mod contract;
pub mod disk;
pub mod http;
pub mod keeping;
pub mod landing;
pub mod llama;
pub mod llama_router;
pub mod oddities;
pub mod ports;
pub mod redact;
pub mod repo;
pub mod server;
pub mod sign_in;
pub mod tls;
pub mod wire;

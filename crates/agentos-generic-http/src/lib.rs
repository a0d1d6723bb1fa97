//! The base for local HTTP model servers: request, response and endpoint are hooks

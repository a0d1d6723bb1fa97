//! Keys: keyring first, an owner-only file on request

//! The tape: append-only, hash-chained records, blobs beside it, offline verification

//! Gates: judge the shipped binary from outside and write evidence

//! Signing programs as they are, and as they should not be.

#[cfg(test)]
#[cfg(unix)]
mod programs;

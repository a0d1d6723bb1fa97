//! The agentos command line.
fn main() {}

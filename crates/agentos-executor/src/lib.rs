//! The only writer: reads and writes git, everything or nothing

//! The gate binaries, run as anybody runs them.
//!
//! Owns: proof that each check can fail, and that exactly the right one does. Never: reaches beyond loopback.

// `cfg(test)`: test code through and through, so that helpers may unwrap as tests do.
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod live;
#[cfg(test)]
mod mutants;
#[cfg(test)]
mod real;
#[cfg(test)]
mod rogue;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod verdicts;

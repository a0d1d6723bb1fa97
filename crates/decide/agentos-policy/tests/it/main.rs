//! Policy as its users see it: files in, decisions and approvals out.
//!
//! Owns: the specification by example. Never: reaches into the crate.

#[cfg(test)]
mod agree;
#[cfg(test)]
mod ahead;
#[cfg(test)]
mod approval;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod findings;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod links;
#[cfg(test)]
mod listed;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod model;
#[cfg(test)]
mod names;
#[cfg(test)]
mod presets;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod support;
#[cfg(test)]
mod taken;

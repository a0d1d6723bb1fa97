//! Landing as its users see it: the public corpora, the dialects, properties, and the reports.
//!
//! Owns: the in-memory base. Never: touches a repository.

#[cfg(test)]
mod applied;
#[cfg(test)]
mod authors;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod content;
#[cfg(test)]
mod contradicted;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod dialects;
#[cfg(test)]
mod feedback;
#[cfg(test)]
mod field_cases;
#[cfg(test)]
mod git_directory;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod landing;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod outermost;
#[cfg(test)]
mod partial;
#[cfg(test)]
mod peers;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod sequence;
#[cfg(test)]
mod short_names;
#[cfg(test)]
mod styles;
#[cfg(test)]
mod there;
#[cfg(test)]
mod used;
#[cfg(test)]
mod views;
#[cfg(test)]
mod wide;

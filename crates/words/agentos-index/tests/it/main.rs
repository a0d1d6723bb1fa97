//! Git's index file: edited as git edits it, and refused where it is damaged.

#[cfg(test)]
mod against_git;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod support;

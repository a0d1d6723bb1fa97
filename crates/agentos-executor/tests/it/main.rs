//! The executor against real repositories, with the real git as the judge.

mod content;
mod hostile;
mod land;
mod measure;
#[cfg(test)]
mod read;
#[cfg(test)]
mod recover;
mod refuse;
mod settings;
#[cfg(test)]
mod support;
mod work_tree;

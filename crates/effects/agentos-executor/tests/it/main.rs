//! The executor against real repositories, with the real git as the judge.

#[cfg(test)]
mod codes;
#[cfg(test)]
mod config;
mod content;
#[cfg(test)]
mod copy;
#[cfg(test)]
mod copy_folder;
#[cfg(test)]
mod copy_history;
#[cfg(test)]
mod embedded;
mod filters;
mod hostile;
mod land;
#[cfg(unix)]
mod last_moment;
#[cfg(all(test, unix))]
mod leftovers;
#[cfg(test)]
mod line_ends;
mod measure;
#[cfg(test)]
mod own_work;
mod races;
#[cfg(test)]
mod read;
#[cfg(test)]
mod recover;
mod refuse;
mod settings;
#[cfg(test)]
mod sparse;
#[cfg(test)]
mod support;
#[cfg(test)]
mod unborn;
mod work_tree;

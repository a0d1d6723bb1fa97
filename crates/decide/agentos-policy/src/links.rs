//! The other names of a file: the symbolic links of the base that lead to it.
//!
//! A tool opens `Makefile` and reads `build/rules.txt`, if the one is a link to the other. A rule about `Makefile` must
//! see both names, and the link may be a folder above the file, or lead to another link.
//!
//! ```text
//!   .vscode -> tools/code        tools/code/tasks.json is also `.vscode/tasks.json`
//!   Makefile -> rules, rules -> build/rules.txt        build/rules.txt is also `rules` and `Makefile`
//! ```
//!
//! Owns: where each link leads, and the names that follow from it. Never: reads a tree; the caller lists the links.

use std::collections::{BTreeMap, VecDeque};

use crate::digest::hash_parts;
use crate::glob;

/// Largest number of other names that are compared with rules. A repository whose links multiply can give a file any
/// number of names.
const MOST_NAMES: usize = 500;

/// Largest number of links in one name, and of steps to follow one link. Linux follows 40 links.
const MOST_STEPS: usize = 40;

/// Largest number of parts of a link's target.
const MOST_PARTS: usize = 200;

/// Links of a base, by the place that each leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseLinks {
    /// Paths of links, as written.
    paths: Vec<String>,
    /// Folded path of a file or folder that is no link, and the indices of the links that lead to it.
    by_target: BTreeMap<String, Vec<usize>>,
}

/// The other names of one path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OtherNames {
    /// Names, the shortest chain of links first.
    pub(crate) names: Vec<String>,
    /// True if there are more names than are listed.
    pub(crate) has_more: bool,
}

impl BaseLinks {
    /// Makes the list from pairs of a link's path and its target, as the tree has them.
    pub(crate) fn new(links: &[(String, String)]) -> Self {
        let mut targets: BTreeMap<String, &str> = BTreeMap::new();
        for (path, target) in links {
            targets.insert(glob::fold_name(path), target);
        }
        let mut by_target: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, (path, target)) in links.iter().enumerate() {
            for place in places_of(&glob::fold_name(path), target, &targets) {
                by_target.entry(place).or_default().push(index);
            }
        }
        Self {
            paths: links.iter().map(|(path, _)| path.clone()).collect(),
            by_target,
        }
    }

    /// Returns the names under which a path is reached through links. Empty for nearly every path.
    pub(crate) fn names_of(&self, path: &str) -> OtherNames {
        let mut found = OtherNames::default();
        if self.by_target.is_empty() {
            return found;
        }
        // The shortest chains come first: they are what a person recognises.
        let mut open = VecDeque::from([NameChain {
            place: path.to_owned(),
            rest: String::new(),
            used: Vec::new(),
        }]);
        while let Some(chain) = open.pop_front() {
            for (index, rest) in self.links_above(&chain.place, chain.used.is_empty()) {
                let Some(link) = self.paths.get(index).filter(|_| !chain.used.contains(&index)) else {
                    continue;
                };
                if found.names.len() == MOST_NAMES || chain.used.len() == MOST_STEPS {
                    found.has_more = true;
                    return found;
                }
                let next = NameChain {
                    place: link.clone(),
                    rest: format!("{rest}{}", chain.rest),
                    used: [chain.used.as_slice(), &[index]].concat(),
                };
                found.names.push(format!("{link}{}", next.rest));
                open.push_back(next);
            }
        }
        found
    }

    /// Returns the links that lead to a folder above a path, with the rest of the path, and if `also_itself` those that
    /// lead to the path.
    fn links_above<'a>(
        &'a self,
        path: &'a str,
        also_itself: bool,
    ) -> impl Iterator<Item = (usize, String)> + 'a {
        // Folding keeps the slashes, so that the folded path has the same parts.
        let itself = also_itself.then_some((path, ""));
        let above = path.rmatch_indices('/').map(move |(at, _)| path.split_at(at));
        let places = itself
            .into_iter()
            .chain(above)
            .map(|(place, rest)| (place, rest.to_owned()));
        places
            .chain([("", format!("/{path}"))])
            .flat_map(|(place, rest)| {
                let links = self.by_target.get(&glob::fold_name(place));
                links
                    .into_iter()
                    .flatten()
                    .map(move |index| (*index, rest.clone()))
            })
    }

    /// Returns a digest of a policy together with these links. `None` if there are no links that lead anywhere.
    pub(crate) fn digest_with(&self, policy: &str) -> Option<String> {
        let links = self.by_target.iter().flat_map(|(target, indices)| {
            let paths = indices.iter().filter_map(|index| self.paths.get(*index));
            paths.flat_map(move |path| [target.as_str(), path.as_str()])
        });
        let head = ["agentos base links 1", policy];
        (!self.by_target.is_empty()).then(|| hash_parts(head.into_iter().chain(links)))
    }
}

/// A name on the way: the path of a link, and what follows below it.
struct NameChain {
    place: String,
    rest: String,
    used: Vec<usize>,
}

/// Returns the folded paths to which a link leads, followed through other links. Usually one; none if the link leads
/// out of the repository or in a circle.
///
/// A target outside of the repository can lead into it again: `../NAME/build`, `/proc/self/cwd/build`. Where the
/// repository will be is not known here, so every end of such a target counts. This only adds names.
fn places_of(link: &str, target: &str, targets: &BTreeMap<String, &str>) -> Vec<String> {
    let above = link.rsplit_once('/').map_or("", |(above, _)| above);
    let start = if target.starts_with('/') { "/" } else { above };
    match follow(start, target, targets) {
        Place::Inside(place) => vec![place],
        Place::Outside(rest) => {
            let ends = (0..rest.len()).filter_map(|at| rest.get(at..));
            ends.filter_map(|end| match follow("", &end.join("/"), targets) {
                Place::Inside(place) if !place.is_empty() => Some(place),
                Place::Inside(_) | Place::Outside(_) | Place::Nowhere => None,
            })
            .collect()
        }
        Place::Nowhere => Vec::new(),
    }
}

/// The end of a link.
enum Place {
    Inside(String),
    /// The parts that were left when the target left the repository.
    Outside(Vec<String>),
    Nowhere,
}

/// Follows a target from a folder, part by part, as the operating system does. Names that do not exist count as
/// ordinary ones, since a change may create them.
fn follow(folder: &str, target: &str, targets: &BTreeMap<String, &str>) -> Place {
    let split = |text: &str| -> Vec<String> {
        let parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    // A reversed stack: the next part is the last one.
    let mut open: Vec<String> = split(target);
    open.reverse();
    if folder == "/" {
        return outside(open);
    }
    let mut at = split(folder);
    // The link itself is the first step.
    let mut steps = 1;
    while let Some(part) = open.pop() {
        if part == ".." {
            if at.pop().is_none() {
                return outside(open);
            }
            continue;
        }
        at.push(glob::fold_name(&part));
        let Some(next) = targets.get(&at.join("/")) else {
            continue;
        };
        steps += 1;
        let parts = split(next);
        if steps > MOST_STEPS || open.len() + parts.len() > MOST_PARTS {
            return Place::Nowhere;
        }
        open.extend(parts.into_iter().rev());
        if next.starts_with('/') {
            return outside(open);
        }
        at.pop();
    }
    Place::Inside(at.join("/"))
}

fn outside(mut open: Vec<String>) -> Place {
    open.reverse();
    open.truncate(MOST_PARTS);
    Place::Outside(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(links: &[(&str, &str)], path: &str) -> Vec<String> {
        let links: Vec<_> = links
            .iter()
            .map(|(path, target)| ((*path).to_owned(), (*target).to_owned()))
            .collect();
        BaseLinks::new(&links).names_of(path).names
    }

    #[test]
    fn a_path_has_the_names_of_the_links_that_lead_to_it() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (&[], "a", &[]),
            (
                &[("Makefile", "build/rules.txt")],
                "build/rules.txt",
                &["Makefile"],
            ),
            (&[("Makefile", "build/rules.txt")], "build/rules", &[]),
            (
                &[("Makefile", "Build/Rules.txt")],
                "build/rules.txt",
                &["Makefile"],
            ),
            (&[("a/b", "./../c//d")], "c/d", &["a/b"]),
            // A folder, and a file of it that does not exist yet.
            (
                &[(".vscode", "tools/code/")],
                "tools/code/x/t.json",
                &[".vscode/x/t.json"],
            ),
            // Chains, also through a folder that is itself a link.
            (&[("a", "b"), ("b", "c")], "c", &["a", "b"]),
            (&[("a", "f/x"), ("f", "g")], "g/x", &["a", "f/x"]),
            (
                &[(".vscode", "code"), ("code/tasks.json", "../t.txt")],
                "t.txt",
                &["code/tasks.json", ".vscode/tasks.json"],
            ),
            // `..` after a link is the folder above the link's target.
            (&[("a", "f/../x"), ("f", "g/h")], "g/x", &["a"]),
            // The root as a folder.
            (&[("go/src/me", "../..")], "a/b", &["go/src/me/a/b"]),
            // Out of the repository, and perhaps in again.
            (
                &[("Makefile", "../clone/build/rules.txt")],
                "build/rules.txt",
                &["Makefile"],
            ),
            (
                &[("Makefile", "/proc/self/cwd/rules.txt")],
                "rules.txt",
                &["Makefile"],
            ),
            (&[("x", "/home/me")], "a", &[]),
            (&[("x", "..")], "a", &[]),
        ];
        for (links, path, expected) in cases {
            assert_eq!(names(links, path), *expected, "{links:?} {path}");
        }
    }

    #[test]
    fn loops_end() {
        assert_eq!(names(&[("a", "b"), ("b", "a")], "a"), [""; 0]);
        assert_eq!(names(&[("a", "a/x")], "a/x"), [""; 0]);
        assert_eq!(names(&[("d/l", ".")], "d/x"), ["d/l/x"]);
        let many: Vec<_> = (0..9).map(|at| (format!("l{at}"), ".".to_owned())).collect();
        let found = BaseLinks::new(&many).names_of("x");
        assert_eq!((found.names.len(), found.has_more), (MOST_NAMES, true));
        let deep: Vec<_> = (0..50)
            .map(|at| (format!("c{at}"), format!("c{}", at + 1)))
            .collect();
        let found = BaseLinks::new(&deep).names_of("c50");
        // Linux follows no more than 40 of them either.
        assert_eq!((found.names.len(), found.has_more), (40, false));
    }

    #[test]
    fn the_digest_depends_on_the_links() {
        let digest = |links: &[(&str, &str)]| {
            let links: Vec<_> = links
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect();
            BaseLinks::new(&links).digest_with("policy")
        };
        assert_eq!(digest(&[]), None);
        assert_ne!(digest(&[("a", "b")]), digest(&[("a", "c")]));
        assert_ne!(digest(&[("a", "b")]), digest(&[("d", "b")]));
    }
}

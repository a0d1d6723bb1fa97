//! How rules are compared with a path.
//!
//! Owns: the names of a path, through links too, and the folder of hooks. Never: answers a question.

use super::{PathList, PolicySet};
use crate::digest::hash_parts;
use crate::hooks_path::HooksPath;
use crate::links::BaseLinks;
use crate::question::{LinkedMatch, PathMatch};
use crate::touch::{self, TouchSet};
use crate::{Effect, Touch, glob};

impl PolicySet {
    /// Returns these rules for a repository whose `core.hooksPath` is `value`, relative to its root: every file in
    /// that folder counts as a hook. Returns them unchanged if there is no such setting or the folder lies outside
    /// the repository. The digest covers the folder too, so that a consent is void once the setting changes.
    #[must_use]
    pub fn with_hooks_path(self, value: Option<&str>) -> Self {
        let Some(hooks) = value.and_then(HooksPath::new) else {
            return self;
        };
        let sha256 = hash_parts(["agentos hooks path 1", &self.sha256, hooks.as_str()]);
        Self {
            hooks: Some(hooks),
            sha256,
            ..self
        }
    }

    /// Returns these rules for a base with these symbolic links, each given by its path and its target: a rule that
    /// asks about a link's name or denies it does so for what the link leads to, at any depth. A rule that allows sees
    /// a path's own name only. The digest covers the links, so that answers kept under it are not used with others.
    #[must_use]
    pub fn with_links(self, links: &[(String, String)]) -> Self {
        let links = BaseLinks::new(links);
        let Some(sha256) = links.digest_with(&self.sha256) else {
            return self;
        };
        Self {
            links,
            sha256,
            ..self
        }
    }

    /// Matches a path, by its own name and by those that the links of the base give it.
    pub(crate) fn match_path(&self, path: &str) -> PathMatch {
        self.match_names(path, |folded| self.touches_of(folded))
    }

    /// Matches a path as [`PolicySet::match_path`] does, for rules that ask about no part of a project.
    pub(crate) fn match_globs(&self, path: &str) -> PathMatch {
        self.match_names(path, |_| TouchSet::default())
    }

    fn match_names(&self, path: &str, touches_of: impl Fn(&str) -> TouchSet) -> PathMatch {
        let own = self.match_name(path, &touches_of);
        let others = self.links.names_of(path);
        if others.names.is_empty() {
            return own;
        }
        let (mut hits, mut touches) = (own.hits.clone(), own.touches);
        let mut names = Vec::with_capacity(others.names.len());
        for name in others.names {
            let other = self.match_name(&name, &touches_of);
            for ((hit, other), rule) in hits.iter_mut().zip(&other.hits).zip(&self.rules) {
                // An allow for one name must not open the file under all its names.
                *hit |= *other && rule.effect != Effect::Allow;
            }
            touches = touches.union(other.touches);
            names.push((name, other.hits, other.touches));
        }
        if others.has_more {
            touches = touches.union(TouchSet::of_unknown_names());
        }
        PathMatch {
            hits,
            touches,
            linked: Some(LinkedMatch {
                own_hits: own.hits,
                own_touches: own.touches,
                names,
            }),
        }
    }

    /// Matches one name of a path.
    fn match_name(&self, path: &str, touches_of: impl Fn(&str) -> TouchSet) -> PathMatch {
        let folded = glob::fold_name(path);
        // A rule without `paths` applies to every path until one of its exclusions matches.
        let mut hits: Vec<bool> = self.names_paths.iter().map(|names| !names).collect();
        let mut excluded = Vec::new();
        for glob in self.globs.matching_indices(&folded) {
            match self.owners.get(glob).copied() {
                Some((rule, PathList::Paths)) => set_flag(&mut hits, rule, true),
                Some((rule, PathList::Except)) => excluded.push(rule),
                None => {}
            }
        }
        // Exclusions are applied after all matches: the globs report in an order of their own, and an exclusion that
        // comes first would be overwritten.
        for rule in excluded {
            set_flag(&mut hits, rule, false);
        }
        PathMatch {
            hits,
            touches: touches_of(&folded),
            linked: None,
        }
    }

    /// Returns the parts of a project that a folded name means.
    fn touches_of(&self, folded: &str) -> TouchSet {
        let mut touches = touch::touches_of(folded);
        // The setting is a fact about this repository and cannot be part of the built-in table.
        if self.hooks.as_ref().is_some_and(|hooks| hooks.contains(folded)) {
            touches.insert(Touch::Hooks);
        }
        touches
    }
}

fn set_flag(list: &mut [bool], index: usize, value: bool) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}

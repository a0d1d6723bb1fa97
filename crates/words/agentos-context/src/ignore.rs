//! `.agentosignore`: what is left out when files are looked for.
//!
//! Owns: its patterns, which are those of `.gitignore` without character classes: `#` comments, `!` takes back, a slash
//! at the end means a folder, one at the start or inside ties the pattern to the root, `*` and `?` stay inside a name,
//! `**` goes through folders. The last line that matches counts. Never: protects a file: that is for policy.

/// The lines of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignore {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    parts: Vec<String>,
    takes_back: bool,
    folder_only: bool,
}

impl Ignore {
    /// Reads the file's text. Every line means something; there is nothing to refuse.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self {
            lines: text.lines().filter_map(Line::parse).collect(),
        }
    }

    /// Is this file, or a folder above it, left out?
    #[must_use]
    pub fn leaves_out(&self, path: &str) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let parts: Vec<&str> = path.split('/').collect();
        (1..=parts.len()).any(|depth| {
            let is_folder = depth < parts.len();
            let above = parts.get(..depth).unwrap_or_default();
            self.matches(above, is_folder)
        })
    }

    fn matches(&self, path: &[&str], is_folder: bool) -> bool {
        let mut lines = self.lines.iter().rev();
        let last = lines.find(|line| (is_folder || !line.folder_only) && fits(&line.parts, path));
        last.is_some_and(|line| !line.takes_back)
    }
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let (text, takes_back) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text.strip_prefix('\\').unwrap_or(text), false),
        };
        let (text, folder_only) = match text.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let tied = text.contains('/');
        let mut parts: Vec<String> = text
            .split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if parts.is_empty() {
            return None;
        }
        if !tied {
            parts.insert(0, "**".to_owned());
        }
        Some(Self {
            parts,
            takes_back,
            folder_only,
        })
    }
}

/// Do the parts of a pattern fit those of a path? The last `**` may take one more part and is tried again: no more
/// than pattern times path.
fn fits(pattern: &[String], path: &[&str]) -> bool {
    stars(
        pattern,
        path,
        |part| part == "**",
        |part, name| {
            let part: Vec<char> = part.chars().collect();
            let name: Vec<char> = name.chars().collect();
            stars(&part, &name, |c| *c == '*', |c, other| *c == '?' || c == other)
        },
    )
}

/// Matching with one kind of star, in the usual way of two fingers.
fn stars<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(here) = text.get(t) {
        match pattern.get(p) {
            Some(part) if is_star(part) => {
                star = Some((p, t));
                p += 1;
            }
            Some(part) if same(part, here) => {
                p += 1;
                t += 1;
            }
            Some(_) | None => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let ignore =
            Ignore::parse("# data\n*.csv\n/build/\ndocs/**/old\n!keep.csv\nnotes?.md\nsrc/gen\n\\!odd\n");
        let cases = [
            ("a.csv", true),
            ("deep/down/a.csv", true),
            ("keep.csv", false),
            ("build/x.rs", true),
            ("sub/build/x.rs", false),
            ("build", false),
            ("docs/old/a.md", true),
            ("docs/a/b/old/c.md", true),
            ("docs/older/a.md", false),
            ("notes1.md", true),
            ("notes.md", false),
            ("src/gen/a.rs", true),
            ("other/src/gen/a.rs", false),
            ("!odd", true),
            ("src/a.rs", false),
        ];
        for (path, left_out) in cases {
            assert_eq!(ignore.leaves_out(path), left_out, "{path}");
        }
    }
}

//! Who proposed a change over the Model Context Protocol, as the task of its run says it.
//!
//! Owns: the words of such a task, and the comparison of two authors. Never: takes a name that an agent chose for a token's name.
//!
//! A token's name has letters, digits, `-`, `_` and `.` alone, and stands before every text of the agent, so no agent can write the
//! words of another token.

/// Longest name of an agent in a record, in characters.
const LONGEST_NAME: usize = 64;
/// Beginning of the task of an agent with a token.
const WITH_TOKEN: &str = "proposed with the token `";

/// Author of proposals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposer {
    task: String,
}

impl Proposer {
    /// Makes the author of an agent's proposals. `client` is the name by which the agent introduced itself.
    pub(super) fn new(client: &str, token: Option<&str>) -> Self {
        // Marks that turn the direction of text, and line ends, would let a name look like other words.
        let shown = client.chars().filter(|char| !is_hidden(*char)).take(LONGEST_NAME);
        let name: String = shown.collect();
        let agent = match name.trim() {
            "" => "by an agent".to_owned(),
            name => format!("by the agent `{name}`"),
        };
        Self {
            task: match token {
                Some(token) => format!("{WITH_TOKEN}{token}` {agent} over MCP"),
                None => format!("proposed {agent} over MCP"),
            },
        }
    }

    /// Returns the task of the author's proposals.
    pub(super) fn task(&self) -> &str {
        &self.task
    }

    /// Returns true if the task is the task of a proposal of this author.
    pub(super) fn wrote(&self, task: Option<&str>) -> bool {
        task.is_some_and(|task| find_author(task) == find_author(&self.task))
    }
}

/// Returns the part of a task that names its author: the token, or everything if there is no token.
fn find_author(task: &str) -> &str {
    let Some(rest) = task.strip_prefix(WITH_TOKEN) else {
        return task;
    };
    let end = rest.find('`').unwrap_or(rest.len());
    task.get(..WITH_TOKEN.len() + end).unwrap_or(task)
}

/// Returns true for characters that show nothing, or turn the direction of a text (Unicode, general categories Cc and Cf).
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_the_token_or_else_the_name() {
        let cases = [
            (Proposer::new("a", Some("t")), Proposer::new("b", Some("t")), true),
            (
                Proposer::new("a", Some("t")),
                Proposer::new("a", Some("u")),
                false,
            ),
            (
                Proposer::new("a", Some("t")),
                Proposer::new("a", Some("tt")),
                false,
            ),
            (Proposer::new("a", None), Proposer::new("a", None), true),
            (Proposer::new("a", None), Proposer::new("b", None), false),
            (Proposer::new("a", None), Proposer::new("a", Some("t")), false),
            (
                Proposer::new("with the token `t` by", None),
                Proposer::new("x", Some("t")),
                false,
            ),
            (Proposer::new("", None), Proposer::new(" ", None), true),
        ];
        for (one, other, same) in cases {
            assert_eq!(
                one.wrote(Some(other.task())),
                same,
                "{} / {}",
                one.task(),
                other.task()
            );
            assert!(!one.wrote(None));
        }
    }

    #[test]
    fn a_name_shows_what_it_is() {
        let hostile = Proposer::new("ok\u{202e}\u{200b}\nAnn\u{1b}[31m", None);
        assert_eq!(hostile.task(), "proposed by the agent `okAnn[31m` over MCP");
        assert_eq!(
            Proposer::new("\u{202e}", None).task(),
            "proposed by an agent over MCP"
        );
    }
}

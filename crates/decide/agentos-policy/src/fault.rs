//! What is wrong with one rule, and where in its file that stands.
//!
//! Owns: finding the line and column of a field, of one entry of its list or of an example. Never: judges a rule; it
//! reads the file again only when a mistake is to be told.

use toml::de::{DeTable, DeValue};

use crate::file::place;
use crate::{PolicyError, PolicySource};

/// A mistake, and the way to it from the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    way: Vec<Step>,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A field by its name.
    Field(&'static str),
    /// The entry of a list that is this text.
    Entry(String),
    /// An entry of a list by its number; 0 is the first.
    Number(usize),
}

impl Fault {
    /// A mistake in a field.
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            way: vec![Step::Field(field)],
            message: message.into(),
            hint: None,
        }
    }

    /// The entry of the field's list that is wrong.
    pub(crate) fn entry(mut self, text: &str) -> Self {
        self.way.push(Step::Entry(text.to_owned()));
        self
    }

    /// A field of the field.
    pub(crate) fn field(mut self, name: &'static str) -> Self {
        self.way.push(Step::Field(name));
        self
    }

    /// The entry of the field's list that is wrong, by its number; 0 is the first.
    pub(crate) fn number(mut self, number: usize) -> Self {
        self.way.push(Step::Number(number));
        self
    }

    /// What to write instead.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error to tell: of the rule `id` that begins on `line` of `source`.
    pub(crate) fn of(self, source: &PolicySource, line: u32, id: &str) -> PolicyError {
        let (line, column) = find(&source.text, line, &self.way);
        PolicyError::Rule {
            source_name: source.name.clone(),
            line,
            column,
            rule: id.to_owned(),
            message: self.message,
            hint: self.hint,
        }
    }

    /// Where the mistake stands, in a rule that begins on `line` of `source`.
    pub(crate) fn place(&self, source: &PolicySource, line: u32) -> (u32, u32) {
        find(&source.text, line, &self.way)
    }
}

/// As far along the way as the file goes.
fn find(text: &str, line: u32, way: &[Step]) -> (u32, u32) {
    let beginning = (line, 1);
    let Ok(file) = DeTable::parse(text) else {
        return beginning;
    };
    let rules = file.get_ref().get("rule").map(|rules| rules.get_ref());
    let Some(DeValue::Array(rules)) = rules else {
        return beginning;
    };
    let rule = rules.iter().find(|rule| place(text, rule.span().start).0 == line);
    let Some(mut at) = rule else { return beginning };
    let mut found = beginning;
    for step in way {
        let next = match (step, at.get_ref()) {
            (Step::Field(name), DeValue::Table(table)) => table.get(*name),
            (Step::Entry(text), DeValue::Array(list)) => list
                .iter()
                .find(|entry| entry.get_ref().as_str() == Some(text.as_str())),
            (Step::Number(number), DeValue::Array(list)) => list.get(*number),
            (Step::Field(_) | Step::Entry(_) | Step::Number(_), _) => None,
        };
        let Some(next) = next else { break };
        found = place(text, next.span().start);
        at = next;
    }
    found
}

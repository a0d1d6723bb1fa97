//! A mistake in one rule, and its position in the file.
//!
//! Owns: finding the line and column of a field, of one entry of its list, or of an example. Never: judges a rule.
//! The file is parsed a second time only when there is a mistake to report.

use toml::de::{DeTable, DeValue};

use crate::file::line_and_column;
use crate::{PolicyError, PolicySource};

/// Mistake, with the path that leads to it from the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleFault {
    steps: Vec<FaultStep>,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FaultStep {
    /// Field of a table.
    Field(&'static str),
    /// Entry of a list, by its text.
    Entry(String),
    /// Entry of a list, by its index.
    Number(usize),
}

impl RuleFault {
    /// Describes a mistake in a field.
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            steps: vec![FaultStep::Field(field)],
            message: message.into(),
            hint: None,
        }
    }

    /// Points to an entry of the field's list.
    pub(crate) fn at_entry(mut self, text: &str) -> Self {
        self.steps.push(FaultStep::Entry(text.to_owned()));
        self
    }

    /// Points to a field of the current place.
    pub(crate) fn at_field(mut self, name: &'static str) -> Self {
        self.steps.push(FaultStep::Field(name));
        self
    }

    /// Points to an entry of the field's list by its index.
    pub(crate) fn at_index(mut self, number: usize) -> Self {
        self.steps.push(FaultStep::Number(number));
        self
    }

    /// Adds a suggestion.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Turns the mistake into the error of the rule `id` that begins on `line` of `source`.
    pub(crate) fn into_error(self, source: &PolicySource, line: u32, id: &str) -> PolicyError {
        let (line, column) = find_position(&source.text, line, &self.steps);
        PolicyError::Rule {
            source_name: source.name.clone(),
            line,
            column,
            rule: id.to_owned(),
            message: self.message,
            hint: self.hint,
        }
    }

    /// Returns the line and column of the mistake in a rule that begins on `line` of `source`.
    pub(crate) fn position(&self, source: &PolicySource, line: u32) -> (u32, u32) {
        find_position(&source.text, line, &self.steps)
    }
}

/// Follows the steps through the file, and returns the position of the last one that exists.
fn find_position(text: &str, line: u32, steps: &[FaultStep]) -> (u32, u32) {
    let beginning = (line, 1);
    let Ok(file) = DeTable::parse(text) else {
        return beginning;
    };
    let rules = file.get_ref().get("rule").map(|rules| rules.get_ref());
    let Some(DeValue::Array(rules)) = rules else {
        return beginning;
    };
    // The rule is found by its line and not by its id: two rules may have the same id, which is one of the mistakes
    // reported here.
    let rule = rules
        .iter()
        .find(|rule| line_and_column(text, rule.span().start).0 == line);
    let Some(mut at) = rule else { return beginning };
    let mut found = beginning;
    for step in steps {
        let next = match (step, at.get_ref()) {
            (FaultStep::Field(name), DeValue::Table(table)) => table.get(*name),
            (FaultStep::Entry(text), DeValue::Array(list)) => list
                .iter()
                .find(|entry| entry.get_ref().as_str() == Some(text.as_str())),
            (FaultStep::Number(number), DeValue::Array(list)) => list.get(*number),
            (FaultStep::Field(_) | FaultStep::Entry(_) | FaultStep::Number(_), _) => None,
        };
        // A mistake may be a missing field. Then the position of its parent is the best answer.
        let Some(next) = next else { break };
        found = line_and_column(text, next.span().start);
        at = next;
    }
    found
}

//! What is wrong with a rule as it is written, before it is compiled.
//!
//! Owns: the objections to one rule and their hints. Never: knows the other rules; lint compares them.

use super::{Fault, limits};
use crate::file::{Action, FindingKind, RuleText};
use crate::time::Hours;

/// Finds what makes a rule useless or impossible.
pub(super) fn check(text: &RuleText) -> Result<(), Fault> {
    words(text)?;
    lists(text)?;
    numbers(text)?;
    combinations(text)
}

fn words(text: &RuleText) -> Result<(), Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.id.is_empty() || text.id.len() > 64 || !text.id.chars().all(fits) {
        let hint = "use 1 to 64 letters, digits, `-`, `_` and `.`".to_owned();
        return Err(("the id is not a plain name".to_owned(), Some(hint)));
    }
    if text.why.trim().is_empty() {
        let hint = "say in one sentence what the rule protects; it is shown with every refusal".to_owned();
        return Err(("`why` is empty".to_owned(), Some(hint)));
    }
    Ok(())
}

fn lists(text: &RuleText) -> Result<(), Fault> {
    for (field, len) in [
        ("action", text.action.as_ref().map(Vec::len)),
        ("paths", text.paths.as_ref().map(Vec::len)),
        ("except_paths", text.except_paths.as_ref().map(Vec::len)),
        ("kinds", text.kinds.as_ref().map(Vec::len)),
        ("provider", text.provider.as_ref().map(Vec::len)),
        ("model", text.model.as_ref().map(Vec::len)),
        ("findings", text.findings.as_ref().map(Vec::len)),
        ("touches", text.touches.as_ref().map(Vec::len)),
        ("ecosystems", text.ecosystems.as_ref().map(Vec::len)),
        ("hours", text.hours.as_ref().map(Vec::len)),
        ("weekdays", text.weekdays.as_ref().map(Vec::len)),
    ] {
        if len == Some(0) {
            let hint = "leave it out if it should not matter".to_owned();
            return Err((
                format!("`{field}` is empty, so the rule would never match"),
                Some(hint),
            ));
        }
    }
    let wrong = text
        .hours
        .iter()
        .flatten()
        .find(|hours| Hours::parse(hours).is_none());
    if let Some(hours) = wrong {
        let hint = "write it as `22:00-06:00`, in UTC".to_owned();
        return Err((format!("`{hours}` in `hours` is no part of a day"), Some(hint)));
    }
    Ok(())
}

fn numbers(text: &RuleText) -> Result<(), Fault> {
    if let Some(limit) = limits(text)
        .into_iter()
        .find(|limit| limit.over.zip(limit.max).is_some_and(|(o, m)| o >= m))
    {
        return Err((
            format!("no number is over `over_{0}` and within `max_{0}`", limit.name),
            None,
        ));
    }
    Ok(())
}

/// Conditions that never hold together.
fn combinations(text: &RuleText) -> Result<(), Fault> {
    let path_condition = text.paths.is_some() || text.except_paths.is_some();
    if path_condition && text.action.as_deref() == Some(&[Action::Land]) {
        let hint = "leave out `action`, or use `touches`".to_owned();
        return Err((
            "`land` asks about the change as a whole and has no path".to_owned(),
            Some(hint),
        ));
    }
    let asks_only = |action: Action| text.action.as_deref() == Some(&[action]);
    let needs = |finding: FindingKind| text.findings.as_deref() == Some(&[finding]);
    if needs(FindingKind::OnlyWeakensTests) && !asks_only(Action::Land) {
        let hint = "write `action = [\"land\"]`".to_owned();
        return Err((
            "`only-weakens-tests` is known of the change as a whole only".to_owned(),
            Some(hint),
        ));
    }
    let of_changes = [
        (needs(FindingKind::WeakensTests), "findings"),
        (
            text.max_added.or(text.over_added).is_some(),
            "max_added` or `over_added",
        ),
        (
            text.max_removed.or(text.over_removed).is_some(),
            "max_removed` or `over_removed",
        ),
        (
            text.max_lines.or(text.over_lines).is_some(),
            "max_lines` or `over_lines",
        ),
    ];
    if asks_only(Action::Read)
        && let Some((_, field)) = of_changes.into_iter().find(|(stated, _)| *stated)
    {
        let hint = "`read` knows the path, its findings, the tool and `context_bytes`".to_owned();
        return Err((
            format!("`{field}` says something of a change, and nothing is changed by `read`"),
            Some(hint),
        ));
    }
    Ok(())
}

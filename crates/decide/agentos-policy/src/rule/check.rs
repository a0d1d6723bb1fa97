//! Checks one rule as it is written, before it is compiled.
//!
//! Owns: the objections to one rule and their hints. Never: knows the other rules; `lint` compares them.

use super::number_limits;
use crate::fault::RuleFault;
use crate::file::{Action, FindingKind, RuleText};
use crate::time::HourRange;

/// Checks that a rule can match and says enough.
///
/// # Errors
/// If the rule is impossible or useless.
pub(super) fn check_rule(text: &RuleText) -> Result<(), RuleFault> {
    check_id_and_why(text)?;
    check_lists(text)?;
    check_limits(text)?;
    check_combinations(text)
}

fn check_id_and_why(text: &RuleText) -> Result<(), RuleFault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.id.is_empty() || text.id.len() > 64 || !text.id.chars().all(fits) {
        let hint = "use 1 to 64 letters, digits, `-`, `_` and `.`";
        return Err(RuleFault::new(
            "id",
            "the id has a character that is not allowed, or a wrong length",
        )
        .with_hint(hint));
    }
    if text.why.trim().is_empty() {
        let hint = "say in one sentence what the rule protects; it is shown with every refusal";
        return Err(RuleFault::new("why", "`why` is empty").with_hint(hint));
    }
    Ok(())
}

fn check_lists(text: &RuleText) -> Result<(), RuleFault> {
    for (field, len) in [
        ("action", text.action.as_ref().map(Vec::len)),
        ("paths", text.paths.as_ref().map(Vec::len)),
        ("except_paths", text.except_paths.as_ref().map(Vec::len)),
        ("kinds", text.kinds.as_ref().map(Vec::len)),
        ("provider", text.provider.as_ref().map(Vec::len)),
        ("model", text.model.as_ref().map(Vec::len)),
        ("target_ref", text.target_ref.as_ref().map(Vec::len)),
        ("except_target_ref", text.except_target_ref.as_ref().map(Vec::len)),
        ("findings", text.findings.as_ref().map(Vec::len)),
        ("touches", text.touches.as_ref().map(Vec::len)),
        ("ecosystems", text.ecosystems.as_ref().map(Vec::len)),
        ("hours", text.hours.as_ref().map(Vec::len)),
        ("weekdays", text.weekdays.as_ref().map(Vec::len)),
    ] {
        // An empty list has no safe meaning: read as "no condition" it would widen the rule, read as "nothing" it
        // would silently disable it.
        if len == Some(0) {
            let consequence = if field.starts_with("except_") {
                "it excludes nothing"
            } else {
                "the rule would never match"
            };
            let fault = RuleFault::new(field, format!("`{field}` is empty, so {consequence}"));
            return Err(fault.with_hint("leave it out if it should not matter"));
        }
    }
    let wrong = text
        .hours
        .iter()
        .flatten()
        .find(|hours| HourRange::parse(hours).is_none());
    if let Some(hours) = wrong {
        let fault = RuleFault::new("hours", format!("`{hours}` in `hours` is not a range of times"));
        return Err(fault
            .at_entry(hours)
            .with_hint("write it as `22:00-06:00`, in UTC"));
    }
    Ok(())
}

fn check_limits(text: &RuleText) -> Result<(), RuleFault> {
    let impossible = number_limits(text)
        .into_iter()
        .find(|limit| limit.over.zip(limit.max).is_some_and(|(over, max)| over >= max));
    match impossible {
        None => Ok(()),
        Some(limit) => {
            let message = format!(
                "no number can be more than `over_{0}` and at most `max_{0}`",
                limit.name
            );
            Err(RuleFault::new(limit.max_name, message))
        }
    }
}

/// Checks for conditions that cannot hold together.
fn check_combinations(text: &RuleText) -> Result<(), RuleFault> {
    let path_condition = match (&text.paths, &text.except_paths) {
        (Some(_), _) => Some("paths"),
        (None, Some(_)) => Some("except_paths"),
        (None, None) => None,
    };
    let asks_only = |action: Action| text.action.as_deref() == Some(&[action]);
    if let Some(field) = path_condition
        // A list with other actions is accepted: for those the paths make sense.
        && asks_only(Action::Land)
    {
        let message = "`land` asks about the change as a whole and has no path";
        return Err(RuleFault::new(field, message).with_hint("leave out `action`, or use `touches`"));
    }
    let needs = |finding: FindingKind| text.findings.as_deref() == Some(&[finding]);
    if needs(FindingKind::OnlyWeakensTests) && !asks_only(Action::Land) {
        let message = "`only-weakens-tests` can only be found in a change as a whole";
        return Err(RuleFault::new("findings", message).with_hint("write `action = [\"land\"]`"));
    }
    let of_changes = [
        (needs(FindingKind::WeakensTests), "findings"),
        (needs(FindingKind::GitDirectory), "findings"),
        (text.max_added.is_some(), "max_added"),
        (text.over_added.is_some(), "over_added"),
        (text.max_removed.is_some(), "max_removed"),
        (text.over_removed.is_some(), "over_removed"),
        (text.max_lines.is_some(), "max_lines"),
        (text.over_lines.is_some(), "over_lines"),
        (text.max_bytes.is_some(), "max_bytes"),
        (text.over_bytes.is_some(), "over_bytes"),
        (text.max_old_lines.is_some(), "max_old_lines"),
        (text.over_old_lines.is_some(), "over_old_lines"),
        (text.max_net_removed.is_some(), "max_net_removed"),
        (text.over_net_removed.is_some(), "over_net_removed"),
        (text.max_lost_percent.is_some(), "max_lost_percent"),
        (text.over_lost_percent.is_some(), "over_lost_percent"),
    ];
    // Reading changes nothing, so every number of a change is 0 and such a condition would always or never hold.
    if asks_only(Action::Read)
        && let Some((_, field)) = of_changes.into_iter().find(|(stated, _)| *stated)
    {
        let message = format!("`{field}` is about a change, and `read` changes nothing");
        let hint = "a rule for `read` can use the path, its findings, the tool and `context_bytes`";
        return Err(RuleFault::new(field, message).with_hint(hint));
    }
    Ok(())
}

//! Decisions and rules, as text for people.
//!
//! Owns: the tree, the lists and their wording. Never: shows untrusted text unescaped.

use agentos_host::{
    Decision, DefaultState, Effect, ExplainedQuestion, Explanation, Layer, LintAdvice, PolicySet, RuleRef,
};

use super::outcome::paint_effect;
use crate::escape;
use crate::printer::{paint, style};
use agentos_host::TestedFile;

/// Returns a decision with its reasons and remedies.
pub fn format_decision(decision: &Decision) -> String {
    format!("{}\n", escape::block(&decision.explanation()))
}

/// Returns the message that the rules can be used.
pub fn format_usable(set: &PolicySet) -> String {
    let count = set.rules().len();
    format!(
        "{} {count} rules are active\n{}",
        paint(style::GOOD, "fine:"),
        format_presets(set)
    )
}

/// Returns the presets that are active, and why `default` is, or is not, among them.
pub fn format_presets(set: &PolicySet) -> String {
    let line = |(layer, preset): (Layer, &str)| match preset {
        "none" => format!("  the {} policy has only its own rules\n", layer.as_str()),
        preset => format!(
            "  the {} policy is based on the preset `{preset}`\n",
            layer.as_str()
        ),
    };
    let standings = set.layer_presets().iter();
    let mut out: String = standings
        .map(|one| line((one.layer, one.preset.as_str())))
        .collect();
    out.push_str(match set.default_state() {
        DefaultState::InForce => "",
        DefaultState::NotAgreed => {
            "  the preset `default` stays active, because you did not agree to the repository's policy (`agentos trust`)\n"
        }
        DefaultState::ReplacedByMachine => "  the machine's policy replaces the preset `default`\n",
        DefaultState::ReplacedByUser => "  your policy replaces the preset `default`\n",
        DefaultState::ReplacedByRepository => {
            "  the repository's policy replaces the preset `default`, because you agreed to its text\n"
        }
    });
    out
}

/// Returns a decision as a tree.
pub fn format_tree(explanation: &Explanation) -> String {
    let tool = &explanation.tool;
    let mode = serde_word(&tool.execution_mode);
    let held = serde_word(&tool.enforcement);
    let model = tool
        .model
        .as_deref()
        .map(|model| format!(" {}", escape::line(model)))
        .unwrap_or_default();
    let target = tool
        .target_ref
        .as_deref()
        .map(|target| format!(", on {}", escape::line(target)))
        .unwrap_or_default();
    let mut out = format!(
        "{} for {}{model} ({mode}, {held}, attempt {}, {} bytes of context, {}{target})\n",
        paint_effect(explanation.decision.effect()),
        escape::line(&tool.provider),
        tool.attempt,
        tool.context_bytes,
        tool.at,
    );
    for question in &explanation.questions {
        out.push_str(&self::format_question(question));
    }
    out
}

fn format_question(question: &ExplainedQuestion) -> String {
    let path = question
        .path
        .as_deref()
        .map_or_else(|| "the change".to_owned(), escape::line);
    let mut out = format!(
        "├─ {} {} {path}\n│  facts: {}\n",
        paint_effect(question.answer),
        question.action.as_str(),
        format_facts(question)
    );
    for rule in &question.matched {
        out.push_str(&format!(
            "│  ├─ {} {}\n",
            paint_effect(rule.effect),
            format_rule_ref(rule)
        ));
        out.push_str(&format!("│  │    {}\n", escape::line(&rule.why)));
        if let Some(fix) = &rule.fix {
            out.push_str(&format!(
                "│  │    {} {}\n",
                paint(style::BOLD, "fix:"),
                escape::line(fix)
            ));
        }
    }
    for layer in &question.unanswered {
        let say = format!(
            "│  ├─ {} no rule of the {} policy allows it\n",
            paint_effect(Effect::Deny),
            layer.as_str()
        );
        out.push_str(&say);
    }
    for near in &question.nearly {
        out.push_str(&format!(
            "│  ├─ {} {} {}\n│  │    {}\n",
            paint(style::DIM, "nearly"),
            near.rule.effect.as_str(),
            format_rule_ref(&near.rule),
            escape::line(&near.missing)
        ));
    }
    out
}

fn format_facts(question: &ExplainedQuestion) -> String {
    let facts = &question.facts;
    let mut words = vec![format!("+{} -{}", facts.added, facts.removed)];
    if question.path.is_none() {
        let paths = if facts.files == 1 { "path" } else { "paths" };
        words.push(format!("{} {paths}, {} deleted", facts.files, facts.deleted));
    }
    for (name, list) in [
        ("kinds", &facts.kinds),
        ("touches", &facts.touches),
        ("findings", &facts.findings),
    ] {
        if !list.is_empty() {
            words.push(format!("{name} {}", list.join(", ")));
        }
    }
    words.join("; ")
}

fn format_rule_ref(rule: &RuleRef) -> String {
    let place = format!(
        "({} {}:{})",
        rule.layer.as_str(),
        escape::line(&rule.source),
        rule.line
    );
    format!("{} {}", escape::line(&rule.rule), paint(style::DIM, &place))
}

/// Returns every rule, grouped by source.
pub fn format_rules(set: &PolicySet, origin: bool) -> String {
    let mut out = format_presets(set);
    for rule in set.rules() {
        let without = if rule.counts() {
            ""
        } else {
            " (no effect: its layer names no preset)"
        };
        let rule_ref = rule.to_rule_ref();
        let at = if origin {
            format_rule_ref(&rule_ref)
        } else {
            escape::line(&rule_ref.rule)
        };
        out.push_str(&format!(
            "{} {at}{without}\n  {}\n",
            paint_effect(rule_ref.effect),
            escape::line(&rule_ref.why)
        ));
    }
    out
}

/// Returns each policy file with the results of its examples.
pub fn format_tests(files: &[TestedFile]) -> String {
    let line = |file: &TestedFile| {
        let source = escape::line(&file.source);
        format!(
            "{} {source}: {} matched and {} did not match, as expected\n",
            paint(style::GOOD, "ok"),
            file.matched,
            file.not_matched
        )
    };
    files.iter().map(line).collect()
}

/// Returns each piece of advice with its fix.
pub fn format_advice(list: &[LintAdvice]) -> String {
    let line = |one: &LintAdvice| {
        format!(
            "{} {}: {}\n  {} {}\n",
            paint(style::WARN, one.topic.as_str()),
            format_rule_ref(&one.rule),
            escape::line(&one.message),
            paint(style::BOLD, "fix:"),
            escape::line(&one.fix)
        )
    };
    list.iter().map(line).collect()
}

/// Returns an enum value as JSON writes it.
fn serde_word<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

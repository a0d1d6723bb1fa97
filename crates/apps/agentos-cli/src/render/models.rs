//! Known models as text for people.
//!
//! Owns: the tables. Never: looks a model up.

use agentos_host::{CatalogRow, ListedModel, ModelList, PriceSpan, SilentProvider, SkippedEntry};
use agentos_tool::{Ability, TokenPrice};

use super::format_columns;
use crate::escape;

/// Returns a table of limits and abilities.
pub fn format_limits(models: &[ListedModel]) -> String {
    let mut rows = vec![
        ["MODEL", "API", "CONTEXT", "ANSWER", "CAN"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(models.iter().map(|model| {
        vec![
            escape::line(&model.id),
            model.api.as_str().to_owned(),
            or_dash(model.context_window),
            or_dash(model.max_output),
            sure_abilities(model),
        ]
    }));
    format_columns(&rows)
}

/// Returns a table of prices in US dollars per million tokens, with the span where tables disagree.
pub fn format_prices(list: &ModelList) -> String {
    let mut rows = vec![
        ["MODEL", "PROMPT", "CACHED", "ANSWER", "STATED BY"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(list.models.iter().map(|model| {
        let price = model.price.as_ref();
        let stating = model
            .rows
            .iter()
            .filter(|row| row.input.is_some() && row.output.is_some());
        let mut stating: Vec<&str> = stating.map(|row| row.source.as_str()).collect();
        // Prices of a table have their rows; others, such as the user's own, have their source alone.
        if let ([], Some(source)) = (stating.as_slice(), model.origins.get("price")) {
            stating.push(source);
        }
        vec![
            escape::line(&model.id),
            price_or_span(price.and_then(|price| price.input), model.input_span),
            or_dash(price.and_then(|price| price.cached)),
            price_or_span(price.and_then(|price| price.output), model.output_span),
            match stating.is_empty() {
                true => "-".to_owned(),
                false => escape::line(&stating.join(", ")),
            },
        ]
    }));
    let note = "\nUS dollars per million tokens. Of a span, the price that most tables state is used, else the highest.\n";
    format_columns(&rows) + note
}

/// Returns one model with what each table says about its prices.
pub fn format_model(found: &ModelList) -> String {
    let Some(model) = found.models.first() else {
        return String::new();
    };
    let most = match (model.max_output, model.built_in) {
        (Some(most), _) => most.to_string(),
        (None, true) => "the server's own".to_owned(),
        (None, false) => "unknown".to_owned(),
    };
    let window = model.context_window;
    // Every value states its source, except where the rows of the tables follow below.
    let sourced = |field: &str, value: String| match model.origins.get(field) {
        Some(origin) if model.own => format!("{value} ({origin})"),
        Some(_) | None => value,
    };
    let mut rows = vec![
        ("id", model.id.clone()),
        ("provider", model.provider.clone()),
        ("model name", model.name.clone()),
        ("api", model.api.as_str().to_owned()),
        (
            "context",
            window.map_or_else(
                || "unknown".to_owned(),
                |tokens| sourced("context_window", format!("{tokens} tokens")),
            ),
        ),
        ("longest answer", sourced("max_output", most)),
    ];
    let fields = ["tools", "vision", "json_mode", "reasoning"];
    for ((name, ability), field) in all_abilities(model).into_iter().zip(fields) {
        let word = match ability {
            Ability::Yes => "yes",
            Ability::No => "no",
            Ability::Unknown => "unknown",
        };
        rows.push((name, sourced(field, word.to_owned())));
    }
    for (key, value) in &model.abilities {
        rows.push((key, sourced(key, value.clone())));
    }
    if let Some(price) = &model.price {
        let text = describe_prices(price.input, price.cached, price.cache_write, price.output);
        rows.push(("price", sourced("price", text)));
        for long in &price.above {
            let text = describe_prices(long.input, long.cached, long.cache_write, long.output);
            rows.push((
                "",
                format!("{text}, if the prompt has more than {} tokens", long.tokens),
            ));
        }
    } else {
        rows.push(("price", "unknown".to_owned()));
    }
    for row in &model.rows {
        let source = found.sources.iter().find(|source| source.name == row.source);
        let date = source.map_or("", |source| source.date.as_str());
        rows.push(("stated by", describe_row(row, date)));
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), escape::line(&value)])
        .collect();
    format_columns(&rows)
}

/// Returns the servers that did not say which models they have, one on a line.
pub fn format_silent(silent: &[SilentProvider]) -> String {
    let line = |provider: &SilentProvider| {
        format!(
            "{} did not say which models it has: {} ({})",
            escape::line(&provider.provider),
            escape::line(&provider.details),
            provider.status
        )
    };
    let lines: Vec<String> = silent.iter().map(line).collect();
    lines.join("\n")
}

/// Returns the entries of a table that were not taken, one on a line.
pub fn format_skipped(skipped: &[SkippedEntry]) -> String {
    /// Number of entries that are shown: a table of another form could have thousands.
    const SHOWN: usize = 20;
    let line = |entry: &SkippedEntry| {
        format!(
            "skipped {}: {}",
            escape::line(&entry.entry),
            escape::line(&entry.reason)
        )
    };
    let mut lines: Vec<String> = skipped.iter().take(SHOWN).map(line).collect();
    if skipped.len() > SHOWN {
        lines.push(format!(
            "and {} others; `--json` lists them all",
            skipped.len() - SHOWN
        ));
    }
    lines.join("\n")
}

/// Describes what a table says about prices.
fn describe_row(row: &CatalogRow, date: &str) -> String {
    let prices = describe_prices(row.input, row.cached, row.cache_write, row.output);
    let hash = row.sha256.get(..12).unwrap_or_default();
    format!("{} {date}: {prices} (row {hash})", row.source)
}

/// Describes prices in one line.
fn describe_prices(
    input: Option<TokenPrice>,
    cached: Option<TokenPrice>,
    cache_write: Option<TokenPrice>,
    output: Option<TokenPrice>,
) -> String {
    let named = [
        ("prompt", input),
        ("cached", cached),
        ("cache write", cache_write),
        ("answer", output),
    ];
    let known = named
        .into_iter()
        .filter_map(|(name, price)| Some(format!("{name} ${}", price?)));
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => "no price".to_owned(),
        false => format!("{} per million tokens", known.join(", ")),
    }
}

fn price_or_span(price: Option<TokenPrice>, span: Option<PriceSpan>) -> String {
    match span {
        Some(span) => format!("{} to {}", span.low, span.high),
        None => or_dash(price),
    }
}

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn all_abilities(model: &ListedModel) -> [(&'static str, Ability); 4] {
    [
        ("tools", model.tools),
        ("vision", model.vision),
        ("json", model.json_mode),
        ("reasoning", model.reasoning),
    ]
}

/// Returns the names of the capabilities that the model certainly has.
fn sure_abilities(model: &ListedModel) -> String {
    let sure = all_abilities(model)
        .into_iter()
        .filter(|(_, ability)| *ability == Ability::Yes);
    let names: Vec<&str> = sure.map(|(name, _)| name).collect();
    names.join(", ")
}

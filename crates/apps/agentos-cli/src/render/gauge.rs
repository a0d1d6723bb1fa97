//! The window of a conversation as a bar.
//!
//! Owns: its layout. Never: measures a window; `agentos-window` does.

use agentos_host::WindowGauge;

/// Narrowest bar.
const NARROWEST: usize = 20;
/// Widest bar. A wider one shows no more.
const WIDEST: usize = 100;

/// Returns the window with a line for each part: a letter marks the part in the bar, so that no color is needed.
pub fn format_gauge(gauge: &WindowGauge, width: usize) -> Vec<String> {
    let parts = [
        ('s', "system prompt", gauge.system),
        ('p', "pinned texts", gauge.pins),
        ('t', "tools", gauge.tools),
        ('y', "summary", gauge.summary),
        ('m', "messages", gauge.messages),
        ('.', "free", gauge.free),
        ('a', "kept for the answer", gauge.reserve),
    ];
    let all = parts.iter().map(|(_, _, tokens)| tokens).sum::<u64>().max(1);
    let columns = width.saturating_sub(2).clamp(NARROWEST, WIDEST);
    let mut bar = String::from("[");
    let (mut tokens_before, mut drawn) = (0_u64, 0);
    for (letter, _, tokens) in parts {
        tokens_before = tokens_before.saturating_add(tokens);
        let end = scale(tokens_before, all, columns);
        // A part that is there gets a letter, however small it is, as long as there is room.
        let end = match tokens {
            0 => drawn,
            _ => end.max(drawn + 1).min(columns),
        };
        bar.extend(std::iter::repeat_n(letter, end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    bar.push(']');
    let mut lines = vec![
        format!(
            "window of {} tokens, {} % full",
            gauge.window.tokens,
            gauge.filled_percent()
        ),
        bar,
    ];
    let digits = parts.iter().map(|(_, _, tokens)| tokens.to_string().len()).max();
    let digits = digits.unwrap_or(0);
    let shown = parts.iter().filter(|(_, _, tokens)| *tokens > 0);
    lines.extend(shown.map(|(letter, name, tokens)| format!("  {letter} {tokens:>digits$}  {name}")));
    lines
}

/// Returns the columns of a number of tokens.
fn scale(tokens: u64, all: u64, columns: usize) -> usize {
    let columns = u128::try_from(columns).unwrap_or(0);
    let scaled = u128::from(tokens) * columns / u128::from(all);
    usize::try_from(scaled).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_letter() {
        let gauge: WindowGauge = serde_json::from_value(serde_json::json!({
            "window": { "tokens": 32_000, "source": "profile" }, "system": 12, "pins": 0, "tools": 1_800, "summary": 640,
            "messages": 9_000, "reserve": 8_000, "free": 12_548,
        }))
        .unwrap();
        insta::assert_snapshot!(format_gauge(&gauge, 60).join("\n"), @r#"
        window of 32000 tokens, 47 % full
        [sttymmmmmmmmmmmmmmmm.......................aaaaaaaaaaaaaaa]
          s    12  system prompt
          t  1800  tools
          y   640  summary
          m  9000  messages
          . 12548  free
          a  8000  kept for the answer
        "#);
        insta::assert_snapshot!(format_gauge(&gauge, 120).join("\n"), @r#"
        window of 32000 tokens, 47 % full
        [sttttyymmmmmmmmmmmmmmmmmmmmmmmmmmmm........................................aaaaaaaaaaaaaaaaaaaaaaaaa]
          s    12  system prompt
          t  1800  tools
          y   640  summary
          m  9000  messages
          . 12548  free
          a  8000  kept for the answer
        "#);
    }
}

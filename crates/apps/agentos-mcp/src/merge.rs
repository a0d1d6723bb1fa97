//! Adds the service to the settings of an agent, and keeps everything else in the file, byte by byte.
//!
//! Owns: where the new lines go in JSON with comments, TOML and YAML. Never: reads or writes a file, or changes a line that is there.
//!
//! The formats are not parsed into values and written again: that would lose comments, order and spacing of the user. Text is only
//! inserted, at a place that a scan of the outer two levels finds.

use serde_json::Value;

use crate::clients::{ClientKind, describe_client};

/// Name of the entry.
const NAME: &str = "agentos";

/// Reason why a file cannot be added to. The user adds the lines by hand then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeFault {
    /// The file is not in the format that the agent reads, or the place in it is written in a way that is not understood.
    #[error("the file is written in a way that this program does not add to: {0}")]
    Unclear(&'static str),
}

/// Settings of an agent after the service was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSettings {
    /// Whole text of the file.
    pub text: String,
    /// Lines that are new, in the order of the file.
    pub added: Vec<String>,
}

/// Adds the service to the text of an agent's settings file. `None` if it has an entry of that name already.
///
/// # Errors
/// If the place in the file is written in a way that is not understood.
pub fn merge_settings(
    client: ClientKind,
    program: &str,
    current: Option<&str>,
) -> Result<Option<MergedSettings>, MergeFault> {
    let fresh = describe_client(client, program).text;
    let Some(current) = current.filter(|text| !text.trim().is_empty()) else {
        return Ok(Some(MergedSettings {
            added: fresh.lines().map(str::to_owned).collect(),
            text: fresh,
        }));
    };
    let merged = match client {
        ClientKind::Codex => append_table(current, &fresh)?,
        ClientKind::Goose => insert_block(current, &fresh)?,
        ClientKind::ClaudeCode => insert_members(current, &fresh, "mcpServers")?,
        ClientKind::Zed => insert_members(current, &fresh, "context_servers")?,
        ClientKind::OpenCode => insert_members(current, &fresh, "mcp")?,
        ClientKind::VsCode => insert_members(current, &fresh, "servers")?,
    };
    Ok(merged)
}

/// Inserts these lines at a position of the text, which is the end of a line or directly behind a bracket.
fn insert_at(current: &str, at: usize, lines: &str) -> Option<MergedSettings> {
    let (before, after) = (current.get(..at)?, current.get(at..)?);
    Some(MergedSettings {
        text: format!("{before}{lines}{after}"),
        added: lines
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// Adds a table at the end of a TOML file, which is always a valid place.
fn append_table(current: &str, fresh: &str) -> Result<Option<MergedSettings>, MergeFault> {
    let lines = || current.lines().map(str::trim);
    if lines().any(|line| line.starts_with("[mcp_servers.agentos]")) {
        return Ok(None);
    }
    // After a key of this name outside of a table, TOML refuses a table of the same name.
    if lines().any(|line| line.starts_with("mcp_servers")) {
        return Err(MergeFault::Unclear("it sets `mcp_servers` without a table"));
    }
    let gap = if current.ends_with('\n') { "\n" } else { "\n\n" };
    Ok(insert_at(current, current.len(), &format!("{gap}{fresh}")))
}

/// Adds a block below `extensions:` of a YAML file.
fn insert_block(current: &str, fresh: &str) -> Result<Option<MergedSettings>, MergeFault> {
    if !current.lines().any(|line| line.starts_with("extensions")) {
        let gap = if current.ends_with('\n') { "" } else { "\n" };
        return Ok(insert_at(current, current.len(), &format!("{gap}{fresh}")));
    }
    let head = "extensions:\n";
    let start = match (current.starts_with(head), current.find("\nextensions:\n")) {
        (true, _) => 0,
        (false, Some(at)) => at + 1,
        (false, None) => return Err(MergeFault::Unclear("`extensions` is not a block of lines")),
    };
    let at = start + head.len();
    let rest = current.get(at..).unwrap_or_default();
    let next = rest
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let indent = next.len() - next.trim_start().len();
    // Members of one block have one indentation.
    if indent != 0 && indent != 2 {
        return Err(MergeFault::Unclear("its blocks are not indented by two spaces"));
    }
    let block = rest
        .lines()
        .take_while(|line| line.trim().is_empty() || line.starts_with(' '));
    if block.clone().any(|line| line.trim_end() == format!("  {NAME}:")) {
        return Ok(None);
    }
    let added = fresh.strip_prefix(head).unwrap_or(fresh);
    Ok(insert_at(current, at, added))
}

/// Object of a JSON text, by the position behind its opening bracket.
struct FoundObject {
    start: usize,
    /// Names of the members, with the positions of their values.
    members: Vec<(String, usize)>,
}

/// Adds a member to an object of the outer object, which is added itself if it is missing.
fn insert_members(current: &str, fresh: &str, outer: &str) -> Result<Option<MergedSettings>, MergeFault> {
    let unclear = MergeFault::Unclear("it is no JSON object");
    let fresh: Value = serde_json::from_str(fresh).map_err(|_| unclear.clone())?;
    let entry = fresh.get(outer).and_then(|servers| servers.get(NAME)).cloned();
    let entry = entry.ok_or_else(|| unclear.clone())?;
    let start = skip_blank(current, 0);
    let root = scan_object(current, start).ok_or_else(|| unclear.clone())?;
    let place = root.members.iter().find(|(name, _)| name == outer);
    let (at, lines) = match place {
        None => {
            let whole = serde_json::json!({ NAME: entry });
            (
                root.start,
                write_member(outer, &whole, 1, root.members.is_empty()),
            )
        }
        Some((_, value)) => {
            let servers = scan_object(current, *value);
            let servers = servers.ok_or(MergeFault::Unclear("its servers are not an object"))?;
            if servers.members.iter().any(|(name, _)| name == NAME) {
                return Ok(None);
            }
            let is_last = servers.members.is_empty();
            (servers.start, write_member(NAME, &entry, 2, is_last))
        }
    };
    Ok(insert_at(current, at, &lines))
}

/// Writes a member as lines, indented for its level, with a comma unless it is the last one.
fn write_member(name: &str, value: &Value, level: usize, is_last: bool) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let indent = "  ".repeat(level);
    let text = text.replace('\n', &format!("\n{indent}"));
    // The bracket that closes the object follows on a line of its own.
    let end = match is_last {
        true => format!("\n{}", "  ".repeat(level - 1)),
        false => ",".to_owned(),
    };
    format!("\n{indent}\"{name}\": {text}{end}")
}

/// Returns the position behind white space and comments.
fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        let comment = match (trimmed.starts_with("//"), trimmed.starts_with("/*")) {
            (true, _) => trimmed.find('\n').unwrap_or(trimmed.len()),
            (_, true) => trimmed.find("*/").map_or(trimmed.len(), |end| end + 2),
            (false, false) => return at,
        };
        at += comment;
    }
}

/// Returns the position behind a text in quotes. `None` if it does not end.
fn skip_text(text: &str, at: usize) -> Option<usize> {
    let mut is_escaped = false;
    for (offset, char) in text.get(at + 1..)?.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + offset + 2),
            _ => {}
        }
    }
    None
}

/// Returns the position behind a value. `None` if it does not end.
fn skip_value(text: &str, at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0_usize);
    loop {
        at = skip_blank(text, at);
        match text.get(at..)?.chars().next()? {
            '"' => at = skip_text(text, at)?,
            '{' | '[' => {
                depth += 1;
                at += 1;
            }
            '}' | ']' if depth == 0 => return Some(at),
            '}' | ']' => {
                depth -= 1;
                at += 1;
            }
            ',' if depth == 0 => return Some(at),
            char => at += char.len_utf8(),
        }
    }
}

/// Reads the members of the object that begins here. `None` if there is none.
fn scan_object(text: &str, at: usize) -> Option<FoundObject> {
    text.get(at..)?.strip_prefix('{')?;
    let mut found = FoundObject {
        start: at + 1,
        members: Vec::new(),
    };
    let mut at = skip_blank(text, at + 1);
    loop {
        match text.get(at..)?.chars().next()? {
            '}' => return Some(found),
            ',' => at = skip_blank(text, at + 1),
            '"' => {
                let end = skip_text(text, at)?;
                let name = text.get(at + 1..end - 1)?.to_owned();
                let colon = skip_blank(text, end);
                text.get(colon..)?.strip_prefix(':')?;
                let value = skip_blank(text, colon + 1);
                found.members.push((name, value));
                at = skip_value(text, value)?;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(client: ClientKind, current: &str) -> String {
        match merge_settings(client, "agentos", Some(current)) {
            Ok(Some(merged)) => {
                // Every line that was there is still there, in its order.
                let mut lines = merged.text.lines();
                for line in current
                    .lines()
                    .map(str::trim)
                    .filter(|line| *line != "{}" && !line.contains(": {}"))
                {
                    assert!(lines.any(|found| found.contains(line)), "{line}\n{}", merged.text);
                }
                // A second time changes nothing.
                assert_eq!(merge_settings(client, "agentos", Some(&merged.text)), Ok(None));
                merged.text
            }
            Ok(None) => "already there".to_owned(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let cases = [
            (ClientKind::ClaudeCode, "{}"),
            (
                ClientKind::ClaudeCode,
                "{\n  // mine\n  \"mcpServers\": {\n    \"x\": { \"command\": \"a } b\" } // note\n  },\n}\n",
            ),
            (
                ClientKind::Zed,
                "/* Zed */\n{\n  \"theme\": \"One {\",\n  \"a\": [1, { \"context_servers\": 2 }]\n}\n",
            ),
            (ClientKind::VsCode, "{ \"servers\": {} }\n"),
            (
                ClientKind::Codex,
                "model = \"o\"\n\n[mcp_servers.other]\ncommand = \"x\"",
            ),
            (
                ClientKind::Goose,
                "GOOSE_MODE: auto\nextensions:\n  developer:\n    enabled: true\nlast: 1\n",
            ),
            (ClientKind::Goose, "GOOSE_MODE: auto\n"),
        ];
        let shown = cases.map(|(client, current)| merge(client, current));
        insta::assert_snapshot!(shown.join("\n=====\n"), @r#"
        {
          "mcpServers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "agentos"
            }
          }
        }
        =====
        {
          // mine
          "mcpServers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "agentos"
            },
            "x": { "command": "a } b" } // note
          },
        }

        =====
        /* Zed */
        {
          "context_servers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "agentos",
              "env": {}
            }
          },
          "theme": "One {",
          "a": [1, { "context_servers": 2 }]
        }

        =====
        { "servers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "agentos",
              "type": "stdio"
            }
          } }

        =====
        model = "o"

        [mcp_servers.other]
        command = "x"

        [mcp_servers.agentos]
        command = "agentos"
        args = ["mcp"]

        =====
        GOOSE_MODE: auto
        extensions:
          agentos:
            enabled: true
            type: stdio
            name: agentos
            cmd: "agentos"
            args: [mcp]
            timeout: 300
          developer:
            enabled: true
        last: 1

        =====
        GOOSE_MODE: auto
        extensions:
          agentos:
            enabled: true
            type: stdio
            name: agentos
            cmd: "agentos"
            args: [mcp]
            timeout: 300
        "#);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for (client, current) in [
            (ClientKind::ClaudeCode, "[]"),
            (ClientKind::ClaudeCode, "{ \"mcpServers\": "),
            (ClientKind::ClaudeCode, "{ \"mcpServers\": 1 }"),
            (ClientKind::ClaudeCode, "mcpServers: {}"),
            (ClientKind::Codex, "mcp_servers = { a = 1 }\n"),
            (ClientKind::Goose, "extensions: {}\n"),
            (ClientKind::Goose, "extensions:\n    deep:\n"),
        ] {
            let merged = merge_settings(client, "agentos", Some(current));
            assert!(
                matches!(merged, Err(MergeFault::Unclear(_))),
                "{current}: {merged:?}"
            );
        }
    }
}

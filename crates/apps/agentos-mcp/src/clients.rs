//! Settings of agents that start the service: the file of each, its format, and how to take the agent's own write tools away.
//!
//! Owns: these facts, with their sources. Never: writes a file.

use serde_json::json;

/// Agent that can start the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Zed.
    Zed,
    /// Goose.
    Goose,
    /// OpenCode.
    OpenCode,
    /// Visual Studio Code.
    VsCode,
}

/// Settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    /// File of the settings, as its user knows it.
    pub file: &'static str,
    /// Text to add to that file.
    pub text: String,
    /// Advice on taking the agent's own write tools away, without which it can still write.
    pub advice: &'static str,
}

/// Describes the settings of an agent that starts `program`, the path or name of this program.
#[must_use]
pub fn describe_client(client: ClientKind, program: &str) -> ClientSettings {
    match client {
        // code.claude.com/docs/en/mcp, "Project scope", and /docs/en/settings, "Permission settings".
        ClientKind::ClaudeCode => ClientSettings {
            file: ".mcp.json",
            text: pretty(&json!({ "mcpServers": { "agentos": { "command": program, "args": ["mcp"] } } })),
            advice: "in `.claude/settings.json`, deny its own tools: \
                     {\"permissions\": {\"deny\": [\"Edit\", \"Write\", \"NotebookEdit\", \"Bash\"]}}",
        },
        // developers.openai.com/codex/mcp, and /codex/security: `sandbox_mode`.
        ClientKind::Codex => ClientSettings {
            file: "~/.codex/config.toml",
            text: format!(
                "[mcp_servers.agentos]\ncommand = {}\nargs = [\"mcp\"]\n",
                json!(program)
            ),
            advice: "start it as `codex --sandbox read-only`, or set sandbox_mode = \"read-only\" in the same file",
        },
        // zed.dev/docs/ai/mcp, "As Custom Servers", and /docs/ai/agent-panel, "Profiles".
        ClientKind::Zed => ClientSettings {
            file: "~/.config/zed/settings.json",
            text: pretty(
                &json!({ "context_servers": { "agentos": { "command": program, "args": ["mcp"], "env": {} } } }),
            ),
            advice: "use the profile `Ask`, or one of your own without edit_file, create_directory, delete_path, move_path and terminal",
        },
        // goose-docs.ai/docs/getting-started/using-extensions, "Config Entry".
        ClientKind::Goose => ClientSettings {
            file: "~/.config/goose/config.yaml",
            text: format!(
                "extensions:\n  agentos:\n    enabled: true\n    type: stdio\n    name: agentos\n    cmd: {}\n    args: [mcp]\n    timeout: 300\n",
                json!(program)
            ),
            advice: "disable the extension `developer`, whose tools write files and run commands",
        },
        // opencode.ai/docs/mcp-servers, "Local", and /docs/permissions.
        ClientKind::OpenCode => ClientSettings {
            file: "opencode.json",
            text: pretty(&json!({
                "$schema": "https://opencode.ai/config.json",
                "mcp": { "agentos": { "type": "local", "command": [program, "mcp"], "enabled": true } },
                "permission": { "edit": "deny", "bash": "deny" },
            })),
            advice: "the part `permission` denies its own tools that write files and run commands",
        },
        // code.visualstudio.com/docs/copilot/customization/mcp-servers, "Configuration format".
        ClientKind::VsCode => ClientSettings {
            file: ".vscode/mcp.json",
            text: pretty(
                &json!({ "servers": { "agentos": { "type": "stdio", "command": program, "args": ["mcp"] } } }),
            ),
            advice: "in the chat's tool picker, leave out `editFiles` and `runCommands`",
        },
    }
}

fn pretty(value: &serde_json::Value) -> String {
    // A value can always be written.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_each_client() {
        let all = [
            ClientKind::ClaudeCode,
            ClientKind::Codex,
            ClientKind::Zed,
            ClientKind::Goose,
            ClientKind::OpenCode,
            ClientKind::VsCode,
        ];
        let texts = all.map(|client| {
            // A path with a quote and a backslash stays one word in each format.
            let settings = describe_client(client, "C:\\agent \"os\"");
            format!("# {}\n{}", settings.file, settings.text)
        });
        insta::assert_snapshot!(texts.join("\n"), @r#"
        # .mcp.json
        {
          "mcpServers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "C:\\agent \"os\""
            }
          }
        }

        # ~/.codex/config.toml
        [mcp_servers.agentos]
        command = "C:\\agent \"os\""
        args = ["mcp"]

        # ~/.config/zed/settings.json
        {
          "context_servers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "C:\\agent \"os\"",
              "env": {}
            }
          }
        }

        # ~/.config/goose/config.yaml
        extensions:
          agentos:
            enabled: true
            type: stdio
            name: agentos
            cmd: "C:\\agent \"os\""
            args: [mcp]
            timeout: 300

        # opencode.json
        {
          "$schema": "https://opencode.ai/config.json",
          "mcp": {
            "agentos": {
              "command": [
                "C:\\agent \"os\"",
                "mcp"
              ],
              "enabled": true,
              "type": "local"
            }
          },
          "permission": {
            "bash": "deny",
            "edit": "deny"
          }
        }

        # .vscode/mcp.json
        {
          "servers": {
            "agentos": {
              "args": [
                "mcp"
              ],
              "command": "C:\\agent \"os\"",
              "type": "stdio"
            }
          }
        }
        "#);
    }
}

//! Definitions of the tools for the model.
//!
//! Owns: names, descriptions and schemas. Never: runs a call.

use std::time::Duration;

use agentos_chat::{RateLimit, ToolAccess, ToolClass, TurnTool};
use agentos_model::ToolSpec;
use serde_json::{Value, json};

/// Lists the tools, always in this order.
pub(super) fn list_tools() -> Vec<TurnTool> {
    let pattern =
        json!({ "type": "string", "description": "Only files whose path matches, such as `src/**/*.rs`." });
    vec![
        read_tool(
            "list_files",
            ToolClass::Search,
            "Lists the files of the repository's last commit, sorted by path, one page at a time.",
            json!({
                "pattern": pattern,
                "offset": count_schema("Number of files to skip."),
                "limit": count_schema("Largest number of files, at most 1000. Usually 200."),
            }),
            &[],
        ),
        read_tool(
            "read_file",
            ToolClass::Plain,
            "Reads lines of a file of the repository's last commit. Each line has its number, which is not part of the file.",
            json!({
                "path": { "type": "string", "description": "Path from the top of the repository." },
                "first_line": count_schema("First line, counted from 1."),
                "last_line": count_schema("Last line. At most 1000 lines are read in one call."),
            }),
            &["path"],
        ),
        read_tool(
            "search",
            ToolClass::Search,
            "Searches the lines of all files of the repository's last commit for a text.",
            json!({
                "text": { "type": "string", "minLength": 1, "description": "Text to find." },
                "regex": { "type": "boolean", "description": "True if the text is a regular expression without look-around." },
                "ignore_case": { "type": "boolean", "description": "True if upper and lower case are equal." },
                "pattern": pattern,
                "limit": count_schema("Largest number of lines, at most 200. Usually 50."),
            }),
            &["text"],
        ),
        read_tool(
            "git_log",
            ToolClass::Search,
            "Lists the commits that led to the repository's last commit, newest first, along first parents.",
            json!({
                "path": { "type": "string", "description": "Only commits that change this file or folder." },
                "limit": count_schema("Largest number of commits, at most 100. Usually 20."),
            }),
            &[],
        ),
        read_tool(
            "git_show",
            ToolClass::Plain,
            "Shows what a commit of the log changed.",
            json!({ "commit": { "type": "string", "pattern": "^[0-9a-f]{40}$", "description": "Full id of the commit." } }),
            &["commit"],
        ),
        read_tool(
            "time",
            ToolClass::Plain,
            "Returns the current time in UTC.",
            json!({}),
            &[],
        ),
        propose_tool(),
    ]
}

fn propose_tool() -> TurnTool {
    TurnTool {
        class: ToolClass::Proposal,
        access: ToolAccess::Propose,
        // Each proposal leaves evidence and may leave a request. A model that repeats itself must not fill the queue of a person.
        rate: Some(RateLimit {
            burst: 10,
            interval: Duration::from_secs(30),
        }),
        ..read_tool(
            "propose_change",
            ToolClass::Proposal,
            "Proposes a change of files. Nothing is written: the change is placed on the last commit and judged by the user's policy, and \
             then waits for the user. If it cannot be placed, the result says why and shows the real lines; correct it and propose again.",
            json!({
                "answer": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The whole change: a unified diff (`--- a/PATH`, `+++ b/PATH`, hunks with unchanged lines around \
                                    each edit), or for each edit the path on a line of its own and below it a block of the lines \
                                    `<<<<<<< SEARCH`, old lines, `=======`, new lines, `>>>>>>> REPLACE`.",
                },
                "message": { "type": "string", "minLength": 1, "description": "Commit message: what changes and why." },
            }),
            &["answer", "message"],
        )
    }
}

fn read_tool(
    name: &str,
    class: ToolClass,
    description: &str,
    properties: Value,
    required: &[&str],
) -> TurnTool {
    TurnTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        },
        class,
        access: ToolAccess::Read,
        rate: None,
        timeout: None,
    }
}

fn count_schema(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

//! The toolboxes that the user trusts: `toolboxes.json` in the folder of the user's settings.
//!
//! Owns: the file, and the difference between what it has and what a toolbox is now. Never: trusts anything by itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_chain::{hash_bytes, write_canonical};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_tool::ToolDescription;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolboxLaunch;
use super::server::ListedTools;
use agentos_ground::Ground;
use agentos_ground::own_file::{lock_own_text, read_own_text, write_own_text};

/// Name of the file.
const FILE: &str = "toolboxes.json";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 32 << 20;
/// Version of the file.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedToolboxes {
    version: u32,
    /// By name.
    pub toolboxes: BTreeMap<String, ToolboxPin>,
}

/// A toolbox as the user was shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolboxPin {
    /// Everything by which it is started and reached.
    pub launch: ToolboxLaunch,
    /// The tools with all of their texts, not only hashes: a change is shown as a difference.
    pub tools: Vec<ToolDescription>,
    /// Everything else that an MCP server says about its tools, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) notes: BTreeMap<String, Value>,
}

impl ToolboxPin {
    /// Makes the pin of a toolbox as it is now.
    pub fn new(launch: ToolboxLaunch, listed: ListedTools) -> Self {
        Self {
            launch,
            tools: listed.tools,
            notes: listed.notes,
        }
    }

    /// Returns the hash of everything that the user is asked about.
    pub fn hash(&self) -> Result<String, EffectError> {
        let internal =
            |error: serde_json::Error| EffectError::from_error(Cause::Internal, "toolbox-failed", &error);
        let value = serde_json::to_value(self).map_err(internal)?;
        let text = write_canonical(&value).map_err(internal)?;
        Ok(hash_bytes(text.as_bytes()))
    }
}

/// Difference between a toolbox as the user was shown it, and as it is now. Texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolboxChange {
    /// A tool is new.
    ToolAdded {
        /// Name of the tool.
        tool: String,
    },
    /// A tool is gone.
    ToolRemoved {
        /// Name of the tool.
        tool: String,
    },
    /// The description of a tool changed.
    Description {
        /// Name of the tool.
        tool: String,
        /// Text that the user was shown.
        before: String,
        /// Text of now.
        after: String,
    },
    /// The schema of a tool's arguments changed.
    Schema {
        /// Name of the tool.
        tool: String,
        /// Schema that the user was shown, as JSON.
        before: String,
        /// Schema of now, as JSON.
        after: String,
    },
    /// Something else that an MCP server says about a tool changed: its title, its annotations or the schema of its result.
    Notes {
        /// Name of the tool.
        tool: String,
        /// Notes that the user was shown, as JSON. Empty if there were none.
        before: String,
        /// Notes of now, as JSON. Empty if there are none.
        after: String,
    },
    /// The tools are in another order.
    Order,
    /// The bytes of a file changed, or it was added or removed.
    File {
        /// Path of the file.
        path: String,
    },
    /// The profile starts the program in another way.
    Launch {
        /// Field that changed: `command`, `args`, `env` or `hosts`.
        field: String,
        /// Value that the user was shown.
        before: String,
        /// Value of now.
        after: String,
    },
}

/// Lists the differences between what the user was shown and what a toolbox is now.
pub fn list_changes(known: &ToolboxPin, now: &ToolboxPin) -> Vec<ToolboxChange> {
    let mut changes = list_launch_changes(&known.launch, &now.launch);
    let find = |tools: &[ToolDescription], name: &str| tools.iter().find(|tool| tool.name == name).cloned();
    for tool in &now.tools {
        let Some(before) = find(&known.tools, &tool.name) else {
            changes.push(ToolboxChange::ToolAdded {
                tool: tool.name.clone(),
            });
            continue;
        };
        if before.description != tool.description {
            changes.push(ToolboxChange::Description {
                tool: tool.name.clone(),
                before: before.description,
                after: tool.description.clone(),
            });
        }
        if before.input_schema != tool.input_schema {
            changes.push(ToolboxChange::Schema {
                tool: tool.name.clone(),
                before: before.input_schema.to_string(),
                after: tool.input_schema.to_string(),
            });
        }
    }
    let names = now
        .tools
        .iter()
        .filter(|tool| find(&known.tools, &tool.name).is_some());
    changes.extend(names.filter_map(|tool| {
        let (before, after) = (known.notes.get(&tool.name), now.notes.get(&tool.name));
        let show = |notes: Option<&Value>| notes.map(Value::to_string).unwrap_or_default();
        (before != after).then(|| ToolboxChange::Notes {
            tool: tool.name.clone(),
            before: show(before),
            after: show(after),
        })
    }));
    let gone = known
        .tools
        .iter()
        .filter(|tool| find(&now.tools, &tool.name).is_none());
    changes.extend(gone.map(|tool| ToolboxChange::ToolRemoved {
        tool: tool.name.clone(),
    }));
    if changes.is_empty() && known.tools != now.tools {
        changes.push(ToolboxChange::Order);
    }
    changes
}

fn list_launch_changes(known: &ToolboxLaunch, now: &ToolboxLaunch) -> Vec<ToolboxChange> {
    let show_env = |launch: &ToolboxLaunch| {
        let all = launch.env.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(" ")
    };
    let fields = [
        ("command", known.command.clone(), now.command.clone()),
        ("args", known.args.join(" "), now.args.join(" ")),
        ("env", show_env(known), show_env(now)),
        ("hosts", known.hosts.join(" "), now.hosts.join(" ")),
    ];
    let is_equal = [
        known.command == now.command,
        known.args == now.args,
        known.env == now.env,
        known.hosts == now.hosts,
    ];
    let changed = fields.into_iter().zip(is_equal).filter(|(_, is_equal)| !is_equal);
    let mut changes: Vec<ToolboxChange> = changed
        .map(|((field, before, after), _)| ToolboxChange::Launch {
            field: field.to_owned(),
            before,
            after,
        })
        .collect();
    let mut paths: Vec<&String> = known.files.keys().chain(now.files.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| known.files.get(*path) != now.files.get(*path));
    changes.extend(
        paths
            .into_iter()
            .map(|path| ToolboxChange::File { path: path.clone() }),
    );
    changes
}

fn find_file(ground: &Ground) -> Result<PathBuf, EffectError> {
    let folder = ground.environment().config_dir();
    folder.map(|folder| folder.join(FILE)).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings").hint("set `HOME`")
    })
}

/// Reads the toolboxes that the user trusts.
///
/// # Errors
/// If the file cannot be read, other users can change it, or it has another version.
pub fn read_pins(ground: &Ground) -> Result<TrustedToolboxes, EffectError> {
    let path = find_file(ground)?;
    let text = read_own_text(ground.environment(), &path, "bad-toolboxes", LARGEST_FILE)?;
    let Some(text) = text else {
        return Ok(TrustedToolboxes {
            version: VERSION,
            toolboxes: BTreeMap::new(),
        });
    };
    let name = ground.environment().shorten_below_home(&path);
    let refuse = |why: String| {
        let message = format!("`{name}` is not a list of trusted toolboxes: {why}");
        EffectError::new(Cause::Usage, "bad-toolboxes", message)
    };
    let pins: TrustedToolboxes = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    // A later version may mean something else by the same fields, and would lose them when this one writes the file.
    match pins.version {
        VERSION => Ok(pins),
        other => Err(refuse(format!("it has version {other} instead of {VERSION}"))),
    }
}

/// Changes the toolboxes that the user trusts.
///
/// # Errors
/// If the file cannot be read or written.
pub(crate) fn change_pins(
    ground: &Ground,
    change: impl FnOnce(&mut TrustedToolboxes),
) -> Result<(), EffectError> {
    let path = find_file(ground)?;
    // Two commands at once would otherwise both begin with the same list, and the second one would drop the first one's change.
    let _lock = lock_own_text(&path, "toolboxes-not-written")?;
    let mut pins = read_pins(ground)?;
    change(&mut pins);
    let text = serde_json::to_string_pretty(&pins)
        .map_err(|error| EffectError::from_error(Cause::Internal, "toolboxes-not-written", &error))?;
    write_own_text(&path, &(text + "\n"), "toolboxes-not-written")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pin() -> ToolboxPin {
        ToolboxPin {
            launch: ToolboxLaunch {
                command: "/usr/bin/python3".to_owned(),
                args: vec!["/home/anna/weather.py".to_owned()],
                env: BTreeMap::new(),
                hosts: Vec::new(),
                files: [("/home/anna/weather.py".to_owned(), "sha256:1".to_owned())].into(),
            },
            tools: ["one", "two"]
                .map(|name| ToolDescription {
                    name: name.to_owned(),
                    description: "Does it.".to_owned(),
                    input_schema: json!({ "type": "object" }),
                })
                .into(),
            notes: [(
                "one".to_owned(),
                json!({ "annotations": { "readOnlyHint": true } }),
            )]
            .into(),
        }
    }

    #[test]
    fn every_change_has_another_hash_and_is_named() {
        type Change = fn(&mut ToolboxPin);
        let cases: [(&str, Change); 12] = [
            ("tool_added", |pin| {
                let tool = ToolDescription {
                    name: "three".to_owned(),
                    ..pin.tools[0].clone()
                };
                pin.tools.push(tool);
            }),
            ("tool_removed", |pin| drop(pin.tools.pop())),
            ("description", |pin| {
                pin.tools[1].description = "Does it and more.".to_owned();
            }),
            ("schema", |pin| {
                pin.tools[0].input_schema = json!({ "type": "object", "required": ["key"] });
            }),
            ("order", |pin| pin.tools.reverse()),
            ("notes", |pin| drop(pin.notes.remove("one"))),
            ("notes", |pin| {
                let notes = json!({ "annotations": { "readOnlyHint": true } });
                pin.notes.insert("two".to_owned(), notes);
            }),
            ("file", |pin| {
                pin.launch
                    .files
                    .insert("/home/anna/weather.py".to_owned(), "sha256:2".to_owned());
            }),
            ("launch", |pin| {
                pin.launch.command = "/home/anna/python3".to_owned()
            }),
            // As words alone, these arguments would be equal.
            ("launch", |pin| {
                pin.launch.args = vec!["/home/anna/weather.py".to_owned(), String::new()]
            }),
            ("launch", |pin| {
                pin.launch.env.insert("A".to_owned(), "b".to_owned());
            }),
            ("launch", |pin| {
                pin.launch.hosts.push("example.com:443".to_owned())
            }),
        ];
        assert_eq!(list_changes(&pin(), &pin()), []);
        for (name, change) in cases {
            let mut now = pin();
            change(&mut now);
            let changes = list_changes(&pin(), &now);
            let named: Vec<_> = changes
                .iter()
                .map(|change| serde_json::to_value(change).unwrap()["type"].clone())
                .collect();
            assert_eq!(named, [name]);
            assert_ne!(now.hash().unwrap(), pin().hash().unwrap(), "{name}");
        }
    }
}

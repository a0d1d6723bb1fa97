//! The settings that exist.
//!
//! Owns: the key, the kind and the meaning of each. Never: reads a value.

use super::{KnownSetting, SettingKind};

/// Longest time limit in seconds: a day, as for the options of a call.
const DAY: u64 = 86_400;

/// Longest time for which a request can wait, in seconds, other than any time.
const YEAR: u64 = 366 * DAY;

const fn setting(key: &'static str, kind: SettingKind, meaning: &'static str) -> KnownSetting {
    KnownSetting {
        key,
        kind,
        meaning,
        variable: None,
        usual: None,
    }
}

/// Every setting: the one place that names a key, its kind and its meaning.
pub const SETTINGS: &[KnownSetting] = &[
    KnownSetting {
        variable: Some("AGENTOS_PROVIDER"),
        ..setting(
            "provider",
            SettingKind::Name,
            "provider of a task that names none",
        )
    },
    KnownSetting {
        variable: Some("AGENTOS_MODEL"),
        ..setting("model", SettingKind::Name, "model of that provider")
    },
    setting(
        "check",
        SettingKind::Command,
        "shell command that a change of a task must pass before it lands",
    ),
    KnownSetting {
        usual: Some("600"),
        ..setting(
            "check_timeout",
            SettingKind::Number(1, DAY),
            "time limit of the check in seconds",
        )
    },
    KnownSetting {
        usual: Some("skip"),
        ..setting(
            "hooks",
            SettingKind::Word(&["run", "skip"]),
            "whether the repository's hooks run before a commit, in the sandbox",
        )
    },
    KnownSetting {
        usual: Some("require"),
        ..setting(
            "check_base",
            SettingKind::Word(&["require", "skip"]),
            "whether the check must pass without a change before a tool is called",
        )
    },
    setting(
        "context",
        SettingKind::Word(&["auto", "none"]),
        "search for files to show in addition to the named ones",
    ),
    KnownSetting {
        usual: Some("2"),
        ..setting(
            "attempts",
            SettingKind::Number(1, 10),
            "maximum number of attempts of a task",
        )
    },
    KnownSetting {
        usual: Some("no"),
        ..setting(
            "explore",
            SettingKind::Word(&["yes", "no"]),
            "whether the model of a task reads the repository itself, with tools",
        )
    },
    KnownSetting {
        usual: Some("10"),
        ..setting(
            "explore_rounds",
            SettingKind::Number(1, 100),
            "answers of that model in which it may call tools",
        )
    },
    KnownSetting {
        usual: Some("300"),
        ..setting(
            "explore_time",
            SettingKind::Number(1, DAY),
            "seconds for each attempt of that model",
        )
    },
    KnownSetting {
        usual: Some("300"),
        ..setting(
            "proposal_time",
            SettingKind::Number(0, YEAR),
            "seconds for which a change of a conversation waits for you; 0 for any time",
        )
    },
    KnownSetting {
        usual: Some("604800"),
        ..setting(
            "request_time",
            SettingKind::Number(0, YEAR),
            "seconds for which the request of any other run waits for you; 0 for any time",
        )
    },
    setting(
        "device_addresses",
        SettingKind::Name,
        "addresses at which your other devices reach the service, with a blank between two; `http://localhost:7417` over `ssh -L`, `tls://192.0.2.7:7418` for TLS of the service itself",
    ),
    setting(
        "timeout",
        SettingKind::Number(1, DAY),
        "seconds of silence of a server, or of the whole run of a program",
    ),
    setting(
        "connect_timeout",
        SettingKind::Number(1, DAY),
        "seconds for connecting to a server",
    ),
    setting(
        "first_byte_timeout",
        SettingKind::Number(1, DAY),
        "seconds for the first byte of a server's answer",
    ),
    setting(
        "idle_timeout",
        SettingKind::Number(1, DAY),
        "seconds of silence in the middle of a server's answer",
    ),
    setting(
        "total_timeout",
        SettingKind::Number(1, DAY),
        "seconds for a server's whole answer",
    ),
    KnownSetting {
        variable: Some("AGENTOS_PAGER"),
        ..setting("pager", SettingKind::Command, "program that shows long text")
    },
    KnownSetting {
        usual: Some("auto"),
        ..setting(
            "color",
            SettingKind::Word(&["auto", "always", "never"]),
            "color in the output",
        )
    },
];

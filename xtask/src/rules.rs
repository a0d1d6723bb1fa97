//! The rules of the house as tables: the one place to change when the house changes.
//!
//! Owns: who may depend on whom, who owns which outside crate and which dangerous call, and what the tree looks
//! like. Never: logic. An entry that nothing uses any more fails the gate, so the tables stay true.

mod bans;
mod members;

use self::bans::TEST_SUPPORT;
pub use self::bans::{PATH_LOOKS, WALK_BANS, WALKERS};
pub use self::members::{
    ADAPTERS, ADAPTERS_NEVER_REACH, APPS, DEV_ONLY, FOLDERS, FRONT_ENDS, KERNEL, LAYER_FOLDERS, ONLY,
    SAME_LAYER, UNREACHABLE, USER_LAND, WORDS,
};

/// Outside crates that touch nothing and that every member may use.
pub const COMMON: &[&str] = &[
    "humantime",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "tracing",
];

/// Outside crates that every member may use in its tests.
pub const COMMON_IN_TESTS: &[&str] = &["insta", "proptest", "tempfile", "tokio"];

/// Every other outside crate and the members that may use it.
pub const OWNED: &[(&str, &[&str])] = &[
    ("aho-corasick", &["agentos-tool"]),
    ("anstream", &["agentos"]),
    ("anstyle-svg", &["xtask"]),
    ("anyhow", &["xtask"]),
    ("base64", &["agentos-evidence"]),
    ("clap", &["agentos", "agentos-gates", "xtask"]),
    ("clap_complete", &["agentos"]),
    ("clap_mangen", &["agentos"]),
    ("divan", &["agentos-landing", "agentos-policy"]),
    ("git2", &["agentos-executor"]),
    ("globset", &["agentos-policy"]),
    ("hyper", &["agentos-net"]),
    ("jsonschema", &["agentos-schema"]),
    ("keyring", &["agentos-credentials"]),
    ("keyring-core", &["agentos-credentials"]),
    ("landlock", &["agentos-sandbox"]),
    ("libc", &["agentos-durable", "agentos-notify", "agentos-sandbox"]),
    ("nix", &["agentos-sandbox"]),
    ("regex", &["agentos-testkit"]),
    ("reqwest", &["agentos-net"]),
    ("ring", &["agentos-evidence"]),
    ("rpassword", &["agentos"]),
    (
        "rustix",
        &[
            "agentos-programs",
            "agentos-beneath",
            "agentos-durable",
            "agentos-evidence",
            "agentos-executor",
            "agentos-sandbox",
        ],
    ),
    ("rustls", &["agentos-net", "agentos-testkit"]),
    ("secrecy", &["agentos-tool"]),
    ("serde_json_canonicalizer", &["agentos-chain", "agentos-evidence"]),
    ("sha1", &["agentos-landing", "agentos-index", "agentos-executor"]),
    ("similar", &["agentos-landing"]),
    ("strsim", &["agentos-policy", "agentos-profile"]),
    ("tempfile", &["agentos-fuzz", "agentos-gates", "agentos-testkit"]),
    ("terminal_size", &["agentos"]),
    (
        "tokio",
        &["agentos", "agentos-host", "agentos-net", "agentos-testkit"],
    ),
    ("toml", &["agentos-gates", "agentos-policy", "xtask"]),
    ("tracing-subscriber", &["agentos"]),
    ("unicode-normalization", &["agentos-landing"]),
    ("url", &["agentos-net", "agentos-tool"]),
    ("windows-sys", &["agentos-winbox"]),
    ("xshell", &["xtask"]),
];

/// Features of outside crates that would open a door: writing, processes, networks, proxies.
pub const CLOSED_FEATURES: &[(&str, &[&str])] = &[
    ("git2", &["https", "ssh"]),
    ("jsonschema", &["resolve-file", "resolve-http"]),
    ("reqwest", &["blocking", "cookies", "socks", "system-proxy"]),
    ("tokio", &["fs", "full", "process"]),
];

/// Outside crates whose default features hold one of those.
pub const NO_DEFAULTS: &[&str] = &["jsonschema", "reqwest"];

/// Members whose whole closure of dependencies must stay free of [`NEVER_REACHED`].
pub const PURE: &[&str] = &[
    "agentos-tool",
    "agentos-chain",
    "agentos-index",
    "agentos-landing",
    "agentos-beneath",
    "agentos-durable",
    "agentos-policy",
    "agentos-profile",
    "agentos-executor",
    "agentos-evidence",
    "agentos-lookup",
    "agentos-pager",
    "agentos-signer",
];

/// Networks, runtimes and key stores.
pub const NEVER_REACHED: &[&str] = &["hyper", "keyring", "keyring-core", "reqwest", "tokio"];

/// Fields that every member inherits from the workspace.
pub const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

/// Lints that the workspace must hold at least at this level.
pub const LINTS: &[(&str, &str, &str)] = &[
    ("rust", "unsafe_code", "forbid"),
    ("rust", "missing_docs", "deny"),
    ("clippy", "disallowed_methods", "deny"),
    ("clippy", "disallowed_types", "deny"),
    ("clippy", "expect_used", "deny"),
    ("clippy", "indexing_slicing", "deny"),
    ("clippy", "panic", "deny"),
    ("clippy", "print_stderr", "deny"),
    ("clippy", "print_stdout", "deny"),
    ("clippy", "todo", "deny"),
    ("clippy", "unwrap_used", "deny"),
];

/// The members with lints of their own, and why: they alone may write `unsafe`.
pub const OWN_LINTS: &[(&str, &str)] = &[
    (
        "agentos-durable",
        "to begin to write a file and to take a lease on it are bare system calls, and no kept crate offers them safely",
    ),
    (
        "agentos-notify",
        "a filter's listener is a bare system call, and no kept crate offers it safely",
    ),
    (
        "agentos-winbox",
        "tokens and jobs of Windows are functions of C, and no kept crate offers them safely",
    ),
];

/// What differs in theirs; everything else of the workspace's lints must stand in their tables as it stands there.
pub const OWN_LINT_LEVELS: &[(&str, &str, &str)] = &[
    ("rust", "unsafe_code", "allow"),
    ("rust", "unsafe_op_in_unsafe_fn", "deny"),
    ("clippy", "multiple_unsafe_ops_per_block", "deny"),
    ("clippy", "undocumented_unsafe_blocks", "deny"),
];

/// Lints and groups that no source file may name in an attribute: that would switch a ban off.
pub const SILENCERS: &[&str] = &[
    "disallowed_macros",
    "disallowed_methods",
    "disallowed_types",
    // Their names of old, which still work.
    "disallowed_method",
    "disallowed_type",
    "unsafe_code",
    "clippy::all",
    "clippy::cargo",
    "clippy::complexity",
    "clippy::correctness",
    "clippy::nursery",
    "clippy::pedantic",
    "clippy::perf",
    "clippy::restriction",
    "clippy::style",
    "clippy::suspicious",
    "warnings",
];

/// What may lie below `.cargo/`. Cargo reads more names than these, and each could switch a lint off.
pub const CARGO_SETTINGS: &[&str] = &[
    ".cargo/about.hbs",
    ".cargo/about.toml",
    ".cargo/config.toml",
    ".cargo/deny.toml",
];

/// The only alias, with its value: others could stand before `clippy` or `fmt`.
pub const ALIAS: (&str, &str) = ("xtask", "run --quiet --package xtask --");

/// Recorded data of the tests: nothing below is compiled, so no rule about source files holds there.
pub const FIXTURES: &str = "crates/dev/agentos-testkit/fixtures/";

/// Packages of their own beside the workspace, and why. The rules about files hold in them; those about
/// dependencies, lints and banned calls do not, since no part of the product may depend on them.
pub const OWN_WORKSPACES: &[(&str, &str)] = &[
    (
        "scripts/fuzz",
        "a fuzzer is built with instrumentation that nothing else may share",
    ),
    (
        "scripts/landing/peers",
        "the libraries that landing is measured beside; the product must not lock their versions",
    ),
];

/// Where programs in other languages than Rust may lie, and why.
pub const OTHER_LANGUAGES: &[(&str, &str)] = &[
    (
        ".ci",
        "the entry for a machine that knows only how to run a file; it calls `cargo xtask ci`",
    ),
    (
        "scripts/evidence",
        "the second verifier shares no code with the product; run by tests where its package is there",
    ),
    (
        "scripts/agents",
        "measures whole processes beside git's; never run by a test",
    ),
    (
        "scripts/examples",
        "tools in other languages that speak the tool protocol; a test checks that they conform",
    ),
    (
        "scripts/executor",
        "asks the kernel for a child's peak memory, which Rust's library cannot; never run by a test",
    ),
    (
        "scripts/hostile",
        "translates the policies of a public corpus whose runner is Python; never run by a test",
    ),
    (
        "scripts/landing",
        "runs the peers of landing, which are Python and JavaScript programs; never run by a test",
    ),
    (
        "scripts/rogue",
        "the rogue makes raw system calls, which no Rust of ours may; only its gate runs it",
    ),
    (
        "scripts/secrets",
        "asks detect-secrets, which is Python, about the same lines",
    ),
    (
        "scripts/servers",
        "the real llama.cpp server is a Python package; test support that no product crate calls",
    ),
];

/// Endings of programs in other languages.
pub const OTHER_ENDINGS: &[&str] = &[
    "bash", "c", "cjs", "cpp", "go", "js", "lua", "mjs", "pl", "ps1", "py", "rb", "sh", "ts",
];

/// Words of a path for tests that need the real llama.cpp server: `cargo xtask ci` leaves them out, and says so,
/// where there is none.
pub const REAL_SERVER_MODULES: &[&str] = &["llama", "real"];

/// Which bans of the root `.clippy.toml` a member's own file may leave out.
pub const GRANTS: &[(&str, &[&str])] = &[
    // Nothing; it has more bans than others.
    ("crates/adapters/agentos-programs", &[]),
    // Folders that a tool may write, where there are no descriptors to walk them by.
    (
        "crates/effects/agentos-beneath",
        &[
            "std::fs::OpenOptions::new",
            "std::fs::create_dir",
            "std::fs::remove_dir_all",
            "std::fs::remove_file",
        ],
    ),
    // The one file that reads the environment, and the one that reads the clock.
    (
        "crates/flow/agentos-host",
        &["std::env::vars_os", "std::time::SystemTime::now"],
    ),
    // Its tests: switches of long proofs, and how long those took.
    (
        "crates/apps/agentos-cli",
        &["std::env::vars_os", "std::time::SystemTime::now"],
    ),
    // The file of keys, for its owner alone.
    (
        "crates/effects/agentos-credentials",
        &[
            "std::fs::DirBuilder::new",
            "std::fs::OpenOptions::new",
            "std::fs::remove_file",
            "std::fs::rename",
        ],
    ),
    // The tape, its blobs and its lock.
    (
        "crates/effects/agentos-evidence",
        &[
            "std::fs::OpenOptions::new",
            "std::fs::create_dir_all",
            "std::fs::remove_file",
            "std::fs::rename",
        ],
    ),
    // The work tree, the journal and the lock.
    (
        "crates/effects/agentos-executor",
        &[
            "std::fs::OpenOptions::new",
            "std::fs::create_dir",
            "std::fs::create_dir_all",
            "std::fs::hard_link",
            "std::fs::remove_dir",
            "std::fs::remove_dir_all",
            "std::fs::remove_file",
            "std::fs::rename",
            "std::os::unix::fs::symlink",
        ],
    ),
    // The judged program and git as children, a scratch repository, evidence with times; sockets and open files for the
    // rogue to reach.
    (
        "crates/dev/agentos-gates",
        &[
            "std::env::var_os",
            "std::fs::OpenOptions::new",
            "std::fs::create_dir_all",
            "std::fs::remove_file",
            "std::fs::rename",
            "std::fs::set_permissions",
            "std::fs::write",
            "std::net::TcpListener::bind",
            "std::net::UdpSocket::bind",
            "std::os::unix::net::UnixListener::bind",
            "std::process::Command::new",
            "std::time::SystemTime::now",
        ],
    ),
    // The pager that the user chose.
    ("crates/effects/agentos-pager", &["std::process::Command::new"]),
    // Latency and deadlines, names and one bare connection.
    (
        "crates/effects/agentos-net",
        &[
            "std::time::Instant::now",
            "tokio::net::TcpStream::connect",
            "tokio::net::lookup_host",
        ],
    ),
    // One program of the user's, heard for a bounded time; a public key in a file while it runs.
    (
        "crates/effects/agentos-signer",
        &[
            "std::fs::OpenOptions::new",
            "std::fs::remove_file",
            "std::process::Command::new",
            "std::time::Instant::now",
        ],
    ),
    // Child processes, the folders they work in, their only way to the network, and how long they took.
    (
        "crates/effects/agentos-sandbox",
        &[
            "std::fs::OpenOptions::new",
            "std::fs::copy",
            "std::fs::create_dir_all",
            "std::fs::remove_dir_all",
            "std::fs::remove_file",
            "std::fs::set_permissions",
            "std::fs::write",
            "std::net::TcpListener::bind",
            "std::net::TcpStream::connect_timeout",
            "std::os::unix::fs::symlink",
            "std::os::unix::net::UnixListener::bind",
            "std::os::unix::net::UnixStream::connect",
            "std::process::Command::new",
            "std::time::Instant::now",
        ],
    ),
    ("crates/dev/agentos-fuzz", TEST_SUPPORT),
    ("crates/dev/agentos-testkit", TEST_SUPPORT),
    (
        "xtask",
        &[
            "std::env::var_os",
            "std::fs::create_dir_all",
            "std::fs::remove_dir_all",
            "std::fs::rename",
            "std::fs::write",
            "std::process::Command::new",
            "std::time::Instant::now",
            "std::time::SystemTime::now",
        ],
    ),
];

/// What stands at the top of the repository, dot files aside. Exactly this, no more and no less.
pub const TOP_LEVEL: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "outputs",
    "profiles",
    "scripts",
    "xtask",
];

/// Lines of one source file.
pub const MAX_LINES: usize = 500;
/// Lines of one file that holds only tests.
pub const MAX_TEST_LINES: usize = 800;
/// Words in a comment that say that something is not finished.
pub const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];
/// With fewer source files than this the list itself must be wrong.
pub const MIN_RUST_FILES: usize = 150;

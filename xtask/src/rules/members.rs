//! Who may depend on whom inside the workspace, and where each member lies.
//!
//! Owns: the tables of arrows and folders. Never: outside crates.

/// Arrows inside one layer. Everything else must point to a lower layer.
pub const SAME_LAYER: &[(&str, &str)] = &[
    ("agentos-anthropic", "agentos-generic-http"),
    ("agentos-evidence", "agentos-durable"),
    ("agentos-executor", "agentos-beneath"),
    ("agentos-executor", "agentos-durable"),
    ("agentos-gemini", "agentos-generic-http"),
    ("agentos-host", "agentos-engine"),
    ("agentos-llamacpp", "agentos-generic-http"),
    ("agentos-llamacpp", "agentos-openai"),
    ("agentos-lmstudio", "agentos-generic-http"),
    ("agentos-lmstudio", "agentos-openai"),
    ("agentos-ollama", "agentos-generic-http"),
    ("agentos-openai", "agentos-generic-http"),
    ("agentos-pager", "agentos-lookup"),
    ("agentos-sandbox", "agentos-beneath"),
    ("agentos-sandbox", "agentos-notify"),
    ("agentos-sandbox", "agentos-winbox"),
    ("agentos-signer", "agentos-lookup"),
];

/// The layer of the adapters.
pub const ADAPTERS: u64 = 3;

/// What no adapter may reach, however many steps away: it proposes, and holds neither keys nor records.
pub const ADAPTERS_NEVER_REACH: &[&str] = &[
    "agentos-credentials",
    "agentos-evidence",
    "agentos-executor",
    "agentos-pager",
    "agentos-signer",
];

/// What these members may never reach, however many steps away. Tests do not count.
pub const UNREACHABLE: &[(&str, &[&str])] = &[
    // The flow is given its effects; only the record is its own.
    (
        "agentos-engine",
        &[
            "agentos-credentials",
            "agentos-executor",
            "agentos-net",
            "agentos-pager",
            "agentos-sandbox",
            "agentos-signer",
        ],
    ),
    // What holds a tool knows nothing of what it is held back from.
    (
        "agentos-sandbox",
        &[
            "agentos-credentials",
            "agentos-evidence",
            "agentos-executor",
            "agentos-net",
        ],
    ),
    // The writer knows nothing of the world outside; a signature comes to it through a door of its own.
    (
        "agentos-executor",
        &[
            "agentos-programs",
            "agentos-anthropic",
            "agentos-credentials",
            "agentos-gemini",
            "agentos-generic-http",
            "agentos-llamacpp",
            "agentos-lmstudio",
            "agentos-net",
            "agentos-ollama",
            "agentos-openai",
            "agentos-pager",
            "agentos-sandbox",
            "agentos-signer",
        ],
    ),
    // What talks to servers can neither write, nor read keys, nor touch the record, nor start anything.
    (
        "agentos-net",
        &[
            "agentos-credentials",
            "agentos-evidence",
            "agentos-executor",
            "agentos-pager",
            "agentos-signer",
        ],
    ),
];

/// Members that may use nothing of the product but these: what judges from outside must not link what it judges. The chain of
/// a tape depends on no other member and knows nothing of the product: whoever links it can still judge a tree whose
/// product does not build.
pub const ONLY: &[(&str, &[&str])] = &[
    (
        "agentos-gates",
        &["agentos-chain", "agentos-schema", "agentos-tool"],
    ),
    ("xtask", &["agentos-chain"]),
];

/// The layer of words, which every member may name.
pub const WORDS: u64 = 0;

/// The layer of programs.
pub const APPS: u64 = 5;

/// The programs that people and other programs use, and what each may name besides words: the host does the work. A pager is
/// the terminal's own.
pub const FRONT_ENDS: &[(&str, &[&str])] = &[("agentos", &["agentos-host", "agentos-pager"])];

/// What decides, writes and records, and all that it stands on. It never reaches [`USER_LAND`], however many steps away.
pub const KERNEL: &[&str] = &[
    "agentos-engine",
    "agentos-evidence",
    "agentos-executor",
    "agentos-landing",
    "agentos-policy",
    "agentos-programs",
    "agentos-sandbox",
];

/// What is built on the kernel.
pub const USER_LAND: &[&str] = &["agentos", "agentos-host"];

/// The one member that only tests may depend on.
pub const DEV_ONLY: &str = "agentos-testkit";

/// The folder of each layer, below `crates/`: the listing of the repository shows the layers.
pub const LAYER_FOLDERS: &[(u64, &str)] = &[
    (0, "words"),
    (1, "decide"),
    (2, "effects"),
    (3, "adapters"),
    (4, "flow"),
    (5, "apps"),
];

/// Members that lie elsewhere than in the folder of their layer below their own name.
pub const FOLDERS: &[(&str, &str)] = &[
    ("agentos", "crates/apps/agentos-cli"),
    ("agentos-fuzz", "crates/dev/agentos-fuzz"),
    ("agentos-gates", "crates/dev/agentos-gates"),
    ("agentos-testkit", "crates/dev/agentos-testkit"),
    ("xtask", "xtask"),
];

//! Tables about banned calls that the grants refer to.
//!
//! Owns: the bans of path-name walks, where they may be left out, and what test support may call. Never: logic.

/// More bans of the members that handle what a tool could write: calls that look up a path name, and so follow whatever
/// stands there now. `agentos-beneath` walks by descriptor.
pub const WALK_BANS: &[&str] = &[
    "std::fs::File::open",
    "std::fs::canonicalize",
    "std::fs::exists",
    "std::fs::metadata",
    "std::fs::read",
    "std::fs::read_dir",
    "std::fs::read_link",
    "std::fs::read_to_string",
    "std::fs::symlink_metadata",
    "std::path::Path::canonicalize",
    "std::path::Path::exists",
    "std::path::Path::is_dir",
    "std::path::Path::is_file",
    "std::path::Path::is_symlink",
    "std::path::Path::metadata",
    "std::path::Path::read_dir",
    "std::path::Path::read_link",
    "std::path::Path::symlink_metadata",
    "std::path::Path::try_exists",
];

/// The members with those bans.
pub const WALKERS: &[&str] = &[
    "crates/adapters/agentos-programs",
    "crates/effects/agentos-sandbox",
];

/// Where the lint of banned calls may be expected, how often, and why: the user's or the system's own places, which no tool
/// can write, and tests.
pub const PATH_LOOKS: &[(&str, usize, &str)] = &[
    (
        "crates/adapters/agentos-programs/src/checkout.rs",
        1,
        "a folder of the user's working tree, before a tool is started",
    ),
    (
        "crates/adapters/agentos-programs/src/handed.rs",
        1,
        "sign-in files of the user's home",
    ),
    (
        "crates/adapters/agentos-programs/src/lib.rs",
        1,
        "`places`, which finds programs on the user's search path",
    ),
    (
        "crates/adapters/agentos-programs/src/program.rs",
        2,
        "whether a program is installed and signed in",
    ),
    (
        "crates/effects/agentos-sandbox/src/outlet.rs",
        1,
        "the folder of our sockets, which the tool does not see",
    ),
    (
        "crates/effects/agentos-sandbox/src/identity/lease.rs",
        1,
        "the kernel's list of processes",
    ),
    (
        "crates/effects/agentos-sandbox/src/run/group.rs",
        1,
        "the kernel's control groups",
    ),
    (
        "crates/effects/agentos-sandbox/src/run/unix.rs",
        1,
        "a process's entry in `/proc`",
    ),
    (
        "crates/effects/agentos-sandbox/src/run/windows.rs",
        1,
        "the run's folders, before the tool is started",
    ),
    ("crates/effects/agentos-sandbox/src/scratch.rs", 1, "its tests"),
    (
        "crates/effects/agentos-sandbox/src/stage/cover.rs",
        1,
        "the root, built before the tool is started",
    ),
    (
        "crates/effects/agentos-sandbox/src/stage/enter.rs",
        1,
        "the helper's own descriptors",
    ),
    (
        "crates/effects/agentos-sandbox/src/stage/relay.rs",
        1,
        "the folder of our sockets, before the tool is started",
    ),
    (
        "crates/effects/agentos-sandbox/src/stage/root.rs",
        11,
        "the root, built before the tool is started, and its tests",
    ),
    (
        "crates/effects/agentos-sandbox/src/stage/rules.rs",
        1,
        "the places of an order, before the tool is started",
    ),
    (
        "crates/effects/agentos-sandbox/src/stage/seatbelt.rs",
        2,
        "the helper's own descriptors, and places before the tool is started",
    ),
];

/// Test support may do nearly everything; it is never part of a product.
pub(super) const TEST_SUPPORT: &[&str] = &[
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::vars_os",
    "std::fs::DirBuilder::new",
    "std::fs::File::create",
    "std::fs::File::create_new",
    "std::fs::File::options",
    "std::fs::OpenOptions::new",
    "std::fs::copy",
    "std::fs::create_dir",
    "std::fs::create_dir_all",
    "std::fs::hard_link",
    "std::fs::remove_dir",
    "std::fs::remove_dir_all",
    "std::fs::remove_file",
    "std::fs::rename",
    "std::fs::set_permissions",
    "std::fs::write",
    "std::net::TcpListener::bind",
    "std::net::TcpStream::connect",
    "std::net::TcpStream::connect_timeout",
    "std::net::UdpSocket::bind",
    "std::os::unix::fs::symlink",
    "std::os::unix::net::UnixStream::connect",
    "std::process::Command::new",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "tokio::net::TcpSocket::new_v4",
];

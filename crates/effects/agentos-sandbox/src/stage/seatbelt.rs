//! macOS: Seatbelt (sandbox(7), sandbox-exec(1)), which denies everything that its profile does not name.
//!
//! Apple calls the command deprecated and uses it; others do too. This file was written from the documentation of
//! such users, compiled for macOS, and never tried on a Mac. The kernel has no process namespaces: a program sees the
//! names of other processes, and may signal only its own. The number of its processes is not limited.
//!
//! Owns: the profile, and turning the helper into the confined program. Never: runs as root, or lets the program
//! reach a network; a launch spec that asks for more than Seatbelt can do is refused.

use std::path::{Path, PathBuf};

use crate::launch_spec::LaunchSpec;

/// Command of the system. Another one on the search path is not used.
#[cfg(target_os = "macos")]
const COMMAND: &str = "/usr/bin/sandbox-exec";

/// Folders of programs and libraries, and the settings that these need.
const SYSTEM: &[&str] = &[
    "/Applications/Xcode.app",
    "/Library/Developer",
    "/Library/Frameworks",
    "/System",
    "/bin",
    "/dev",
    "/opt",
    "/private/etc/hosts",
    "/private/etc/localtime",
    "/private/etc/passwd",
    "/private/etc/protocols",
    "/private/etc/services",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/sbin",
    "/usr",
];

/// Rights that every program needs and that are about no file: its own processes, and facts about the machine.
const NEEDED: &str = "(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
";

/// Profile with the values of its parameters: a path is never part of the profile's own text, where it could end a
/// string.
#[derive(Debug, PartialEq, Eq)]
struct SeatbeltProfile {
    text: String,
    values: Vec<(String, PathBuf)>,
}

/// Builds the profile of a launch spec.
///
/// # Errors
/// If the spec needs something that Seatbelt cannot do.
fn build_profile(spec: &LaunchSpec) -> Result<SeatbeltProfile, String> {
    if !spec.forwards.is_empty() {
        return Err("a confined program cannot be given a connection to a server on this system".to_owned());
    }
    if !spec.shares.is_empty() {
        return Err("a folder cannot be shown at another place on this system".to_owned());
    }
    let mut profile = SeatbeltProfile {
        text: NEEDED.to_owned(),
        values: Vec::new(),
    };
    let system = SYSTEM.iter().map(Path::new);
    let readable = spec.readable.iter().map(PathBuf::as_path);
    for place in system.chain(readable) {
        profile.allow_place("file-read*", place);
    }
    for place in &spec.writable {
        profile.allow_place("file-read* file-write*", place);
    }
    Ok(profile)
}

impl SeatbeltProfile {
    fn allow_place(&mut self, what: &str, place: &Path) {
        let name = format!("P{}", self.values.len());
        self.text
            .push_str(&format!("(allow {what} (subpath (param \"{name}\")))\n"));
        self.values.push((name, place.to_owned()));
    }
}

/// Confines this process and becomes the program of the launch spec. Returns only if that fails.
#[cfg(target_os = "macos")]
#[expect(clippy::disallowed_methods, reason = "asked before the tool is started")]
pub(super) fn confine_and_run() -> Result<u8, super::StageRefusal> {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::StageRefusal;
    use super::intake::{await_report_read, read_spec, send_message, set_limits};
    use crate::report::{HelperMessage, SandboxLayer, SandboxReport};

    if nix::unistd::geteuid().is_root() {
        return Err("it would run as root".to_owned().into());
    }
    nix::unistd::setsid().map_err(|error| format!("no session of its own: {error}"))?;
    close_descriptors()?;
    let spec = read_spec()?;
    if !spec.overlays.is_empty() {
        return Err(StageRefusal::Overlay("this system has no overlays".to_owned()));
    }
    let profile = build_profile(&spec)?;
    set_limits(&spec.limits)?;
    let mut report = SandboxReport::default();
    for layer in [
        SandboxLayer::Unprivileged,
        SandboxLayer::Limits,
        SandboxLayer::Seatbelt,
    ] {
        report.add_layer(layer);
    }
    let mut command = Command::new(COMMAND);
    for (name, place) in &profile.values {
        // Seatbelt compares real paths; a place that does not exist needs no rule.
        let place = place.canonicalize().unwrap_or_else(|_| place.clone());
        command.arg("-D").arg(format!("{name}={}", place.display()));
    }
    command.arg("-p").arg(&profile.text);
    match &spec.program {
        Some(program) => command.arg(program).args(&spec.args).current_dir(&spec.cwd),
        None => command.arg("/usr/bin/true"),
    };
    command
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)));
    // Reported before the start: the program is confined from its first instruction, or `sandbox-exec` fails without
    // starting it.
    send_message(&HelperMessage::Confined(report));
    if spec.program.is_some() {
        await_report_read()?;
    }
    Err(format!("`{COMMAND}` cannot be started: {}", command.exec()).into())
}

/// Closes every descriptor above standard error: one that an ancestor left open would be a way out.
#[cfg(target_os = "macos")]
#[expect(
    clippy::disallowed_methods,
    reason = "the helper's own descriptors, which no tool can name"
)]
fn close_descriptors() -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("open descriptors cannot be listed: {error}");
    let mut open: Vec<i32> = Vec::new();
    for entry in std::fs::read_dir("/dev/fd").map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|number| *number > 2) {
        // The descriptor that listed the others is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_spec::{PortForward, SharedFolder};

    fn spec() -> LaunchSpec {
        let mut spec = LaunchSpec::new("/bin/sh".into(), Vec::new(), "/work".into());
        spec.readable = vec!["/tools".into()];
        spec.writable = vec!["/work/a \" (b)".into()];
        spec
    }

    #[test]
    fn a_path_is_a_parameter_and_only_its_own_folders_are_writable() {
        let profile = build_profile(&spec()).unwrap();
        let rules: Vec<&str> = profile.text.lines().collect();
        assert_eq!(rules.get(..2), Some(&["(version 1)", "(deny default)"][..]));
        let last = profile.values.len() - 1;
        assert_eq!(
            rules
                .iter()
                .filter(|rule| rule.contains("file-write*"))
                .collect::<Vec<_>>(),
            [&format!(
                "(allow file-read* file-write* (subpath (param \"P{last}\")))"
            )]
        );
        assert_eq!(profile.values[last].1, PathBuf::from("/work/a \" (b)"));
        assert_eq!(profile.values[last - 1].1, PathBuf::from("/tools"));
        assert!(!profile.text.contains("/work") && !profile.text.contains("network"));
    }

    #[test]
    fn what_this_system_cannot_give_is_refused_and_not_left_out() {
        let mut forwarded = spec();
        forwarded.forwards = vec![PortForward {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            port: 80,
            socket: "/work/s".into(),
        }];
        let mut shared = spec();
        shared.shares = vec![SharedFolder {
            from: "/target".into(),
            at: "/work/target".into(),
        }];
        for spec in [forwarded, shared] {
            assert!(build_profile(&spec).is_err());
        }
    }
}

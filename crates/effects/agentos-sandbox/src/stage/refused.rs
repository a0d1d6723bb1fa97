//! Why the system refuses user namespaces.
//!
//! Owns: the switches that forbid them, and how each is changed. Never: changes one.

use std::path::Path;

use nix::errno::Errno;

/// Number of user namespaces that a user is usually allowed.
const USUAL_NAMESPACES: u64 = 15_000;

/// Switches of the system, as it states them. `None` if the system has no such switch.
#[derive(Debug, Clone, Copy, Default)]
struct Switches {
    /// `user.max_user_namespaces`.
    most: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, on Debian's kernels.
    unprivileged: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, on Ubuntu from 23.10.
    apparmor: Option<u64>,
    /// True inside a container.
    is_container: bool,
}

/// Describes why an ordinary user may not open namespaces, and the switch that allows it.
pub(super) fn describe_refusal(error: Errno) -> String {
    describe(error, &read_switches())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel's own switches, before a tool is started"
)]
fn read_switches() -> Switches {
    let number = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
        text.trim().parse().ok()
    };
    let marks = ["/.dockerenv", "/run/.containerenv"];
    Switches {
        most: number("user/max_user_namespaces"),
        unprivileged: number("kernel/unprivileged_userns_clone"),
        apparmor: number("kernel/apparmor_restrict_unprivileged_userns"),
        is_container: marks.iter().any(|mark| Path::new(mark).exists()),
    }
}

fn describe(error: Errno, switches: &Switches) -> String {
    let begin = "this user may not open user namespaces";
    match *switches {
        Switches { most: Some(0), .. } => format!(
            "{begin}, because the setting `user.max_user_namespaces` is 0; `sudo sysctl -w user.max_user_namespaces={USUAL_NAMESPACES}` \
             allows them"
        ),
        // The kernel reports a limit on namespaces with the number of a full disk.
        Switches { most, .. } if error == Errno::ENOSPC => {
            let limit = most.map_or_else(String::new, |most| format!(" of {most}"));
            format!(
                "{begin}, because the limit{limit} on their number or depth is reached (`user.max_user_namespaces`); end programs that use \
                 them, or raise the limit with `sudo sysctl -w`"
            )
        }
        Switches {
            unprivileged: Some(0),
            ..
        } => format!(
            "{begin}, because the setting `kernel.unprivileged_userns_clone` is 0; `sudo sysctl -w kernel.unprivileged_userns_clone=1` \
             allows them"
        ),
        Switches {
            apparmor: Some(1..), ..
        } => format!(
            "{begin}, because AppArmor restricts them (`kernel.apparmor_restrict_unprivileged_userns` is 1); an AppArmor profile with \
             `userns,` for this program allows them, or for all programs `sudo sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0`"
        ),
        Switches {
            is_container: true, ..
        } => format!(
            "{begin} in this container ({error}), usually because of its seccomp profile; start the container with `--security-opt \
             seccomp=FILE` and a profile that allows `unshare` and `clone`, or with `--security-opt seccomp=unconfined`"
        ),
        Switches { .. } => format!(
            "{begin} ({error}); a kernel without them, a seccomp filter or a security module forbids it, and no known setting says so"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_switch_and_the_change() {
        let usual = Switches {
            most: Some(95_000),
            ..Switches::default()
        };
        let cases = [
            (
                Errno::ENOSPC,
                Switches {
                    most: Some(0),
                    ..usual
                },
                "user.max_user_namespaces=15000",
            ),
            (Errno::ENOSPC, usual, "limit of 95000"),
            (
                Errno::EPERM,
                Switches {
                    unprivileged: Some(0),
                    ..usual
                },
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                Errno::EPERM,
                Switches {
                    apparmor: Some(1),
                    ..usual
                },
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (
                Errno::EPERM,
                Switches {
                    is_container: true,
                    ..usual
                },
                "seccomp",
            ),
            (
                Errno::EPERM,
                Switches {
                    unprivileged: Some(1),
                    apparmor: Some(0),
                    ..usual
                },
                "no known setting",
            ),
            (Errno::EINVAL, Switches::default(), "no known setting"),
        ];
        for (error, switches, words) in cases {
            let described = describe(error, &switches);
            assert!(described.contains(words), "{described}");
            assert!(!described.contains("No space"), "{described}");
        }
    }
}

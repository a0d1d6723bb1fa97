//! Free space on the disk of the build, so that a full disk has one clear line instead of a linker's error.
//!
//! Owns: reading `df`, and how much a first run takes. Never: removes anything.

use std::path::Path;

use xshell::Shell;

/// Space in KiB that a first run of `cargo xtask ci` takes. In November 2026 a clean clone took 4.7 GiB without incremental compilation
/// (`du -sh target`) and about 8 with it; the tests and gates make copies besides.
const FIRST_RUN: u64 = 10 << 20;

/// Returns the line about the free space where `folder` is. A warning if a first run may not fit.
pub fn describe_space(sh: &Shell, folder: &Path) -> String {
    let output = sh.cmd("df").arg("-Pk").arg(folder).quiet().ignore_stderr().read();
    match output.ok().as_deref().and_then(parse_free) {
        Some(free) if free < FIRST_RUN => format!(
            "warning: {} are free on the disk, and a first run takes {}; `cargo clean` makes room",
            format_size(free),
            format_size(FIRST_RUN)
        ),
        Some(free) => format!("free on the disk: {}", format_size(free)),
        None => "free on the disk: unknown, because `df` did not say".to_owned(),
    }
}

/// Reads the free space in KiB from the output of `df -Pk`, whose form POSIX fixes.
fn parse_free(output: &str) -> Option<u64> {
    output.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn format_size(kibibytes: u64) -> String {
    format!("{:.1} GiB", kibibytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_the_fourth_column() {
        let output = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264097468 88080384 7549747 93% /\n";
        assert_eq!(parse_free(output), Some(7_549_747));
        assert_eq!(format_size(7_549_747), "7.2 GiB");
        assert_eq!(parse_free("df: no such file\n"), None);
    }
}

//! Chooses how the programs are linked.
//!
//! Every start of a program relocates some 60,000 addresses. Packed (`DT_RELR`), their table takes 20 KB instead of 1.4 MB, which each
//! process would read and keep in memory. glibc understands it since 2.36, of August 2022, and refuses to start such a program before
//! (<https://sourceware.org/glibc/wiki/Release/2.36>). So the table is packed only where the glibc that is linked is that new: a program that
//! is built on an older system still runs there, and one that is built on a newer system needs 2.36.
//!
//! lld and GNU ld know the option, or warn that they do not. gold ends with an error, so it is left out if `RUSTFLAGS` names gold.
//!
//! Owns: this one option. Never: changes what is compiled.

use std::fs;
use std::io::{self, Write as _};

/// Header with the version of glibc, where a C compiler finds it.
const HEADER: &str = "/usr/include/features.h";
/// Oldest version 2.x that understands packed relocations.
const OLDEST: u32 = 36;

fn main() -> io::Result<()> {
    let mut cargo = io::stdout().lock();
    writeln!(cargo, "cargo::rerun-if-changed=../link.rs")?;
    // A file that is not there would count as changed at every build.
    if fs::exists(HEADER).unwrap_or_default() {
        writeln!(cargo, "cargo::rerun-if-changed={HEADER}")?;
    }
    // Where another system is compiled for, the header of this one says nothing.
    let is_native = cfg!(all(target_os = "linux", target_env = "gnu")) && has_usual_linker();
    if is_native && read_version().is_some_and(|version| version >= OLDEST) {
        writeln!(cargo, "cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs")?;
    }
    Ok(())
}

/// Returns true if the programs are built for the system that builds them, and not with gold.
#[expect(clippy::disallowed_methods, reason = "cargo names these in variables")]
fn has_usual_linker() -> bool {
    let flags = std::env::var_os("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let has_gold = flags.to_string_lossy().contains("fuse-ld=gold");
    std::env::var_os("TARGET") == std::env::var_os("HOST") && !has_gold
}

/// Returns the second part of glibc's version, as 36 for 2.36. `None` if there is no glibc.
fn read_version() -> Option<u32> {
    let header = fs::read_to_string(HEADER).ok()?;
    let value = |name: &str| {
        let line = header
            .lines()
            .find_map(|line| line.strip_prefix("#define")?.trim().strip_prefix(name));
        line?.trim().parse().ok()
    };
    (value("__GLIBC__") == Some(2)).then(|| value("__GLIBC_MINOR__"))?
}

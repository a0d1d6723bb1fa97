//! `cargo xtask dist`: the archive that a release consists of.
//!
//! Owns: what is in it, its checksum, and a look at what was packed. Never: publishes anything, or asks the network for
//! more than cargo does.

mod licences;

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::metadata::Metadata;
use crate::say;

/// Below cargo's own folder; `dist` there is the profile's.
const FOLDER: &str = "distrib";
/// What each shell calls its file.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "agentos.bash"),
    ("elvish", "agentos.elv"),
    ("fish", "agentos.fish"),
    ("powershell", "_agentos.ps1"),
    ("zsh", "_agentos"),
];
/// Files of the repository that go along.
const TEXTS: &[&str] = &[
    "README.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "crates/apps/agentos-cli/CHANGELOG.md",
    "crates/apps/agentos-cli/REFERENCE.md",
];
/// The texts of everything that is linked in.
const LICENCES: &str = "THIRD-PARTY.md";

/// Builds the product as it is released, packs it with its pages, and looks at what was packed.
///
/// # Errors
/// When it does not build, a tool is missing, or the archive does not hold a program that runs.
pub fn run(root: &Path) -> Result<bool, String> {
    let metadata = Metadata::load(root)?;
    let product = metadata
        .members()
        .into_iter()
        .find(|member| member.name == "agentos");
    let version = product.map(|product| product.version.clone()).unwrap_or_default();
    let host = host()?;
    build(root)?;
    let target = PathBuf::from(&metadata.target_directory);
    let folder = target.join(FOLDER);
    let name = format!("agentos-{version}-{host}");
    let stage = folder.join(&name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    let program = target
        .join("dist")
        .join(format!("agentos{}", std::env::consts::EXE_SUFFIX));
    fill(root, &metadata, &program, &stage)?;
    let archive = pack(root, &folder, &name)?;
    let sum = checksum(&archive)?;
    look(&archive, &name, &version)?;
    let mib = |path: &Path| {
        let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    };
    say(&format!("{}  {}", mib(&archive), archive.display()));
    say(&format!("{sum}  SHA-256, beside it"));
    say(&format!("{}  the program alone", mib(&program)));
    Ok(true)
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> String {
    let path = path.display().to_string();
    move |error| format!("`{path}`: {error}")
}

/// What a program prints, if it ends well.
fn printed(program: &Path, args: &[&str], dir: &Path) -> Result<Vec<u8>, String> {
    let call = format!("`{} {}`", program.display(), args.join(" "));
    let output = Command::new(program).args(args).current_dir(dir).output();
    let output = output.map_err(|error| format!("{call} cannot be run: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{call} failed: {}", said.trim()))
    }
}

fn text(program: impl AsRef<Path>, args: &[&str], dir: &Path) -> Result<String, String> {
    let bytes = printed(program.as_ref(), args, dir)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The triple of this machine, as rustc names it.
fn host() -> Result<String, String> {
    let said = text("rustc", &["-vV"], Path::new("."))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

/// Builds the product as it is shipped, below the target folder's `dist`.
///
/// # Errors
/// When it does not build.
pub fn build(root: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args([
            "build",
            "--locked",
            "--profile",
            "dist",
            "--package",
            "agentos",
            "--bins",
        ])
        // The system's zlib would have to be there wherever the archive goes.
        .env("LIBZ_SYS_STATIC", "1")
        .current_dir(root)
        .status()
        .map_err(|error| format!("`cargo build` cannot be run: {error}"))?;
    match built.success() {
        true => Ok(()),
        false => Err("the product does not build".to_owned()),
    }
}

/// Puts everything where the archive has it.
fn fill(root: &Path, metadata: &Metadata, program: &Path, stage: &Path) -> Result<(), String> {
    let (completions, manual) = (stage.join("completions"), stage.join("man/man1"));
    for folder in [&completions, &manual] {
        std::fs::create_dir_all(folder).map_err(at(folder))?;
    }
    // With its mode, so that it can be run.
    let (from, to) = (program.display().to_string(), stage.display().to_string());
    printed(Path::new("cp"), &["-p", &from, &to], root)?;
    for text in TEXTS {
        let from = root.join(text);
        let name = from.file_name().unwrap_or_default();
        put(&stage.join(name), &std::fs::read(&from).map_err(at(&from))?)?;
    }
    for (shell, file) in COMPLETIONS {
        put(
            &completions.join(file),
            &printed(program, &["completions", shell], stage)?,
        )?;
    }
    put(&manual.join("agentos.1"), &printed(program, &["man"], stage)?)?;
    let verbs = printed(program, &["man", "--list"], stage)?;
    for verb in String::from_utf8_lossy(&verbs).lines() {
        let words: Vec<&str> = verb.split(' ').collect();
        let page = printed(program, &[&["man"], words.as_slice()].concat(), stage)?;
        put(&manual.join(format!("agentos-{}.1", words.join("-"))), &page)?;
    }
    put(&stage.join(LICENCES), licences::page(root, metadata)?.as_bytes())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(at(path))
}

/// The same bytes from the same commit: names in order, nobody's ownership, the time of the commit.
fn pack(root: &Path, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let time = text("git", &["log", "-1", "--format=%ct"], root)?;
    let time = format!("--mtime=@{}", time.trim());
    let archive = format!("{name}.tar.gz");
    let args = [
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u+rw,go+r-w",
        &time,
        "--use-compress-program=gzip -9n",
        "-cf",
        &archive,
        name,
    ];
    printed(Path::new("tar"), &args, folder)?;
    Ok(folder.join(archive))
}

/// Writes the checksum as `sha256sum --check` reads it.
fn checksum(archive: &Path) -> Result<String, String> {
    let bytes = std::fs::read(archive).map_err(at(archive))?;
    let sum: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    put(
        &archive.with_extension("gz.sha256"),
        format!("{sum}  {name}\n").as_bytes(),
    )?;
    Ok(sum)
}

/// Unpacks the archive elsewhere and runs what is in it.
fn look(archive: &Path, name: &str, version: &str) -> Result<(), String> {
    let elsewhere = archive.with_extension("look");
    std::fs::create_dir_all(&elsewhere).map_err(at(&elsewhere))?;
    let path = archive.display().to_string();
    printed(Path::new("tar"), &["-xf", &path], &elsewhere)?;
    let program = elsewhere.join(name).join("agentos");
    let said = printed(&program, &["--version"], &elsewhere)?;
    std::fs::remove_dir_all(&elsewhere).map_err(at(&elsewhere))?;
    let (said, wanted) = (String::from_utf8_lossy(&said), format!("agentos {version}"));
    match said.trim() == wanted {
        true => Ok(()),
        false => Err(format!(
            "the packed program says `{}`, not `{wanted}`",
            said.trim()
        )),
    }
}

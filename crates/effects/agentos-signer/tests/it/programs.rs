//! What is passed to a signing program, and what is made of what it does.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agentos_signer::{SignError, SignatureFormat, SignatureRequest, Signer, SigningEnvironment};
use agentos_testkit::repo::{TestRepo, make_dir, set_mode, write_file};

/// A program that does this, in a folder that is gone with the first value.
fn program(script: &str) -> (TestRepo, String) {
    let folder = TestRepo::new();
    let path = folder.outside().join("signer");
    write_file(&path, format!("#!/bin/sh\n{script}\n"));
    set_mode(&path, 0o755);
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn signer(
    format: SignatureFormat,
    program: &str,
    key: Option<&str>,
    folder: &Path,
) -> Result<Signer, SignError> {
    let vars = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home"),
        ("API_KEY", "secret"),
    ];
    let request = SignatureRequest {
        format,
        program: Some(program.to_owned()),
        key: key.map(str::to_owned),
        committer: "Lander <lander@example.com>".to_owned(),
    };
    let surroundings = SigningEnvironment {
        vars: BTreeMap::from(vars.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        home: Some("/home".into()),
        repository: None,
        key_file: folder.join("key.pub"),
    };
    Signer::new(&request, &surroundings)
}

const PGP: &str = "echo '[GNUPG:] SIG_CREATED D' >&2; printf -- '-----BEGIN PGP SIGNATURE-----\\r\\n\\nx\\n-----END PGP SIGNATURE-----\\n'";

#[test]
fn each_format_has_its_own_words() {
    let cases = [
        (SignatureFormat::Openpgp, Some("ABCD"), "--status-fd=2 -bsau ABCD"),
        (
            SignatureFormat::X509,
            None,
            "--status-fd=2 -bsau Lander <lander@example.com>",
        ),
        (
            SignatureFormat::Ssh,
            Some("~/.ssh/id"),
            "-Y sign -n git -f /home/.ssh/id",
        ),
    ];
    for (format, key, expected) in cases {
        let (folder, path) = program("echo \"$*\" >&2; exit 1");
        let error = signer(format, &path, key, folder.outside())
            .unwrap()
            .sign(b"x", &|| false)
            .unwrap_err();
        assert_eq!(error.to_string(), format!("`{path}` did not sign: {expected}"));
    }
}

#[test]
fn a_public_key_that_is_no_file_is_in_one_while_it_is_needed() {
    for key in ["ssh-ed25519 AAAA me", "key::ssh-ed25519 AAAA me"] {
        let (folder, path) = program("cat \"$6\" >&2; exit 1");
        let signer = signer(SignatureFormat::Ssh, &path, Some(key), folder.outside()).unwrap();
        let error = signer.sign(b"x", &|| false).unwrap_err().to_string();
        assert!(error.ends_with("did not sign: ssh-ed25519 AAAA me"), "{error}");
        assert!(!folder.outside().join("key.pub").exists());
    }
}

#[test]
fn a_program_gets_what_it_signs_and_little_of_the_environment() {
    let script = format!(
        "test \"$(cat)\" = commit || exit 1; env | grep -q secret && exit 1; test \"$PWD\" = / || exit 1; {PGP}"
    );
    let (folder, path) = program(&script);
    let signer = signer(SignatureFormat::Openpgp, &path, None, folder.outside()).unwrap();
    let signature = signer.sign(b"commit", &|| false).unwrap();
    assert_eq!(
        signature,
        "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----"
    );
}

#[test]
fn what_is_no_signature_is_told() {
    let forged = PGP.replace("SIG_CREATED", "INV_SGNR");
    let endless = "echo '[GNUPG:] SIG_CREATED D' >&2; yes";
    let cases = [
        ("exit 2", "did not sign: it printed no reason"),
        (
            "printf 'no\\033[2J secret key\\n[GNUPG:] X\\n' >&2; exit 2",
            "did not sign: no[2J secret key",
        ),
        (forged.as_str(), "did not sign: it printed no reason"),
        (
            "echo '[GNUPG:] SIG_CREATED D' >&2; echo hello",
            "its output is not a signature",
        ),
        (
            "echo '[GNUPG:] SIG_CREATED D' >&2",
            "its output is not a signature",
        ),
        (endless, "did not sign: "),
    ];
    for (script, expected) in cases {
        let (folder, path) = program(script);
        let signer = signer(SignatureFormat::Openpgp, &path, None, folder.outside()).unwrap();
        let error = signer.sign(&[b'x'; 1 << 20], &|| false).unwrap_err().to_string();
        assert!(error.contains(expected), "{script}: {error}");
    }
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    // The shell's child keeps the pipes open; it must not be waited for either.
    let (folder, path) = program("sleep 600");
    let signer = signer(SignatureFormat::Openpgp, &path, None, folder.outside()).unwrap();
    let error = signer
        .with_limit(Duration::from_millis(50))
        .sign(b"x", &|| false)
        .unwrap_err();
    assert!(matches!(error, SignError::TooSlow { .. }), "{error}");
}

#[test]
fn a_signing_program_that_a_package_of_the_repository_brought_is_not_started() {
    let folder = TestRepo::new();
    make_dir(&folder.outside().join(".git"));
    let planted = folder.outside().join("ssh-keygen");
    write_file(&planted, "#!/bin/sh\n");
    set_mode(&planted, 0o755);
    let path = folder.outside().display().to_string();
    let find = |repository: Option<&Path>| {
        let request = SignatureRequest {
            format: SignatureFormat::Ssh,
            program: None,
            key: Some("/home/key".to_owned()),
            committer: String::new(),
        };
        let surroundings = SigningEnvironment {
            vars: BTreeMap::from([("PATH".to_owned(), path.clone())]),
            home: None,
            repository: repository.map(Path::to_owned),
            key_file: folder.outside().join("key.pub"),
        };
        Signer::new(&request, &surroundings)
    };
    assert!(find(None).is_ok());
    let error = find(Some(folder.outside())).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "the signing program `ssh-keygen` is only in the repository, at `{}`",
            planted.display()
        )
    );
}

#[test]
fn what_depends_on_the_current_folder_is_refused_before_anything_is_started() {
    let folder = TestRepo::new();
    let cases = [
        (
            "./signer",
            Some("/k"),
            "the signing program `./signer` is a relative path",
        ),
        (
            "sh",
            Some("keys/mine"),
            "the signing key `keys/mine` is a relative path",
        ),
        ("sh", None, "no SSH key is named to sign with"),
    ];
    for (program, key, expected) in cases {
        let error = signer(SignatureFormat::Ssh, program, key, folder.outside()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!error.hint().is_empty());
    }
}

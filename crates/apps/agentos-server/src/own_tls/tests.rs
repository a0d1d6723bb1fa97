//! Tests of the authority: what devices that trust it accept.

use std::path::Path;

use agentos_host::Environment;
use agentos_testkit::repo::TestRepo;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{ServerName, UnixTime};

use super::*;

fn host(home: &Path) -> Host {
    let vars = [("HOME".to_owned(), home.display().to_string())];
    Host::new(Environment::new(vars, home.to_owned()))
}

fn addresses(texts: &[&str]) -> Vec<DeviceAddress> {
    let address = |text: &&str| DeviceAddress {
        host: (*text).to_owned(),
        origin: format!("https://{text}"),
        listens: Some((*text).to_owned()),
    };
    texts.iter().map(address).collect()
}

/// Checks a certificate as a device does that trusts the authority.
fn is_trusted(authority: &ServiceAuthority, shown: &CertifiedKey, name: &str, at: i64) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from(authority.certificate().to_vec()))
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at).unwrap()));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let (own, chain) = shown.cert.split_first().unwrap();
    let checked = verifier
        .build()
        .unwrap()
        .verify_server_cert(own, chain, &name, &[], at);
    checked.is_ok()
}

fn certificates(authority: &Arc<ServiceAuthority>, name: &str) -> OwnCertificates {
    OwnCertificates {
        authority: Arc::clone(authority),
        name: name.to_owned(),
        provider: Arc::new(rustls::crypto::ring::default_provider()),
        last: Mutex::default(),
    }
}

#[test]
fn a_restart_keeps_the_authority_and_a_new_address_replaces_it() {
    let home = TestRepo::new();
    let host = host(home.path());
    assert!(ServiceAuthority::open(&host, &[]).unwrap().is_none());
    assert!(host.read_service_authority().unwrap().is_none());
    let open = |texts: &[&str]| ServiceAuthority::open(&host, &addresses(texts)).unwrap().unwrap();
    let both = open(&["192.0.2.7:7418", "laptop.example"]);
    assert!(both.is_new());
    let fingerprint = both.fingerprint();
    assert_eq!(fingerprint.split(' ').count(), 16, "{fingerprint}");
    for texts in [&["laptop.example", "192.0.2.7:1"][..], &["laptop.example"]] {
        let again = open(texts);
        assert_eq!(
            (again.fingerprint(), again.is_new()),
            (fingerprint.clone(), false),
            "{texts:?}"
        );
    }
    let other = open(&["laptop.example", "tower.example"]);
    assert!(other.is_new());
    assert_ne!(other.fingerprint(), fingerprint);
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_key_of_the_authority() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = TestRepo::new();
    let host = host(home.path());
    ServiceAuthority::open(&host, &addresses(&["laptop.example"])).unwrap();
    let file = host.service_folder().unwrap().join("authority.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mode = std::fs::metadata(file.parent().unwrap())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_certificate_is_for_its_address_and_for_a_week() {
    let home = TestRepo::new();
    let names = ["192.0.2.7", "2001:db8::7", "laptop.example"];
    let listed = names.map(|name| {
        if name.contains("::") {
            format!("[{name}]:7418")
        } else {
            format!("{name}:7418")
        }
    });
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let authority = ServiceAuthority::open(&host(home.path()), &addresses(&listed))
        .unwrap()
        .unwrap();
    let made = now().unix_seconds();
    for name in names {
        let own = certificates(&authority, name);
        let first = own.find(made).unwrap();
        for (asked, at, trusted) in [
            (name, made, true),
            (name, made + LIFE - 1, true),
            (name, made + LIFE + 1, false),
            (name, made - 2 * DAY, false),
            ("other.example", made, false),
            ("192.0.2.8", made, false),
        ] {
            assert_eq!(
                is_trusted(&authority, &first, asked, at),
                trusted,
                "{asked} at {at}"
            );
        }
        assert!(Arc::ptr_eq(&first, &own.find(made + RENEWAL - 1).unwrap()));
        let second = own.find(made + RENEWAL).unwrap();
        assert_ne!(first.cert, second.cert);
        assert!(is_trusted(&authority, &second, name, made + RENEWAL + LIFE - 1));
    }
}

#[test]
fn a_stolen_authority_signs_for_the_addresses_of_the_user_alone() {
    let home = TestRepo::new();
    let open = |texts: &[&str]| {
        ServiceAuthority::open(&host(home.path()), &addresses(texts))
            .unwrap()
            .unwrap()
    };
    let made = now().unix_seconds();
    for (own, other) in [
        ("192.0.2.7:7418", "bank.example"),
        ("192.0.2.7:7418", "192.0.2.8"),
        ("192.0.2.7:7418", "2001:db8::8"),
        ("laptop.example", "bank.example"),
        ("laptop.example", "192.0.2.8"),
        ("laptop.example", "a.laptop.example"),
    ] {
        let authority = open(&[own]);
        let forged = certificates(&authority, other).find(made).unwrap();
        assert!(!is_trusted(&authority, &forged, other, made), "{own} {other}");
    }
}

#[test]
fn a_damaged_authority_names_its_file() {
    let home = TestRepo::new();
    let host = host(home.path());
    let open = || ServiceAuthority::open(&host, &addresses(&["laptop.example"]));
    open().unwrap();
    let path = host.service_authority_path().unwrap().display().to_string();
    let kept = host.read_service_authority().unwrap().unwrap();
    let change = |name: &str, value: serde_json::Value| {
        let mut kept: serde_json::Value = serde_json::from_str(kept.expose()).unwrap();
        kept[name] = value;
        host.keep_service_authority(&Secret::new(&kept.to_string()))
            .unwrap();
        open()
    };
    for (name, value) in [
        ("version", 2.into()),
        ("key", vec![1, 2].into()),
        ("names", 1.into()),
    ] {
        let message = change(name, value).err().unwrap().message;
        assert!(
            message.contains(&path) && message.contains("remove the file"),
            "{message}"
        );
    }
    // A moment that no certificate can name.
    assert!(change("made", i64::MAX.into()).is_ok());
    assert!(change("made", i64::MIN.into()).is_ok());
}

//! TLS for the user's other devices, with certificates of an authority of this service alone.
//!
//! Owns: the authority and its certificates. Never: makes a certificate for a name that is not on the user's list of addresses, or uses a key for two
//! certificates.
//!
//! | | made | ends |
//! |---|---|---|
//! | authority | with the first address `tls://…`, and again if an address is new to it | after ten years; devices that trust it keep doing so over restarts |
//! | certificate | at the start, and at a handshake a day later | after a week |
//!
//! The authority's certificate permits the names of the list at the time when it was made, and no name below them (RFC 5280, section
//! 4.2.1.10). So a stolen key of the authority signs for no other site, on devices that apply the constraints of an authority that they
//! trust; not every client does. An address that leaves the list stays permitted until the authority is made again.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_host::{Cause, DeviceAddress, EffectError, Host, now};
use agentos_tool::Secret;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Version of the kept authority.
const VERSION: u32 = 1;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Last second that a certificate can name: the end of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;
/// Life of the authority.
const AUTHORITY_LIFE: i64 = 3_650 * DAY;
/// Life of a certificate.
const LIFE: i64 = 7 * DAY;
/// Age at which another certificate takes its place.
const RENEWAL: i64 = DAY;
/// The only protocol of the service, as ALPN names it (RFC 7301, section 6).
const HTTP: &[u8] = b"http/1.1";
/// Name that no machine has. It is always on the list of permitted names: an empty list would permit every name.
const NO_NAME: &str = "agentos.invalid";
/// Address that no machine has. It is always on the list of permitted addresses, for the same reason.
const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// State that is kept over a restart.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptAuthority {
    version: u32,
    /// Seconds since 1970.
    made: i64,
    /// Names and addresses that it may sign.
    names: Vec<String>,
    /// Certificate, as DER.
    certificate: Vec<u8>,
    /// Private key, as PKCS #8.
    key: Vec<u8>,
}

/// The authority of the service's certificates.
pub struct ServiceAuthority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    is_new: bool,
}

/// Certificates of one address, of which the last one is in use.
struct OwnCertificates {
    authority: Arc<ServiceAuthority>,
    name: String,
    provider: Arc<CryptoProvider>,
    /// Last certificate, with the second in which it was made.
    last: Mutex<Option<(i64, Arc<CertifiedKey>)>>,
}

impl ServiceAuthority {
    /// Opens the authority of the user's addresses, and makes it if there is none that may sign all of them. `None` if no address asks for
    /// TLS of the service itself.
    ///
    /// # Errors
    /// Fails if the file of the authority cannot be read or written, or a name cannot be in a certificate.
    pub fn open(host: &Host, addresses: &[DeviceAddress]) -> Result<Option<Arc<Self>>, EffectError> {
        let own = addresses.iter().filter(|address| address.listens.is_some());
        let mut names: Vec<String> = own.map(|address| address.name().to_owned()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        names.sort();
        names.dedup();
        let now = now().unix_seconds();
        let path = host.service_authority_path()?;
        let kept = host.read_service_authority()?.map(|text| read_kept(&text, &path));
        let kept = kept.transpose()?.filter(|kept| {
            let ends = kept.made.saturating_add(AUTHORITY_LIFE);
            names.iter().all(|name| kept.names.contains(name)) && now.saturating_add(LIFE) < ends
        });
        if let Some(kept) = kept {
            let own = Self::from_kept(&kept, false).map_err(|_| damaged(&path))?;
            return Ok(Some(Arc::new(own)));
        }
        let made = make_authority(now, names)?;
        let text = serde_json::to_string(&made).map_err(|error| failed(&error))?;
        host.keep_service_authority(&Secret::new(&text))?;
        Self::from_kept(&made, true).map(|own| Some(Arc::new(own)))
    }

    fn from_kept(kept: &KeptAuthority, is_new: bool) -> Result<Self, EffectError> {
        let key = KeyPair::try_from(kept.key.as_slice()).map_err(|error| failed(&error))?;
        Ok(Self {
            certificate: CertificateDer::from(kept.certificate.clone()),
            issuer: Issuer::new(authority_params(kept.made, &kept.names), key),
            is_new,
        })
    }

    /// Returns the certificate of the authority as DER, for a device that is to trust it.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns true if the authority was made at this start.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns the SHA-256 of the authority's certificate in groups, for a comparison by eye.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(&self.certificate);
        let groups = digest
            .chunks(2)
            .map(|pair| pair.iter().map(|byte| format!("{byte:02X}")).collect());
        groups.collect::<Vec<String>>().join(" ")
    }

    /// Makes the settings of TLS for an address.
    ///
    /// # Errors
    /// Fails if the name of the address cannot be in a certificate.
    pub fn configure(self: &Arc<Self>, address: &DeviceAddress) -> Result<ServerConfig, EffectError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificates = OwnCertificates {
            authority: Arc::clone(self),
            name: address.name().to_owned(),
            provider: Arc::clone(&provider),
            last: Mutex::default(),
        };
        // Made at the start, so that a name that no certificate can have is reported there.
        certificates.find(now().unix_seconds())?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = vec![HTTP.to_vec()];
        Ok(config)
    }
}

impl OwnCertificates {
    /// Returns the certificate in use, and makes another one if it is old.
    fn find(&self, now: i64) -> Result<Arc<CertifiedKey>, EffectError> {
        // An entry is put in whole, so the value is valid even after a panic of another thread.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, certificate)) = last.as_ref()
            && (*made..made.saturating_add(RENEWAL)).contains(&now)
        {
            return Ok(Arc::clone(certificate));
        }
        let certificate = Arc::new(self.make(now)?);
        *last = Some((now, Arc::clone(&certificate)));
        Ok(certificate)
    }

    fn make(&self, now: i64) -> Result<CertifiedKey, EffectError> {
        let mut params = CertificateParams::new([self.name.clone()]).map_err(|error| failed(&error))?;
        params.distinguished_name = named("AgentOS service");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        set_life(&mut params, now, LIFE);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| failed(&error))?;
        let signed = params
            .signed_by(&key, &self.authority.issuer)
            .map_err(|error| failed(&error))?;
        let chain = vec![signed.der().clone(), self.authority.certificate.clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        CertifiedKey::from_der(chain, key, &self.provider).map_err(|error| failed(&error))
    }
}

impl ResolvesServerCert for OwnCertificates {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // Without a certificate the handshake fails, and the device says so.
        self.find(now().unix_seconds()).ok()
    }
}

impl fmt::Debug for OwnCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnCertificates({})", self.name)
    }
}

fn make_authority(now: i64, names: Vec<String>) -> Result<KeptAuthority, EffectError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| failed(&error))?;
    let params = authority_params(now, &names);
    let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
    Ok(KeptAuthority {
        version: VERSION,
        made: now,
        names,
        certificate: certificate.der().to_vec(),
        key: key.serialize_der(),
    })
}

/// Describes the authority. Its certificates name it by what is here, so the same values must give the same text.
fn authority_params(made: i64, names: &[String]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("AgentOS devices {made}"));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // No further authority below this one.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: list_permitted(names),
        excluded_subtrees: list_excluded(names),
    });
    set_life(&mut params, made, AUTHORITY_LIFE);
    params
}

fn list_permitted(names: &[String]) -> Vec<GeneralSubtree> {
    let (mut hosts, mut addresses) = (vec![NO_NAME.to_owned()], vec![NO_ADDRESS]);
    for name in names {
        match name.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => hosts.push(name.clone()),
        }
    }
    let hosts = hosts.into_iter().map(GeneralSubtree::DnsName);
    let addresses = addresses.into_iter().map(|address| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, bits))
    });
    hosts.chain(addresses).collect()
}

/// Lists the names below the permitted ones: a permitted name would permit these too. RFC 5280 does not define the leading dot for
/// names of hosts; OpenSSL 3, GnuTLS 3.7, NSS, Node and Chromium read it as "every name below", and accept the name itself.
fn list_excluded(names: &[String]) -> Vec<GeneralSubtree> {
    let hosts = names.iter().filter(|name| name.parse::<IpAddr>().is_err());
    hosts
        .map(|name| GeneralSubtree::DnsName(format!(".{name}")))
        .collect()
}

fn named(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

/// Sets the first and the last moment. The first one is a day earlier: clocks of devices differ.
fn set_life(params: &mut CertificateParams, made: i64, life: i64) {
    let after = |seconds: i64| {
        // The file of the authority may say any number, and a later moment than this would panic.
        let seconds = u64::try_from(seconds.min(LAST_SECOND)).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = after(made.saturating_sub(DAY));
    params.not_after = after(made.saturating_add(life));
}

fn read_kept(text: &Secret, path: &Path) -> Result<KeptAuthority, EffectError> {
    // The message of the parser may quote the key.
    let kept: KeptAuthority = serde_json::from_str(text.expose()).map_err(|_| damaged(path))?;
    match kept.version {
        VERSION => Ok(kept),
        other => {
            let path = path.display();
            let what = format!(
                "the authority of the certificates in `{path}` has version {other} instead of {VERSION}; remove the file, and the next start \
                 makes another authority"
            );
            Err(EffectError::new(Cause::Usage, "service-file", what))
        }
    }
}

fn damaged(path: &Path) -> EffectError {
    let path = path.display();
    let what = format!(
        "the authority of the certificates in `{path}` is damaged; remove the file, and the next start makes another authority"
    );
    EffectError::new(Cause::Usage, "service-file", what)
}

fn failed(error: &dyn std::error::Error) -> EffectError {
    EffectError::from_error(Cause::Usage, "certificate", error)
}

#[cfg(test)]
mod tests;

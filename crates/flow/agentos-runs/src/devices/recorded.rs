//! Devices on a repository's tape, so that whoever verifies the tape knows whose signatures count where.
//!
//! Owns: which pairings and revocations a tape lacks, and the runs that record them. Never: pairs or revokes a device.

use agentos_engine::Cause;
use agentos_engine::ports::{Durability, EffectError};
use agentos_evidence::{DeviceBody, DeviceKey, DeviceStanding, PairedKeys, RecordKind};

use super::{PairedDevice, read_devices};
use crate::Runs;
use crate::hooks::open_session;
use agentos_ground::clock;
use agentos_ground::control::StopFlag;
use agentos_ground::options::SessionOptions;
use agentos_ground::tape::evidence_error;
use agentos_ground::tape::open_store;
use agentos_providers::approver::Approver;

impl Runs<'_> {
    /// Records the devices whose pairing or revocation is not on the repository's tape yet, in a run that ends with a signed checkpoint.
    ///
    /// It is called when a device is paired or revoked, before a device approves, and when a service takes the repository: the list of
    /// devices belongs to the user, and each repository has its own tape.
    ///
    /// # Errors
    /// If the list or the tape cannot be read, or the records cannot be made.
    pub fn record_devices(self) -> Result<(), EffectError> {
        let devices = read_devices(self.ground)?.devices;
        if devices.is_empty() {
            return Ok(());
        }
        let keys = open_store(self.ground)?.paired_keys();
        let missing = list_missing(&devices, &keys.map_err(|error| evidence_error(&error))?);
        if missing.is_empty() {
            return Ok(());
        }
        let run = clock::new_run();
        let options = SessionOptions::writing_nothing();
        let mut session = open_session(
            self.ground,
            &options,
            Approver::nobody(),
            StopFlag::default(),
            &run,
        )?;
        let who = self.ground.person_name();
        for (device, standing) in missing {
            let when = match (&device.revoked, standing) {
                (Some(revoked), DeviceStanding::Revoked) => revoked,
                (_, DeviceStanding::Paired | DeviceStanding::Revoked) => &device.paired,
            };
            let key = DeviceKey {
                name: device.name.clone(),
                key: device.key.clone(),
                standing,
            };
            let body = serde_json::to_value(DeviceBody::new(who.clone(), when.clone(), key));
            let body = body.map_err(|error| EffectError::from_error(Cause::Internal, "evidence", &error))?;
            let evidence = session.run_effects().evidence;
            evidence.record(RecordKind::Consent, body, Durability::Now)?;
        }
        session.seal_run(self.ground);
        Ok(())
    }
}

/// Lists the pairings and revocations that a tape lacks, in their order. A revoked key is listed even if the tape never paired it, because
/// the record keeps the key from being paired on this tape.
fn list_missing<'a>(
    devices: &'a [PairedDevice],
    keys: &PairedKeys,
) -> Vec<(&'a PairedDevice, DeviceStanding)> {
    let missing = devices.iter().filter_map(|device| {
        let wanted = match device.revoked {
            None => DeviceStanding::Paired,
            Some(_) => DeviceStanding::Revoked,
        };
        let is_settled = match (keys.standing(&device.key), wanted) {
            (Some(DeviceStanding::Revoked), _) => true,
            (Some(DeviceStanding::Paired), DeviceStanding::Paired) => true,
            (Some(DeviceStanding::Paired), DeviceStanding::Revoked) | (None, _) => false,
        };
        (!is_settled).then_some((device, wanted))
    });
    missing.collect()
}

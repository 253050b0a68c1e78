//! The profiles of the other processes' ranks, which process 0 puts together.

use super::RunProcesses;
use motet_sync::Mutex;
use std::collections::BTreeMap;

/// What control messages say; their tag.
pub(super) const PROFILE: u32 = 23;

/// In process 0, by process: what has come.
#[derive(Default)]
pub(super) struct Profiles(Mutex<BTreeMap<usize, Vec<u8>>>);

impl RunProcesses {
    /// Whether this is process 0.
    pub(crate) fn is_first(&self) -> bool {
        self.own() == 0
    }

    /// Sends the profile of the ranks here to process 0, before it is told that they have ended:
    /// when all have, all profiles are there.
    pub(crate) fn send_profile(&self, profile: Vec<u8>) {
        if !self.is_first() {
            self.tell(0, PROFILE, 0, profile);
        }
    }

    pub(super) fn profile_came(&self, process: usize, profile: &[u8]) {
        self.profiles.0.lock().insert(process, profile.to_vec());
    }

    /// In process 0: the profiles of the other processes, in their order.
    pub(crate) fn take_profiles(&self) -> Vec<Vec<u8>> {
        let came = std::mem::take(&mut *self.profiles.0.lock());
        came.into_values().collect()
    }
}

//! What a role keeps: its records in a log on the host's disk.
//!
//! One entry per step, synced before anything of that step is visible to others. An entry that
//! a crash cut short was never visible and is dropped; a log that is damaged is refused. See
//! `log` for how the two are told apart.

use std::marker::PhantomData;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::log::{Log, LogError};
use crate::point;

/// A role's records.
pub(super) struct Store<R> {
    log: Log,
    records: PhantomData<R>,
}

impl<R: Serialize + DeserializeOwned> Store<R> {
    /// Opens the store, or begins one, and gives its records in the order in which they were
    /// kept.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<R>), LogError> {
        let (log, entries) = Log::open(path)?;
        let mut records = Vec::new();
        for entry in entries {
            records.extend(postcard::from_bytes::<Vec<R>>(&entry.bytes).map_err(|error| {
                Log::strange(path, entry.offset, "an entry of records", error.to_string())
            })?);
        }
        Ok((Self { log, records: PhantomData }, records))
    }

    /// Keeps the records of one step: they are durable when this returns.
    ///
    /// After an error the store has to be opened anew.
    pub(super) async fn keep(&mut self, records: &[R]) -> Result<(), LogError> {
        let entry = postcard::to_stdvec(records).expect("records are plain data");
        self.log.write(&entry)?;
        point("before-sync").await;
        self.log.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn records_are_kept_on_a_real_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("role.log");
        for (already, new) in [(vec![], vec![1, 2]), (vec![1, 2], vec![3])] {
            let (mut store, records) = Store::<u32>::open(&path).unwrap();
            assert_eq!(records, already);
            store.keep(&new).await.unwrap();
        }
        assert_eq!(Store::<u32>::open(&path).unwrap().1, [1, 2, 3]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn records_of_another_kind_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("role.log");
        let (mut store, _) = Store::<u8>::open(&path).unwrap();
        store.keep(&[7]).await.unwrap();
        let error = Store::<String>::open(&path).err().unwrap();
        assert!(error.to_string().contains("role.log: damaged at byte 0: expected an entry"));
    }
}

//! What a role keeps: an append-only log on the host's disk.
//!
//! One entry per step, length-delimited, synced before anything of that step is visible to
//! others. An entry that a crash cut short was never visible and is dropped.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fs::{File, OpenOptions, sync_dir};

const PATH: &str = "/role.log";

/// A role's log.
pub(super) struct Store {
    file: File,
}

impl Store {
    /// Opens the log, or begins one, and gives its records in the order in which they were
    /// kept.
    pub(super) fn open<R: DeserializeOwned>() -> io::Result<(Self, Vec<R>)> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(PATH)?;
        file.sync_all()?;
        sync_dir("/")?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((Self { file }, entries(&bytes)?))
    }

    /// Keeps the records of one step: they are durable when this returns.
    pub(super) fn keep<R: Serialize>(&mut self, records: &[R]) -> io::Result<()> {
        let entry = postcard::to_stdvec(records).map_err(io::Error::other)?;
        let length = u32::try_from(entry.len()).map_err(io::Error::other)?;
        self.file.write_all(&[&length.to_le_bytes()[..], &entry].concat())?;
        self.file.sync_all()
    }
}

fn entries<R: DeserializeOwned>(mut bytes: &[u8]) -> io::Result<Vec<R>> {
    let mut records = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((entry, rest)) = rest.split_at_checked(length) else { break };
        records.extend(postcard::from_bytes::<Vec<R>>(entry).map_err(io::Error::other)?);
        bytes = rest;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(records: &[u32]) -> Vec<u8> {
        let body = postcard::to_stdvec(records).unwrap();
        [&u32::try_from(body.len()).unwrap().to_le_bytes()[..], &body].concat()
    }

    #[test]
    fn an_entry_that_was_cut_short_is_dropped() {
        let whole = [entry(&[1, 2]), entry(&[3])].concat();
        assert_eq!(entries::<u32>(&whole).unwrap(), [1, 2, 3]);
        for length in entry(&[1, 2]).len()..whole.len() {
            assert_eq!(entries::<u32>(&whole[..length]).unwrap(), [1, 2]);
        }
    }
}

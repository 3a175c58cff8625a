//! A log of entries that survives crashes: append-only, checksummed, synced.
//!
//! Before each entry stands a header: the entry's length, its CRC-32, and the CRC-32 of these
//! two. Both checksums start from the header before, so an entry that is missing in the middle
//! is noticed as well as one that was altered. The header has a checksum of its own because
//! a damaged length would otherwise look like an entry that was cut short.
//!
//! An entry that was *cut short* by the end of the file, or whose place holds nothing but zeros
//! up to there, was being written when the power failed. It was never synced, so nobody was
//! ever told of it, and it is dropped. Everything else that does not fit its checksum is
//! *damage*, and refused: what an intact disk had kept is gone, and a log that went on
//! without it would lie.
//!
//! In a simulation and outside, this is the same code on [`fs`](crate::fs).

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use crate::fs::{File, OpenOptions, sync_dir};

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// The disk failed. The log has to be opened anew: what it holds now is not known.
    #[error("{}: cannot {doing}: {error}", file.display())]
    Disk { file: PathBuf, doing: &'static str, error: io::Error },
    /// It is not what was written.
    #[error("{}: damaged at byte {offset}: expected {expected}, found {found}", file.display())]
    Damaged { file: PathBuf, offset: usize, expected: String, found: String },
}

/// An open log.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The checksum of the last header, which depends on all before it.
    chain: u32,
}

/// What an intact log holds.
#[derive(Default)]
struct Recovered {
    entries: Vec<Entry>,
    /// How many bytes are intact; what follows was cut short.
    length: usize,
    chain: u32,
}

/// One entry, and where it stands.
pub(super) struct Entry {
    pub(super) offset: usize,
    pub(super) bytes: Vec<u8>,
}

const HEADER: usize = 12;

impl Log {
    /// Opens a log, or begins one, and gives its entries. They are durable when this returns,
    /// also those of a process that ended between a write and its sync.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Entry>), LogError> {
        let failed = |doing| move |error| LogError::Disk { file: path.to_owned(), doing, error };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed("open it"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read it"))?;
        let recovered = recover(&bytes).map_err(|damage| damage.of(path))?;
        if recovered.length < bytes.len() {
            tracing::warn!(
                file = %path.display(),
                offset = recovered.length,
                bytes = bytes.len() - recovered.length,
                "an entry was cut short and is dropped",
            );
            file.set_len(recovered.length as u64).map_err(failed("cut its end off"))?;
        }
        file.sync_all().map_err(failed("sync it"))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        sync_dir(folder.unwrap_or(Path::new("."))).map_err(failed("sync its folder"))?;
        let log = Self { path: path.to_owned(), file, chain: recovered.chain };
        Ok((log, recovered.entries))
    }

    /// Writes an entry. It is durable after the next [`sync`](Self::sync).
    pub(super) fn write(&mut self, entry: &[u8]) -> Result<(), LogError> {
        let length = u32::try_from(entry.len()).map_err(io::Error::other);
        let length = length.map_err(|error| self.failed("write to it", error))?;
        let header = header(self.chain, length, checksum(self.chain, entry));
        self.file
            .write_all(&[&header, entry].concat())
            .map_err(|error| self.failed("write to it", error))?;
        self.chain = checksum(self.chain, &header[..8]);
        Ok(())
    }

    /// Makes what was written durable.
    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        self.file.sync_all().map_err(|error| self.failed("sync it", error))
    }

    /// The error for an entry that is intact and still makes no sense.
    pub(super) fn strange(path: &Path, offset: usize, expected: &str, found: String) -> LogError {
        Damage { offset, expected: expected.into(), found }.of(path)
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> LogError {
        LogError::Disk { file: self.path.clone(), doing, error }
    }
}

struct Damage {
    offset: usize,
    expected: String,
    found: String,
}

impl Damage {
    fn of(self, path: &Path) -> LogError {
        let Self { offset, expected, found } = self;
        LogError::Damaged { file: path.to_owned(), offset, expected, found }
    }

    fn checksum(offset: usize, what: &str, expected: u32, found: u32) -> Self {
        Self {
            offset,
            expected: format!("{what} with checksum {expected:08x}"),
            found: format!("one with {found:08x}"),
        }
    }
}

fn checksum(chain: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(chain);
    hasher.update(bytes);
    hasher.finalize()
}

fn header(chain: u32, length: u32, body: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&body.to_le_bytes());
    let check = checksum(chain, &header[..8]);
    header[8..].copy_from_slice(&check.to_le_bytes());
    header
}

fn recover(bytes: &[u8]) -> Result<Recovered, Damage> {
    let mut recovered = Recovered::default();
    loop {
        let offset = recovered.length;
        let rest = &bytes[offset..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { break };
        let [length, body, check] = [0, 4, 8].map(|at| {
            u32::from_le_bytes(header[at..at + 4].try_into().expect("it is four bytes long"))
        });
        let found = checksum(recovered.chain, &header[..8]);
        if check != found {
            if bytes[offset..].iter().all(|byte| *byte == 0) {
                break;
            }
            return Err(Damage::checksum(offset, "a header", check, found));
        }
        let Some(entry) = rest.get(..length as usize) else { break };
        let found = checksum(recovered.chain, entry);
        if body != found {
            return Err(Damage::checksum(offset + HEADER, "an entry", body, found));
        }
        recovered.entries.push(Entry { offset, bytes: entry.to_vec() });
        recovered.length += HEADER + entry.len();
        recovered.chain = check;
    }
    Ok(recovered)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ENTRIES: [&[u8]; 4] = [b"granted 1", b"", b"\0\0\0\0\0\0", b"granted 2"];

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("a.log")
        }

        fn open(&self) -> Result<Vec<Vec<u8>>, LogError> {
            let (_, entries) = Log::open(&self.path())?;
            Ok(entries.into_iter().map(|entry| entry.bytes).collect())
        }

        fn append(&self, entry: &[u8]) {
            let (mut log, _) = Log::open(&self.path()).unwrap();
            log.write(entry).unwrap();
            log.sync().unwrap();
        }

        /// A log of all entries; gives its bytes, and where each entry ends.
        fn filled(&self) -> (Vec<u8>, Vec<usize>) {
            let mut ends = Vec::new();
            for entry in ENTRIES {
                self.append(entry);
                ends.push(usize::try_from(fs::metadata(self.path()).unwrap().len()).unwrap());
            }
            (fs::read(self.path()).unwrap(), ends)
        }
    }

    #[test]
    fn what_was_written_is_read_again_on_a_real_disk() {
        let folder = Folder::new();
        assert!(folder.open().unwrap().is_empty());
        folder.filled();
        assert_eq!(folder.open().unwrap(), ENTRIES);
    }

    #[test]
    fn a_log_that_was_cut_short_anywhere_goes_on_after_its_last_whole_entry() {
        let folder = Folder::new();
        let (bytes, ends) = folder.filled();
        for length in 0..=bytes.len() {
            fs::write(folder.path(), &bytes[..length]).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(folder.open().unwrap(), ENTRIES[..whole], "cut at {length}");
            folder.append(b"afterwards");
            let expected = [&ENTRIES[..whole], &[b"afterwards"]].concat();
            assert_eq!(folder.open().unwrap(), expected, "cut at {length}");
        }
    }

    #[test]
    fn a_log_that_ends_in_room_for_an_entry_is_cut_short() {
        let folder = Folder::new();
        let (bytes, _) = folder.filled();
        for room in [1, HEADER, 5_000] {
            fs::write(folder.path(), [&bytes[..], &vec![0; room]].concat()).unwrap();
            assert_eq!(folder.open().unwrap(), ENTRIES);
            assert_eq!(fs::metadata(folder.path()).unwrap().len(), bytes.len() as u64);
        }
    }

    #[test]
    fn every_single_flipped_bit_is_refused_and_says_where_it_is() {
        let folder = Folder::new();
        let (bytes, ends) = folder.filled();
        for (place, bit) in (0..bytes.len()).flat_map(|place| (0..8).map(move |bit| (place, bit))) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            fs::write(folder.path(), &damaged).unwrap();
            let error = folder.open().expect_err(&format!("bit {bit} of byte {place}"));
            let LogError::Damaged { offset, .. } = &error else { panic!("{error}") };
            let begin = ends.iter().rev().find(|end| **end <= place).copied().unwrap_or(0);
            assert!((begin..=begin + HEADER).contains(offset), "{place} was found at {offset}");
            let message = error.to_string();
            assert!(message.contains(&format!("a.log: damaged at byte {offset}: expected a")));
            assert_eq!(fs::read(folder.path()).unwrap(), damaged, "a damaged log is left as it is");
        }
    }

    #[test]
    fn an_entry_that_is_missing_or_in_another_place_is_refused() {
        let folder = Folder::new();
        let (bytes, ends) = folder.filled();
        let missing = [&bytes[..ends[0]], &bytes[ends[1]..]].concat();
        let doubled = [&bytes[..ends[0]], &bytes[..]].concat();
        for damaged in [missing, doubled] {
            fs::write(folder.path(), damaged).unwrap();
            assert!(matches!(folder.open(), Err(LogError::Damaged { .. })));
        }
    }
}

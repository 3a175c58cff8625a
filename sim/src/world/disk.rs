//! The disk of a host, and what each disk fault does to it.
//!
//! The files are `turmoil-fs`'s, which also knows what a crash leaves of them. Faults act where
//! code under test writes and syncs, in [`fs`](crate::fs); a disk that no plan names is
//! never looked at there.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use turmoil_fs::Fs;
use turmoil_fs::shim::std::fs::{self as files, File, OpenOptions};

use super::engine::Core;
use crate::fault::{DiskFault, Fault};

/// `EIO` and `ENOSPC`, the same on all Unix systems.
const INPUT_OUTPUT_ERROR: i32 = 5;
const NO_SPACE_LEFT: i32 = 28;

/// A host's disk.
pub(super) struct Disk {
    pub(super) files: Fs,
    seed: u64,
    /// A planned fault concerns it.
    is_watched: bool,
    /// How many faults make writes and syncs fail.
    failing: u32,
    /// By how much the faults that are on slow each call down ...
    slowed_ns: u64,
    /// ... and until when the calls so far block the process.
    blocks_until_ns: u64,
    /// How many faults have filled it up, and how much room they left.
    fills: u32,
    free_bytes: u64,
    /// The last write, as long as it is not synced.
    last_write: Option<UnsyncedWrite>,
    /// What could be restored; `None` if nobody will want to.
    backups: Option<Backups>,
    restores: u32,
}

struct UnsyncedWrite {
    path: PathBuf,
    offset: u64,
    bytes: Vec<u8>,
}

/// The backups of a disk, taken on a schedule, the oldest first.
struct Backups {
    every_ns: u64,
    taken: Vec<Backup>,
}

/// All files and folders at one time. A folder has no content, and comes before what is in it.
struct Backup {
    /// When it was taken.
    at_ns: u64,
    entries: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Disk {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            files: empty(seed),
            seed,
            is_watched: false,
            failing: 0,
            slowed_ns: 0,
            blocks_until_ns: 0,
            fills: 0,
            free_bytes: 0,
            last_write: None,
            backups: None,
            restores: 0,
        }
    }

    /// Looks at what is done to this disk from now on.
    pub(super) fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Takes a backup now, and from now on whenever so much time has passed.
    pub(super) fn back_up(&mut self, now_ns: u64, every_ns: u64) {
        if self.backups.is_none() {
            let _entered = self.files.enter();
            self.backups = Some(Backups { every_ns, taken: vec![Backup::take(now_ns)] });
        }
    }

    pub(super) fn restores(&self) -> u32 {
        self.restores
    }

    /// Unsynced writes are gone, but for the first bytes of the last one. It never survives
    /// whole: it was under way.
    pub(super) fn lose_power(&mut self, kept_bytes: u64) {
        self.files.crash();
        self.blocks_until_ns = 0;
        let Some(UnsyncedWrite { path, offset, bytes }) = self.last_write.take() else { return };
        let kept = usize::try_from(kept_bytes).unwrap_or(usize::MAX).min(bytes.len() - 1);
        if kept == 0 {
            return;
        }
        let _entered = self.files.enter();
        let Ok(mut file) = OpenOptions::new().write(true).open(path) else {
            return; // It was never synced into its folder.
        };
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.write_all(&bytes[..kept]))
            .and_then(|()| file.sync_all())
            .expect("without faults the simulated files take every write");
    }

    /// Takes note of what is on it: that is what the next backup that is due will hold.
    fn update_backups(&mut self, now_ns: u64) {
        let Some(Backups { every_ns, taken }) = &mut self.backups else { return };
        let due_ns = (now_ns / *every_ns).saturating_add(1).saturating_mul(*every_ns);
        if taken.last().is_some_and(|last| last.at_ns == due_ns) {
            taken.pop();
        }
        let _entered = self.files.enter();
        taken.push(Backup::take(due_ns));
    }

    /// Replaces everything by the newest backup that was taken by then.
    fn restore(&mut self, taken_by_ns: Option<u64>) {
        self.restores += 1;
        self.last_write = None;
        self.files = empty(self.seed);
        let taken = self.backups.iter().flat_map(|backups| backups.taken.iter().rev());
        let Some(backup) = taken.into_iter().find(|backup| Some(backup.at_ns) <= taken_by_ns)
        else {
            return;
        };
        let _entered = self.files.enter();
        backup.put_back().expect("without faults the simulated files take every write");
    }

    /// How much of a write gets through.
    fn admit(&mut self, length: usize, growth: u64) -> io::Result<usize> {
        self.is_writable()?;
        if self.fills == 0 || growth == 0 {
            return Ok(length);
        }
        let lacking = growth.saturating_sub(self.free_bytes);
        let admitted = length - length.min(usize::try_from(lacking).unwrap_or(usize::MAX));
        if admitted == 0 {
            return Err(io::Error::from_raw_os_error(NO_SPACE_LEFT));
        }
        self.free_bytes -= growth - lacking;
        Ok(admitted)
    }

    fn is_writable(&self) -> io::Result<()> {
        if self.failing > 0 {
            return Err(io::Error::from_raw_os_error(INPUT_OUTPUT_ERROR));
        }
        Ok(())
    }
}

fn empty(seed: u64) -> Fs {
    Fs::builder().sync_probability(0.0).seed(seed).build()
}

impl Backup {
    /// Copies the disk that is entered.
    fn take(at_ns: u64) -> Self {
        let mut entries = Vec::new();
        copy(Path::new("/"), &mut entries).expect("the simulated files can be read");
        Self { at_ns, entries }
    }

    /// Fills the disk that is entered, which is empty.
    fn put_back(&self) -> io::Result<()> {
        for (path, content) in &self.entries {
            match content {
                None => files::create_dir(path)?,
                Some(content) => {
                    let mut file = File::create(path)?;
                    file.write_all(content)?;
                    file.sync_all()?;
                }
            }
            files::sync_dir(path.parent().unwrap_or(path))?;
        }
        Ok(())
    }
}

fn copy(folder: &Path, entries: &mut Vec<(PathBuf, Option<Vec<u8>>)>) -> io::Result<()> {
    let mut paths = files::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if files::metadata(&path)?.is_dir() {
            entries.push((path.clone(), None));
            copy(&path, entries)?;
        } else {
            let content = files::read(&path)?;
            entries.push((path, Some(content)));
        }
    }
    Ok(())
}

impl Core {
    pub(super) fn begin_disk(&mut self, fault: &DiskFault) {
        let host = self.host_of(fault.host());
        match fault {
            DiskFault::Tear { kept_bytes, .. } => {
                self.stop(host);
                self.hosts[host].disk.lose_power(*kept_bytes);
            }
            DiskFault::Restore { age_us, .. } => {
                self.stop(host);
                let taken_by_ns = self.now_ns.checked_sub(age_us.saturating_mul(1_000));
                let disk = &mut self.hosts[host].disk;
                disk.lose_power(0);
                disk.restore(taken_by_ns);
                disk.update_backups(self.now_ns);
            }
            DiskFault::Fail { .. } => self.hosts[host].disk.failing += 1,
            DiskFault::Slow { by_us, .. } => self.hosts[host].disk.slowed_ns += slowed_ns(*by_us),
            DiskFault::Fill { free_bytes, .. } => {
                let disk = &mut self.hosts[host].disk;
                let room = if disk.fills == 0 { u64::MAX } else { disk.free_bytes };
                disk.free_bytes = room.min(*free_bytes);
                disk.fills += 1;
            }
        }
    }

    pub(super) fn end_disk(&mut self, fault: &DiskFault) {
        let host = self.host_of(fault.host());
        let disk = &mut self.hosts[host].disk;
        match fault {
            DiskFault::Tear { .. } | DiskFault::Restore { .. } => self.restart(host),
            DiskFault::Fail { .. } => disk.failing -= 1,
            DiskFault::Slow { by_us, .. } => disk.slowed_ns -= slowed_ns(*by_us),
            DiskFault::Fill { .. } => disk.fills -= 1,
        }
    }

    /// A host crashes because its own process says so.
    pub(super) fn fail_stop(&mut self, host: usize, restart_after_us: u64) {
        if self.hosts[host].is_down() {
            return; // The rest of a poll in which the host crashed.
        }
        self.flush();
        self.stop(host);
        self.hosts[host].disk.lose_power(0);
        let host = self.hosts[host].name.to_string();
        self.holds(Fault::Crash { host, restart_after_us });
    }

    // What `fs` asks for.

    pub(crate) fn has_watched_disk(&self, host: usize) -> bool {
        // What a crashed host still does reaches no disk.
        self.hosts[host].disk.is_watched && !self.hosts[host].is_down()
    }

    /// How much of a write gets through, of which so much lies beyond the end of the file.
    pub(crate) fn admit_write(
        &mut self,
        host: usize,
        length: usize,
        growth: u64,
    ) -> io::Result<usize> {
        self.hosts[host].disk.admit(length, growth)
    }

    pub(crate) fn admit_change(&mut self, host: usize) -> io::Result<()> {
        self.hosts[host].disk.is_writable()
    }

    pub(crate) fn written(&mut self, host: usize, path: PathBuf, offset: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            let write = UnsyncedWrite { path, offset, bytes: bytes.to_vec() };
            self.hosts[host].disk.last_write = Some(write);
        }
        self.block(host);
    }

    /// The file with this path is synced, or the folder.
    pub(crate) fn synced(&mut self, host: usize, path: &Path) {
        let disk = &mut self.hosts[host].disk;
        if disk.last_write.as_ref().is_some_and(|write| write.path == path) {
            disk.last_write = None;
        }
        disk.update_backups(self.now_ns);
        self.block(host);
    }

    /// A slow disk blocks the process, from its next await on.
    fn block(&mut self, host: usize) {
        let now_ns = self.now_ns;
        let disk = &mut self.hosts[host].disk;
        if disk.slowed_ns == 0 {
            return;
        }
        disk.blocks_until_ns = disk.blocks_until_ns.max(now_ns).saturating_add(disk.slowed_ns);
        let for_us = (disk.blocks_until_ns - now_ns) / 1_000;
        self.flush();
        if self.freeze(host) {
            let host = self.hosts[host].name.to_string();
            self.holds(Fault::Freeze { host, for_us });
        }
    }
}

/// Far beyond any run, and small enough that many of them can be added.
fn slowed_ns(by_us: u64) -> u64 {
    by_us.saturating_mul(1_000).min(u64::MAX >> 20)
}

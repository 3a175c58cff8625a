//! The simulated disk as `std::fs`: change one import and the same code runs here.
//!
//! Each host has a disk of its own. What was synced survives a crash, the rest is lost; a
//! new file survives only if its directory was synced too ([`sync_dir`]). Calls take no
//! simulated time, unless a [fault](crate::fault::DiskFault) slows them down; then the process
//! stands still from its next await on, as it would in a call that blocks.
//!
//! Outside of a simulation these are the functions of `std::fs`. The part of it that is
//! offered here is what stores and logs are made of.
//!
//! ```
//! // use std::fs::{File, OpenOptions};
//! use holdover::fs::{File, OpenOptions};
//! ```

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use turmoil_fs::shim::std::fs as simulated;

use crate::world::context::{self, is_simulated};

/// An open file.
#[derive(Debug)]
pub struct File(Handle);

#[derive(Debug)]
enum Handle {
    Simulated { file: simulated::File, appends: bool },
    Real(std::fs::File),
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path)
    }

    /// Opens a file for writing; it is made if it is not there, and emptied if it is.
    ///
    /// # Errors
    ///
    /// When its folder is not there.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// Makes all that was written to the file durable. A new file also needs its folder
    /// synced: [`sync_dir`].
    ///
    /// # Errors
    ///
    /// When the disk fails. Nothing is known then of what was written: do not try again, but
    /// start anew from what is there.
    pub fn sync_all(&self) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.sync_all(),
            Handle::Simulated { file, .. } => {
                sync(|| file.path().unwrap_or_default(), || file.sync_all())
            }
        }
    }

    /// The same, without what is not needed to read the data again.
    ///
    /// # Errors
    ///
    /// As for [`sync_all`](Self::sync_all).
    pub fn sync_data(&self) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.sync_data(),
            Handle::Simulated { .. } => self.sync_all(),
        }
    }

    /// Cuts the file off, or extends it with zeros.
    ///
    /// # Errors
    ///
    /// When it is not open for writing, or the disk fails.
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.set_len(size),
            Handle::Simulated { file, .. } => {
                watched(context::Core::admit_change).unwrap_or(Ok(()))?;
                file.set_len(size)
            }
        }
    }

    /// What is known about the file.
    ///
    /// # Errors
    ///
    /// When the system does not tell.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match &self.0 {
            Handle::Real(file) => file.metadata().map(Metadata::from),
            Handle::Simulated { file, .. } => file.metadata().map(Metadata::from),
        }
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Handle::Real(file) => file.read(buffer),
            Handle::Simulated { file, .. } => file.read(buffer),
        }
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Handle::Real(file) => file.seek(to),
            Handle::Simulated { file, .. } => file.seek(to),
        }
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (file, appends) = match &mut self.0 {
            Handle::Real(file) => return file.write(bytes),
            Handle::Simulated { file, appends } => (file, *appends),
        };
        if watched(|_, _| ()).is_none() {
            return file.write(bytes);
        }
        let length = file.metadata()?.len();
        let offset = if appends { length } else { file.stream_position()? };
        let growth = (offset + bytes.len() as u64).saturating_sub(length);
        let admitted = watched(|core, host| core.admit_write(host, bytes.len(), growth))
            .unwrap_or(Ok(bytes.len()))?;
        let written = file.write(&bytes[..admitted])?;
        let path = file.path().unwrap_or_default();
        watched(|core, host| core.written(host, path, offset, &bytes[..written]));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Does `f` if a fault may concern the disk of the current host.
fn watched<R>(f: impl FnOnce(&mut context::Core, usize) -> R) -> Option<R> {
    context::with_current(|core, host| core.has_watched_disk(host).then(|| f(core, host))).flatten()
}

fn sync(path: impl FnOnce() -> PathBuf, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    watched(context::Core::admit_change).unwrap_or(Ok(()))?;
    sync()?;
    watched(|core, host| core.synced(host, &path()));
    Ok(())
}

/// How a file is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    simulated: simulated::OpenOptions,
    real: std::fs::OpenOptions,
    appends: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            simulated: simulated::OpenOptions::new(),
            real: std::fs::OpenOptions::new(),
            appends: false,
        }
    }
}

impl OpenOptions {
    /// Nothing is allowed at first.
    pub fn new() -> Self {
        Self::default()
    }

    /// For reading.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.simulated.read(read);
        self.real.read(read);
        self
    }

    /// For writing.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.simulated.write(write);
        self.real.write(write);
        self
    }

    /// For writing at its end, wherever that is.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.simulated.append(append);
        self.real.append(append);
        self.appends = append;
        self
    }

    /// Empties it.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.simulated.truncate(truncate);
        self.real.truncate(truncate);
        self
    }

    /// Makes it if it is not there.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.simulated.create(create);
        self.real.create(create);
        self
    }

    /// Makes it, and fails if it is there.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.simulated.create_new(create_new);
        self.real.create_new(create_new);
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// When it, or its folder, is not there; or is, and must not be.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        if is_simulated() {
            let file = self.simulated.open(path)?;
            Ok(File(Handle::Simulated { file, appends: self.appends }))
        } else {
            Ok(File(Handle::Real(self.real.open(path)?)))
        }
    }
}

/// What is known about a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    length: u64,
    is_dir: bool,
}

impl Metadata {
    /// How many bytes are in the file.
    #[expect(clippy::len_without_is_empty, reason = "it is `std::fs::Metadata`'s")]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        self.is_dir
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        !self.is_dir
    }
}

impl From<std::fs::Metadata> for Metadata {
    fn from(metadata: std::fs::Metadata) -> Self {
        Self { length: metadata.len(), is_dir: metadata.is_dir() }
    }
}

impl From<simulated::Metadata> for Metadata {
    fn from(metadata: simulated::Metadata) -> Self {
        Self { length: metadata.len(), is_dir: metadata.is_dir() }
    }
}

macro_rules! either {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+) -> $gives:ty;)+) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When what it needs is not there, or is in the way.
        pub fn $name($($argument: impl AsRef<Path>),+) -> io::Result<$gives> {
            if is_simulated() {
                simulated::$name($($argument),+).map(Into::into)
            } else {
                std::fs::$name($($argument),+).map(Into::into)
            }
        }
    )+};
}

either! {
    /// A file's content.
    read(path) -> Vec<u8>;
    /// A file's content, as text.
    read_to_string(path) -> String;
    /// What is known about a file or folder.
    metadata(path) -> Metadata;
    /// Makes a folder.
    create_dir(path) -> ();
    /// Makes a folder, and those above it.
    create_dir_all(path) -> ();
    /// Removes a file.
    remove_file(path) -> ();
    /// Removes an empty folder.
    remove_dir(path) -> ();
    /// Removes a folder and all that is in it.
    remove_dir_all(path) -> ();
    /// Gives a file or folder another name.
    rename(from, to) -> ();
}

/// Makes what was made, renamed or removed in a folder durable.
///
/// `std::fs` has no name for this: on Unix, a folder is opened and synced like a file.
///
/// # Errors
///
/// When there is no such folder, or the disk fails.
pub fn sync_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if is_simulated() {
        sync(|| path.to_owned(), || simulated::sync_dir(path))
    } else {
        std::fs::File::open(path)?.sync_all()
    }
}

/// Whether there is such a file or folder.
pub fn exists(path: impl AsRef<Path>) -> bool {
    if is_simulated() { simulated::exists(path) } else { path.as_ref().exists() }
}

/// Replaces a file's content; the file is made if it is not there.
///
/// # Errors
///
/// When its folder is not there, or the disk fails.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(content.as_ref())
}

/// The paths of all that is in a folder, in the order of their names.
///
/// # Errors
///
/// When there is no such folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = if is_simulated() {
        let entries = simulated::read_dir(path)?;
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?
    } else {
        let entries = std::fs::read_dir(path)?;
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?
    };
    paths.sort();
    Ok(paths)
}

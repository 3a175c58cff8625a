//! Files: what was written is read back, and what was synced is there when the file is opened
//! anew.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use crate::both;

both!(
    /// What was written and synced is there when the file is opened again.
    a_synced_file_is_read_back,
    {
        let path = folder().join("file");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"kept").unwrap();
        file.sync_all().unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        assert_eq!(fs::metadata(&path).unwrap().len(), 4);
    }
);

both!(
    /// A log is recovered by reading it from its beginning and going on at its end.
    a_log_goes_on_where_it_ended,
    {
        let path = folder().join("log");
        let open =
            || fs::OpenOptions::new().read(true).append(true).create(true).open(&path).unwrap();
        for round in 0..3_u8 {
            let mut log = open();
            let mut entries = Vec::new();
            log.read_to_end(&mut entries).unwrap();
            assert_eq!(entries, (0..round).collect::<Vec<_>>());
            log.write_all(&[round]).unwrap();
            log.sync_data().unwrap();
        }
    }
);

both!(
    /// The end of a log that was cut short can be cut off.
    a_torn_end_is_cut_off,
    {
        let path = folder().join("log");
        fs::write(&path, b"whole-torn").unwrap();
        let mut log = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        log.set_len(5).unwrap();
        log.seek(SeekFrom::End(0)).unwrap();
        log.write_all(b"+new").unwrap();
        log.sync_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole+new");
    }
);

both!(
    /// A file that is not there, and one that is not to be there yet.
    what_is_not_there_and_what_is,
    {
        let path = folder().join("file");
        assert_eq!(fs::File::open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        let create = || fs::OpenOptions::new().write(true).create_new(true).open(&path);
        create().unwrap();
        assert_eq!(create().unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::remove_file(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }
);

both!(
    /// A new version takes the place of the old one in one step.
    a_rename_replaces,
    {
        let folder = folder();
        let (old, new) = (folder.join("current"), folder.join("next"));
        fs::write(&old, b"old").unwrap();
        fs::write(&new, b"new").unwrap();
        fs::rename(&new, &old).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"new");
        assert_eq!(fs::read(&new).unwrap_err().kind(), ErrorKind::NotFound);
    }
);

both!(
    /// A position can be gone to, and what is written there replaces what was.
    writing_in_the_middle_replaces,
    {
        let path = folder().join("file");
        fs::write(&path, b"0123456789").unwrap();
        let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(3)).unwrap();
        file.write_all(b"abc").unwrap();
        let mut rest = String::new();
        file.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "6789");
        assert_eq!(fs::read(&path).unwrap(), b"012abc6789");
    }
);

both!(
    /// Creating a file anew empties it.
    creating_a_file_anew_empties_it,
    {
        let path = folder().join("file");
        fs::write(&path, b"something").unwrap();
        drop(fs::File::create(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }
);

//! Every disk fault, shown by its effect on code that knows nothing of it.

use std::io::{ErrorKind, Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use holdover::fault::{DiskFault, Fault, PlannedFault, Trigger};
use holdover::fs::{self, File, OpenOptions};
use holdover::net::{TcpListener, TcpStream};
use holdover::point;
use holdover::random::Seed;
use holdover::time::sleep;
use holdover::world::{self, HostOptions, RunEnd, World, WorldConfig};
use holdover_tests::Diary;
use tokio::io::AsyncReadExt;

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

/// A world with one host, which is struck by these faults at these milliseconds.
struct Scene {
    world: World,
    diary: Diary,
}

impl Scene {
    fn new<F: Future<Output = ()> + 'static>(boot: impl Fn(Diary) -> F + 'static) -> Self {
        let mut world = World::new(Seed(1), WorldConfig::default());
        let diary = Diary::default();
        let of_host = diary.clone();
        world.host_with("worker", REGISTERED, move || boot(of_host.clone()));
        Self { world, diary }
    }

    fn at(mut self, at_ms: u64, fault: DiskFault) -> Self {
        let trigger = Trigger::At { at_us: at_ms * 1_000 };
        self.world.plan(PlannedFault { trigger, fault: Fault::Disk(fault) }).unwrap();
        self
    }

    fn run(mut self) -> Diary {
        let end = self.world.run_until(Duration::from_secs(10));
        assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
        self.diary
    }
}

fn host() -> String {
    "worker".into()
}

fn tear(kept_bytes: u64) -> DiskFault {
    DiskFault::Tear { host: host(), kept_bytes, restart_after_us: 100_000 }
}

fn restore(age_ms: u64) -> DiskFault {
    DiskFault::Restore { host: host(), age_us: age_ms * 1_000, restart_after_us: 100_000 }
}

fn append(path: &str, text: &str) -> std::io::Result<File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn append_durably(path: &str, text: &str) -> std::io::Result<()> {
    append(path, text)?.sync_all()?;
    fs::sync_dir("/")
}

fn content(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{:?}", error.kind()))
}

async fn until(at_ms: u64) {
    let now = holdover::time::unix_now().unix_ns - world::START_UNIX_NS;
    sleep(Duration::from_millis(at_ms).saturating_sub(Duration::from_nanos(now))).await;
}

#[test]
fn of_a_torn_write_the_first_bytes_survive() {
    for (kept_bytes, found) in [(0, "synced"), (1, "synced1"), (3, "synced123"), (99, "synced123")]
    {
        let scene = Scene::new(|diary| async move {
            if fs::exists("/log") {
                return diary.note(content("/log"));
            }
            append_durably("/log", "synced").unwrap();
            append("/other", "lost").unwrap();
            append("/log", "1234").unwrap();
            std::future::pending::<()>().await;
        });
        scene.at(100, tear(kept_bytes)).run().says(&[(200, found)]);
    }
}

#[test]
fn a_write_that_was_synced_or_never_had_a_name_is_not_torn() {
    let scene = Scene::new(|diary| async move {
        if fs::exists("/log") {
            diary.note(content("/log"));
            return diary.note(content("/nameless"));
        }
        append("/log", "earlier").unwrap();
        append_durably("/log", ", synced").unwrap();
        append("/nameless", "1234").unwrap();
        std::future::pending::<()>().await;
    });
    scene.at(100, tear(99)).run().says(&[(200, "earlier, synced"), (200, "NotFound")]);
}

#[test]
fn while_a_disk_fails_nothing_is_written_or_synced_and_all_can_be_read() {
    let scene = Scene::new(|diary| async move {
        let mut file = append("/log", "before").unwrap();
        append_durably("/log", "").unwrap();
        for at_ms in [150, 250] {
            until(at_ms).await;
            for outcome in [file.write_all(b", after"), file.sync_all(), fs::sync_dir("/")] {
                let error = outcome.err().map(|error| error.raw_os_error());
                diary.note(format!("{error:?}"));
            }
            diary.note(content("/log"));
        }
    });
    let error = "Some(Some(5))";
    scene.at(100, DiskFault::Fail { host: host(), for_us: 100_000 }).run().says(&[
        (150, error),
        (150, error),
        (150, error),
        (150, "before"),
        (250, "None"),
        (250, "None"),
        (250, "None"),
        (250, "before, after"),
    ]);
}

#[test]
fn a_slow_disk_blocks_the_process_at_each_call() {
    let scene = Scene::new(|diary| async move {
        let heart = diary.clone();
        tokio::task::spawn_local(async move {
            for at_ms in [120, 160, 400] {
                until(at_ms).await;
                heart.note("beat");
            }
        });
        until(110).await;
        let file = append("/log", "text").unwrap();
        point("written").await;
        diary.note("written");
        file.sync_all().unwrap();
        fs::sync_dir("/").unwrap();
        point("synced").await;
        diary.note("synced");
        until(350).await;
        append("/log", "more").unwrap();
        point("written").await;
        diary.note("written again");
    });
    let slow = DiskFault::Slow { host: host(), by_us: 50_000, for_us: 200_000 };
    scene.at(100, slow).run().says(&[
        (160, "written"),
        // The calls that follow come first, and nothing else runs meanwhile.
        (260, "beat"),
        (260, "beat"),
        (260, "synced"),
        (350, "written again"),
        (400, "beat"),
    ]);
}

#[test]
fn on_a_full_disk_a_write_gets_as_far_as_there_is_room() {
    let scene = Scene::new(|diary| async move {
        append_durably("/log", "1234").unwrap();
        until(150).await;
        let failed = append("/log", "abcdefgh").unwrap_err();
        diary.note(format!("{:?}", failed.kind() == ErrorKind::StorageFull));
        diary.note(content("/log"));
        // What takes no room can still be done.
        let mut file = OpenOptions::new().write(true).open("/log").unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        file.write_all(b"56").unwrap();
        file.sync_all().unwrap();
        diary.note(content("/log"));
        until(250).await;
        append("/log", "!").unwrap();
        diary.note(content("/log"));
    });
    let full = DiskFault::Fill { host: host(), free_bytes: 3, for_us: 100_000 };
    scene.at(100, full).run().says(&[
        (150, "true"),
        (150, "1234abc"),
        (150, "1256abc"),
        (250, "1256abc!"),
    ]);
}

/// Notes at each start what it finds, and adds a digit every 100 ms.
async fn counter(diary: Diary) {
    diary.note(format!("{} after {} restores", content("/d/log"), world::restores()));
    if !fs::exists("/d") {
        fs::create_dir("/d").unwrap();
        fs::sync_dir("/").unwrap();
    }
    loop {
        sleep(Duration::from_millis(100)).await;
        let digit = (content("/d/log").replace("NotFound", "").len() + 1).to_string();
        append_durably("/d/log", &digit).unwrap();
        fs::sync_dir("/d").unwrap();
        append("/d/unsynced", &digit).unwrap();
        if digit == "7" {
            return;
        }
    }
}

#[test]
fn a_restored_disk_is_as_it_was_and_its_process_is_told() {
    Scene::new(counter).at(550, restore(200)).run().says(&[
        (0, "NotFound after 0 restores"),
        // The third digit was written at 300 ms.
        (650, "123 after 1 restores"),
    ]);
}

/// A backup holds all that is synced when it is due, however little before.
#[test]
fn a_backup_holds_the_last_sync_before_it() {
    let writer = |diary: Diary| async move {
        diary.note(content("/log"));
        for digit in ["1", "2", "3"] {
            append_durably("/log", digit).unwrap();
            sleep(Duration::from_micros(400)).await;
        }
    };
    Scene::new(writer).at(550, restore(200)).run().says(&[(0, "NotFound"), (650, "123")]);
}

#[test]
fn a_restore_from_before_the_first_backup_gives_an_empty_disk() {
    Scene::new(counter)
        .at(550, restore(60_000))
        .run()
        .says(&[(0, "NotFound after 0 restores"), (650, "NotFound after 1 restores")]);
}

#[test]
fn what_follows_a_restore_is_backed_up_too() {
    Scene::new(counter).at(550, restore(200)).at(1_000, restore(100)).run().says(&[
        (0, "NotFound after 0 restores"),
        (650, "123 after 1 restores"),
        (1_100, "12345 after 2 restores"),
    ]);
}

#[test]
fn a_restore_that_is_planned_later_can_go_back_to_then() {
    for (age_ms, found) in [(40, "12345 after 1 restores"), (450, "NotFound after 1 restores")] {
        let mut scene = Scene::new(counter);
        let _ = scene.world.run_until(Duration::from_millis(250));
        scene
            .at(550, restore(age_ms))
            .run()
            .says(&[(0, "NotFound after 0 restores"), (650, found)]);
    }
}

#[test]
fn a_host_that_stops_itself_is_silent_and_boots_again() {
    let mut scene = Scene::new(|diary| async move {
        diary.note(content("/log"));
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (_stream, _) = listener.accept().await.unwrap();
        append_durably("/log", "synced").unwrap();
        append("/log", " and not").unwrap();
        world::fail_stop(Duration::from_millis(300)).await;
    });
    let diary = scene.diary.clone();
    scene.world.host_with("client", REGISTERED, move || {
        let diary = diary.clone();
        async move {
            until(100).await;
            let mut stream = TcpStream::connect("worker:80").await.unwrap();
            let silence = holdover::time::timeout(Duration::from_millis(250), stream.read_u8());
            diary.note(format!("silence: {}", silence.await.is_err()));
        }
    });
    let diary = scene.run();
    let entries = diary.entries();
    let what: Vec<_> = entries.iter().map(|entry| entry.1.as_str()).collect();
    assert_eq!(what, ["NotFound", "silence: true", "synced"]);
    assert!((400..500).contains(&entries[2].0), "{entries:?}");
}

#[test]
fn faults_of_one_kind_end_one_by_one() {
    let scene = Scene::new(|diary| async move {
        for at_ms in [150, 250, 350, 450] {
            until(at_ms).await;
            let outcome = append("/log", "12345678");
            diary.note(if outcome.is_ok() { "written" } else { "failed" });
        }
    });
    let fail = |for_us| DiskFault::Fail { host: host(), for_us };
    let fill = |free_bytes, for_us| DiskFault::Fill { host: host(), free_bytes, for_us };
    scene
        .at(100, fail(200_000))
        .at(110, fail(100_000))
        .at(310, fill(100, 100_000))
        .at(320, fill(4, 20_000))
        .run()
        .says(&[(150, "failed"), (250, "failed"), (350, "failed"), (450, "written")]);
}

#[test]
fn healing_ends_every_disk_fault() {
    let for_us = 1_000_000_000;
    let faults = [
        DiskFault::Tear { host: host(), kept_bytes: 1, restart_after_us: for_us },
        DiskFault::Fail { host: host(), for_us },
        DiskFault::Slow { host: host(), by_us: for_us, for_us },
        DiskFault::Fill { host: host(), free_bytes: 2, for_us },
        DiskFault::Restore { host: host(), age_us: 1, restart_after_us: for_us },
    ];
    for fault in faults {
        let mut scene = Scene::new(|diary| async move {
            loop {
                if append_durably("/log", "1234").is_ok() {
                    point("written").await;
                    diary.note("written");
                }
                sleep(Duration::from_millis(100)).await;
            }
        })
        .at(250, fault.clone());
        scene.world.heal_at(Duration::from_secs(2));
        let _ = scene.world.run_until(Duration::from_secs(3));
        let entries = scene.diary.entries();
        assert!(entries.iter().all(|entry| !(301..2_000).contains(&entry.0)), "{fault}");
        assert!(entries.iter().filter(|entry| entry.0 >= 2_000).count() >= 9, "{fault}");
    }
}

#[test]
fn outside_of_a_simulation_the_same_code_uses_the_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("b"), "text").unwrap();
    fs::create_dir(path("a")).unwrap();
    fs::sync_dir(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(path("b")).unwrap(), "text");
    assert_eq!(fs::read_dir(folder.path()).unwrap(), [path("a"), path("b")]);
    assert!(
        fs::metadata(path("a")).unwrap().is_dir() && fs::metadata(path("b")).unwrap().is_file()
    );
    fs::rename(path("b"), path("c")).unwrap();
    assert!(!fs::exists(path("b")) && std::fs::exists(path("c")).unwrap());
    assert_eq!(world::restores(), 0);
}

//! Processes that freeze, crash, crash again and again, or are stuck in one task.

use std::cell::Cell;
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

use holdover::fault::{Fault, Trigger};
use holdover::net::TcpStream;
use holdover::point;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::{Scene, ask, ask_once, crash, freeze, serve};

#[test]
fn without_a_fault_an_exchange_takes_four_latencies() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.run();
    assert_eq!(scene.diary.entries(), [(15, "served".into()), (20, "answered".into())]);
}

#[test]
fn nothing_runs_on_a_frozen_host_and_overdue_timers_fire_at_the_thaw() {
    let mut scene = Scene::new();
    let diary = scene.diary.clone();
    // Tokio's own timers and spawned tasks, without a trace of this crate.
    scene.world.host("worker", move || {
        let diary = diary.clone();
        async move {
            for (name, period_ms) in [("fast", 10), ("slow", 150)] {
                let diary = diary.clone();
                tokio::task::spawn_local(async move {
                    loop {
                        tokio::time::sleep(Duration::from_millis(period_ms)).await;
                        diary.note(name);
                    }
                });
            }
        }
    });
    scene.at(105, freeze("worker", 300));
    let _ = scene.world.run_until(Duration::from_millis(420));
    let during = 106..405;
    assert!(scene.diary.entries().iter().all(|entry| !during.contains(&entry.0)));
    assert_eq!(scene.diary.times("fast"), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 405, 415]);
    assert_eq!(scene.diary.times("slow"), [405]);
}

#[test]
fn registered_timers_that_came_due_in_a_freeze_fire_at_the_thaw() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        let rival = diary.clone();
        tokio::task::spawn_local(async move {
            holdover::time::sleep(Duration::from_millis(300)).await;
            rival.note("later");
        });
        holdover::time::sleep(Duration::from_millis(200)).await;
        diary.note("sooner");
    });
    scene.at(100, freeze("worker", 400));
    scene.run();
    assert_eq!(scene.diary.entries(), [(500, "sooner".into()), (500, "later".into())]);
}

#[test]
fn the_kernel_of_a_frozen_host_accepts_connections_and_data() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        holdover::time::sleep(Duration::from_millis(100)).await;
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        diary.note("connected");
        stream.write_all(b"ping").await.unwrap();
        stream.read_exact(&mut [0; 4]).await.unwrap();
        diary.note("answered");
    });
    scene.at(50, freeze("server", 1_000));
    scene.run();
    assert_eq!(scene.diary.times("connected"), [110]);
    assert_eq!(scene.diary.times("served"), [1_050]);
    assert_eq!(scene.diary.times("answered"), [1_055]);
}

#[test]
fn overlapping_freezes_end_with_the_last_one() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        holdover::time::sleep(Duration::from_millis(150)).await;
        diary.note("woke");
    });
    scene.at(100, freeze("worker", 300));
    scene.at(200, freeze("worker", 100));
    scene.run();
    assert_eq!(scene.diary.times("woke"), [400]);
}

#[test]
fn a_crash_is_silent_until_the_host_is_back() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        // Waits for an answer that nobody owes it, so it would see a FIN or a reset.
        let error = holdover::time::timeout(Duration::from_secs(2), stream.read_u8()).await;
        assert_eq!(error.map(|_| ()), Err(holdover::time::Elapsed));
        diary.note("silence");
        // Sent to the rebooted machine, which knows of no connection.
        stream.write_all(b"ping").await.unwrap();
        let error = stream.read_u8().await.unwrap_err();
        diary.note(format!("{:?}", error.kind()));
    });
    scene.at(100, crash("server", 1_000));
    scene.run();
    assert_eq!(
        scene.diary.entries(),
        [(2_010, "silence".into()), (2_020, "ConnectionReset".into())],
    );
}

#[test]
fn a_crash_with_an_immediate_restart_is_silent_too() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        let silence = holdover::time::timeout(Duration::from_secs(1), stream.read_u8()).await;
        diary.note(if silence.is_err() { "silence" } else { "noise" });
        ask_once(diary).await;
    });
    scene.at(100, crash("server", 0));
    scene.run();
    assert_eq!(
        scene.diary.entries(),
        [(1_010, "silence".into()), (1_025, "served".into()), (1_030, "answered".into())],
    );
}

#[test]
fn a_freeze_ends_with_the_process_that_it_held() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        diary.note("booted");
        holdover::time::sleep(Duration::from_millis(50)).await;
        diary.note("worked");
    });
    scene.at(10, freeze("worker", 2_000));
    scene.at(100, crash("worker", 100));
    // Nobody is there to be frozen, and so nobody is when it is back.
    scene.at(150, freeze("worker", 2_000));
    // The end of neither may end this one.
    scene.at(210, freeze("worker", 5_000));
    scene.run();
    let expected = [(0, "booted"), (200, "booted"), (5_210, "worked")];
    assert_eq!(scene.diary.entries(), expected.map(|(at, what)| (at, what.to_owned())));
}

#[test]
fn what_is_sent_to_a_host_that_is_down_waits_until_it_is_up() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        holdover::time::sleep(Duration::from_millis(200)).await;
        ask_once(diary).await;
    });
    scene.at(100, crash("server", 1_000));
    scene.run();
    // The SYN arrives 5 ms after the restart; from there on all is as usual.
    assert_eq!(scene.diary.entries(), [(1_115, "served".into()), (1_120, "answered".into())]);
}

#[test]
fn what_a_host_had_sent_before_its_crash_still_arrives() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    // The server serves at 15 ms; its answer is on its way until 20 ms.
    scene.at(17, crash("server", 1_000));
    scene.run();
    assert_eq!(scene.diary.entries(), [(15, "served".into()), (20, "answered".into())]);
}

#[test]
fn a_crash_keeps_what_was_synced_and_loses_all_else() {
    let mut scene = Scene::new();
    let memory_of_boots = Rc::new(Cell::new(0));
    scene.host("worker", move |diary| {
        let boots = memory_of_boots.clone();
        async move {
            boots.set(boots.get() + 1);
            let mut volatile = 0;
            diary.note(format!("boot {}, volatile {volatile}", boots.get()));
            if boots.get() == 1 {
                let mut kept = holdover::fs::File::create("/kept").unwrap();
                kept.write_all(b"synced").unwrap();
                kept.sync_all().unwrap();
                holdover::fs::sync_dir("/").unwrap();
                kept.write_all(b" and not").unwrap();
                holdover::fs::write("/lost", b"never synced").unwrap();
                volatile += 1;
                diary.note(format!("volatile {volatile}"));
                std::future::pending::<()>().await;
            }
            diary.note(holdover::fs::read_to_string("/kept").unwrap());
            diary.note(format!("{:?}", holdover::fs::read("/lost").unwrap_err().kind()));
        }
    });
    scene.at(100, crash("worker", 400));
    scene.run();
    let expected = [
        (0, "boot 1, volatile 0"),
        (0, "volatile 1"),
        (500, "boot 2, volatile 0"),
        (500, "synced"),
        (500, "NotFound"),
    ];
    assert_eq!(scene.diary.entries(), expected.map(|(at, what)| (at, what.to_owned())));
}

#[test]
fn destructors_that_run_in_a_crash_reach_neither_disk_nor_network() {
    /// Does on drop what it can to be noticed.
    struct LastWords(Option<TcpStream>);
    impl Drop for LastWords {
        fn drop(&mut self) {
            let _ = holdover::fs::write("/last-words", b"goodbye");
            let _ = holdover::fs::File::open("/last-words").and_then(|file| file.sync_all());
            let _ = holdover::fs::sync_dir("/");
            if let Some(stream) = self.0.take() {
                let _ = stream.try_write(b"goodbye!");
            }
        }
    }
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("worker", |diary| async move {
        diary.note(format!("{}", holdover::fs::exists("/last-words")));
        let stream = TcpStream::connect("server:80").await.unwrap();
        let _words = LastWords(Some(stream));
        std::future::pending::<()>().await;
    });
    scene.at(100, crash("worker", 100));
    scene.run();
    assert_eq!(scene.diary.entries(), [(0, "false".into()), (200, "false".into())]);
}

#[test]
fn a_crashed_host_can_be_reached_again_and_again() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        loop {
            let answer = holdover::time::timeout(Duration::from_millis(100), ask()).await;
            diary.note(if matches!(answer, Ok(Ok(()))) { "answered" } else { "failed" });
            holdover::time::sleep(Duration::from_millis(400)).await;
        }
    });
    for at_ms in [450, 1_500, 2_500] {
        scene.at(at_ms, crash("server", 500));
    }
    scene.run();
    assert!(scene.diary.times("failed").len() >= 3);
    let late = scene.diary.entries().into_iter().filter(|entry| entry.0 > 3_500);
    assert!(late.clone().count() > 20);
    assert!(late.clone().all(|entry| entry.1 != "failed"), "{:?}", late.collect::<Vec<_>>());
}

/// A worker that has work to do every 100 ms, and a heart that beats beside it.
async fn work_with_a_heart(diary: holdover_tests::Diary) {
    let heart = diary.clone();
    tokio::task::spawn_local(async move {
        loop {
            holdover::time::sleep(Duration::from_millis(100)).await;
            heart.note("beat");
        }
    });
    for _ in 0..3 {
        holdover::time::sleep(Duration::from_millis(100)).await;
        point("before-work").await;
        diary.note("worked");
    }
    std::future::pending::<()>().await;
}

fn stall(for_ms: u64) -> Fault {
    Fault::Stall { host: "worker".into(), point: "before-work".into(), for_us: for_ms * 1_000 }
}

#[test]
fn a_stall_stops_one_task_while_the_heart_beats_on() {
    let mut scene = Scene::new();
    scene.host("worker", work_with_a_heart);
    let trigger = Trigger::Point { host: "worker".into(), name: "before-work".into(), nth: 2 };
    scene.plan(trigger, stall(450));
    let _ = scene.world.run_until(Duration::from_millis(1_050));
    assert_eq!(scene.diary.times("worked"), [100, 650, 750]);
    assert_eq!(scene.diary.times("beat"), (1..=10).map(|n| n * 100).collect::<Vec<_>>());
}

#[test]
fn a_stall_waits_for_its_task_and_strikes_it_once() {
    let mut scene = Scene::new();
    scene.host("worker", work_with_a_heart);
    scene.at(150, stall(30));
    let _ = scene.world.run_until(Duration::from_secs(1));
    assert_eq!(scene.diary.times("worked"), [100, 230, 330]);
}

#[test]
fn a_stall_ends_when_all_heals_and_with_its_process() {
    let worked = |is_crashed: bool| {
        let mut scene = Scene::new();
        scene.host("worker", work_with_a_heart);
        scene.at(0, stall(1_000_000));
        if is_crashed {
            scene.at(200, crash("worker", 100));
        } else {
            scene.world.heal_at(Duration::from_millis(500));
        }
        let _ = scene.world.run_until(Duration::from_secs(1));
        scene.diary.times("worked")
    };
    assert_eq!(worked(false), [500, 600, 700]);
    assert_eq!(worked(true), [400, 500, 600]);
}

#[test]
fn a_task_that_is_stalled_and_frozen_goes_on_after_both() {
    for (freeze_ms, worked) in [(50, 300), (900, 1_050)] {
        let mut scene = Scene::new();
        scene.host("worker", work_with_a_heart);
        scene.at(0, stall(200));
        scene.at(150, freeze("worker", freeze_ms));
        let _ = scene.world.run_until(Duration::from_secs(2));
        assert_eq!(scene.diary.times("worked")[0], worked);
    }
}

#[test]
fn a_crash_loop_crashes_as_often_as_it_says() {
    let mut scene = Scene::new();
    scene.host("worker", |diary| async move {
        diary.note("booted");
        holdover::time::sleep(Duration::from_millis(80)).await;
        diary.note("worked");
    });
    let (down_us, up_us) = (30_000, 50_000);
    scene.at(10, Fault::CrashLoop { host: "worker".into(), times: 3, down_us, up_us });
    scene.run();
    // Up at 40, 120 and 200; between them down again after 50 ms each.
    assert_eq!(scene.diary.times("booted"), [0, 40, 120, 200]);
    assert_eq!(scene.diary.times("worked"), [280]);
}

#[test]
fn healing_ends_a_crash_loop_whether_the_host_is_up_or_down() {
    for (heal_ms, booted) in [(35, vec![0, 35]), (70, vec![0, 40])] {
        let mut scene = Scene::new();
        scene.host("worker", |diary| async move { diary.note("booted") });
        let (down_us, up_us) = (30_000, 50_000);
        scene.at(10, Fault::CrashLoop { host: "worker".into(), times: 9, down_us, up_us });
        scene.world.heal_at(Duration::from_millis(heal_ms));
        scene.run();
        assert_eq!(scene.diary.times("booted"), booted);
    }
}

//! Every kind of trigger strikes exactly when it says.

use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover::point;
use holdover::random::Seed;
use holdover::world::{self, HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use holdover_model::event::{Event, EventKind};
use holdover_model::lease::Epoch;
use holdover_model::resource::ResourceId;
use holdover_tests::Diary;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

/// A world in which every packet takes 5 ms.
fn new_world() -> World {
    let link = LinkProfile { latency_us_min: 5_000, latency_us_max: 5_000 };
    World::new(Seed(1), WorldConfig { link, ..WorldConfig::default() })
}

fn add<F: Future<Output = ()> + 'static>(
    world: &mut World,
    name: &str,
    diary: &Diary,
    boot: impl Fn(Diary) -> F + 'static,
) {
    let diary = diary.clone();
    world.host_with(name, REGISTERED, move || boot(diary.clone()));
}

fn plan(world: &mut World, trigger: Trigger, fault: Fault) {
    world.plan(PlannedFault { trigger, fault }).unwrap();
}

fn run(world: &mut World) {
    let end = world.run_until(Duration::from_secs(10));
    assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
}

fn freeze(host: &str) -> Fault {
    Fault::Freeze { host: host.into(), for_us: 1_000_000 }
}

fn crash(host: &str) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us: 1_000_000 }
}

fn fence_advanced(epoch: u64) -> Event {
    let resource = ResourceId::new("rule/1");
    Event::FenceAdvanced { resource, admits: None, epoch: Epoch(epoch) }
}

/// Notes what it receives, byte by byte, over any number of connections.
async fn sink(diary: Diary) {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let diary = diary.clone();
        tokio::task::spawn_local(async move {
            loop {
                match stream.read_u8().await {
                    Ok(byte) => diary.note(format!("got {}", char::from(byte))),
                    Err(error) => return diary.note(format!("{:?}", error.kind())),
                }
            }
        });
    }
}

/// Writes a, b, c, one every 100 ms. Knows nothing of simulations.
async fn write_letters(diary: Diary) {
    let mut stream = TcpStream::connect("server:80").await.unwrap();
    for letter in b"abc" {
        holdover::time::sleep(Duration::from_millis(100)).await;
        stream.write_all(&[*letter]).await.unwrap();
        diary.note(format!("wrote {}", char::from(*letter)));
    }
    std::future::pending::<()>().await;
}

fn before_packet(from: &str, to: &str, nth: u64) -> Trigger {
    Trigger::BeforePacket { from: from.into(), to: to.into(), nth }
}

#[test]
fn at_a_time() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "writer", &diary, write_letters);
    plan(&mut world, Trigger::At { at_us: 150_000 }, freeze("writer"));
    run(&mut world);
    // Two timers are not overdue at once: the second one starts when the first one fires.
    assert_eq!(diary.times("wrote a"), [110]);
    assert_eq!(diary.times("wrote b"), [1_150]);
    let fired = world.faults_fired();
    assert_eq!((fired.len(), fired[0].at_ns, fired[0].plan_index), (1, 150_000_000, 0));
    assert_eq!(fired[0].fault.to_string(), "freeze writer for 1 s");
}

#[test]
fn before_a_packet_a_freeze_keeps_the_write_inside_until_the_thaw() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "writer", &diary, write_letters);
    plan(&mut world, before_packet("writer", "server", 2), freeze("writer"));
    run(&mut world);
    assert_eq!(world.faults_fired()[0].at_ns, 210_000_000);
    // Written before the freeze as far as the writer knows, and yet:
    assert_eq!(diary.times("wrote b"), [210]);
    assert_eq!(diary.times("got a"), [115]);
    assert_eq!(diary.times("got b"), [1_215]);
    assert_eq!(diary.times("got c"), [1_215]);
}

#[test]
fn before_a_packet_a_crash_means_that_it_never_leaves() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "writer", &diary, write_letters);
    plan(&mut world, before_packet("writer", "server", 2), crash("writer"));
    run(&mut world);
    assert_eq!(diary.times("got a"), [115, 1_325]);
    assert_eq!(diary.times("got b"), [1_425]);
    assert_eq!(diary.times("ConnectionReset"), [] as [u64; 0]);
}

#[test]
fn before_a_packet_a_loss_takes_that_very_packet() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "writer", &diary, write_letters);
    let fault = Fault::LoseRequest { from: "writer".into(), to: "server".into() };
    plan(&mut world, before_packet("writer", "server", 2), fault);
    match world.run_until(Duration::from_secs(10)) {
        // Its third write finds the connection reset.
        RunEnd::Panicked { host, message } => {
            assert_eq!(host, "writer");
            assert!(message.contains("ConnectionReset"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(diary.times("got a"), [115]);
    assert_eq!(diary.times("got b"), [] as [u64; 0]);
    assert_eq!(diary.times("ConnectionReset"), [215]);
}

#[test]
fn before_a_packet_another_host_can_be_hit() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "writer", &diary, write_letters);
    plan(&mut world, before_packet("writer", "server", 1), freeze("server"));
    run(&mut world);
    assert_eq!(diary.times("wrote c"), [310]);
    assert_eq!(diary.times("got a"), [1_110]);
}

#[test]
fn before_a_packet_counts_data_only_and_datagrams_too() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, |diary| async move {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        loop {
            let mut letter = [0];
            socket.recv_from(&mut letter).await.unwrap();
            diary.note(format!("got {}", char::from(letter[0])));
        }
    });
    add(&mut world, "writer", &diary, |_| async {
        // A refused connection: packets, but none with data.
        TcpStream::connect("server:80").await.unwrap_err();
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        for letter in b"abc" {
            socket.send_to(&[*letter], "server:53").await.unwrap();
            holdover::time::sleep(Duration::from_millis(100)).await;
        }
    });
    plan(&mut world, before_packet("writer", "server", 3), freeze("writer"));
    run(&mut world);
    assert_eq!(diary.times("got a"), [15]);
    assert_eq!(diary.times("got b"), [115]);
    assert_eq!(diary.times("got c"), [1_215]);
}

/// Reaches a point in each of three rounds; beside it a heartbeat.
async fn rounds(diary: Diary) {
    let heart = diary.clone();
    tokio::task::spawn_local(async move {
        loop {
            holdover::time::sleep(Duration::from_millis(100)).await;
            heart.note("beat");
        }
    });
    for round in 1..=3 {
        holdover::time::sleep(Duration::from_millis(100)).await;
        diary.note(format!("before {round}"));
        point("before-effect").await;
        diary.note(format!("after {round}"));
    }
    std::future::pending::<()>().await;
}

fn at_point(nth: u64) -> Trigger {
    Trigger::Point { host: "worker".into(), name: "before-effect".into(), nth }
}

#[test]
fn at_a_point_a_freeze_stops_the_task_right_there() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, rounds);
    plan(&mut world, at_point(2), freeze("worker"));
    let _ = world.run_until(Duration::from_secs(5));
    assert_eq!(diary.times("after 1"), [100]);
    assert_eq!(diary.times("before 2"), [200]);
    assert_eq!(diary.times("after 2"), [1_200]);
    assert!(diary.times("beat").iter().all(|at| !(201..1_200).contains(at)));
}

#[test]
fn at_a_point_a_freeze_also_stops_tasks_that_were_to_run_at_the_same_instant() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, |diary| async move {
        let (first, second) = (diary.clone(), diary);
        tokio::task::spawn_local(async move {
            holdover::time::sleep(Duration::from_millis(100)).await;
            first.note("first is at its point");
            point("before-effect").await;
        });
        tokio::task::spawn_local(async move {
            holdover::time::sleep(Duration::from_millis(100)).await;
            second.note("second");
        });
    });
    plan(&mut world, at_point(1), freeze("worker"));
    run(&mut world);
    assert_eq!(diary.times("first is at its point"), [100]);
    assert_eq!(diary.times("second"), [1_100]);
}

#[test]
fn at_a_point_a_crash_never_lets_the_task_get_past_it() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, rounds);
    plan(&mut world, at_point(2), crash("worker"));
    let _ = world.run_until(Duration::from_secs(5));
    assert_eq!(diary.times("before 2"), [200, 1_400]);
    assert_eq!(diary.times("after 2"), [1_400]);
}

#[test]
fn points_of_other_names_and_hosts_do_not_count() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, |_| async {});
    add(&mut world, "other", &diary, rounds);
    plan(&mut world, at_point(1), freeze("other"));
    let trigger = Trigger::Point { host: "other".into(), name: "elsewhere".into(), nth: 1 };
    plan(&mut world, trigger, freeze("other"));
    let _ = world.run_until(Duration::from_secs(1));
    assert_eq!(world.faults_fired(), []);
    assert_eq!(diary.times("after 3"), [300]);
}

/// Emits an event every 100 ms; around it all that a crash at the event has to tell apart.
async fn emitter(diary: Diary) {
    for epoch in 1..=3 {
        holdover::time::sleep(Duration::from_millis(100)).await;
        if let Ok(found) = holdover::fs::read_to_string("/log") {
            diary.note(format!("found {found}"));
        }
        write_durably(&format!("before {epoch}"));
        world::emit(fence_advanced(epoch));
        write_durably(&format!("after {epoch}"));
        diary.note(format!("emitted {epoch}"));
    }
}

fn write_durably(text: &str) {
    let written = holdover::fs::write("/log", text)
        .and_then(|()| holdover::fs::File::open("/log")?.sync_all())
        .and_then(|()| holdover::fs::sync_dir("/"));
    // Fails on the disk of a host that has just crashed, or not: nobody will ever know.
    drop(written);
}

fn at_event(nth: u64, host: Option<&str>) -> Trigger {
    Trigger::Event { kind: EventKind::FenceAdvanced, nth, host: host.map(str::to_owned) }
}

#[test]
fn at_an_event_a_freeze_lets_the_task_run_to_its_next_await_only() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, emitter);
    plan(&mut world, at_event(2, None), freeze("worker"));
    run(&mut world);
    assert_eq!(diary.times("emitted 2"), [200]);
    assert_eq!(diary.times("emitted 3"), [1_200]);
}

#[test]
fn at_an_event_a_crash_keeps_what_follows_in_the_same_breath_from_the_disk() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, emitter);
    plan(&mut world, at_event(2, Some("worker")), crash("worker"));
    run(&mut world);
    assert_eq!(diary.times("found before 2"), [1_300]);
    assert_eq!(diary.times("found after 2"), [1_500]);
    assert_eq!(world.records().len(), 5);
}

/// One write has made both durable, so there is no moment between them.
#[test]
fn at_the_first_of_events_that_come_true_together_a_crash_leaves_the_others_as_evidence() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, |diary| async move {
        world::emit_together(vec![fence_advanced(1), fence_advanced(2)]);
        diary.note("lives");
        world::emit(fence_advanced(3));
        std::future::pending::<()>().await;
    });
    plan(&mut world, at_event(1, None), crash("worker"));
    run(&mut world);
    let epochs: Vec<_> = world.records().iter().map(|record| format!("{}", record.event)).collect();
    let both_boots = [1, 2, 1, 2, 3].map(|epoch| format!("{}", fence_advanced(epoch)));
    assert_eq!(epochs, both_boots);
}

#[test]
fn at_an_event_another_host_is_stopped_before_it_can_react() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "worker", &diary, |_| async {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        world::emit(fence_advanced(1));
        stream.write_all(b"x").await.unwrap();
        std::future::pending::<()>().await;
    });
    plan(&mut world, at_event(1, Some("worker")), freeze("server"));
    run(&mut world);
    assert_eq!(diary.entries(), [(1_010, "got x".to_owned())]);
}

#[test]
fn what_was_written_before_an_event_leaves_and_what_comes_after_it_stays() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "server", &diary, sink);
    add(&mut world, "worker", &diary, |_| async {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.write_all(b"x").await.unwrap();
        world::emit(fence_advanced(1));
        stream.write_all(b"y").await.unwrap();
        std::future::pending::<()>().await;
    });
    plan(&mut world, at_event(1, None), freeze("worker"));
    run(&mut world);
    assert_eq!(diary.entries(), [(15, "got x".to_owned()), (1_015, "got y".to_owned())]);
}

#[test]
fn a_connection_dropped_right_after_an_event_that_froze_the_host_is_dropped_at_the_thaw() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        world::emit(fence_advanced(1));
        // With a byte unread, so the socket says goodbye with a reset.
        drop(stream);
    });
    add(&mut world, "client", &diary, |diary| async move {
        let mut stream = TcpStream::connect("worker:80").await.unwrap();
        stream.write_all(b"xy").await.unwrap();
        diary.note(format!("{:?}", stream.read_u8().await.unwrap_err().kind()));
    });
    plan(&mut world, at_event(1, None), freeze("worker"));
    run(&mut world);
    assert_eq!(diary.entries(), [(1_020, "ConnectionReset".to_owned())]);
}

#[test]
fn events_of_other_hosts_count_only_if_no_host_is_named() {
    for (host, fired) in [(None, 1), (Some("quiet"), 0)] {
        let (mut world, diary) = (new_world(), Diary::default());
        add(&mut world, "worker", &diary, emitter);
        add(&mut world, "quiet", &diary, |_| async {});
        plan(&mut world, at_event(2, host), freeze("worker"));
        run(&mut world);
        assert_eq!(world.faults_fired().len(), fired);
    }
}

#[test]
fn a_trigger_strikes_once() {
    let (mut world, diary) = (new_world(), Diary::default());
    add(&mut world, "worker", &diary, rounds);
    plan(&mut world, at_point(1), freeze("worker"));
    let _ = world.run_until(Duration::from_secs(5));
    assert_eq!(diary.times("after 1"), [1_100]);
    assert_eq!(diary.times("after 2"), [1_200]);
    assert_eq!(world.faults_fired().len(), 1);
}

#[test]
fn healing_disarms_what_still_waits() {
    let triggers = [
        Trigger::At { at_us: 250_000 },
        at_point(2),
        at_event(2, None),
        before_packet("worker", "server", 2),
    ];
    for trigger in triggers {
        let (mut world, diary) = (new_world(), Diary::default());
        add(&mut world, "server", &diary, sink);
        add(&mut world, "worker", &diary, |diary| async move {
            let other = diary.clone();
            tokio::task::spawn_local(emitter(other.clone()));
            tokio::task::spawn_local(write_letters(other));
            rounds(diary).await;
        });
        plan(&mut world, trigger.clone(), freeze("worker"));
        world.heal_at(Duration::from_millis(150));
        let _ = world.run_until(Duration::from_secs(2));
        assert_eq!(world.faults_fired(), [], "{trigger}");
        assert_eq!(diary.times("after 3"), [300]);
    }
}

#[test]
fn healing_ends_every_fault_that_is_on() {
    let forever_us = 1_000_000_000;
    let (a, b) = (vec!["server".to_owned()], vec!["worker".to_owned()]);
    let (from, to) = ("worker".to_owned(), "server".to_owned());
    let faults = [
        Fault::Freeze { host: "worker".into(), for_us: forever_us },
        Fault::Crash { host: "worker".into(), restart_after_us: forever_us },
        Fault::Partition { a, b, for_us: forever_us },
        Fault::PartitionOneWay { from: from.clone(), to: to.clone(), for_us: forever_us },
        Fault::Delay { from, to, extra_us: forever_us, for_us: forever_us },
    ];
    for fault in faults {
        let (mut world, diary) = (new_world(), Diary::default());
        add(&mut world, "server", &diary, sink);
        add(&mut world, "worker", &diary, |_| async {
            loop {
                let mut stream = TcpStream::connect("server:80").await.unwrap();
                stream.write_all(b"x").await.unwrap();
                holdover::time::sleep(Duration::from_millis(100)).await;
            }
        });
        plan(&mut world, Trigger::At { at_us: 500_000 }, fault.clone());
        let _ = world.run_until(Duration::from_secs(2));
        assert!(diary.times("got x").iter().all(|at| *at < 510), "{fault}");
        world.heal();
        let _ = world.run_until(Duration::from_secs(4));
        // A packet that a delay has already put on its way keeps its time, and so does all
        // that follows it on its link.
        if !matches!(fault, Fault::Delay { .. }) {
            assert!(diary.times("got x").iter().any(|at| *at > 3_000), "{fault}");
        }
    }
}

//! Every fault, shown by its effect on code that knows nothing of it.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::rc::Rc;
use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover::random::{Seed, between, choose};
use holdover::world::{HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

/// A world in which every packet takes 5 ms, and a diary of what its hosts did when.
struct Scene {
    world: World,
    diary: Diary,
}

type Entry = (u64, String);

/// What hosts did, by the simulated millisecond in which they did it.
#[derive(Clone, Default)]
struct Diary(Rc<RefCell<Vec<Entry>>>);

impl Diary {
    fn note(&self, what: impl Into<String>) {
        let since_start = holdover::time::unix_now().unix_ns - holdover::world::START_UNIX_NS;
        self.0.borrow_mut().push((since_start / 1_000_000, what.into()));
    }

    fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    /// When this was noted.
    fn times(&self, what: &str) -> Vec<u64> {
        self.0.borrow().iter().filter(|entry| entry.1 == what).map(|entry| entry.0).collect()
    }
}

impl Scene {
    fn new() -> Self {
        let link = LinkProfile { latency_us_min: 5_000, latency_us_max: 5_000 };
        let world = World::new(Seed(1), WorldConfig { link, ..WorldConfig::default() });
        Self { world, diary: Diary::default() }
    }

    fn host<F: Future<Output = ()> + 'static>(
        &mut self,
        name: &str,
        boot: impl Fn(Diary) -> F + 'static,
    ) {
        let diary = self.diary.clone();
        self.world.host_with(name, REGISTERED, move || boot(diary.clone()));
    }

    fn at(&mut self, at_ms: u64, fault: Fault) {
        let trigger = Trigger::At { at_us: at_ms * 1_000 };
        self.world.plan(PlannedFault { trigger, fault }).unwrap();
    }

    fn run(&mut self) {
        let end = self.world.run_until(Duration::from_secs(10));
        assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
    }
}

/// Answers each request of four bytes, as often as the client likes, and notes each.
async fn serve(diary: Diary) {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let diary = diary.clone();
        tokio::task::spawn_local(async move {
            let mut request = [0; 4];
            while stream.read_exact(&mut request).await.is_ok() {
                diary.note("served");
                if stream.write_all(&request).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// One request over a new connection.
async fn ask() -> std::io::Result<()> {
    let mut stream = TcpStream::connect("server:80").await?;
    stream.write_all(b"ping").await?;
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await?;
    Ok(())
}

/// Asks once and notes how that ended.
async fn ask_once(diary: Diary) {
    match ask().await {
        Ok(()) => diary.note("answered"),
        Err(error) => diary.note(format!("{:?}", error.kind())),
    }
}

fn freeze(host: &str, for_ms: u64) -> Fault {
    Fault::Freeze { host: host.into(), for_us: for_ms * 1_000 }
}

fn crash(host: &str, restart_after_ms: u64) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us: restart_after_ms * 1_000 }
}

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

/// A client that asks every 100 ms on one connection, from 100 ms on.
async fn ask_steadily(diary: Diary) {
    let mut stream = TcpStream::connect("server:80").await.unwrap();
    for round in 1..=20 {
        let due = Duration::from_millis(100 * round);
        let now = holdover::time::unix_now().unix_ns - holdover::world::START_UNIX_NS;
        holdover::time::sleep(due.saturating_sub(Duration::from_nanos(now))).await;
        diary.note("asked");
        stream.write_all(b"ping").await.unwrap();
        stream.read_exact(&mut [0; 4]).await.unwrap();
        diary.note("answered");
    }
}

#[test]
fn a_partition_cuts_both_ways_and_delivers_when_it_heals() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_steadily);
    let (a, b) = (vec!["client".into()], vec!["server".into()]);
    // In the middle of the exchange: the request has arrived, the answer has not left yet.
    scene.at(204, Fault::Partition { a, b, for_us: 500_000 });
    scene.run();
    assert_eq!(scene.diary.times("served")[..3], [105, 205, 714]);
    assert_eq!(scene.diary.times("answered")[..3], [110, 709, 719]);
    assert_eq!(scene.diary.times("answered").len(), 20);
}

#[test]
fn a_one_way_partition_leaves_the_other_way_open() {
    for (from, to, served, answered) in
        [("client", "server", 705, 710), ("server", "client", 205, 705)]
    {
        let mut scene = Scene::new();
        scene.host("server", serve);
        scene.host("client", ask_steadily);
        let (from, to) = (from.to_owned(), to.to_owned());
        scene.at(150, Fault::PartitionOneWay { from, to, for_us: 550_000 });
        scene.run();
        assert_eq!(scene.diary.times("served")[1], served);
        assert_eq!(scene.diary.times("answered")[1], answered);
    }
}

#[test]
fn a_partition_does_not_concern_others() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.host("bystander", |_| async {});
    let (a, b) = (vec!["bystander".into()], vec!["server".into(), "client".into()]);
    scene.at(0, Fault::Partition { a, b, for_us: 1_000_000 });
    scene.run();
    assert_eq!(scene.diary.times("answered"), [20]);
}

#[test]
fn datagrams_into_a_partition_are_lost() {
    let mut scene = Scene::new();
    scene.host("server", |diary| async move {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        loop {
            let mut number = [0; 1];
            socket.recv_from(&mut number).await.unwrap();
            diary.note(format!("{}", number[0]));
        }
    });
    scene.host("client", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        for number in 1..=5 {
            holdover::time::sleep(Duration::from_millis(100)).await;
            socket.send_to(&[number], "server:53").await.unwrap();
        }
    });
    let (a, b) = (vec!["client".into()], vec!["server".into()]);
    scene.at(250, Fault::Partition { a, b, for_us: 200_000 });
    scene.run();
    assert_eq!(scene.diary.entries().into_iter().map(|entry| entry.1).collect::<String>(), "125");
}

#[test]
fn a_lost_request_never_reaches_the_server_and_the_client_gets_an_error() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.at(0, Fault::LoseRequest { from: "client".into(), to: "server".into() });
    scene.run();
    assert_eq!(scene.diary.entries(), [(15, "ConnectionReset".into())]);
}

#[test]
fn a_lost_response_leaves_the_work_done_and_the_client_with_an_error() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.at(0, Fault::LoseResponse { from: "client".into(), to: "server".into() });
    scene.run();
    let expected = [(15, "served".into()), (20, "ConnectionReset".into())];
    assert_eq!(scene.diary.entries(), expected);
}

#[test]
fn a_loss_strikes_once_and_only_the_connections_that_the_client_opened() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        for _ in 0..2 {
            ask_once(diary.clone()).await;
        }
    });
    // Nobody connects from the server to the client, so this one waits for ever.
    scene.at(0, Fault::LoseRequest { from: "server".into(), to: "client".into() });
    scene.at(0, Fault::LoseRequest { from: "client".into(), to: "server".into() });
    scene.run();
    let how: Vec<_> = scene.diary.entries().into_iter().map(|entry| entry.1).collect();
    assert_eq!(how, ["ConnectionReset", "served", "answered"]);
}

#[test]
fn a_delay_adds_to_one_direction_for_its_time() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_steadily);
    let (from, to) = ("client".into(), "server".into());
    scene.at(150, Fault::Delay { from, to, extra_us: 40_000, for_us: 100_000 });
    scene.run();
    assert_eq!(scene.diary.times("served")[..3], [105, 245, 305]);
    assert_eq!(scene.diary.times("answered")[..3], [110, 250, 310]);
}

#[test]
fn a_plan_that_names_a_host_that_is_not_there_is_refused_with_what_there_is() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    let trigger = Trigger::At { at_us: 0 };
    let error = scene.world.plan(PlannedFault { trigger, fault: freeze("sever", 1) }).unwrap_err();
    assert_eq!(error.to_string(), "no host is called `sever`; there are: server, client");
}

#[test]
fn faults_are_plain_data_and_say_what_they_do() {
    let planned = PlannedFault {
        trigger: Trigger::Point { host: "w".into(), name: "before-effect".into(), nth: 2 },
        fault: crash("w", 3),
    };
    let text = serde_json::to_string(&planned).unwrap();
    assert_eq!(
        text,
        r#"{"trigger":{"point":{"host":"w","name":"before-effect","nth":2}},"fault":{"crash":{"host":"w","restart_after_us":3000}}}"#,
    );
    assert_eq!(serde_json::from_str::<PlannedFault>(&text).unwrap(), planned);
    let misspelt = text.replace("restart_after_us", "restart_us");
    let error = serde_json::from_str::<PlannedFault>(&misspelt).unwrap_err();
    assert!(error.to_string().contains("unknown field `restart_us`"), "{error}");
    assert_eq!(planned.trigger.to_string(), "at point before-effect of w, time 2");
    assert_eq!(planned.fault.to_string(), "crash w, restart after 3000 us");
}

/// One run with random faults of every kind on a small system that keeps asking.
fn chaos(seed: u64) -> ([u8; 32], usize, Vec<Entry>) {
    let mut world = World::new(Seed(seed), WorldConfig::default());
    let diary = Diary::default();
    let mut random = Seed(seed).stream("chaos");
    let names = ["server", "client", "other"];
    for name in names {
        let diary = diary.clone();
        // Half of the seeds with plain timers, half without.
        let options = HostOptions { plain_timers: seed.is_multiple_of(2) };
        world.host_with(name, options, move || {
            let diary = diary.clone();
            async move {
                if name == "server" {
                    serve(diary).await;
                } else {
                    ask_for_ever(name, diary).await;
                }
            }
        });
    }
    for _ in 0..between(&mut random, 1, 12) {
        let [a, b, c, d] = [(); 4].map(|()| *choose(&mut random, &names));
        let mut draw = |min, max| between(&mut random, min, max);
        let (from, to, host) = (a.to_owned(), b.to_owned(), a.to_owned());
        let for_us = draw(1, 1_500_000);
        let fault = match draw(0, 6) {
            0 => Fault::Freeze { host, for_us },
            1 => Fault::Crash { host, restart_after_us: for_us },
            2 => Fault::Partition { a: vec![from], b: vec![to], for_us },
            3 => Fault::PartitionOneWay { from, to, for_us },
            4 => Fault::LoseRequest { from, to },
            5 => Fault::LoseResponse { from, to },
            _ => Fault::Delay { from, to, extra_us: draw(1, 300_000), for_us },
        };
        let (from, to) = (c.to_owned(), d.to_owned());
        let trigger = match draw(0, 1) {
            0 => Trigger::At { at_us: draw(0, 5_000_000) },
            _ => Trigger::BeforePacket { from, to, nth: draw(1, 20) },
        };
        world.plan(PlannedFault { trigger, fault }).unwrap();
    }
    world.heal_at(Duration::from_secs(5));
    assert_eq!(world.run_until(Duration::from_secs(10)), RunEnd::Deadline, "seed {seed}");
    (world.digest(), world.faults_fired().len(), diary.entries())
}

async fn ask_for_ever(name: &str, diary: Diary) {
    loop {
        let answer = holdover::time::timeout(Duration::from_millis(400), ask()).await;
        diary
            .note(format!("{name} {}", if matches!(answer, Ok(Ok(()))) { "ok" } else { "failed" }));
        holdover::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn after_any_faults_all_is_well_again_and_the_run_repeats_to_the_bit() {
    let (mut fired, mut failed) = (0, 0);
    for seed in 0..150 {
        let (digest, faults, entries) = chaos(seed);
        fired += faults;
        failed += entries.iter().filter(|entry| entry.1.ends_with("failed")).count();
        for name in ["client", "other"] {
            let late: Vec<_> = entries
                .iter()
                .filter(|entry| entry.0 > 6_500 && entry.1.starts_with(name))
                .collect();
            assert!(late.len() >= 10, "seed {seed}: {late:?}");
            assert!(late.iter().all(|entry| entry.1.ends_with("ok")), "seed {seed}: {late:?}");
        }
        if seed.is_multiple_of(10) {
            assert_eq!(digest, chaos(seed).0, "seed {seed}");
        }
    }
    // The faults did happen, and they did hurt.
    assert!(fired > 400, "{fired} faults");
    assert!(failed > 300, "{failed} failures");
}

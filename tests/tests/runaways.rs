//! Code on a host that panics, never lets time pass, uses up a budget, or never comes back:
//! each is a finding that names the host, and the sweep goes on.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover::plan::Plan;
use holdover::random::Seed;
use holdover::report::{json, terminal};
use holdover::search::Origin;
use holdover::stack::Finding;
use holdover::sweep::{Sweep, replay_with};
use holdover::world::{HostOptions, RunEnd, World, WorldConfig};
use holdover_model::design::Design;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

/// Runs a host that is calm and one that is not, and gives the end.
fn run_beside_calm<F: Future<Output = ()> + 'static>(
    config: WorldConfig,
    runaway: impl Fn() -> F + 'static,
) -> (RunEnd, World) {
    let mut world = World::new(Seed(1), config);
    world.host("calm", || async {
        let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
        let mut buffer = [0; 16];
        while socket.recv_from(&mut buffer).await.is_ok() {}
    });
    world.host_with("runaway", REGISTERED, runaway);
    (world.run_for(Duration::from_secs(10)), world)
}

#[track_caller]
fn is_stuck<F: Future<Output = ()> + 'static>(runaway: impl Fn() -> F + 'static) {
    let (end, world) = run_beside_calm(WorldConfig::default(), runaway);
    assert_eq!(end, RunEnd::Stuck { host: "runaway".into() });
    assert_eq!(world.now(), Duration::from_millis(5), "it is found at the instant at which it is");
}

async fn until_five() {
    holdover::time::sleep(Duration::from_millis(5)).await;
}

#[cfg(tokio_unstable)]
#[test]
fn a_task_that_wakes_itself_for_ever_is_stuck() {
    is_stuck(|| async {
        until_five().await;
        loop {
            tokio::task::yield_now().await;
        }
    });
}

#[cfg(tokio_unstable)]
#[test]
fn timers_of_zero_let_no_time_pass() {
    is_stuck(|| async {
        until_five().await;
        loop {
            holdover::time::sleep(Duration::ZERO).await;
        }
    });
}

#[cfg(tokio_unstable)]
#[test]
fn points_alone_let_no_time_pass() {
    is_stuck(|| async {
        until_five().await;
        loop {
            holdover::point("again").await;
        }
    });
}

#[cfg(tokio_unstable)]
#[test]
fn tasks_that_wake_each_other_for_ever_are_stuck() {
    is_stuck(|| async {
        until_five().await;
        let (ask, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let (answer, mut answered) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(()) = asked.recv().await {
                answer.send(()).unwrap();
            }
        });
        loop {
            ask.send(()).unwrap();
            answered.recv().await.unwrap();
        }
    });
}

/// Loopback takes no time, so this is a busy loop although each step waits for a packet.
#[test]
fn an_endless_exchange_over_loopback_is_stuck() {
    is_stuck(|| async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                stream.write_all(&byte).await.unwrap();
            }
        });
        until_five().await;
        let mut stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let mut byte = [0];
        loop {
            stream.write_all(&byte).await.unwrap();
            stream.read_exact(&mut byte).await.unwrap();
        }
    });
}

/// What is busy for long, but not for ever, is not stuck.
#[test]
fn much_work_at_one_instant_is_allowed() {
    let (end, _) = run_beside_calm(WorldConfig::default(), || async {
        for _ in 0..100_000 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(end, RunEnd::Deadline);
}

#[test]
fn a_run_that_uses_up_its_steps_names_the_busiest_host() {
    let config = WorldConfig { steps_max: 1_000, ..WorldConfig::default() };
    let (end, _) = run_beside_calm(config, || async {
        loop {
            holdover::time::sleep(Duration::from_nanos(1)).await;
        }
    });
    assert_eq!(end, RunEnd::OutOfSteps { host: "runaway".into() });
}

/// Sends much more often than packets arrive.
async fn flood() {
    let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
    loop {
        socket.send_to(&[0; 1_000], "calm:9").await.unwrap();
        holdover::time::sleep(Duration::from_nanos(100)).await;
    }
}

#[test]
fn a_flood_of_packets_uses_up_the_memory_and_names_its_sender() {
    let config = WorldConfig { memory_max_bytes: 1 << 24, ..WorldConfig::default() };
    let (end, world) = run_beside_calm(config, flood);
    assert_eq!(end, RunEnd::OutOfMemory { host: "runaway".into() });
    assert!(world.steps() < 60_000, "noticed only after {} steps", world.steps());
}

#[test]
fn what_a_partition_holds_back_counts_too() {
    let config = WorldConfig { memory_max_bytes: 1 << 15, ..WorldConfig::default() };
    let mut world = World::new(Seed(1), config);
    world.host_with("server", REGISTERED, || async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let _connection = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
    });
    world.host_with("client", REGISTERED, || async {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        holdover::time::sleep(Duration::from_millis(200)).await;
        loop {
            stream.write_all(&vec![0; 1 << 16]).await.unwrap();
            holdover::time::sleep(Duration::from_micros(10)).await;
        }
    });
    // Steps are what makes the world look; the writer waits for the window in the end.
    world.host_with("clock", REGISTERED, || async {
        loop {
            holdover::time::sleep(Duration::from_micros(10)).await;
        }
    });
    let (from, to) = ("client".into(), "server".into());
    let cut = Fault::PartitionOneWay { from, to, for_us: 60_000_000 };
    world.plan(PlannedFault { trigger: Trigger::At { at_us: 100_000 }, fault: cut }).unwrap();
    let end = world.run_for(Duration::from_secs(10));
    assert_eq!(end, RunEnd::OutOfMemory { host: "client".into() });
}

#[test]
fn a_panic_while_the_main_task_is_made_names_the_host() {
    let (end, _) = run_beside_calm(WorldConfig::default(), || {
        assert!(Instant::now().elapsed() > Duration::from_secs(1), "not configured");
        async {}
    });
    is_panic(&end, "runaway", "not configured");
}

#[test]
fn a_panic_in_a_destructor_names_the_host() {
    struct Touchy;
    impl Drop for Touchy {
        fn drop(&mut self) {
            panic!("do not drop me");
        }
    }
    let (end, _) = run_beside_calm(WorldConfig::default(), || async {
        let touchy = Touchy;
        until_five().await;
        drop(touchy);
    });
    is_panic(&end, "runaway", "do not drop me");
}

#[track_caller]
fn is_panic(end: &RunEnd, at: &str, says: &str) {
    let RunEnd::Panicked { host, message } = end else { panic!("{end:?}") };
    assert_eq!(host, at);
    assert!(message.contains(says), "{message}");
    assert!(message.contains("tests/tests/runaways.rs:"), "no location: {message}");
}

fn sweep(seeds: u64, hosts: fn(&mut World, &Plan)) -> Sweep {
    Sweep::new(Design::named("push-before-ready").unwrap()).seeds(0..seeds).hosts(hosts)
}

/// A sweep of which one seed is bad: it has to find that, and run all others.
#[track_caller]
fn finds_in_seed_three(hosts: fn(&mut World, &Plan), class: &str, parts: &[&str]) {
    let outcome = sweep(6, hosts).run();
    assert_eq!(outcome.runs, 6);
    let [failure] = &outcome.failures[..] else { panic!("{:?}", outcome.failures) };
    assert_eq!(failure.origin, Origin::Seed(Seed(3)));
    assert_eq!(failure.finding.class(), class);
    assert_eq!(failure.finding.host(), Some("extra"));

    let shown = outcome.show(failure);
    assert!(shown.has_same_digest() && shown.has_same_verdict());
    assert_eq!(shown.divergence, None);
    let replayed = replay_with(shown.saved.clone(), hosts, Duration::from_secs(30)).unwrap();
    assert!(replayed.has_same_digest() && replayed.has_same_verdict());

    let report = serde_json::to_string(&json::sweep(&outcome, &[], &[])).unwrap();
    let replay = serde_json::to_string(&json::replay(&replayed, None)).unwrap();
    for text in [
        report,
        replay,
        terminal::failure(&shown, failure.origin, None),
        terminal::replay(&replayed, None),
        failure.finding.explanation(),
    ] {
        for part in parts.iter().copied().chain(["extra"]) {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
}

#[test]
fn a_panic_is_a_finding_of_its_seed() {
    let hosts = |world: &mut World, plan: &Plan| {
        let is_bad = plan.seed == Seed(3);
        world.host_with("extra", REGISTERED, move || async move {
            until_five().await;
            assert!(!is_bad, "out of luck");
        });
    };
    finds_in_seed_three(hosts, "panic", &["out of luck", "tests/tests/runaways.rs:"]);
}

#[cfg(tokio_unstable)]
#[test]
fn a_busy_loop_is_a_finding_of_its_seed() {
    let hosts = |world: &mut World, plan: &Plan| {
        let is_bad = plan.seed == Seed(3);
        world.host_with("extra", REGISTERED, move || async move {
            if is_bad {
                loop {
                    tokio::task::yield_now().await;
                }
            }
        });
    };
    finds_in_seed_three(hosts, "stuck", &["no time passes"]);
}

/// In seed 2, code that never awaits. (It sleeps, so that it does not take a core from the
/// tests that run beside it.)
fn never_awaits(world: &mut World, plan: &Plan) {
    let is_bad = plan.seed == Seed(2);
    world.host_with("extra", REGISTERED, move || async move {
        until_five().await;
        if is_bad {
            loop {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    });
}

#[test]
fn code_that_never_awaits_is_found_with_seed_plan_and_host() {
    let patience = Duration::from_secs(2);
    let sweep = sweep(1_000_000, never_awaits).hang_after(patience).jobs(2);
    let began = Instant::now();
    let outcome = sweep.run();
    assert!(began.elapsed() < Duration::from_secs(60), "the sweep ends soon after");
    let hang =
        outcome.failures.iter().find(|failure| failure.origin == Origin::Seed(Seed(2))).unwrap();
    assert_eq!(hang.finding, Finding::Hang { host: "extra".into(), after_s: 2 });
    assert!(outcome.runs > 2, "what was found before is not lost");
    let summary = terminal::summary(&outcome);
    assert!(summary.contains("INCOMPLETE") && summary.contains("hang in 1"), "{summary}");

    // Its plan can be saved without running it, and hangs again when it is replayed.
    let shown = outcome.show(hang);
    assert_eq!(shown.saved.plan, sweep.plan(Seed(2)));
    assert_eq!(shown.saved.expected.finding, "hang");
    let replayed = replay_with(shown.saved, never_awaits, patience).unwrap();
    assert!(replayed.has_same_verdict(), "{:?}", replayed.run.finding);
}

/// The thread that hangs does not keep the process from ending, nor from failing.
#[test]
fn a_process_whose_sweep_hangs_fails_and_says_why() {
    let arguments = ["--exact", "a_sweep_that_hangs", "--ignored", "--nocapture"];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for part in ["FAILED hang in seed 2", "extra", "neither ended nor awaited", "plan"] {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
}

#[test]
#[ignore = "hangs on purpose: another test runs it in a process of its own"]
fn a_sweep_that_hangs() {
    sweep(100, never_awaits).hang_after(Duration::from_secs(1)).assert_holds();
}

//! A small world with a server, clients and a diary: the stage for every fault.

use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::net::{TcpListener, TcpStream};
use holdover::random::Seed;
use holdover::world::{self, HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use holdover_tests::Diary;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) const REGISTERED: HostOptions = HostOptions { plain_timers: false };

/// A world in which every packet takes 5 ms, and a diary of what its hosts did when.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) diary: Diary,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let link = LinkProfile { latency_us_min: 5_000, latency_us_max: 5_000 };
        let world = World::new(Seed(1), WorldConfig { link, ..WorldConfig::default() });
        Self { world, diary: Diary::default() }
    }

    pub(crate) fn host<F: Future<Output = ()> + 'static>(
        &mut self,
        name: &str,
        boot: impl Fn(Diary) -> F + 'static,
    ) {
        let diary = self.diary.clone();
        self.world.host_with(name, REGISTERED, move || boot(diary.clone()));
    }

    pub(crate) fn at(&mut self, at_ms: u64, fault: Fault) {
        self.plan(Trigger::At { at_us: at_ms * 1_000 }, fault);
    }

    pub(crate) fn plan(&mut self, trigger: Trigger, fault: Fault) {
        self.world.plan(PlannedFault { trigger, fault }).unwrap();
    }

    pub(crate) fn run(&mut self) {
        let end = self.world.run_until(Duration::from_secs(10));
        assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
    }
}

/// Answers each request of four bytes, as often as the client likes, and notes each.
pub(crate) async fn serve(diary: Diary) {
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
pub(crate) async fn ask() -> std::io::Result<()> {
    let mut stream = TcpStream::connect("server:80").await?;
    stream.write_all(b"ping").await?;
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await?;
    Ok(())
}

/// Asks once and notes how that ended.
pub(crate) async fn ask_once(diary: Diary) {
    match ask().await {
        Ok(()) => diary.note("answered"),
        Err(error) => diary.note(format!("{:?}", error.kind())),
    }
}

/// A client that asks every 100 ms on one connection, from 100 ms on.
pub(crate) async fn ask_steadily(diary: Diary) {
    let mut stream = TcpStream::connect("server:80").await.unwrap();
    for round in 1..=20 {
        let due = Duration::from_millis(100 * round);
        let now = world::since_start().expect("only hosts ask");
        holdover::time::sleep(due.saturating_sub(now)).await;
        diary.note("asked");
        stream.write_all(b"ping").await.unwrap();
        stream.read_exact(&mut [0; 4]).await.unwrap();
        diary.note("answered");
    }
}

pub(crate) async fn ask_for_ever(name: &str, diary: Diary) {
    loop {
        let answer = holdover::time::timeout(Duration::from_millis(400), ask()).await;
        diary
            .note(format!("{name} {}", if matches!(answer, Ok(Ok(()))) { "ok" } else { "failed" }));
        holdover::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) fn freeze(host: &str, for_ms: u64) -> Fault {
    Fault::Freeze { host: host.into(), for_us: for_ms * 1_000 }
}

pub(crate) fn crash(host: &str, restart_after_ms: u64) -> Fault {
    Fault::Crash { host: host.into(), restart_after_us: restart_after_ms * 1_000 }
}

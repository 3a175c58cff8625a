//! What the engine promises to code on its hosts, without any fault.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover::random::Seed;
use holdover::world::{self, HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use holdover_model::event::{Event, EventKind};
use holdover_model::lease::Epoch;
use holdover_model::resource::ResourceId;
use holdover_tests::result_on;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

fn new_world(seed: u64) -> World {
    World::new(Seed(seed), WorldConfig::default())
}

/// Any event will do where a test needs one.
fn an_event() -> Event {
    Event::FenceAdvanced { resource: ResourceId::new("rule/1"), admits: None, epoch: Epoch(1) }
}

/// Serves one line per connection, each connection on a task of its own.
async fn echo_server() {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut request = [0; 5];
            stream.read_exact(&mut request).await.unwrap();
            request.make_ascii_uppercase();
            stream.write_all(&request).await.unwrap();
        });
    }
}

async fn ask_echo() -> Vec<u8> {
    let mut stream = TcpStream::connect("server:80").await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    reply
}

/// Runs `client` on a host beside an echo server and gives what it returned.
fn run_client<T: 'static, F: Future<Output = T> + 'static>(client: impl Fn() -> F + 'static) -> T {
    let mut world = new_world(1);
    world.host("server", echo_server);
    result_on(&mut world, "client", client)
}

#[test]
fn a_client_and_a_server_talk_over_tcp() {
    assert_eq!(run_client(ask_echo), b"HELLO");
}

#[test]
fn an_exchange_takes_as_long_as_its_packets() {
    // Connect, request and reply are two round trips: four latencies.
    let took = run_client(|| async {
        let started = Instant::now();
        ask_echo().await;
        started.elapsed()
    });
    assert!(took >= Duration::from_millis(4), "{took:?}");
    assert!(took <= Duration::from_millis(80), "{took:?}");
}

#[test]
fn datagrams_arrive() {
    let received = run_client(|| async {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        socket.send_to(b"ping", "client:53").await.unwrap();
        let mut buffer = [0; 16];
        let (length, _) = socket.recv_from(&mut buffer).await.unwrap();
        buffer[..length].to_vec()
    });
    assert_eq!(received, b"ping");
}

#[test]
fn a_host_talks_to_itself_over_loopback() {
    let reply = run_client(|| async {
        let listener = TcpListener::bind("127.0.0.1:99").await.unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"me").await.unwrap();
        });
        let mut reply = Vec::new();
        let mut stream = TcpStream::connect("127.0.0.1:99").await.unwrap();
        stream.read_to_end(&mut reply).await.unwrap();
        reply
    });
    assert_eq!(reply, b"me");
}

/// Bytes that show it when any of them is missing or out of place.
fn pattern(size: usize) -> Vec<u8> {
    (0..=250).cycle().take(size).collect()
}

#[test]
fn a_large_transfer_arrives_intact_at_a_slow_reader() {
    // More than a window, much more than a send buffer, and nobody reads for a while.
    const SIZE: usize = 3 << 20;
    let mut world = new_world(1);
    world.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&pattern(SIZE)).await.unwrap();
    });
    let intact = Rc::new(Cell::new(false));
    let slot = Rc::clone(&intact);
    world.host("client", move || {
        let slot = Rc::clone(&slot);
        async move {
            let mut stream = TcpStream::connect("server:80").await.unwrap();
            tokio::time::sleep(Duration::from_secs(2)).await;
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await.unwrap();
            slot.set(received == pattern(SIZE));
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(60)), RunEnd::Deadline);
    assert!(intact.get());
}

#[test]
fn spawned_tasks_run_wherever_they_were_spawned() {
    let sum = run_client(|| async {
        let sendable = tokio::spawn(async { 1 });
        let counter = Rc::new(Cell::new(0));
        let inside = Rc::clone(&counter);
        let local = tokio::task::spawn_local(async move { inside.set(2) });
        local.await.unwrap();
        sendable.await.unwrap() + counter.get()
    });
    assert_eq!(sum, 3);
}

#[test]
fn a_panic_ends_the_run_and_names_the_host() {
    let mut world = new_world(1);
    world.host("calm", echo_server);
    world.host("nervous", || async {
        // Nobody waits for the task, so nobody else would notice.
        tokio::spawn(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            panic!("too much");
        });
    });
    match world.run_for(Duration::from_secs(10)) {
        RunEnd::Panicked { host, message } => {
            assert_eq!(host, "nervous");
            assert!(message.starts_with("too much (tests/tests/engine.rs:"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.now().as_secs(), 1);
}

#[test]
fn an_observer_sees_every_event_and_can_stop_the_run() {
    let mut world = new_world(1);
    world.host("worker", || async {
        loop {
            holdover::time::sleep(Duration::from_millis(10)).await;
            world::emit(an_event());
        }
    });
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    world.observe(move |record| {
        assert_eq!(record.event.kind(), EventKind::FenceAdvanced);
        sink.borrow_mut().push((record.at_ns, record.sequence, record.host.to_string()));
        if record.sequence == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(world.run_for(Duration::from_secs(10)), RunEnd::Stopped);
    let expected = [10_u64, 20, 30].into_iter().zip(0..);
    let expected: Vec<_> =
        expected.map(|(ms, sequence)| (ms * 1_000_000, sequence, "worker".to_owned())).collect();
    assert_eq!(*seen.borrow(), expected);
    assert_eq!(world.records().len(), 3);
    // It can go on from there.
    assert_eq!(world.run_until(Duration::from_millis(55)), RunEnd::Deadline);
    assert_eq!(world.records().len(), 5);
}

#[test]
fn an_observer_that_takes_part_is_refused() {
    let mut world = new_world(1);
    world.host("worker", || async { world::emit(an_event()) });
    world.observe(|_| {
        world::emit(an_event());
        ControlFlow::Continue(())
    });
    match world.run_for(Duration::from_secs(1)) {
        RunEnd::Panicked { message, .. } => {
            assert!(message.starts_with("an observer must not emit"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// A client that talks to the server and emits an event after each reply.
fn digest(seed: u64, requests: u64) -> [u8; 32] {
    let mut world = new_world(seed);
    world.host("server", echo_server);
    world.host("client", move || async move {
        let mut random = world::random("pause");
        for _ in 0..requests {
            assert_eq!(ask_echo().await, b"HELLO");
            world::emit(an_event());
            let pause_us = holdover::random::between(&mut random, 0, 1_000);
            holdover::time::sleep(Duration::from_micros(pause_us)).await;
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(5)), RunEnd::Deadline);
    assert_eq!(world.records().len() as u64, requests);
    world.digest()
}

#[test]
fn the_same_seed_gives_the_same_digest_twice_in_one_process() {
    assert_eq!(digest(5, 10), digest(5, 10));
}

#[test]
fn another_seed_or_another_workload_gives_another_digest() {
    assert_ne!(digest(5, 10), digest(6, 10));
    assert_ne!(digest(5, 10), digest(5, 9));
}

#[test]
fn another_process_gets_the_same_digest() {
    let arguments = ["--exact", "the_digest_is_printed", "--nocapture"];
    let this_test = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this_test).args(arguments).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(&format!("{:?}", digest(5, 10))), "{printed}");
}

#[test]
fn the_digest_is_printed() {
    println!("{:?}", digest(5, 10));
}

#[test]
fn hosts_that_share_a_channel_wake_each_other_at_once() {
    let mut world = new_world(1);
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let received_at = Rc::new(Cell::new(0));
    let slot = Rc::clone(&received_at);
    let receiver = Rc::new(RefCell::new(Some(receiver)));
    world.host_with("receiver", REGISTERED, move || {
        let (receiver, slot) = (receiver.take(), Rc::clone(&slot));
        async move {
            receiver.unwrap().recv().await.unwrap();
            slot.set(holdover::time::unix_now().unix_ns - world::START_UNIX_NS);
        }
    });
    world.host_with("sender", REGISTERED, move || {
        let sender = sender.clone();
        async move {
            holdover::time::sleep(Duration::from_millis(7)).await;
            sender.send(()).unwrap();
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(1)), RunEnd::Idle);
    assert_eq!(received_at.get(), 7_000_000);
}

#[test]
fn worlds_run_in_parallel_on_threads_of_their_own() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| digest(5, 10))).collect();
    let here = digest(5, 10);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), here);
    }
}

#[test]
#[should_panic(expected = "another holdover world has started on this thread")]
fn two_worlds_at_once_on_one_thread_are_refused() {
    let mut first = new_world(1);
    first.host("a", || async {});
    let _ = first.run_for(Duration::from_millis(1));
    let mut second = new_world(1);
    second.host("a", || async {});
    let _ = second.run_for(Duration::from_millis(1));
}

#[test]
fn a_random_stream_depends_on_its_label_and_host_only() {
    fn draws(extra: bool) -> Vec<u64> {
        let drawn = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&drawn);
        let mut world = new_world(3);
        world.host("a", move || {
            let sink = Rc::clone(&sink);
            async move {
                if extra {
                    holdover::random::between(&mut world::random("new"), 0, 9);
                }
                let mut stream = world::random("old");
                let mut draw = || holdover::random::between(&mut stream, 0, 1_000_000);
                sink.borrow_mut().extend([draw(), draw()]);
            }
        });
        let _ = world.run_for(Duration::from_secs(1));
        drop(world);
        Rc::into_inner(drawn).unwrap().into_inner()
    }
    assert_eq!(draws(false), draws(true));
    let drawn = draws(false);
    assert_ne!(drawn[0], drawn[1]);
}

#[test]
fn latencies_stay_within_the_profile() {
    let link = LinkProfile { latency_us_min: 5_000, latency_us_max: 5_000 };
    let mut world = World::new(Seed(1), WorldConfig { link, ..WorldConfig::default() });
    world.host_with("server", REGISTERED, echo_server);
    let took = Rc::new(Cell::new(Duration::ZERO));
    let slot = Rc::clone(&took);
    world.host_with("client", REGISTERED, move || {
        let slot = Rc::clone(&slot);
        async move {
            let started = Instant::now();
            ask_echo().await;
            slot.set(started.elapsed());
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(1)), RunEnd::Idle);
    assert_eq!(took.get(), Duration::from_millis(20));
}

/// The body of the exchange, once for each engine.
macro_rules! parity {
    ($net:path) => {{
        use $net as net;
        async fn serve() -> std::io::Result<()> {
            let listener = net::TcpListener::bind("0.0.0.0:80").await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                tokio::spawn(async move {
                    let mut buffer = [0; 64];
                    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                        buffer[..length].reverse();
                        if stream.write_all(&buffer[..length]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        }
        async fn ask() -> std::io::Result<Vec<String>> {
            let mut replies = Vec::new();
            for round in 0..5 {
                let mut stream = net::TcpStream::connect("server:80").await?;
                for word in ["takeover", "epoch"] {
                    let request = format!("{word}{round}");
                    stream.write_all(request.as_bytes()).await?;
                    let mut reply = vec![0; request.len()];
                    stream.read_exact(&mut reply).await?;
                    replies.push(String::from_utf8_lossy(&reply).into_owned());
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            // Nobody listens there.
            let refused = net::TcpStream::connect("server:81").await.unwrap_err();
            replies.push(format!("{:?}", refused.kind()));
            Ok(replies)
        }
        (serve, ask)
    }};
}

#[test]
fn the_same_code_gets_the_same_replies_here_and_on_turmoil() {
    let (serve, ask) = parity!(holdover::net);
    let here = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&here);
    let mut world = new_world(1);
    world.host("server", move || async move { serve().await.unwrap() });
    world.host("client", move || {
        let sink = Rc::clone(&sink);
        async move { *sink.borrow_mut() = ask().await.unwrap() }
    });
    assert_eq!(world.run_for(Duration::from_secs(10)), RunEnd::Deadline);

    let (serve, ask) = parity!(turmoil::net);
    let there = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&there);
    let mut sim = turmoil::Builder::new().build();
    sim.host("server", move || async move { Ok(serve().await?) });
    sim.client("client", async move {
        *sink.borrow_mut() = ask().await?;
        Ok(())
    });
    sim.run().unwrap();

    assert_eq!(here.borrow().len(), 11);
    assert_eq!(*here.borrow(), *there.borrow());
}

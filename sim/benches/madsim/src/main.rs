//! The engine beside madsim: the same exchanges on both, in one run, interleaved.
//!
//! `cd sim/benches/madsim && cargo run --release`. Cargo has to start in this folder: the cfg
//! that makes madsim a simulator is in its `.cargo/config.toml`. For the same reason this is a
//! workspace of its own, which the root's never builds.
//!
//! The exchanges are those of `sim/benches/engine.rs`: five servers and a client; 30 simulated
//! seconds; 30 requests and replies, one each second, round robin over the servers, each over a
//! new TCP connection; latencies from 1 to 20 ms. Every run checks that all 30 replies came.
//!
//! The work behind them differs: madsim opens a connection without a handshake, hands a flushed
//! write over whole and acknowledges nothing, and does not free all that a run allocated. Its
//! overrides of libc's clock and randomness are linked in for both engines; outside of its
//! runtime they call the originals.

#[cfg(not(madsim))]
compile_error!("start cargo in sim/benches/madsim: its .cargo/config.toml sets the cfg `madsim`");

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use holdover::random::Seed;
use holdover::world::{HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use madsim::net::NetSim;
use madsim::runtime::Runtime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SERVERS: u8 = 5;
const EXCHANGES: u32 = 30;
const RUN: Duration = Duration::from_secs(30);
const LATENCY: LinkProfile = LinkProfile { latency_us_min: 1_000, latency_us_max: 20_000 };

/// How long each contestant is measured, in slices that take turns.
const SLICE: Duration = Duration::from_millis(900);
const ROUNDS: usize = 10;

/// The same code for both engines; only the names of the sockets and timers differ.
macro_rules! serve {
    ($name:ident, $net:path) => {
        async fn $name() -> std::io::Result<()> {
            use $net as net;
            let listener = net::TcpListener::bind("0.0.0.0:80").await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                let mut request = [0; 4];
                stream.read_exact(&mut request).await?;
                stream.write_all(&request).await?;
                // madsim sends nothing before it is flushed.
                stream.flush().await?;
            }
        }
    };
}

macro_rules! ask {
    ($name:ident, $net:path, $now:path, $sleep_until:path) => {
        async fn $name(done: Arc<AtomicU32>) -> std::io::Result<()> {
            use $net as net;
            let started = $now();
            for (exchange, server) in (1..=EXCHANGES).zip((0..SERVERS).cycle()) {
                let server = format!("server-{server}:80");
                let mut stream = net::TcpStream::connect(server).await?;
                stream.write_all(b"ping").await?;
                stream.flush().await?;
                let mut reply = [0; 4];
                stream.read_exact(&mut reply).await?;
                assert_eq!(&reply, b"ping");
                done.fetch_add(1, Ordering::Relaxed);
                drop(stream);
                // In the end this is the whole run, so that both engines simulate as much.
                $sleep_until(started + RUN * exchange / EXCHANGES).await;
            }
            Ok(())
        }
    };
}

serve!(serve, holdover::net);
serve!(serve_madsim, madsim::net);
ask!(ask, holdover::net, tokio::time::Instant::now, holdover::time::sleep_until);
ask!(ask_plain, holdover::net, tokio::time::Instant::now, tokio::time::sleep_until);
ask!(ask_madsim, madsim::net, madsim::time::Instant::now, madsim::time::sleep_until);

fn holdover(seed: u64, plain_timers: bool) {
    let done = Arc::new(AtomicU32::new(0));
    let config = WorldConfig { link: LATENCY, ..WorldConfig::default() };
    let mut world = World::new(Seed(seed), config);
    let options = HostOptions { plain_timers };
    for server in 0..SERVERS {
        world.host_with(&format!("server-{server}"), options, || async {
            serve().await.expect("a server serves");
        });
    }
    let counter = Arc::clone(&done);
    world.host_with("client", options, move || {
        let counter = Arc::clone(&counter);
        async move {
            let asked = if plain_timers { ask_plain(counter).await } else { ask(counter).await };
            asked.expect("every exchange succeeds");
        }
    });
    let end = world.run_for(RUN);
    assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
    assert_eq!(done.load(Ordering::Relaxed), EXCHANGES);
}

fn madsim(seed: u64) {
    let done = Arc::new(AtomicU32::new(0));
    let mut config = madsim::Config::default();
    config.net.packet_loss_rate = 0.0;
    config.net.send_latency = Duration::from_micros(LATENCY.latency_us_min)
        ..Duration::from_micros(LATENCY.latency_us_max);
    let runtime = Runtime::with_seed_and_config(seed, config);
    let address = |host: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, host + 1));
    for server in 0..SERVERS {
        runtime.create_node().ip(address(server)).build().spawn(async {
            serve_madsim().await.expect("a server serves");
        });
    }
    let client = runtime.create_node().ip(address(SERVERS)).build();
    let counter = Arc::clone(&done);
    runtime.block_on(async move {
        let net = NetSim::current();
        for server in 0..SERVERS {
            net.add_dns_record(&format!("server-{server}"), address(server));
        }
        let started = madsim::time::Instant::now();
        let asked = client.spawn(ask_madsim(counter)).await.expect("the client ends");
        asked.expect("every exchange succeeds");
        assert!(started.elapsed() >= RUN, "only {:?} were simulated", started.elapsed());
    });
    assert_eq!(done.load(Ordering::Relaxed), EXCHANGES);
}

fn main() {
    type Contestant = (&'static str, fn(u64));
    let contestants: [Contestant; 3] = [
        ("holdover, registered timers", |seed| holdover(seed, false)),
        ("holdover, plain tokio timers", |seed| holdover(seed, true)),
        ("madsim", madsim),
    ];
    let mut runs = [0_u32; 3];
    let mut spent = [Duration::ZERO; 3];
    let mut seed = 0;
    for _ in 0..ROUNDS {
        for (index, (_, run)) in contestants.iter().enumerate() {
            let started = Instant::now();
            loop {
                run(seed);
                seed += 1;
                runs[index] += 1;
                if started.elapsed() >= SLICE {
                    break;
                }
            }
            spent[index] += started.elapsed();
        }
    }
    let rate: Vec<f64> = runs
        .iter()
        .zip(spent)
        .map(|(runs, spent)| f64::from(*runs) / spent.as_secs_f64())
        .collect();
    println!("{:<30} {:>10} {:>16}", "", "runs/s", "x madsim");
    for (index, (name, _)) in contestants.iter().enumerate() {
        println!("{name:<30} {:>10.1} {:>16.3}", rate[index], rate[index] / rate[2]);
    }
}

//! The engine beside turmoil: the same exchanges on both, in one run, interleaved.
//!
//! Five servers and a client; 30 simulated seconds; 30 requests and replies, one each
//! second, round robin over the servers, each over a new TCP connection; latencies from 1 to
//! 20 ms. Every run checks that all 30 replies came. `cargo bench -p holdover --bench engine`.
//! Beside madsim, which has to be built on its own: `sim/benches/madsim`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use holdover::random::Seed;
use holdover::world::{HostOptions, LinkProfile, RunEnd, World, WorldConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SERVERS: usize = 5;
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
            }
        }
    };
}

macro_rules! ask {
    ($name:ident, $net:path, $sleep_until:path) => {
        async fn $name(done: Rc<Cell<u32>>) -> std::io::Result<()> {
            use $net as net;
            let started = tokio::time::Instant::now();
            for (exchange, server) in (1..=EXCHANGES).zip((0..SERVERS).cycle()) {
                let server = format!("server-{server}:80");
                let mut stream = net::TcpStream::connect(server).await?;
                stream.write_all(b"ping").await?;
                let mut reply = [0; 4];
                stream.read_exact(&mut reply).await?;
                assert_eq!(&reply, b"ping");
                done.set(done.get() + 1);
                drop(stream);
                // In the end this is the whole run, so that both engines simulate as much.
                $sleep_until(started + RUN * exchange / EXCHANGES).await;
            }
            Ok(())
        }
    };
}

serve!(serve, holdover::net);
serve!(serve_turmoil, turmoil::net);
ask!(ask, holdover::net, holdover::time::sleep_until);
ask!(ask_plain, holdover::net, tokio::time::sleep_until);
ask!(ask_turmoil, turmoil::net, tokio::time::sleep_until);

fn holdover(seed: u64, plain_timers: bool) {
    let done = Rc::new(Cell::new(0));
    let config = WorldConfig { link: LATENCY, ..WorldConfig::default() };
    let mut world = World::new(Seed(seed), config);
    let options = HostOptions { plain_timers };
    for server in 0..SERVERS {
        world.host_with(&format!("server-{server}"), options, || async {
            serve().await.expect("a server serves");
        });
    }
    let counter = Rc::clone(&done);
    world.host_with("client", options, move || {
        let counter = Rc::clone(&counter);
        async move {
            let asked = if plain_timers { ask_plain(counter).await } else { ask(counter).await };
            asked.expect("every exchange succeeds");
        }
    });
    let end = world.run_for(RUN);
    assert!(matches!(end, RunEnd::Deadline | RunEnd::Idle), "{end:?}");
    assert_eq!(done.get(), EXCHANGES);
}

fn turmoil(seed: u64, tick: Duration) {
    let done = Rc::new(Cell::new(0));
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .tick_duration(tick)
        .simulation_duration(RUN + Duration::from_secs(30))
        .min_message_latency(Duration::from_micros(LATENCY.latency_us_min))
        .max_message_latency(Duration::from_micros(LATENCY.latency_us_max))
        .build();
    for server in 0..SERVERS {
        sim.host(format!("server-{server}"), || async { Ok(serve_turmoil().await?) });
    }
    let counter = Rc::clone(&done);
    sim.client("client", async move { Ok(ask_turmoil(counter).await?) });
    sim.run().expect("the simulation runs");
    assert_eq!(done.get(), EXCHANGES);
}

fn main() {
    type Contestant = (&'static str, fn(u64));
    let contestants: [Contestant; 4] = [
        ("holdover, registered timers", |seed| holdover(seed, false)),
        ("holdover, plain tokio timers", |seed| holdover(seed, true)),
        ("turmoil, 1 ms tick", |seed| turmoil(seed, Duration::from_millis(1))),
        ("turmoil, 10 ms tick", |seed| turmoil(seed, Duration::from_millis(10))),
    ];
    let mut runs = [0_u32; 4];
    let mut spent = [Duration::ZERO; 4];
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
    println!("{:<30} {:>10} {:>16} {:>16}", "", "runs/s", "x turmoil 1 ms", "x turmoil 10 ms");
    for (index, (name, _)) in contestants.iter().enumerate() {
        let [slow, fast] = [rate[index] / rate[2], rate[index] / rate[3]];
        println!("{name:<30} {:>10.1} {slow:>16.1} {fast:>16.1}", rate[index]);
    }
}

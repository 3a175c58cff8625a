//! What a host costs: the time of a run grows with what happens, not with hosts times time.
//!
//! Ten simulated seconds with 5 to 200 hosts. In one row every host exchanges a message and
//! its echo with its neighbour each second, in the other only five do and the rest are idle.
//! `cargo bench -p holdover --bench hosts`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use holdover::net::{TcpListener, TcpStream};
use holdover::random::Seed;
use holdover::time::sleep;
use holdover::world::{HostOptions, World, WorldConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// All timers are `holdover::time`'s.
const OPTIONS: HostOptions = HostOptions { plain_timers: false };

const SECONDS: u64 = 10;
const HOSTS: [u64; 4] = [5, 20, 50, 200];
/// How long each row is measured.
const MEASURED: Duration = Duration::from_secs(2);

async fn echo() {
    let listener = TcpListener::bind("0.0.0.0:80").await.expect("the port is free");
    loop {
        let (mut stream, _) = listener.accept().await.expect("somebody connects");
        tokio::task::spawn_local(async move {
            let mut request = [0; 4];
            while stream.read_exact(&mut request).await.is_ok() {
                if stream.write_all(&request).await.is_err() {
                    break;
                }
            }
        });
    }
}

async fn ask(neighbour: String, done: Rc<Cell<u64>>) -> std::io::Result<()> {
    // A moment for everybody to listen.
    sleep(Duration::from_millis(100)).await;
    let mut stream = TcpStream::connect(neighbour).await?;
    loop {
        stream.write_all(b"ping").await?;
        stream.read_exact(&mut [0; 4]).await?;
        done.set(done.get() + 1);
        sleep(Duration::from_secs(1)).await;
    }
}

/// How many exchanges there were.
fn run(seed: u64, hosts: u64, busy: u64) -> u64 {
    let done = Rc::new(Cell::new(0));
    let mut world = World::new(Seed(seed), WorldConfig::default());
    for host in 0..hosts {
        let (neighbour, done) = (format!("host-{}:80", (host + 1) % busy), Rc::clone(&done));
        world.host_with(&format!("host-{host}"), OPTIONS, move || {
            let (neighbour, done) = (neighbour.clone(), Rc::clone(&done));
            async move {
                if host < busy {
                    tokio::task::spawn_local(ask(neighbour, done));
                }
                echo().await;
            }
        });
    }
    let _ = world.run_for(Duration::from_secs(SECONDS));
    assert_eq!(done.get(), busy * SECONDS);
    done.get()
}

#[expect(clippy::cast_precision_loss, reason = "these are shown to people")]
fn main() {
    println!(
        "{:>6} {:>22} {:>26} {:>22}",
        "hosts", "all busy, ms per run", "us per exchange and echo", "5 busy, ms per run"
    );
    for hosts in HOSTS {
        let [(all_ms, exchanges), (five_ms, _)] = [hosts, 5].map(|busy| {
            let (began, mut runs, mut exchanges) = (Instant::now(), 0, 0);
            while began.elapsed() < MEASURED {
                exchanges = run(runs, hosts, busy);
                runs += 1;
            }
            (began.elapsed().as_secs_f64() * 1e3 / runs as f64, exchanges)
        });
        let per_exchange_us = all_ms * 1e3 / exchanges as f64;
        println!("{hosts:>6} {all_ms:>22.2} {per_exchange_us:>26.1} {five_ms:>22.2}");
    }
}

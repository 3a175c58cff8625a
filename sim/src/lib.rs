//! Deterministic simulation testing of worker takeover.
//!
//! Real asynchronous code (tokio, sockets, files, timers) runs on a simulated network, disk
//! and clock, under faults that strike at exactly chosen moments. The same seed and plan give
//! the same run.
//!
//! * [`world`]: the simulation: hosts, time, the network, what happened.
//! * [`fault`]: what can go wrong and when, as data.
//! * [`net`], [`fs`], [`time`]: sockets, files and timers for code under test. Each is another
//!   import for the same code: `holdover::net` for `tokio::net`, `holdover::fs` for `std::fs`,
//!   `holdover::time` for `tokio::time`. [`world`] says whose code can run, and what of it
//!   can and what cannot be controlled.
//! * [`mod@point`]: named points in that code, for faults to strike at. [`message`]: messages
//!   of a named kind, for faults to lose or repeat.
//! * [`random`]: where all randomness comes from.
//! * [`mod@situation`]: named moments that runs have to come to, so that nothing passes because
//!   nothing happened.
//!
//! Two hosts, one of which is frozen just before its answer leaves:
//!
//! ```
//! use std::time::Duration;
//!
//! use holdover::fault::{Fault, PlannedFault, Trigger};
//! use holdover::net::{TcpListener, TcpStream};
//! use holdover::random::Seed;
//! use holdover::world::{RunEnd, World, WorldConfig};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! let mut world = World::new(Seed(1), WorldConfig::default());
//! world.host("server", || async {
//!     let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
//!     let (mut stream, _) = listener.accept().await.unwrap();
//!     stream.write_all(b"hello").await.unwrap();
//! });
//! world.host("client", || async {
//!     let mut stream = TcpStream::connect("server:80").await.unwrap();
//!     let mut answer = Vec::new();
//!     stream.read_to_end(&mut answer).await.unwrap();
//!     assert_eq!(answer, b"hello");
//! });
//! world.plan(PlannedFault {
//!     trigger: Trigger::BeforePacket { from: "server".into(), to: "client".into(), nth: 1 },
//!     fault: Fault::Freeze { host: "server".into(), for_us: 5_000_000 },
//! })?;
//! assert_eq!(world.run_for(Duration::from_secs(10)), RunEnd::Deadline);
//! assert_eq!(world.faults_fired().len(), 1);
//! # Ok::<(), holdover::world::UnknownHost>(())
//! ```

pub mod accept;
pub mod directed;
pub mod fault;
pub mod fs;
pub mod message;
pub mod net;
pub mod plan;
pub mod point;
pub mod random;
pub mod report;
pub mod search;
pub mod shrink;
pub mod situation;
pub mod stack;
pub mod sweep;
pub mod time;
pub mod world;
pub mod zoo;

pub use point::point;

//! One body, two arms: each case runs in the world and on the real sockets, files and timers
//! of this machine, and has to observe the same on both.
//!
//! A case is written once, generic over nothing: [`both!`] compiles its body twice, with
//! `net`, `fs` and `time` meaning the world's or the machine's. That is also how a system is
//! moved into the world: those three imports are all that changes.
//!
//! # Where the world differs
//!
//! What follows is known, and kept out of the cases:
//!
//! * A closed window is never probed. The world's sockets announce a window that has opened
//!   again, and only that; so a receive buffer is large (16 MiB) in the world, and a writer
//!   whose peer does not read is held back later than on this machine.
//! * Data for a socket that its process has dropped is taken and thrown away; this machine
//!   answers with a reset. A peer that only writes, and never reads, does not learn that
//!   nobody is left. Whoever reads sees the end on both.
//! * A half-open connection that its opener resets keeps its port at the server until its
//!   listener goes. The world drops such a reset on its way.
//! * There is no `TIME_WAIT`, no `SO_LINGER`, no urgent data and no keep-alive; options that
//!   are not there (`TcpSocket`, `set_linger`) do not compile, rather than do nothing.
//! * Datagrams to a port at which nobody listens vanish; on this machine a connected socket
//!   may be told (`ConnectionRefused`).
//! * Files that were not synced survive the end of a process on this machine, and are lost in
//!   a crash of a host in the world: what is synced is the same on both.

mod files;
mod sockets;
mod timers;

/// Makes two tests of one body.
///
/// The body is an async block. In it `net`, `fs` and `time` are the world's or the
/// machine's, `HERE` is an address of this host, and `folder()` an empty folder.
#[macro_export]
macro_rules! both {
    ($(#[doc = $doc:literal])* $name:ident, $body:block) => {
        $(#[doc = $doc])*
        mod $name {
            #[allow(unused_imports, clippy::wildcard_imports, reason = "what the body needs")]
            use super::*;

            #[test]
            fn in_the_world() {
                #[allow(unused_imports, reason = "a case uses what it needs")]
                use holdover::{fs, net, time};
                async fn body() {
                    #[allow(dead_code, reason = "a case uses what it needs")]
                    fn folder() -> std::path::PathBuf {
                        fs::create_dir("/case").unwrap();
                        "/case".into()
                    }
                    $body
                }
                $crate::in_the_world(body);
            }

            #[test]
            fn on_this_machine() {
                #[allow(unused_imports, reason = "a case uses what it needs")]
                use std::fs;
                #[allow(unused_imports, reason = "a case uses what it needs")]
                use tokio::{net, time};
                async fn body() {
                    #[allow(dead_code, reason = "a case uses what it needs")]
                    fn folder() -> std::path::PathBuf {
                        tempfile::tempdir().unwrap().keep()
                    }
                    $body
                }
                $crate::on_this_machine(body);
            }
        }
    };
}

/// Runs a case on a host of a world; what it spawns runs there, too.
pub(crate) fn in_the_world<F: Future<Output = ()> + 'static>(case: impl Fn() -> F + 'static) {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use holdover::random::Seed;
    use holdover::world::{RunEnd, World, WorldConfig};

    let done = Rc::new(Cell::new(false));
    let is_done = Rc::clone(&done);
    let case = Rc::new(case);
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("here", move || {
        let (done, case) = (Rc::clone(&done), Rc::clone(&case));
        async move {
            case().await;
            done.set(true);
        }
    });
    let end = world.run_for(Duration::from_secs(60));
    assert_eq!(end, RunEnd::Deadline);
    assert!(is_done.get(), "the case has not come to its end in a minute of simulated time");
}

/// Runs a case on this machine.
pub(crate) fn on_this_machine<F: Future<Output = ()>>(case: impl Fn() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limit = std::time::Duration::from_secs(60);
    runtime
        .block_on(async { tokio::time::timeout(limit, case()).await })
        .expect("the case comes to its end in a minute");
}

/// Bytes that show it when any of them is missing or out of place.
pub(crate) fn pattern(size: usize) -> Vec<u8> {
    (0..=250).cycle().take(size).collect()
}

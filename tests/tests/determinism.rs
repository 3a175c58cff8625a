//! The same seed is the same run: in one process and on any number of threads. (That it is in
//! two processes is tested with the command line, in `sim/tests/command`.) And what breaks
//! that, in code that is not the world's, is found and named.
//!
//! `HOLDOVER_SEEDS` (`N` or `A..B`) compares more seeds.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use holdover::net::UdpSocket;
use holdover::plan::Plan;
use holdover::random::Seed;
use holdover::report::{json, terminal};
use holdover::search::Origin;
use holdover::sweep::{Outcome, Sweep, parse_seeds};
use holdover::world::{HostOptions, What, World};
use holdover_model::design::Design;

fn sweep() -> Sweep {
    Sweep::new(Design::named("push-before-ready").unwrap()).seeds(0..200)
}

fn seeds() -> Range<u64> {
    let text = std::env::var("HOLDOVER_SEEDS").unwrap_or_else(|_| "300".into());
    parse_seeds("HOLDOVER_SEEDS", &text).unwrap()
}

#[test]
fn the_same_seed_twice_is_the_same_run_with_any_number_of_threads() {
    let digests: Vec<_> = [1, 2, 4]
        .map(|jobs| {
            let outcome = sweep().seeds(seeds()).jobs(jobs).check_determinism().run();
            assert_eq!(outcome.divergences, [], "with {jobs} jobs");
            outcome.digest
        })
        .into();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}

#[test]
fn different_seeds_are_different_runs() {
    let (first, second) = (sweep().run_seed(Seed(1)), sweep().run_seed(Seed(2)));
    assert_ne!(first.digest, second.digest);
}

/// What comes before a run on the same thread leaves nothing behind.
#[test]
fn a_run_does_not_depend_on_the_runs_before_it() {
    let alone = sweep().run_seed(Seed(7)).digest;
    let broken = Sweep::new(Design::named("run-and-millisecond").unwrap());
    for seed in 0..5 {
        broken.run_seed(Seed(seed));
    }
    assert_eq!(sweep().run_seed(Seed(7)).digest, alone);
}

/// Recording all moments is watching: it changes nothing.
#[test]
fn a_recorded_run_is_the_same_run() {
    let plan = sweep().plan(Seed(7));
    let recorded = holdover::stack::run_with(&plan, World::record_trace).unwrap();
    assert_eq!(recorded.digest, sweep().run_seed(Seed(7)).digest);
    assert!(recorded.trace.len() > recorded.records.len());
}

/// Sends each word to a host of the reference system, in this order, after a little while.
async fn send(words: impl IntoIterator<Item = String>) {
    let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
    holdover::time::sleep(Duration::from_millis(5)).await;
    for word in words {
        socket.send_to(word.as_bytes(), "ledger:9").await.unwrap();
    }
}

fn add<F: Future<Output = ()> + 'static>(world: &mut World, boot: impl Fn() -> F + 'static) {
    world.host_with("leaky", HostOptions { plain_timers: false }, boot);
}

fn map() -> HashMap<u32, String> {
    (0..32).map(|number| (number, format!("word {number}"))).collect()
}

fn checked(seeds: Range<u64>, hosts: fn(&mut World, &Plan)) -> Outcome {
    sweep().seeds(seeds).hosts(hosts).check_determinism().run()
}

/// Every seed diverges, and for each the first moment that differs is a packet of the host
/// with the leak, at the time at which it leaks.
#[track_caller]
fn diverges(hosts: fn(&mut World, &Plan)) -> Outcome {
    let outcome = checked(0..5, hosts);
    assert_eq!(outcome.failures.len(), 0, "{:?}", outcome.failures.first());
    assert_eq!(outcome.divergences.len(), 5);
    for divergence in &outcome.divergences {
        let first = divergence.first.as_ref().expect("the difference shows itself again");
        let one = first.one.as_ref().expect("both runs go on");
        assert_eq!(one.host.as_deref(), Some("leaky"), "{divergence}");
        assert!(matches!(one.what, What::Packet { .. }), "{divergence}");
        let latency = Duration::from_millis(5)..Duration::from_millis(200);
        assert!(latency.contains(&one.at), "{divergence}");
    }
    assert!(outcome.failure_rate_below().is_none(), "nothing is said of a rate");
    outcome
}

#[test]
fn the_order_of_a_hash_map_is_found() {
    let outcome = diverges(|world, _| add(world, || send(map().into_values())));
    let told = outcome.divergences[0].to_string();
    for part in ["seed 0", "leaky", "packet to ledger", "word ", "the other time"] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
    let summary = terminal::summary(&outcome);
    assert!(summary.contains("5 of 5 seeds give another run each time"), "{summary}");
    let report = serde_json::to_value(json::sweep(&outcome, &[], &[])).unwrap();
    assert_eq!(report["divergences"][4]["seed"], 4);
    assert_eq!(report["divergences"][4]["host"], "leaky");
    assert!(report["divergences"][4]["at_ns"].as_u64().unwrap() >= 5_000_000);
}

#[test]
fn a_real_clock_is_found() {
    diverges(|world, _| add(world, || async { send([format!("{:?}", SystemTime::now())]).await }));
    diverges(|world, _| {
        add(world, || async { send([format!("{:?}", std::time::Instant::now())]).await });
    });
}

#[test]
fn real_randomness_is_found() {
    use std::hash::{BuildHasher, RandomState};
    diverges(|world, _| {
        add(world, || async { send([RandomState::new().hash_one(7).to_string()]).await });
    });
}

#[test]
fn a_thread_is_found_where_it_changes_the_run() {
    diverges(|world, _| {
        add(world, || async {
            let id = std::thread::spawn(|| format!("{:?}", std::thread::current().id()));
            send([id.join().unwrap()]).await;
        });
    });
}

/// Only what changes a run is a leak.
#[test]
fn a_hash_map_that_is_only_looked_up_in_does_no_harm() {
    let outcome = checked(0..5, |world, _| {
        add(world, || async {
            let map = map();
            send((0..32).map(move |number| map[&number].clone())).await;
        });
    });
    assert!(outcome.holds(), "{:?}", outcome.divergences);
}

#[test]
fn one_seed_that_leaks_is_found_among_many() {
    let outcome = checked(0..20, |world, plan| {
        let leaks = plan.seed == Seed(13);
        add(world, move || async move {
            if leaks {
                send(map().into_values()).await;
            }
        });
    });
    let seeds: Vec<_> = outcome.divergences.iter().map(|divergence| divergence.seed).collect();
    assert_eq!(seeds, [Seed(13)]);
}

/// A failure that is about to be saved is run again, also by a sweep that does not check.
#[test]
fn a_failure_that_is_not_repeatable_is_told_as_such() {
    let hosts = |world: &mut World, _: &Plan| {
        add(world, || async {
            send(map().into_values()).await;
            holdover::time::sleep(Duration::from_millis(30)).await;
            panic!("the finding");
        });
    };
    let outcome = sweep().seeds(0..2).hosts(hosts).run();
    assert_eq!(outcome.divergences, [], "that was not checked");
    let shown = outcome.show(&outcome.failures[0]);
    assert_eq!(shown.saved.expected.finding, "panic", "it is saved all the same");
    let divergence = shown.divergence.as_ref().expect("the two runs differ");
    assert!(divergence.to_string().contains("leaky"), "{divergence}");
    let told = terminal::failure(&shown, Origin::Seed(Seed(0)), None);
    assert!(told.contains("DIVERGES seed 0"), "{told}");
}

/// Tokio's own randomness is the world's, where tokio lets it be set.
#[cfg(tokio_unstable)]
#[test]
fn an_unbiased_select_is_part_of_the_run() {
    async fn draws() -> String {
        let mut drawn = String::new();
        for _ in 0..64 {
            tokio::select! {
                () = async {} => drawn.push('a'),
                () = async {} => drawn.push('b'),
            }
        }
        drawn
    }
    let outcome = checked(0..5, |world, _| add(world, || async { send([draws().await]).await }));
    assert!(outcome.holds(), "{:?}", outcome.divergences);
    // It is drawn, and not the same for every seed.
    let sent = |seed: u64| {
        let plan = sweep().plan(Seed(seed));
        let run = holdover::stack::run_with(&plan, |world| {
            world.record_trace();
            add(world, || async { send([draws().await]).await });
        });
        let mut moments = run.unwrap().trace.into_iter();
        moments
            .find_map(|moment| match moment.what {
                What::Packet { payload, .. } if moment.host.as_deref() == Some("leaky") => {
                    Some(payload)
                }
                _ => None,
            })
            .unwrap()
    };
    assert!(sent(1).contains(&b'a') && sent(1).contains(&b'b'));
    assert_ne!(sent(1), sent(2));
}

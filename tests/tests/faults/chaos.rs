//! Any faults in any order: afterwards all is well again.

use std::time::Duration;

use holdover::fault::{Fault, FaultKind, PlannedFault, Trigger};
use holdover::random::{Seed, between, choose};
use holdover::world::{HostOptions, RunEnd, World, WorldConfig};
use holdover_tests::{Diary, Entry};

use crate::sample::sample;
use crate::scene::{ask_for_ever, serve};

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
        let kind = *choose(&mut random, FaultKind::ALL);
        let mut draw = |min, max| between(&mut random, min, max);
        let (from, to, host) = (a.to_owned(), b.to_owned(), a.to_owned());
        let for_us = draw(1, 1_500_000);
        let fault = match draw(0, 1) {
            // The classics, with a measure of their own each.
            0 => match draw(0, 6) {
                0 => Fault::Freeze { host, for_us },
                1 => Fault::Crash { host, restart_after_us: for_us },
                2 => Fault::Partition { a: vec![from], b: vec![to], for_us },
                3 => Fault::PartitionOneWay { from, to, for_us },
                4 => Fault::LoseRequest { from, to },
                5 => Fault::LoseResponse { from, to },
                _ => Fault::Delay { from, to, extra_us: draw(1, 300_000), for_us },
            },
            _ => sample(kind, &from, &to, for_us),
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
    assert!(failed > 200, "{failed} failures");
}

//! The same seed is the same run: in one process, on any number of threads. (That it is in
//! two processes is tested with the command line, in `sim/tests/command`.)

use holdover::random::Seed;
use holdover::sweep::Sweep;
use holdover_model::design::Design;

fn sweep() -> Sweep {
    Sweep::new(Design::named("push-before-ready").unwrap()).seeds(0..200)
}

#[test]
fn the_same_seed_twice_is_the_same_run() {
    for seed in (0..200).map(Seed) {
        let (first, second) = (sweep().run_seed(seed), sweep().run_seed(seed));
        let difference = first.records.iter().zip(&second.records).find(|(a, b)| a != b);
        assert_eq!(difference, None, "seed {seed}: the first events that differ");
        assert_eq!(first.digest, second.digest, "seed {seed}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let digests: Vec<_> = [1, 2, 4].map(|jobs| sweep().jobs(jobs).run().digest).into();
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

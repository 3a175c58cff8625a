//! What a run takes it gives back: the memory of a sweep does not grow with its runs.
//!
//! Alone in its process, because the peak is the process's. `HOLDOVER_SEEDS` runs more seeds.

use holdover::sweep::{Sweep, parse_seeds};
use holdover_model::design::Design;

/// The most memory that this process has ever taken, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_run_takes_little_memory_and_gives_it_back() {
    let text = std::env::var("HOLDOVER_SEEDS").unwrap_or_else(|_| "3000".into());
    let seeds = parse_seeds("HOLDOVER_SEEDS", &text).unwrap();
    let design = Design::named("push-before-ready").unwrap();
    let sweep = |seeds| assert!(Sweep::new(design.clone()).seeds(seeds).jobs(2).run().holds());
    let warm = seeds.start..seeds.start + (seeds.end - seeds.start) / 3;
    sweep(warm.clone());
    let Some(before_kib) = peak_kib() else { return };
    sweep(warm.end..seeds.end);
    let after_kib = peak_kib().unwrap();
    assert!(after_kib < 64 << 10, "two runs at once took {after_kib} KiB");
    let grown_kib = after_kib - before_kib;
    assert!(grown_kib < 2 << 10, "{grown_kib} KiB more after {} seeds", seeds.end);
}

//! The search beside `stateright`'s breadth-first checker, on the same transition system.
//!
//! `cargo bench -p holdover-model --bench check`. First a bound that stateright can finish in
//! seconds; then one that is large enough to see what a second thread is worth (some 20
//! million states), and what the reductions leave of it.

#[path = "../tests/check/plain.rs"]
mod plain;

use std::time::Instant;

use holdover_model::check::{Bounds, Budget, Options, Reductions, Verdict, check};
use holdover_model::design::Design;
use plain::Plain;
use stateright::{Checker, Model};

fn search(design: &Design, bounds: &Bounds, threads: usize, reductions: Reductions) -> Verdict {
    let options = Options {
        threads,
        reductions,
        checks_settling: false,
        memory_mib_max: 16_384,
        ..Options::default()
    };
    check(design, std::slice::from_ref(bounds), options)
}

#[expect(clippy::cast_precision_loss, reason = "these are shown to people")]
fn report(name: &str, threads: usize, states: u64, seconds: f64, bytes: Option<f64>) -> f64 {
    let rate = states as f64 / seconds;
    let memory = bytes
        .map_or(String::new(), |bytes| format!(", {:.0} bytes per state", bytes / states as f64));
    println!(
        "{name:<24} {threads} threads: {states} states in {seconds:.1} s, {rate:.0}/s{memory}"
    );
    rate
}

fn main() {
    let design = Design::named("push-before-ready").expect("it comes with the crate");
    let two = Bounds::default().with(Budget::Takeovers, 1);
    let one = Bounds { attempts_max: 1, ..two.clone() };
    println!("{one}; no reductions");
    for threads in [1, 2] {
        let own = own(&design, &one, threads, Reductions::none());
        let began = Instant::now();
        let other = Plain::new(&design, &one).checker().threads(threads).spawn_bfs().join();
        let states = other.unique_state_count() as u64;
        let other = report("stateright", threads, states, began.elapsed().as_secs_f64(), None);
        println!("{:<24} {:.1} times", "", own / other);
    }

    println!("{two}; no reductions");
    let rates = [1, 2].map(|threads| own(&design, &two, threads, Reductions::none()));
    println!("{:<24} two threads {:.2} times one", "", rates[1] / rates[0]);
    println!("{two}; reductions");
    own(&design, &two, 2, Reductions::all());
}

/// The rate of our own search.
fn own(design: &Design, bounds: &Bounds, threads: usize, reductions: Reductions) -> f64 {
    let verdict = search(design, bounds, threads, reductions);
    let bytes = verdict.peak_memory_mib() * f64::from(1 << 20);
    report("holdover", threads, verdict.unique_states(), verdict.seconds(), Some(bytes))
}

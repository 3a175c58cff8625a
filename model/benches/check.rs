//! The search beside `stateright`'s breadth-first checker, on the same transition system.
//!
//! `cargo bench -p holdover-model --bench check`; with `-- --full` also the bound with two
//! tries, without which the reductions cannot be seen at work (some 25 million states).

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
    let bounds = Bounds { attempts_max: 1, ..two.clone() };
    println!("{bounds}; no reductions");
    let rates = [1, 2].map(|threads| {
        let own = search(&design, &bounds, threads, Reductions::none());
        let bytes = own.peak_memory_mib() * f64::from(1 << 20);
        let own = report("holdover", threads, own.unique_states(), own.seconds(), Some(bytes));
        let began = Instant::now();
        let other = Plain::new(&design, &bounds).checker().threads(threads).spawn_bfs().join();
        let states = other.unique_state_count() as u64;
        let other = report("stateright", threads, states, began.elapsed().as_secs_f64(), None);
        println!("{:<24} {:.1} times", "", own / other);
        own
    });
    println!("two threads: {:.2} times one", rates[1] / rates[0]);

    if !std::env::args().any(|argument| argument == "--full") {
        return;
    }
    println!("{two}");
    let all = [Reductions::none(), Reductions::all()].map(|reductions| {
        let verdict = search(&design, &two, 2, reductions);
        let name = if reductions == Reductions::none() { "no reductions" } else { "reductions" };
        let bytes = verdict.peak_memory_mib() * f64::from(1 << 20);
        report(name, 2, verdict.unique_states(), verdict.seconds(), Some(bytes));
        verdict.unique_states()
    });
    println!("reductions leave one state in {}", all[0] / all[1]);
}

//! A run as a list of moments: the events that matter, and the faults between them.

use std::fmt::Write;

use crate::stack::{Finding, Run};

/// How many moments are shown at most: the last ones, because the end is what matters.
const MOMENTS_MAX: usize = 60;

/// The moments of a run that matter to what was found; all of them if nothing was.
pub fn of(run: &Run) -> String {
    let subject = run.finding.as_ref().and_then(Finding::subject);
    let events = run
        .records
        .iter()
        .filter(|record| subject.is_none_or(|subject| subject.concerns(&record.event)))
        .map(|record| {
            (record.at_ns, record.sequence, record.host.to_string(), record.event.to_string())
        });
    let last = run.records.last().map_or(0, |record| record.sequence);
    let faults = run.faults_fired.iter().map(|fired| {
        // A fault at the time of an event is shown before it.
        let sequence = run
            .records
            .iter()
            .find(|record| record.at_ns >= fired.at_ns)
            .map_or(last + 1, |record| record.sequence);
        (fired.at_ns, sequence, "FAULT".to_owned(), fired.fault.to_string())
    });
    let mut moments: Vec<_> = faults.chain(events).collect();
    moments.sort_by_key(|(at_ns, sequence, ..)| (*at_ns, *sequence));

    let mut text = String::new();
    let hidden = moments.len().saturating_sub(MOMENTS_MAX);
    if hidden > 0 {
        let _ = writeln!(text, "  ... {hidden} earlier moments");
    }
    let mut previous_host = String::new();
    for (at_ns, _, host, what) in moments.into_iter().skip(hidden) {
        let shown = if host == previous_host { "" } else { host.as_str() };
        let _ = writeln!(text, "  {:>10.3} ms  {shown:<11}  {what}", milliseconds(at_ns));
        previous_host = host;
    }
    if let Some(finding) = &run.finding {
        let _ = writeln!(
            text,
            "  {:>10.3} ms  {:<11}  {}",
            run.simulated.as_secs_f64() * 1e3,
            "BROKEN",
            finding.explanation()
        );
    }
    text
}

#[allow(clippy::cast_precision_loss, reason = "a run is far shorter than 2^53 ns")]
fn milliseconds(at_ns: u64) -> f64 {
    at_ns as f64 / 1e6
}

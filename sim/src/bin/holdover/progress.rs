//! Where long work stands: a bar on a terminal; elsewhere a line now and then, so that a log shows
//! that there is work going on, and how long it may take.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// How often there is a line where nobody watches a bar.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// How often a bar moves if nothing else happens.
const TICK_EVERY: Duration = Duration::from_millis(200);

/// Shows where work stands until it is finished.
pub(crate) struct Watch {
    bar: ProgressBar,
    reporter: Option<Reporter>,
    /// How many pieces were done when the stage began.
    done_before: AtomicU64,
}

/// Says where a bar would stand.
struct Reporter {
    /// It ends once this is gone.
    lifeline: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// For work that is told of in a line.
    pub(crate) fn telling() -> Self {
        Self::new(ProgressBar::new_spinner(), "{spinner} {elapsed} {msg}")
    }

    /// For work that comes in stages, each with pieces that are counted.
    pub(crate) fn counting() -> Self {
        let template = "{prefix} {bar:20} {pos}/{len}  {elapsed}, {ahead}  {wide_msg}";
        Self::new(ProgressBar::new(0), template)
    }

    fn new(bar: ProgressBar, template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is a literal");
        let style = style.with_key("ahead", |state: &ProgressState, text: &mut dyn fmt::Write| {
            let (done, of) = (state.pos(), state.len().unwrap_or(0));
            let _ = text.write_str(&ahead(done, of, state.elapsed()));
        });
        let bar = bar.with_style(style);
        let reporter = if bar.is_hidden() {
            let (lifeline, ended) = mpsc::channel::<()>();
            let bar = bar.clone();
            let thread = thread::spawn(move || {
                while ended.recv_timeout(REPORT_EVERY) == Err(RecvTimeoutError::Timeout) {
                    // A search that has only begun has nothing to tell yet.
                    let line = line(&bar);
                    if !line.is_empty() {
                        eprintln!("{line}");
                    }
                }
            });
            Some(Reporter { lifeline, thread })
        } else {
            bar.enable_steady_tick(TICK_EVERY);
            None
        };
        Self { bar, reporter, done_before: AtomicU64::new(0) }
    }

    /// Where it stands, in a line.
    pub(crate) fn tell(&self, line: String) {
        self.bar.set_message(line);
    }

    /// Which stage it is in, how many pieces are done, of how many, and what else there is to say.
    /// A stage in which some are done already begins where it is.
    pub(crate) fn count(&self, stage: &str, done: u64, of: u64, remark: String) {
        if self.bar.prefix() != stage {
            self.done_before.store(done, Ordering::Relaxed);
            self.bar.set_prefix(stage.to_owned());
            self.bar.set_position(0);
            self.bar.reset_elapsed();
        }
        let before = self.done_before.load(Ordering::Relaxed);
        self.bar.set_length(of.saturating_sub(before));
        // Several threads tell of what they have done, and may be late.
        self.bar.set_position(self.bar.position().max(done.saturating_sub(before)));
        self.bar.set_message(remark);
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
        if let Some(Reporter { lifeline, thread }) = self.reporter {
            drop(lifeline);
            thread.join().expect("the reporter does not panic");
        }
    }
}

/// What a bar shows, as a line of a log.
fn line(bar: &ProgressBar) -> String {
    let (Some(of), remark) = (bar.length(), bar.message()) else { return bar.message() };
    let (done, elapsed) = (bar.position(), bar.elapsed());
    let (seconds, ahead) = (elapsed.as_secs(), ahead(done, of, elapsed));
    let line = format!("{}: {done} of {of}, {seconds} s, {ahead}; {remark}", bar.prefix());
    line.trim_end_matches("; ").to_owned()
}

/// How much longer it takes if it goes on as it has so far.
fn ahead(done: u64, of: u64, elapsed: Duration) -> String {
    match u32::try_from(done) {
        Ok(done @ 1..) => {
            let left = u32::try_from(of).unwrap_or(u32::MAX).saturating_sub(done);
            format!("{} to go", roughly(elapsed.saturating_mul(left) / done))
        }
        _ => "no estimate yet".to_owned(),
    }
}

/// A duration that is an estimate.
fn roughly(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..90 => format!("about {} s", seconds.max(1)),
        seconds @ 90..5400 => format!("about {} min", (seconds + 30) / 60),
        seconds => format!("about {} h", (seconds + 1800) / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_as_rough_as_it_is_long() {
        let said = |seconds| roughly(Duration::from_secs(seconds));
        assert_eq!(said(0), "about 1 s");
        assert_eq!(said(89), "about 89 s");
        assert_eq!(said(100), "about 2 min");
        assert_eq!(said(5399), "about 90 min");
        assert_eq!(said(5401), "about 2 h");
    }

    #[test]
    fn what_is_ahead_is_what_it_took_so_far_for_as_many_pieces() {
        let said = |done, of| ahead(done, of, Duration::from_secs(60));
        assert_eq!(said(0, 4), "no estimate yet");
        assert_eq!(said(3, 4), "about 20 s to go");
        assert_eq!(said(1, 4), "about 3 min to go");
    }

    #[test]
    fn a_line_says_stage_count_and_estimate() {
        let bar = ProgressBar::hidden();
        let watch = Watch { bar, reporter: None, done_before: AtomicU64::new(0) };
        watch.count("in pairs", 0, 4, String::new());
        assert_eq!(line(&watch.bar), "in pairs: 0 of 4, 0 s, no estimate yet");
        // Late news take nothing back.
        watch.count("in pairs", 3, 4, "fence.check".into());
        watch.count("in pairs", 2, 4, "fence.check".into());
        assert_eq!(line(&watch.bar), "in pairs: 3 of 4, 0 s, about 1 s to go; fence.check");
        // Each stage counts anew.
        watch.count("alone", 9, 12, String::new());
        assert_eq!(line(&watch.bar), "alone: 0 of 3, 0 s, no estimate yet");
        watch.count("alone", 10, 12, String::new());
        assert!(line(&watch.bar).starts_with("alone: 1 of 3, 0 s, "));
    }
}

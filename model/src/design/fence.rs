//! How a stale worker's write is kept out.

use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::design::asked::Asked;
use crate::design::authority::EpochIssue;
use crate::design::vocabulary::section;
use crate::event::Rejection;
use crate::lease::{Epoch, Holder};

section! {
    /// Where, how and when a stale worker's write is kept out.
    FenceSettings = "fence" {
        /// Who compares a write with the lease.
        enforced_at = "enforced-at": EnforcedAt {
            /// The service that owns the resource.
            Destination = "destination",
            /// A proxy in front of it: what has passed the proxy cannot be recalled.
            Proxy = "proxy",
            /// The worker, before it calls the destination. It can be paused in between.
            Adapter = "adapter",
            /// Nobody.
            Nowhere = "nowhere",
        }
        /// How a write is compared with the fence.
        check = "check": Check {
            /// Worker and epoch equal the installed holder; unknown future epochs are refused.
            CurrentEpoch = "current-epoch",
            /// The epoch is not lower than the highest one seen.
            AtLeastHighestSeen = "at-least-highest-seen",
            /// The epoch is higher than the highest one seen, or the same from the same worker.
            AnyHigher = "any-higher",
        }
        /// When the fence learns of a new epoch.
        advance = "advance": Advance {
            /// The authority installs it and waits, before the successor is told that it is
            /// ready.
            BeforeReady = "before-ready",
            /// In the transaction that records the grant: ownership and value are co-located.
            WithGrant = "with-grant",
            /// With the first write that carries it.
            OnFirstWrite = "on-first-write",
            /// Never: the authority is asked about every write, in a step of its own.
            ConsultedSeparately = "consulted-separately",
        }
        /// What an advancing fence does with writes that it has admitted already.
        in_flight_writes = "in-flight-writes": InFlightWrites {
            /// They are aborted before the fence is confirmed.
            Drained = "drained",
            /// They go on.
            LeftRunning = "left-running",
        }
        /// What a report about a try is compared with.
        completion = "completion": Completion {
            /// The try has to be the operation's latest.
            Fenced = "fenced",
            /// Nothing but the operation id: an old try can complete a new one.
            ByOperationIdOnly = "by-operation-id-only",
        }
        /// What a destination does whose fence is misconfigured.
        misconfigured = "misconfigured": Misconfigured {
            /// It refuses everything.
            FailClosed = "fail-closed",
            /// It admits everything.
            SilentlyOff = "silently-off",
        }
    }
}

impl Asked<'_, FenceSettings> {
    /// Whether somebody on the way to the resource keeps a fence.
    pub fn is_kept(self) -> bool {
        matches!(self.enforced_at(), EnforcedAt::Destination | EnforcedAt::Proxy)
    }

    /// Whether the authority tells the destination of every change of ownership and waits
    /// for its word.
    pub fn is_pushed(self) -> bool {
        self.is_kept() && matches!(self.advance(), Advance::BeforeReady | Advance::WithGrant)
    }

    /// Whether ownership and value live in one store and change in one transaction.
    pub fn is_co_located(self) -> bool {
        self.is_pushed() && self.advance() == Advance::WithGrant
    }

    /// Whether the authority is asked about every write.
    pub fn is_consulted(self) -> bool {
        self.is_kept() && self.advance() == Advance::ConsultedSeparately
    }

    /// Whether an advancing fence aborts the writes that it has admitted before. A proxy
    /// cannot: what it has passed on is out of its hands.
    pub fn drains(self) -> bool {
        self.enforced_at() == EnforcedAt::Destination
            && self.in_flight_writes() == InFlightWrites::Drained
    }
}

/// A destination's durable record of which epoch it admits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Fence {
    /// The highest epoch that it has been told of.
    pub epoch: Epoch,
    /// Whom it admits; nobody once the epoch is sealed.
    pub admits: Option<Holder>,
}

impl Fence {
    /// The fence after the authority's word that `epoch` is admitted or, with `None`,
    /// sealed. Late and repeated words change nothing.
    #[must_use]
    pub fn told(&self, epoch: Epoch, admits: Option<Holder>) -> Self {
        // For one epoch, sealed is later than admitted.
        let is_news = (epoch, admits.is_none()) > (self.epoch, self.admits.is_none());
        if is_news { Self { epoch, admits } } else { self.clone() }
    }

    /// Whether this fence already says what the authority wants it to say, or more.
    pub fn covers(&self, epoch: Epoch, sealed: bool) -> bool {
        (self.epoch, self.admits.is_none()) >= (epoch, sealed)
    }
}

impl Asked<'_, Design> {
    /// Whether a write by this holder is admitted, and the fence after it.
    ///
    /// Where leases carry no epoch, only workers can be told apart.
    ///
    /// # Errors
    ///
    /// The reason of the rejection.
    pub fn admit(self, fence: &Fence, holder: &Holder) -> Result<Fence, Rejection> {
        let settings = self.fence();
        let learnt = || Fence { epoch: holder.epoch, admits: Some(holder.clone()) };
        if !settings.is_kept() {
            return Ok(fence.clone());
        }
        if self.authority().epoch() == EpochIssue::None {
            return match &fence.admits {
                None if settings.is_pushed() => Err(Rejection::Sealed),
                Some(current) if current.worker != holder.worker && settings.is_pushed() => {
                    Err(Rejection::OtherWorker)
                }
                _ => Ok(Fence { epoch: fence.epoch.max(holder.epoch), ..learnt() }),
            };
        }
        if holder.epoch < fence.epoch {
            return Err(Rejection::StaleEpoch);
        }
        match settings.check() {
            Check::AnyHigher | Check::CurrentEpoch if holder.epoch == fence.epoch => {
                match &fence.admits {
                    None => Err(Rejection::Sealed),
                    Some(current) if current.worker != holder.worker => Err(Rejection::OtherWorker),
                    Some(_) => Ok(fence.clone()),
                }
            }
            Check::CurrentEpoch if settings.is_pushed() => Err(Rejection::UnknownEpoch),
            // For the current epoch: the writes are the only source of epochs that there is.
            Check::AtLeastHighestSeen | Check::AnyHigher | Check::CurrentEpoch => Ok(learnt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(worker: &str, epoch: u64) -> Holder {
        Holder { worker: worker.into(), epoch: Epoch(epoch) }
    }

    #[test]
    fn only_the_installed_holder_is_admitted() {
        let design = Design::default();
        let settings = design.asked();
        let fence = Fence::default().told(Epoch(42), Some(holder("worker-B", 42)));
        assert_eq!(settings.admit(&fence, &holder("worker-B", 42)), Ok(fence.clone()));
        for (other, reason) in [
            (holder("worker-A", 41), Rejection::StaleEpoch),
            (holder("worker-A", 42), Rejection::OtherWorker),
            (holder("worker-B", 43), Rejection::UnknownEpoch),
        ] {
            assert_eq!(settings.admit(&fence, &other), Err(reason));
        }
        let sealed = fence.told(Epoch(42), None);
        assert_eq!(settings.admit(&sealed, &holder("worker-B", 42)), Err(Rejection::Sealed));
    }

    #[test]
    fn highest_seen_admits_the_old_holder_until_the_successor_writes() {
        let design = Design::named("highest-seen").unwrap();
        let settings = design.asked();
        let after_a = settings.admit(&Fence::default(), &holder("worker-A", 41)).unwrap();
        assert!(settings.admit(&after_a, &holder("worker-A", 41)).is_ok());
        let after_b = settings.admit(&after_a, &holder("worker-B", 42)).unwrap();
        assert_eq!(settings.admit(&after_b, &holder("worker-A", 41)), Err(Rejection::StaleEpoch));
        assert!(settings.admit(&after_b, &holder("nobody", 99)).is_ok(), "a made-up epoch");
    }

    #[test]
    fn a_late_word_of_the_authority_never_reopens_a_fence() {
        let first = Fence::default().told(Epoch(1), Some(holder("worker-A", 1)));
        let sealed = first.told(Epoch(1), None);
        assert_eq!(sealed.told(Epoch(1), Some(holder("worker-A", 1))), sealed);
        let second = sealed.told(Epoch(2), Some(holder("worker-B", 2)));
        assert_eq!(second.told(Epoch(1), None), second);
        assert!(second.covers(Epoch(1), true) && !second.covers(Epoch(2), true));
    }
}

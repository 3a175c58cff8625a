//! How a stale worker's write is kept out.

use serde::{Deserialize, Serialize};

use crate::event::Rejection;
use crate::lease::{Epoch, Holder};

/// Where, how and when a fence works.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FenceSettings {
    /// Who compares a write with the lease.
    pub enforced_at: EnforcedAt,
    /// How the destination compares.
    pub check: Check,
    /// When the fence learns of a new epoch.
    pub advance: Advance,
}

impl FenceSettings {
    /// Whether the authority tells the destination of every change of ownership and waits
    /// for its word.
    pub fn is_pushed(self) -> bool {
        self.enforced_at == EnforcedAt::Destination && self.advance == Advance::BeforeReady
    }
}

/// Who compares a write with the lease.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnforcedAt {
    /// The service that owns the resource, in the same step as the mutation.
    #[default]
    Destination,
    /// The worker, before it calls the destination. It can be paused in between.
    Adapter,
}

/// How the destination compares the epoch of a write with its fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Worker and epoch equal the installed holder; unknown future epochs are refused.
    #[default]
    CurrentEpoch,
    /// The epoch is not lower than the highest one seen.
    AtLeastHighestSeen,
}

/// When the fence learns of a new epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advance {
    /// The authority installs it and waits, before the successor is told that it is ready.
    #[default]
    BeforeReady,
    /// With the first write that carries it.
    OnFirstWrite,
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

impl FenceSettings {
    /// Whether the destination admits a write by this holder, and the fence after it.
    ///
    /// # Errors
    ///
    /// The reason of the rejection.
    pub fn admit(self, fence: &Fence, holder: &Holder) -> Result<Fence, Rejection> {
        if self.enforced_at != EnforcedAt::Destination {
            return Ok(fence.clone());
        }
        match self.check {
            Check::CurrentEpoch => match &fence.admits {
                _ if holder.epoch < fence.epoch => Err(Rejection::StaleEpoch),
                _ if holder.epoch > fence.epoch && !self.learns_from_writes() => {
                    Err(Rejection::UnknownEpoch)
                }
                _ if holder.epoch > fence.epoch => {
                    Ok(Fence { epoch: holder.epoch, admits: Some(holder.clone()) })
                }
                None => Err(Rejection::Sealed),
                Some(current) if current.worker != holder.worker => Err(Rejection::OtherWorker),
                Some(_) => Ok(fence.clone()),
            },
            Check::AtLeastHighestSeen if holder.epoch < fence.epoch => Err(Rejection::StaleEpoch),
            Check::AtLeastHighestSeen => {
                Ok(Fence { epoch: holder.epoch, admits: Some(holder.clone()) })
            }
        }
    }

    /// Whether the destination has no source of epochs but the writes themselves.
    fn learns_from_writes(self) -> bool {
        self.advance == Advance::OnFirstWrite
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
        let settings = FenceSettings::default();
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
        let settings = FenceSettings {
            check: Check::AtLeastHighestSeen,
            advance: Advance::OnFirstWrite,
            ..FenceSettings::default()
        };
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

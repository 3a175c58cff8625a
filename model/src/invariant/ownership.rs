//! Who may change a resource: no-stale-effect, no-forged-epoch, epoch-monotonic,
//! single-holder.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::design::guarantee::{FencedFrom, Guarantee};
use crate::event::{Event, LeaseEnd};
use crate::identity::WorkerId;
use crate::invariant::{InvariantId, Subject, Violation, violation};
use crate::lease::{Epoch, Lease};
use crate::receipt::Receipt;
use crate::resource::ResourceId;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// Every epoch the authority issued, and to whom.
    issued: BTreeMap<Epoch, WorkerId>,
    /// The lowest epoch that may still have an effect, by the design's claim.
    fenced_below: Epoch,
    /// Epochs whose lease is over, where the design claims that this ends their effects.
    over: BTreeSet<Epoch>,
    /// The lease that nothing has ended yet but, perhaps, the time.
    unended: Option<Lease>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Ownership {
    guarantee: Guarantee,
    resources: BTreeMap<ResourceId, Seen>,
}

impl Seen {
    /// Whatever has an effect under an epoch below the fence is stale, whoever had that epoch
    /// and however it ended. Only the last one issued is what the next has to exceed.
    fn forget_below_fence(&mut self) {
        let last = self.issued.last_key_value().map(|(epoch, _)| *epoch);
        self.issued.retain(|epoch, _| *epoch >= self.fenced_below || Some(*epoch) == last);
        self.over.retain(|epoch| *epoch >= self.fenced_below);
    }
}

impl Ownership {
    pub(super) fn new(guarantee: Guarantee) -> Self {
        Self { guarantee, resources: BTreeMap::new() }
    }

    fn seen(&mut self, resource: &ResourceId) -> &mut Seen {
        self.resources.entry(resource.clone()).or_default()
    }

    fn fence(&mut self, resource: &ResourceId, epoch: Epoch, point: FencedFrom) {
        if self.guarantee.fenced_from == point {
            let seen = self.seen(resource);
            seen.fenced_below = seen.fenced_below.max(epoch);
            seen.forget_below_fence();
        }
    }

    pub(super) fn observe(&mut self, event: &Event) -> Result<(), Box<Violation>> {
        match event {
            Event::LeaseGranted { lease, granted_at } => {
                let seen = self.seen(&lease.resource);
                if let Some((last, _)) = seen.issued.last_key_value()
                    && lease.epoch <= *last
                {
                    let explanation = format!(
                        "{} got {} for {}, but {last} had been issued before",
                        lease.worker, lease.epoch, lease.resource
                    );
                    return violation(
                        InvariantId::EpochMonotonic,
                        about(&lease.resource),
                        explanation,
                    );
                }
                let overlapping =
                    seen.unended.as_ref().filter(|earlier| earlier.expires_at > *granted_at);
                if let Some(earlier) = overlapping {
                    let explanation = format!(
                        "{} got {} while the lease of {} had not ended",
                        lease.worker,
                        lease.resource,
                        earlier.holder()
                    );
                    return violation(
                        InvariantId::SingleHolder,
                        about(&lease.resource),
                        explanation,
                    );
                }
                seen.unended = Some(lease.clone());
                seen.issued.insert(lease.epoch, lease.worker.clone());
                self.fence(&lease.resource, lease.epoch, FencedFrom::Grant);
            }
            Event::TakeoverComplete { resource, holder } => {
                self.fence(resource, holder.epoch, FencedFrom::Ready);
            }
            Event::LeaseRenewed { lease } => {
                let seen = self.seen(&lease.resource);
                if seen.unended.as_ref().is_some_and(|held| held.epoch == lease.epoch) {
                    seen.unended = Some(lease.clone());
                }
            }
            Event::LeasesVoided { resource, below } => {
                let seen = self.seen(resource);
                if seen.unended.as_ref().is_some_and(|held| held.epoch < *below) {
                    seen.unended = None;
                }
            }
            Event::LeaseEnded { resource, holder, cause, asked_for, lapsed_at } => {
                let term_ends_at = self.seen(resource).unended.as_ref().map(|held| held.expires_at);
                let ends = match cause {
                    // If the authority's clock has not shown the end of its term, whether its
                    // time was up is judged at the next grant.
                    LeaseEnd::Expired => *lapsed_at >= term_ends_at && lapsed_at.is_some(),
                    // A release ends the lease that it is about, and no other.
                    LeaseEnd::Released => asked_for.as_ref() == Some(holder),
                    LeaseEnd::Revoked | LeaseEnd::TakenOver => true,
                };
                let seen = self.seen(resource);
                if ends && seen.unended.as_ref().is_some_and(|held| held.epoch == holder.epoch) {
                    seen.unended = None;
                }
                let is_claimed = match cause {
                    LeaseEnd::Expired => self.guarantee.expiry,
                    LeaseEnd::Revoked | LeaseEnd::Released => self.guarantee.revocation,
                    // From which point this fences is the guarantee's `fenced-from`.
                    LeaseEnd::TakenOver => false,
                };
                if is_claimed {
                    let seen = self.seen(resource);
                    seen.over.insert(holder.epoch);
                    seen.forget_below_fence();
                }
            }
            Event::EffectCommitted { receipt, .. } => return self.effect(receipt),
            _ => {}
        }
        Ok(())
    }

    fn effect(&mut self, receipt: &Receipt) -> Result<(), Box<Violation>> {
        let Receipt { resource, holder, operation_id, .. } = receipt;
        let claim = self.guarantee.fenced_from;
        let seen = self.seen(resource);
        let subject = || Subject {
            resource: Some(resource.clone()),
            operations: vec![operation_id.clone()],
            intents: vec![receipt.intent_hash],
        };
        if holder.epoch < seen.fenced_below {
            let point = match claim {
                FencedFrom::Grant => "was granted",
                FencedFrom::Ready => "was ready",
                FencedFrom::FirstWrite => "had written",
                FencedFrom::Never => unreachable!("then no epoch is fenced"),
            };
            let explanation = format!(
                "{operation_id} changed {resource} under {holder}, after the holder of {} {point}",
                seen.fenced_below
            );
            return violation(InvariantId::NoStaleEffect, subject(), explanation);
        }
        if seen.issued.get(&holder.epoch) != Some(&holder.worker) {
            if !self.guarantee.rejects_invented_epochs {
                // What was never issued says nothing of what was.
                return Ok(());
            }
            let explanation = format!(
                "{operation_id} changed {resource} under {holder}, which the authority never issued"
            );
            return violation(InvariantId::NoForgedEpoch, subject(), explanation);
        }
        if seen.over.contains(&holder.epoch) {
            let explanation =
                format!("{operation_id} changed {resource} under {holder}, whose lease was over");
            return violation(InvariantId::NoStaleEffect, subject(), explanation);
        }
        self.fence(resource, holder.epoch, FencedFrom::FirstWrite);
        Ok(())
    }
}

fn about(resource: &ResourceId) -> Subject {
    Subject { resource: Some(resource.clone()), ..Subject::default() }
}

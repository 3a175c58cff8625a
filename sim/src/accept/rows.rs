//! The rows of the table: what is to be shown, what counts as shown.
//!
//! The words of the first section are those of the stale-worker article's release checklist. The
//! second has the four race cases of the operation-identity article, the third the ten cases of
//! the stale-worker article's fixture.

use holdover_model::invariant::InvariantId;

use super::checklist::{FenceFirst, LostResponse, Paused};
use super::gate::{Arrival, Gate, NewEpochs};
use super::judge::Judge;
use super::race::{ChangedPayload, Different, Identical, Recoverable};

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Section {
    /// The release checklist.
    Checklist,
    /// The four cases of racing claims.
    Race,
    /// The ten cases of the fixture.
    Fixture,
}

impl Section {
    /// Every section, in order.
    pub const ALL: [Self; 3] = [Self::Checklist, Self::Race, Self::Fixture];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Checklist => "Release checklist",
            Self::Race => "Race cases",
            Self::Fixture => "Fixture cases",
        }
    }
}

/// One row of the table.
pub struct Row {
    /// The part of the table.
    pub section: Section,
    /// The name, in kebab case.
    pub name: &'static str,
    /// What happens.
    pub step: &'static str,
    /// What has to be shown.
    pub evidence: &'static str,
    /// Invariants that decide against the row if they break in a run that comes to it.
    pub breaks: &'static [InvariantId],
    pub(super) judge: fn() -> Box<dyn Judge>,
}

use InvariantId::{
    ApprovalBound, AtMostOneEffect, ClaimBeforeDispatch, CollisionBlocks, DurableEvidence,
    EpochMonotonic, NoForgedEpoch, NoLostUpdate, NoStaleEffect, OneIntentPerOperation,
    OneOperationPerIntent, ReceiptBindsIntent, RejectionLeavesNoTrace, SingleHolder,
    UnknownStaysUnknown,
};

const REFUSED: &[InvariantId] = &[NoStaleEffect, RejectionLeavesNoTrace];
const NOT_ISSUED: &[InvariantId] = &[NoForgedEpoch, RejectionLeavesNoTrace];

/// Every row, in the order of the table.
pub const ROWS: &[Row] = &[
    Row {
        section: Section::Checklist,
        name: "pause-before-the-mutation",
        step: "Pause A immediately before the destination mutation",
        evidence: "A has valid initial authority; the effect has not committed",
        breaks: &[],
        judge: || Box::new(Paused::default()),
    },
    Row {
        section: Section::Checklist,
        name: "expire-and-grant",
        step: "Expire A and grant B ownership",
        evidence: "The resource-side fence advances before takeover is declared complete",
        breaks: &[EpochMonotonic, SingleHolder],
        judge: || Box::new(FenceFirst::default()),
    },
    Row {
        section: Section::Checklist,
        name: "resume-before-the-first-write",
        step: "Resume A before B's first write",
        evidence: "The destination rejects A and leaves the resource unchanged",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_before_first_write),
    },
    Row {
        section: Section::Checklist,
        name: "write-then-retry-the-old-worker",
        step: "Let B write, then retry A",
        evidence: "B's value survives; A receives a stale-authority rejection",
        breaks: &[NoStaleEffect, RejectionLeavesNoTrace, NoLostUpdate],
        judge: || Gate::refuses(Arrival::is_after_first_write),
    },
    Row {
        section: Section::Checklist,
        name: "restart-the-ownership-service",
        step: "Restart the ownership service",
        evidence: "Durable epoch state survives; old authority does not become valid again",
        breaks: &[EpochMonotonic, NoStaleEffect],
        judge: NewEpochs::after_restart,
    },
    Row {
        section: Section::Checklist,
        name: "lose-the-write-response",
        step: "Lose the write response",
        evidence: "Reconciliation determines the effect before a retry or new takeover",
        breaks: &[AtMostOneEffect, UnknownStaysUnknown, DurableEvidence],
        judge: || Box::new(LostResponse::default()),
    },
    Row {
        section: Section::Race,
        name: "different-intents-concurrently",
        step: "Different intents launched concurrently",
        evidence: "They always receive different operation IDs",
        breaks: &[OneIntentPerOperation, ReceiptBindsIntent],
        judge: || Box::new(Different::default()),
    },
    Row {
        section: Section::Race,
        name: "identical-retries-concurrently",
        step: "Identical retries launched concurrently",
        evidence: "They converge on one operation ID",
        breaks: &[OneOperationPerIntent, AtMostOneEffect, ClaimBeforeDispatch],
        judge: || Box::new(Identical::default()),
    },
    Row {
        section: Section::Race,
        name: "existing-id-with-a-changed-payload",
        step: "An existing ID with a changed payload",
        evidence: "It is rejected before dispatch",
        breaks: &[OneIntentPerOperation, CollisionBlocks, ApprovalBound, ReceiptBindsIntent],
        judge: || Box::new(ChangedPayload::default()),
    },
    Row {
        section: Section::Race,
        name: "crash-between-prepared-and-dispatched",
        step: "A crash between prepared and dispatched",
        evidence: "It leaves a recoverable journal entry",
        breaks: &[OneOperationPerIntent, ClaimBeforeDispatch],
        judge: || Box::new(Recoverable::default()),
    },
    Row {
        section: Section::Fixture,
        name: "the-current-holder-writes",
        step: "The current holder writes",
        evidence: "The write is let in, with a receipt",
        breaks: &[DurableEvidence],
        judge: || Gate::admits(Arrival::is_current),
    },
    Row {
        section: Section::Fixture,
        name: "takeover-before-the-first-write",
        step: "The old worker writes after the takeover, before the successor's first write",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_before_first_write),
    },
    Row {
        section: Section::Fixture,
        name: "the-successor-then-the-old-worker",
        step: "The successor writes, then the old worker",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_after_first_write),
    },
    Row {
        section: Section::Fixture,
        name: "expiry-without-a-replacement",
        step: "The lease expires and nobody succeeds; its holder writes",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_expired_without_replacement),
    },
    Row {
        section: Section::Fixture,
        name: "immediate-revocation",
        step: "The lease is revoked within its term; its holder writes",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_revoked),
    },
    Row {
        section: Section::Fixture,
        name: "a-made-up-higher-epoch",
        step: "A write under an epoch that nobody has issued",
        evidence: "The write is rejected and leaves no trace",
        breaks: NOT_ISSUED,
        judge: || Gate::refuses(Arrival::is_made_up),
    },
    Row {
        section: Section::Fixture,
        name: "the-epoch-of-another-worker",
        step: "A write under the right epoch by a worker that does not hold it",
        evidence: "The write is rejected and leaves no trace",
        breaks: NOT_ISSUED,
        judge: || Gate::refuses(Arrival::is_another_workers),
    },
    Row {
        section: Section::Fixture,
        name: "a-lease-for-another-resource",
        step: "A write to a resource under the lease on another one",
        evidence: "The write is rejected and leaves no trace",
        breaks: NOT_ISSUED,
        judge: || Gate::refuses(Arrival::is_for_other_resource),
    },
    Row {
        section: Section::Fixture,
        name: "an-earlier-epoch-of-the-same-worker",
        step: "A worker acquires again, and a write under its earlier epoch comes",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: NewEpochs::for_the_same_worker,
    },
    Row {
        section: Section::Fixture,
        name: "a-timestamp-chosen-by-the-worker",
        step: "A worker whose lease is over writes, and has told other times than there were",
        evidence: "The write is rejected and leaves no trace",
        breaks: REFUSED,
        judge: || Gate::refuses(Arrival::is_late_by_chosen_times),
    },
];

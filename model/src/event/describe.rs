//! Events in words, for timelines.

use std::fmt;

use crate::event::{Event, LeaseEnd, Outcome, Rejection};

impl LeaseEnd {
    /// What happened to the lease, in one word or two.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Released => "released",
            Self::TakenOver => "taken over",
        }
    }
}

impl Outcome {
    /// The outcome in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl Rejection {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StaleEpoch => "stale epoch",
            Self::UnknownEpoch => "unknown epoch",
            Self::OtherWorker => "other worker",
            Self::Sealed => "sealed",
            Self::VersionConflict => "version conflict",
            Self::IdentityCollision => "identity collision",
            Self::AttemptClosed => "attempt closed",
            Self::Misconfigured => "fence misconfigured",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IntentRequested { intent_hash, resource } => {
                write!(f, "wants intent {intent_hash:?} on {resource}")
            }
            Self::IntentAnswered { intent_hash, outcome } => {
                write!(f, "has its answer for intent {intent_hash:?}: {}", outcome.as_str())
            }
            Self::LeaseGranted { lease, .. } => {
                write!(f, "lease on {} granted to {}", lease.resource, lease.holder())
            }
            Self::LeaseRenewed { lease } => {
                write!(f, "lease on {} renewed for {}", lease.resource, lease.holder())
            }
            Self::LeaseEnded { resource, holder, cause, .. } => {
                write!(f, "lease on {resource} of {holder} {}", cause.as_str())
            }
            Self::FenceAdvanced { resource, admits: Some(holder), .. } => {
                write!(f, "fence of {resource} admits {holder}")
            }
            Self::FenceAdvanced { resource, admits: None, epoch } => {
                write!(f, "fence of {resource} sealed at {epoch}")
            }
            Self::TakeoverComplete { resource, holder } => {
                write!(f, "takeover complete: {holder} is ready for {resource}")
            }
            Self::OperationClaimed { operation_id, intent_hash, resource } => {
                write!(f, "{operation_id} claimed for intent {intent_hash:?} on {resource}")
            }
            Self::StatusChanged { operation_id, from, to } => {
                write!(f, "{operation_id} {} -> {}", from.as_str(), to.as_str())
            }
            Self::IdentityCollision { receipt } => write!(
                f,
                "identity collision: {} names {:?} on {} and {:?} on {}; dispatch blocked",
                receipt.conflicting_operation_id,
                receipt.first_intent_hash,
                receipt.first_target,
                receipt.second_intent_hash,
                receipt.second_target,
            ),
            Self::LeasesVoided { resource, below } => {
                write!(f, "restored: every lease on {resource} below {below} is void")
            }
            Self::ResourceRecreated { resource, version } => {
                write!(f, "{resource} was deleted and made anew at {version}")
            }
            Self::ApprovalGranted { approval_id, intent_hash } => {
                write!(f, "{approval_id} granted for intent {intent_hash:?}")
            }
            Self::ApprovalUsed { approval_id, operation_id, intent_hash } => {
                write!(f, "{approval_id} used by {operation_id} for intent {intent_hash:?}")
            }
            Self::Dispatched { envelope, resource, holder } => write!(
                f,
                "{} {} for intent {:?} leaves for {resource} under {holder}",
                envelope.operation_id, envelope.attempt_id, envelope.intent_hash,
            ),
            Self::EffectCommitted { receipt, .. } => write!(
                f,
                "EFFECT {} {} for intent {:?} changed {} {} -> {} under {}",
                receipt.operation_id,
                receipt.attempt_id,
                receipt.intent_hash,
                receipt.resource,
                receipt.version_before,
                receipt.version_after,
                receipt.holder,
            ),
            Self::EffectRejected { envelope, resource, holder, reason, .. } => write!(
                f,
                "{} {} on {resource} under {holder} rejected: {}",
                envelope.operation_id,
                envelope.attempt_id,
                reason.as_str(),
            ),
            Self::EffectReplayed { receipt, attempt_id } => write!(
                f,
                "{} {attempt_id} answered from the receipt of {}",
                receipt.operation_id, receipt.attempt_id,
            ),
            Self::OutcomeUnknown { operation_id, attempt_id } => {
                write!(f, "{operation_id} {attempt_id} was not answered in time: outcome unknown")
            }
            Self::Reconciled { operation_id, attempt_id, committed } => write!(
                f,
                "{operation_id} reconciled up to {attempt_id}: {}",
                if *committed { "there is an effect" } else { "no effect, and none to come" },
            ),
            Self::OperationCompleted { operation_id, intent_hash, worker, receipt, .. } => {
                write!(f, "{worker} completes {operation_id} for intent {intent_hash:?} with ")?;
                match receipt {
                    Some(receipt) => write!(
                        f,
                        "the receipt of {} for {:?}",
                        receipt.operation_id, receipt.intent_hash
                    ),
                    None => write!(f, "no receipt"),
                }
            }
        }
    }
}

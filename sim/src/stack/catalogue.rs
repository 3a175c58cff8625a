//! What the reference system's agents want: the effects of the two articles, and one that
//! depends on no earlier state.

use holdover_model::identity::{ApprovalId, StepId};
use holdover_model::intent::{Payload, Target};
use holdover_model::resource::{Incarnation, ResourceId, ResourceVersion, Version};
use holdover_model::role::agent::Task;
use serde::{Deserialize, Serialize};

/// A kind of effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A staging routing rule is changed: the stale-worker article's example.
    RoutingRule,
    /// A billing limit is raised: one half of the operation-identity article's pair.
    BillingLimit,
    /// A webhook destination is rotated: the other half.
    WebhookDestination,
    /// An invoice is issued: it replaces no state, so only its identity keeps it from
    /// happening twice.
    Invoice,
}

impl Effect {
    /// Every kind of effect.
    pub const ALL: &'static [Self] =
        &[Self::RoutingRule, Self::BillingLimit, Self::WebhookDestination, Self::Invoice];

    /// Where it happens.
    pub fn target(self) -> Target {
        let (system, environment, resource) = match self {
            Self::RoutingRule => ("gateway", "staging", "routing-rule/checkout"),
            Self::BillingLimit => ("payments", "production", "billing/account-418/limit"),
            Self::WebhookDestination => ("payments", "production", "webhook/account-418"),
            Self::Invoice => ("payments", "production", "invoices/account-418"),
        };
        Target { system: system.into(), environment: environment.into(), resource: resource.into() }
    }

    fn method(self) -> &'static str {
        match self {
            Self::RoutingRule => "update_rule",
            Self::BillingLimit => "update_limit",
            Self::WebhookDestination => "update_destination",
            Self::Invoice => "issue",
        }
    }

    /// The step of a run that the `number`-th task of a plan is.
    pub fn step_id(self, number: usize) -> StepId {
        StepId::new(format!("{}-{number}", self.method()))
    }

    /// The task of bringing this effect about, as the `number`-th task of a plan.
    pub fn task(self, number: usize) -> Task {
        Task {
            step_id: self.step_id(number),
            target: self.target(),
            method: self.method().into(),
            payload: Payload::new(format!("payload of task {number}")),
            approval_id: approval_of(number),
            is_conditional: self != Self::Invoice,
            is_approved: true,
        }
    }
}

/// The consent that is given for the `number`-th task of a plan.
pub(super) fn approval_of(number: usize) -> ApprovalId {
    ApprovalId::new(format!("approval-{}", 552 + number))
}

/// The resources that the destination owns, each in its first state.
pub fn resources() -> impl Iterator<Item = (ResourceId, ResourceVersion)> {
    let version = ResourceVersion { incarnation: Incarnation(1), version: Version(26) };
    Effect::ALL.iter().map(move |effect| (effect.target().resource_id(), version))
}

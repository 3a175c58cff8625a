//! What it costs to change a setting, if its team says nothing else.
//!
//! Nobody can know that of a system that he has not seen. What can be known is how far a change
//! reaches: a flag is set by one person, a protocol is changed by all who speak it. The scale has
//! those distances and no more, so that it can be argued about. Whoever knows better writes
//! `[cost]` into the design file ([`changeable`](super::changeable)).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::design::setting::SettingId;

use Effort::{Component, Configuration, Elsewhere, Protocol, Stored};

/// What a change costs: from 1, a line of configuration, to 100.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Cost(u8);

impl Cost {
    /// The highest cost that can be written down.
    pub const MAX: u8 = 100;

    /// A cost, if the number is one.
    pub fn new(cost: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&cost).then_some(Self(cost))
    }

    /// As a number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cost = u8::deserialize(deserializer)?;
        Self::new(cost).ok_or_else(|| {
            serde::de::Error::custom(format!("a cost is from 1 to {}, not {cost}", Self::MAX))
        })
    }
}

/// How far a change reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effort {
    /// A value in a configuration, or a flag.
    Configuration,
    /// The code of one component.
    Component,
    /// What a component stores: its format or its schema, and what is stored already.
    Stored,
    /// What is said between components that different people own.
    Protocol,
    /// Another service has to learn something new.
    Elsewhere,
}

impl Effort {
    /// All of them, the smallest first.
    pub const ALL: [Self; 5] = [Configuration, Component, Stored, Protocol, Elsewhere];

    /// What it costs: so that one change of a protocol is taken for two changes of one component
    /// and a flag, and not for three.
    pub fn cost(self) -> Cost {
        Cost(match self {
            Configuration => 1,
            Component => 2,
            Stored => 3,
            Protocol => 5,
            Elsewhere => 8,
        })
    }

    /// In words.
    pub fn meaning(self) -> &'static str {
        match self {
            Configuration => "a value in a configuration, or a flag",
            Component => "the code of one component",
            Stored => "what a component stores, and what is stored already",
            Protocol => "what is said between components that different people own",
            Elsewhere => "another service has to learn something new",
        }
    }
}

/// How far a change of a setting reaches, and why; `None` for a claim, which is what has to be
/// kept, and nothing that is changed.
pub(super) fn effort(setting: SettingId) -> Option<(Effort, &'static str)> {
    let found = EFFORTS.iter().find(|(known, ..)| *known == setting);
    found.map(|(_, effort, reason)| (*effort, *reason))
}

macro_rules! efforts {
    ($($section:literal { $($setting:literal: $effort:ident, $reason:literal;)+ })+) => {
        const EFFORTS: &[(SettingId, Effort, &str)] =
            &[$($((SettingId::of($section, $setting), $effort, $reason),)+)+];
    };
}

efforts! {
    "authority" {
        "epoch": Stored, "A counter is stored beside the lease, and outlives it.";
        "durability": Component, "The authority writes and syncs before it replies.";
        "restore": Component, "The authority raises its epochs when it starts from a backup.";
        "time": Component, "The authority reads its own clock and no field of the request.";
        "takeover": Component, "The authority compares what the supervisor has read already.";
        "release": Component, "The authority compares what the worker was given with its lease.";
    }
    "lease" {
        "expiry-judged-by": Protocol,
            "Authority, workers and challengers have to agree on who says that a lease is over.";
        "renewal": Component, "The worker renews in another place, or with another flag.";
        "proof-after-reconnect": Component, "The worker forgets its lease when it comes back.";
    }
    "fence" {
        "enforced-at": Elsewhere, "Whoever is to enforce it has to learn of leases at all.";
        "check": Component, "One comparison, where the fence is enforced already.";
        "advance": Protocol,
            "The authority has to speak to the destination before each takeover, and wait for it.";
        "in-flight-writes": Component, "The destination aborts what it has let in.";
        "completion": Protocol, "Workers report the number of their try, and it is compared.";
        "misconfigured": Configuration, "The start fails if the mode is not one that is known.";
    }
    "identity" {
        "allocated-by": Protocol, "Callers ask for the ids that they used to make up.";
        "claim": Stored, "A unique index, on rows that may break it already.";
        "claimed": Component, "Two steps of one component change places.";
        "on-mismatch": Stored, "What an id was given for is stored beside it, to be compared.";
        "retention": Configuration, "How long entries are kept.";
        "carried": Protocol, "Every hop on the way to the destination passes the id on.";
        "answers-matched-by": Component, "The table of open calls has another key.";
        "binds": Stored, "Stored fingerprints are over other fields than new ones.";
    }
    "recovery" {
        "on-timeout": Component, "What the worker does where it gives up waiting.";
        "reconcile-by": Protocol, "The destination answers a question by operation id.";
        "stored-outcome": Stored, "An entry says which class of outcome it holds.";
        "resend": Configuration, "Retries below the application are switched off.";
        "conflict-after-unknown": Component, "What the worker does with a conflict on a retry.";
    }
    "destination" {
        "dedupe": Stored, "The destination stores an id with each effect, and a receipt.";
        "version": Stored, "The resource gets a column that changes when it is made anew.";
        "receipt": Component, "Effect and receipt go into one transaction.";
        "conditions": Component, "The destination checks what it has accepted so far.";
        "rejected-write": Component, "The check comes before the write, the payload into no log.";
    }
    "approval" {
        "bound-to": Protocol, "Who asks for a consent and who checks it hash the same intent.";
        "use": Stored, "A consent that was used is stored as such.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_one_cost_and_a_reason_and_no_claim_has_any() {
        for setting in SettingId::all() {
            let entries = EFFORTS.iter().filter(|(known, ..)| *known == setting).count();
            assert_eq!(entries, usize::from(!setting.is_claim()), "{setting}");
            if let Some((_, reason)) = effort(setting) {
                assert!(reason.ends_with('.') && reason.len() > 10, "{setting}: {reason:?}");
            }
        }
    }

    #[test]
    fn the_scale_rises_and_ends_where_costs_do() {
        assert!(Effort::ALL.is_sorted_by(|a, b| a < b && a.cost() < b.cost()));
        assert!(Effort::ALL.iter().all(|effort| EFFORTS.iter().any(|(_, used, _)| used == effort)));
        assert_eq!(Cost::new(0), None);
        assert_eq!(Cost::new(100).map(Cost::get), Some(100));
        assert_eq!(Cost::new(101), None);
    }
}

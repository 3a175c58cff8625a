//! How much the checker explores: how many of each, and how often things go wrong.
//!
//! A bound is part of every verdict. "Safe" means: every interleaving of this many
//! workers, operations and faults was looked at.

mod portfolio;
mod scope;
mod small;

use std::fmt;
use std::ops::{Index, IndexMut};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use portfolio::{deep_portfolio, portfolio};
pub use scope::Scope;
pub use small::small_portfolio;

macro_rules! budgets {
    ($($(#[$meta:meta])* $name:ident = $label:literal,)*) => {
        /// What may happen only so many times in one run.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Budget {
            $($(#[$meta])* $name,)*
        }

        impl Budget {
            /// Every budget, in the order in which they are printed.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name in flags and verdicts.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

budgets! {
    /// An agent that was not answered in time asks the next worker.
    Retries = "retries",
    /// The supervisor suspects a worker, rightly or not.
    Takeovers = "takeovers",
    /// Somebody takes a lease back.
    Revocations = "revocations",
    /// A lease term passes: all clocks go on by one term.
    Expiries = "expiries",
    /// A worker crashes and starts again.
    WorkerCrashes = "worker-crashes",
    /// The authority crashes and starts again.
    AuthorityCrashes = "authority-crashes",
    /// The ledger crashes and starts again.
    LedgerCrashes = "ledger-crashes",
    /// The destination crashes and starts again.
    DestinationCrashes = "destination-crashes",
    /// An agent crashes and starts again.
    AgentCrashes = "agent-crashes",
    /// The supervisor crashes and starts again.
    SupervisorCrashes = "supervisor-crashes",
    /// The authority is restored from a backup that was made at any earlier moment.
    Restores = "restores",
    /// A message is lost.
    Losses = "losses",
    /// A message is delivered and a copy of it stays under way.
    Duplications = "duplications",
    /// An unanswered question is asked again. Without losses that only repeats what is
    /// under way; with losses, allow as many.
    Resends = "resends",
    /// A worker asks to keep its lease.
    Renewals = "renewals",
    /// A worker gives back a lease that it no longer needs.
    Idles = "idles",
    /// A worker claims a higher epoch than the one that it was given.
    InventedEpochs = "invented-epochs",
    /// Somebody else deletes a resource and makes it anew.
    Recreations = "recreations",
    /// The destination's fence becomes misconfigured.
    Misconfigurations = "misconfigurations",
    /// The ledger or the destination reaches the age at which it forgets an operation.
    Forgettings = "forgettings",
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|budget| budget.as_str() == text).copied().ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|budget| budget.as_str()).collect();
            format!("there is no budget {text:?}; the budgets are: {}", known.join(", "))
        })
    }
}

/// How often each thing may happen; zero times, if nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Budgets([u8; Budget::ALL.len()]);

impl Budgets {
    /// Nothing happens that has a budget.
    pub fn none() -> Self {
        Self::default()
    }

    /// These budgets with another amount for one of them.
    #[must_use]
    pub fn with(mut self, budget: Budget, amount: u8) -> Self {
        self[budget] = amount;
        self
    }

    /// What is left after one use; `None` if there is nothing left to use.
    #[must_use]
    pub fn spend(self, budget: Budget) -> Option<Self> {
        let left = self[budget].checked_sub(1)?;
        Some(self.with(budget, left))
    }
}

impl Index<Budget> for Budgets {
    type Output = u8;

    fn index(&self, budget: Budget) -> &u8 {
        &self.0[budget as usize]
    }
}

impl IndexMut<Budget> for Budgets {
    fn index_mut(&mut self, budget: Budget) -> &mut u8 {
        &mut self.0[budget as usize]
    }
}

impl FromIterator<(Budget, u8)> for Budgets {
    fn from_iter<I: IntoIterator<Item = (Budget, u8)>>(amounts: I) -> Self {
        amounts.into_iter().fold(Self::none(), |budgets, (budget, n)| budgets.with(budget, n))
    }
}

impl Serialize for Budgets {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spendable = Budget::ALL.iter().filter(|budget| self[**budget] > 0);
        serializer.collect_map(spendable.map(|budget| (budget, self[*budget])))
    }
}

impl<'de> Deserialize<'de> for Budgets {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amounts = std::collections::BTreeMap::<Budget, u8>::deserialize(deserializer)?;
        Ok(amounts.into_iter().collect())
    }
}

/// Which consents the agents show.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Consents {
    /// Each its own.
    #[default]
    Own,
    /// All the same one, which was given for each of their effects.
    Shared,
    /// Each one that was given for something else.
    Borrowed,
}

/// What one exhaustive search covers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Bounds {
    /// How many workers there are.
    pub workers: u8,
    /// How many resources there are; the operations are dealt out to them in turn.
    pub resources: u8,
    /// How many operations are wanted, each by an agent of its own, all of one run.
    pub operations: u8,
    /// Whether an operation replaces the state that its agent saw, or depends on none.
    pub is_conditional: bool,
    /// Which consents the agents show.
    pub consents: Consents,
    /// After how many tries a worker gives an operation up.
    pub attempts_max: u32,
    /// How often each thing may happen.
    pub budgets: Budgets,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            workers: 2,
            resources: 1,
            operations: 2,
            is_conditional: true,
            consents: Consents::default(),
            attempts_max: 2,
            budgets: Budgets::none(),
        }
    }
}

impl Bounds {
    /// These bounds with another amount for one budget.
    #[must_use]
    pub fn with(mut self, budget: Budget, amount: u8) -> Self {
        self.budgets[budget] = amount;
        self
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |n: u8, what: &str| match n {
            1 => format!("1 {what}"),
            _ => format!("{n} {what}s"),
        };
        let kind = if self.is_conditional { "conditional" } else { "unconditional" };
        write!(
            f,
            "{}, {}, {}, {} at most",
            count(self.workers, "worker"),
            count(self.resources, "resource"),
            count(self.operations, &format!("{kind} operation")),
            count(u8::try_from(self.attempts_max).unwrap_or(u8::MAX), "attempt"),
        )?;
        match self.consents {
            Consents::Own => {}
            Consents::Shared => write!(f, ", one consent for all")?,
            Consents::Borrowed => write!(f, ", consents given for something else")?,
        }
        for budget in Budget::ALL.iter().filter(|budget| self.budgets[**budget] > 0) {
            write!(f, ", {budget} {}", self.budgets[*budget])?;
        }
        Ok(())
    }
}

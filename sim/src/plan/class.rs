//! Which failures are the same failure.

use std::collections::BTreeSet;
use std::fmt;

use crate::fault::{FaultKind, simpler};
use crate::plan::Plan;
use crate::stack::role_of;

/// What kind of failure it is: what was found, under which kinds of faults, on which roles.
///
/// Of a plan as it was generated that says little, for most of its faults have nothing to do with
/// what broke. Of a [shrunk](crate::shrink) plan it says what the failure needs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Class {
    /// What was found: an invariant's name, or what else it was.
    pub finding: String,
    /// The kinds of faults in the plan.
    pub faults: BTreeSet<FaultKind>,
    /// The roles that the faults strike.
    pub roles: BTreeSet<String>,
}

impl Class {
    /// The class of what was found with a plan: an invariant's name, or what else it was.
    pub fn new(finding: &str, plan: &Plan) -> Self {
        let hosts = plan.faults.iter().flat_map(|planned| planned.fault.hosts());
        Self {
            finding: finding.into(),
            faults: plan.faults.iter().map(|planned| planned.fault.kind()).collect(),
            roles: hosts.map(|host| role_of(host).to_owned()).collect(),
        }
    }

    /// The class of everything with the same finding.
    pub fn of_finding(finding: &str) -> Self {
        Self { finding: finding.into(), faults: BTreeSet::new(), roles: BTreeSet::new() }
    }

    /// Whether a failure of another class may be the same with less around it: the same finding,
    /// no other role, and no kind of fault that is not one of these or a simpler form of one.
    pub fn covers(&self, other: &Self) -> bool {
        let has = |kind: &FaultKind| self.faults.iter().any(|own| simpler::leads_to(*own, *kind));
        self.finding == other.finding
            && other.faults.iter().all(has)
            && other.roles.is_subset(&self.roles)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.faults.is_empty() {
            return write!(f, "{} without any fault", self.finding);
        }
        let faults: Vec<_> = self.faults.iter().map(|kind| kind.name()).collect();
        let roles: Vec<_> = self.roles.iter().map(String::as_str).collect();
        write!(f, "{} by {} on {}", self.finding, faults.join(", "), roles.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(finding: &str, faults: &[FaultKind], roles: &[&str]) -> Class {
        Class {
            finding: finding.into(),
            faults: faults.iter().copied().collect(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        }
    }

    #[test]
    fn a_class_covers_what_needs_less_of_the_same() {
        use FaultKind::{Crash, CrashLoop, Freeze, Late, Partition};
        let whole = class("panic", &[CrashLoop, Late], &["ledger", "worker"]);
        for less in [
            whole.clone(),
            class("panic", &[], &[]),
            class("panic", &[Late], &["worker"]),
            class("panic", &[Crash], &["worker"]),
            class("panic", &[Freeze], &["ledger"]),
        ] {
            assert!(whole.covers(&less), "{less}");
        }
        for other in [
            class("hang", &[Late], &["worker"]),
            class("panic", &[Partition], &["worker"]),
            class("panic", &[Late], &["agent"]),
        ] {
            assert!(!whole.covers(&other), "{other}");
        }
        assert!(!class("panic", &[Crash], &["worker"]).covers(&class("panic", &[CrashLoop], &[])));
    }
}

//! Which failures are the same failure.

use std::collections::BTreeSet;
use std::fmt;

use super::simpler;
use crate::fault::FaultKind;
use crate::plan::Plan;
use crate::stack::{AGENTS, Finding, WORKERS};

/// What kind of failure it is: what was found, under which kinds of faults, on which roles.
///
/// Of a plan as it was generated that says little, for most of its faults have nothing to do with
/// what broke. Of a [shrunk](super::shrink) plan it says what the failure needs.
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
    /// The class of what was found with a plan.
    pub fn new(finding: &Finding, plan: &Plan) -> Self {
        let hosts = plan.faults.iter().flat_map(|planned| planned.fault.hosts());
        Self {
            finding: finding.class().into(),
            faults: plan.faults.iter().map(|planned| planned.fault.kind()).collect(),
            roles: hosts.map(|host| role_of(host).to_owned()).collect(),
        }
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

/// The role that runs on a host: the hosts of workers and agents are numbered, any other host
/// is called what it is.
pub fn role_of(host: &str) -> &str {
    if WORKERS.contains(&host) {
        "worker"
    } else if AGENTS.contains(&host) {
        "agent"
    } else {
        host
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

//! Rows about writes that reach the destination: under whose authority, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdover_model::event::{Event, LeaseEnd, Rejection};
use holdover_model::identity::{OperationId, WorkerId};
use holdover_model::lease::{Epoch, Holder, Timestamp};
use holdover_model::resource::{ResourceId, ResourceVersion};
use holdover_model::role::{Actor, Message};

use super::judge::{Docket, Judge, Verdict};
use crate::situation::{Try, decided};
use crate::world::{START_UNIX_NS, Sight};

/// How far off a timestamp has to be to count as one that a worker has chosen.
const CHOSEN: Duration = Duration::from_secs(1);

/// How long after the end of its term, in a system that nothing disturbs, a lease is over without
/// any doubt.
const NO_DOUBT: Duration = Duration::from_millis(300);

/// A write, at the moment when it arrives.
pub(super) struct Arrival {
    now_ns: u64,
    resource: ResourceId,
    holder: Holder,
    /// Who was told last that it is ready, and whether that has written since.
    ready: Option<(Holder, bool)>,
    /// The lease with its epoch, if that was issued for this resource to anybody.
    issue: Option<Issue>,
    /// The highest epoch that was issued for this resource.
    last_epoch: Epoch,
    /// How often the authority has restarted.
    restarts: u32,
    /// For which resource the operation was claimed.
    claimed_for: Option<ResourceId>,
    /// Whether its worker has chosen its timestamps.
    has_chosen_times: bool,
    /// Whether no fault has struck anybody but its worker.
    is_undisturbed: bool,
}

impl Arrival {
    fn is_issued(&self) -> bool {
        self.issue.as_ref().is_some_and(|issue| issue.to == self.holder.worker)
    }

    fn end(&self) -> Option<LeaseEnd> {
        self.issue.as_ref().and_then(|issue| issue.end)
    }

    fn is_ready(&self) -> bool {
        self.ready.as_ref().is_some_and(|(ready, _)| *ready == self.holder)
    }

    /// Whether the term is over beyond doubt, whatever anybody has declared.
    fn is_past_its_term(&self) -> bool {
        let over_ns = self.issue.as_ref().map(|issue| issue.expires_at.after(NO_DOUBT).unix_ns);
        self.is_undisturbed && over_ns.is_some_and(|over_ns| over_ns < self.now_ns)
    }

    /// A successor of another name, or of the same one, has been told that it is ready.
    fn is_succeeded(&self, by_itself: bool) -> bool {
        self.is_issued()
            && self.ready.as_ref().is_some_and(|(ready, _)| {
                ready.epoch > self.holder.epoch && (ready.worker == self.holder.worker) == by_itself
            })
    }

    fn has_successor_written(&self) -> bool {
        self.ready.as_ref().is_some_and(|(_, has_written)| *has_written)
    }

    pub(super) fn is_current(&self) -> bool {
        self.is_ready() && self.end().is_none() && !self.is_for_other_resource()
    }

    pub(super) fn is_before_first_write(&self) -> bool {
        self.is_succeeded(false) && !self.has_successor_written()
    }

    pub(super) fn is_after_first_write(&self) -> bool {
        self.is_succeeded(false) && self.has_successor_written()
    }

    pub(super) fn is_expired_without_replacement(&self) -> bool {
        self.is_ready() && self.end() == Some(LeaseEnd::Expired)
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.is_ready() && self.end() == Some(LeaseEnd::Revoked)
    }

    pub(super) fn is_made_up(&self) -> bool {
        !self.is_for_other_resource() && self.holder.epoch > self.last_epoch
    }

    pub(super) fn is_another_workers(&self) -> bool {
        let is_ready = |(ready, _): &(Holder, bool)| ready.epoch == self.holder.epoch;
        !self.is_for_other_resource()
            && self.end().is_none()
            && self.ready.as_ref().is_some_and(is_ready)
            && self.issue.is_some()
            && !self.is_issued()
    }

    pub(super) fn is_for_other_resource(&self) -> bool {
        self.claimed_for.as_ref().is_some_and(|claimed_for| *claimed_for != self.resource)
    }

    pub(super) fn is_of_earlier_self(&self) -> bool {
        self.is_succeeded(true)
    }

    pub(super) fn is_late_by_chosen_times(&self) -> bool {
        self.has_chosen_times
            && self.is_issued()
            && (self.end() == Some(LeaseEnd::Expired) || self.is_past_its_term())
    }

    pub(super) fn is_old_authority_after_restart(&self) -> bool {
        let is_over = self.is_succeeded(false) || self.is_succeeded(true) || self.end().is_some();
        let is_old = self.issue.as_ref().is_some_and(|issue| issue.restarts < self.restarts);
        is_old && self.is_issued() && is_over
    }
}

/// Judges the writes that arrive in one way.
pub(super) struct Gate {
    is_case: fn(&Arrival) -> bool,
    /// Whether they have to be let in, or to be refused.
    admits: bool,
    known: Known,
    cases: Docket<Try>,
}

impl Gate {
    /// These writes have to be refused for their authority, and to leave no trace.
    pub(super) fn refuses(is_case: fn(&Arrival) -> bool) -> Box<dyn Judge> {
        Box::new(Self { is_case, admits: false, known: Known::default(), cases: Docket::default() })
    }

    /// These writes have to be let in, with a receipt that says so.
    pub(super) fn admits(is_case: fn(&Arrival) -> bool) -> Box<dyn Judge> {
        Box::new(Self { is_case, admits: true, known: Known::default(), cases: Docket::default() })
    }

    fn committed(&mut self, case: &Try, holder: &Holder, resource: &ResourceId) {
        if self.admits {
            self.cases.is_right(case);
        } else {
            self.cases.is_wrong(case, || {
                format!("{} {} changed {resource} under {holder}", case.0, case.1)
            });
        }
    }

    fn rejected(&mut self, case: &Try, event: &Event) {
        let Event::EffectRejected { resource, holder, reason, version, .. } = event else { return };
        let is_about_authority = matches!(
            reason,
            Rejection::StaleEpoch
                | Rejection::UnknownEpoch
                | Rejection::OtherWorker
                | Rejection::Sealed
                | Rejection::Misconfigured
        );
        let what =
            || format!("{} {} under {holder} was refused: {}", case.0, case.1, reason.as_str());
        if !is_about_authority {
            self.cases.drop(case);
        } else if self.admits {
            if self.known.is_admitted(resource, holder) {
                self.cases.is_wrong(case, what);
            }
            self.cases.drop(case);
        } else if self.known.versions.get(resource).is_some_and(|known| known != version) {
            self.cases.is_wrong(case, || what() + ", and left a trace");
        } else {
            self.cases.is_right(case);
        }
    }
}

impl Judge for Gate {
    fn sees(&mut self, sight: &Sight<'_>) {
        if let Sight::Event(record) = sight
            && let Some(case) = decided(&record.event)
        {
            match &record.event {
                Event::EffectCommitted { receipt, .. } => {
                    self.committed(&case, &receipt.holder, &receipt.resource);
                }
                event @ Event::EffectRejected { .. } => self.rejected(&case, event),
                _ => self.cases.drop(&case),
            }
        }
        if let Sight::Down { host, .. } = sight
            && self.known.destination.as_deref() == Some(*host)
        {
            // What was inside is aborted, and nobody answers for it.
            self.cases.drop_if(|_| true);
        }
        for (case, arrival) in self.known.sees(sight) {
            if (self.is_case)(&arrival) {
                self.cases.open(case);
            }
        }
    }

    fn verdict(&self) -> Verdict {
        self.cases.verdict()
    }
}

/// Writes under an old epoch have to be refused, and the epoch must not have been issued again in
/// the first place: then there is no telling the two apart.
pub(super) struct NewEpochs {
    gate: Box<dyn Judge>,
    is_about: IssuedAgain,
    authority: Option<String>,
    has_restarted: bool,
    issued: BTreeMap<ResourceId, (Epoch, WorkerId)>,
    wrong: Option<String>,
}

/// When an epoch is issued again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IssuedAgain {
    /// After a restart of the authority, to anybody.
    AfterRestart,
    /// Without one, to the worker that had it.
    ToTheSame,
}

impl NewEpochs {
    pub(super) fn after_restart() -> Box<dyn Judge> {
        let gate = Gate::refuses(Arrival::is_old_authority_after_restart);
        Self::boxed(gate, IssuedAgain::AfterRestart)
    }

    pub(super) fn for_the_same_worker() -> Box<dyn Judge> {
        Self::boxed(Gate::refuses(Arrival::is_of_earlier_self), IssuedAgain::ToTheSame)
    }

    fn boxed(gate: Box<dyn Judge>, is_about: IssuedAgain) -> Box<dyn Judge> {
        Box::new(Self {
            gate,
            is_about,
            authority: None,
            has_restarted: false,
            issued: BTreeMap::new(),
            wrong: None,
        })
    }

    fn granted(&mut self, resource: &ResourceId, epoch: Epoch, worker: &WorkerId) {
        let last = self.issued.get(resource);
        let is_meant = |(_, to): &(Epoch, WorkerId)| match self.is_about {
            IssuedAgain::AfterRestart => self.has_restarted,
            IssuedAgain::ToTheSame => !self.has_restarted && to == worker,
        };
        if last.is_some_and(|last| epoch <= last.0 && is_meant(last)) {
            self.wrong.get_or_insert_with(|| {
                format!("{epoch} of {resource} was issued again, to {worker}")
            });
        }
        let highest = last.map_or(epoch, |last| epoch.max(last.0));
        self.issued.insert(resource.clone(), (highest, worker.clone()));
    }
}

impl Judge for NewEpochs {
    fn sees(&mut self, sight: &Sight<'_>) {
        self.gate.sees(sight);
        match sight {
            Sight::Event(record) => {
                if let Event::LeaseGranted { lease, .. } = &record.event {
                    self.authority = Some(record.host.to_string());
                    self.granted(&lease.resource, lease.epoch, &lease.worker);
                }
            }
            Sight::Up { host, .. } => {
                self.has_restarted |= self.authority.as_deref() == Some(*host);
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Verdict {
        match &self.wrong {
            Some(what) => Verdict::Wrong(what.clone()),
            None => self.gate.verdict(),
        }
    }
}

/// What has been seen of authority and destination.
#[derive(Default)]
struct Known {
    issued: BTreeMap<(ResourceId, Epoch), Issue>,
    ready: BTreeMap<ResourceId, (Holder, bool)>,
    fences: BTreeMap<ResourceId, Option<Holder>>,
    claimed_for: BTreeMap<OperationId, ResourceId>,
    versions: BTreeMap<ResourceId, ResourceVersion>,
    chosen_times: BTreeSet<WorkerId>,
    /// Writes that have arrived and are not decided about.
    inside: BTreeMap<Try, Write>,
    authority: Option<String>,
    destination: Option<String>,
    restarts: u32,
    /// Hosts that a fault has struck.
    struck: BTreeSet<String>,
}

/// A write that has arrived.
struct Write {
    from: Actor,
    resource: ResourceId,
    holder: Holder,
}

/// An epoch that was issued.
#[derive(Clone)]
struct Issue {
    to: WorkerId,
    expires_at: Timestamp,
    end: Option<LeaseEnd>,
    /// How often the authority had restarted by then.
    restarts: u32,
}

impl Known {
    /// Whether the fence admits this holder. A seal comes before the end that it is for.
    fn is_admitted(&self, resource: &ResourceId, holder: &Holder) -> bool {
        self.fences.get(resource).is_some_and(|admits| admits.as_ref() == Some(holder))
    }

    /// Gives the write that arrives, if one does, and those that are inside and now look like
    /// others, because somebody has been told that it is ready.
    fn sees(&mut self, sight: &Sight<'_>) -> Vec<(Try, Arrival)> {
        match sight {
            Sight::Event(record) => {
                self.learns(&record.host, &record.event);
                if let Event::TakeoverComplete { resource, .. } = &record.event {
                    let now_ns = START_UNIX_NS + record.at_ns;
                    return self.inside_of(resource, now_ns);
                }
            }
            Sight::Down { host, .. } if self.destination.as_deref() == Some(*host) => {
                self.inside.clear();
            }
            Sight::Up { host, .. } if self.authority.as_deref() == Some(*host) => {
                self.restarts += 1;
            }
            Sight::Struck { fault, .. } => {
                self.struck.extend(fault.hosts().into_iter().map(str::to_owned));
            }
            Sight::Shown { at_ns, host, what } => {
                let Some((from, message)) = what.downcast_ref::<(Actor, Message)>() else {
                    return Vec::new();
                };
                let now_ns = START_UNIX_NS + at_ns;
                match (from, message) {
                    (
                        Actor::Worker(worker),
                        Message::Acquire { at, .. } | Message::Renew { at, .. },
                    ) if u128::from(at.unix_ns.abs_diff(now_ns)) > CHOSEN.as_nanos() => {
                        self.chosen_times.insert(worker.clone());
                    }
                    (from, Message::Apply { envelope, resource, holder, .. }) => {
                        self.destination = Some((*host).to_owned());
                        let case = (envelope.operation_id.clone(), envelope.attempt_id);
                        let write = Write {
                            from: from.clone(),
                            resource: resource.clone(),
                            holder: holder.clone(),
                        };
                        let arrival = self.arrival(&case.0, &write, now_ns);
                        self.inside.insert(case.clone(), write);
                        return vec![(case, arrival)];
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn inside_of(&self, resource: &ResourceId, now_ns: u64) -> Vec<(Try, Arrival)> {
        self.inside
            .iter()
            .filter(|(_, write)| write.resource == *resource)
            .map(|(case, write)| (case.clone(), self.arrival(&case.0, write, now_ns)))
            .collect()
    }

    fn arrival(&self, operation_id: &OperationId, write: &Write, now_ns: u64) -> Arrival {
        let Write { from, resource, holder } = write;
        let issue = self.issued.get(&(resource.clone(), holder.epoch));
        let of_resource = (resource.clone(), Epoch(0))..=(resource.clone(), Epoch(u64::MAX));
        let last_epoch = self.issued.range(of_resource).next_back().map(|((_, epoch), _)| *epoch);
        Arrival {
            now_ns,
            resource: resource.clone(),
            holder: holder.clone(),
            ready: self.ready.get(resource).cloned(),
            issue: issue.cloned(),
            last_epoch: last_epoch.unwrap_or_default(),
            restarts: self.restarts,
            claimed_for: self.claimed_for.get(operation_id).cloned(),
            has_chosen_times: self.chosen_times.contains(&holder.worker),
            is_undisturbed: self.struck.iter().all(|host| host == from.name()),
        }
    }

    fn learns(&mut self, host: &str, event: &Event) {
        if let Some(case) = decided(event) {
            self.inside.remove(&case);
        }
        match event {
            Event::LeaseGranted { lease, .. } => {
                self.authority = Some(host.to_owned());
                let issue = Issue {
                    to: lease.worker.clone(),
                    expires_at: lease.expires_at,
                    end: None,
                    restarts: self.restarts,
                };
                self.issued.insert((lease.resource.clone(), lease.epoch), issue);
            }
            Event::LeaseRenewed { lease } => {
                if let Some(issue) = self.issued.get_mut(&(lease.resource.clone(), lease.epoch)) {
                    issue.expires_at = lease.expires_at;
                }
            }
            Event::LeaseEnded { resource, holder, cause, .. } => {
                if let Some(issue) = self.issued.get_mut(&(resource.clone(), holder.epoch)) {
                    issue.end = Some(*cause);
                }
            }
            Event::TakeoverComplete { resource, holder } => {
                self.ready.insert(resource.clone(), (holder.clone(), false));
            }
            Event::FenceAdvanced { resource, admits, .. } => {
                self.fences.insert(resource.clone(), admits.clone());
            }
            Event::OperationClaimed { operation_id, resource, .. } => {
                self.claimed_for.insert(operation_id.clone(), resource.clone());
            }
            Event::EffectCommitted { receipt, .. } => {
                self.versions.insert(receipt.resource.clone(), receipt.version_after);
                if let Some((ready, has_written)) = self.ready.get_mut(&receipt.resource) {
                    *has_written |= *ready == receipt.holder;
                }
            }
            _ => {}
        }
    }
}

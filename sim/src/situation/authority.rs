//! An authority that comes back.

use std::collections::BTreeSet;

use holdover_model::event::{Event, EventKind};
use holdover_model::resource::ResourceId;

use super::tenure::Tenures;
use super::{Detector, Situation};
use crate::fault::{DiskFault, Fault};
use crate::world::{Sight, SightKind};

pub(super) fn situations() -> [Situation; 2] {
    let granted = SightKind::Event(EventKind::LeaseGranted);
    [
        Situation::new(
            "authority-restarted",
            "The authority crashes while a lease is held, and starts again.",
            Restarted::default,
        )
        .from("The stale-worker article, release checklist: \"Restart the ownership service\"")
        .watching(&[&Tenures::KINDS[..], &[granted, SightKind::Down, SightKind::Up]].concat()),
        Situation::new(
            "authority-restored-and-epoch-issued",
            "The authority is restored from a backup that lacks an epoch that was issued, and issues another one for that resource.",
            Restored::default,
        )
        .from("etcd-io/etcd#16028; oxia-db/oxia#87")
        .watching(&[granted, SightKind::Struck]),
    ]
}

#[derive(Default)]
struct Restarted {
    /// Who issues leases, as soon as somebody has.
    authority: Option<String>,
    tenures: Tenures,
    /// Whether it went down while a lease was held.
    is_down: bool,
}

impl Detector for Restarted {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                if matches!(record.event, Event::LeaseGranted { .. }) {
                    self.authority = Some(record.host.to_string());
                }
                self.tenures.sees(&record.event);
            }
            Sight::Down { host, .. } if self.authority.as_deref() == Some(host) => {
                self.is_down = self.tenures.is_any_current();
            }
            Sight::Up { host, .. } if self.authority.as_deref() == Some(host) => {
                return self.is_down;
            }
            _ => {}
        }
        false
    }
}

#[derive(Default)]
struct Restored {
    /// Every grant: by whom, when, of what.
    grants: Vec<(String, u64, ResourceId)>,
    /// Of which resources a backup lacks a grant.
    forgotten: BTreeSet<ResourceId>,
}

impl Detector for Restored {
    fn sees(&mut self, sight: &Sight<'_>) -> bool {
        match *sight {
            Sight::Event(record) => {
                let Event::LeaseGranted { lease, .. } = &record.event else { return false };
                let grant = (record.host.to_string(), record.at_ns, lease.resource.clone());
                self.grants.push(grant);
                self.forgotten.contains(&lease.resource)
            }
            Sight::Struck {
                at_ns,
                fault: Fault::Disk(DiskFault::Restore { host, age_us, .. }),
            } => {
                let taken_by_ns = at_ns.saturating_sub(age_us.saturating_mul(1_000));
                let lost = self.grants.iter().filter(|(authority, granted_ns, _)| {
                    authority == host && *granted_ns > taken_by_ns
                });
                self.forgotten.extend(lost.map(|(.., resource)| resource.clone()));
                false
            }
            _ => false,
        }
    }
}

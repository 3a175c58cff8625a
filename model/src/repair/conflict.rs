//! What a counterexample has taught: settings that cannot all stay as they are.

use crate::check::Counterexample;
use crate::design::Design;
use crate::design::change::{Change, SettingValue};
use crate::design::setting::{SettingId, SettingSet};
use crate::invariant::Violation;
use crate::repair::candidate::Domain;

/// In how many combinations of settings a counterexample is replayed to find out that it depends on
/// none of them.
const REPLAYS_MAX: usize = 60;

/// That every design is broken which agrees with one about some settings and claims.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    design: Design,
    /// The settings and claims that it takes. Those that may have any value are not among them.
    because: SettingSet,
    pub(super) violation: Violation,
}

impl Conflict {
    /// What the counterexample of a design teaches.
    ///
    /// A setting is left out if the same schedule breaks the design with each of its other values,
    /// too, in each combination with those that were left out before.
    pub(super) fn new(design: &Design, counterexample: &Counterexample, domain: &Domain) -> Self {
        let refutation = &counterexample.refutation;
        let violation = counterexample.violation.clone();
        let every = || SettingId::all().collect::<SettingSet>();
        let mut because = refutation.because(design).unwrap_or_else(every);
        let values = |setting: SettingId| domain.values(setting);
        // A setting of which one other value alone makes a difference stays.
        let matters = |setting: SettingId| {
            let others = values(setting).iter().filter(|to| **to != design.value(setting));
            others
                .clone()
                .any(|to| refutation.because(&design.with(Change { setting, to: *to })).is_none())
        };
        let idle: Vec<_> =
            because.iter().filter(|id| values(*id).len() > 1 && !matters(*id)).collect();
        // Free in all combinations at once, each combination in a replay of its own.
        let (mut free, mut apart) = (Vec::new(), vec![design.clone()]);
        let replay = |apart: &[Design], free: &[(SettingId, &[SettingValue])]| {
            apart.iter().try_fold(SettingSet::default(), |because, design| {
                Some(because.or(refutation.because_of_others(design, free)?))
            })
        };
        let mut left_out = SettingSet::default();
        for setting in idle {
            free.push((setting, values(setting)));
            if let Some(wider) = replay(&apart, &free) {
                (because, left_out) = (wider, left_out.with(setting));
                continue;
            }
            free.pop();
            if apart.len() * values(setting).len() > REPLAYS_MAX {
                continue;
            }
            let with = |to: &SettingValue| {
                let change = Change { setting, to: *to };
                apart.iter().map(move |design| design.with(change)).collect::<Vec<_>>()
            };
            let more: Vec<_> = values(setting).iter().flat_map(with).collect();
            if let Some(wider) = replay(&more, &free) {
                (because, left_out, apart) = (wider, left_out.with(setting), more);
            }
        }
        because = left_out.iter().fold(because, SettingSet::without);
        Self { design: design.clone(), because, violation }
    }

    /// Whether it refutes a design.
    pub(super) fn refutes(&self, design: &Design) -> bool {
        !design.differing(&self.design).meets(self.because)
    }

    /// The settings of which a repair has to change one.
    pub(super) fn because(&self) -> SettingSet {
        self.because
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Bounds, Judgement, Options, check, small_portfolio};

    fn judged(design: &Design, bounds: &Bounds) -> Judgement {
        let options = Options { threads: 1, ..Options::default() };
        check(design, std::slice::from_ref(bounds), options).verdict
    }

    /// A conflict claims that what it leaves out makes no difference. So a search has to find
    /// something broken whatever those settings are: each alone, and all at once.
    #[test]
    fn what_a_conflict_leaves_out_makes_no_difference() {
        for name in [
            "adapter-check",
            "highest-seen",
            "redis-set-px",
            "blind-retry",
            "timeout-means-done",
            "bearer-approval",
            "epoch-in-memory",
            "etcd-restored-snapshot",
            "key-after-effect",
            "self-raised-epoch",
            "version-only",
        ] {
            let design = Design::named(name).unwrap();
            let domain = Domain::of_every_value(&design);
            let options = || Options { threads: 1, ..Options::default() };
            let mut broken = small_portfolio(&design).into_iter().filter_map(|bounds| {
                let verdict = check(&design, std::slice::from_ref(&bounds), options());
                Some((bounds, verdict.counterexample?))
            });
            let (bounds, counterexample) = broken.next().unwrap();
            let conflict = Conflict::new(&design, &counterexample, &domain);
            assert!(conflict.refutes(&design), "{name}");
            let left_out: Vec<_> = SettingId::all()
                .filter(|id| domain.values(*id).len() > 1 && !conflict.because().contains(*id))
                .collect();
            assert!(left_out.len() > 5, "{name}: {left_out:?}");
            let mut all_at_once = design.clone();
            for setting in left_out {
                for to in domain.values(setting) {
                    let changed = design.with(Change { setting, to: *to });
                    assert!(conflict.refutes(&changed), "{name} with {setting} = {to}");
                    let verdict = judged(&changed, &bounds);
                    assert_eq!(verdict, Judgement::Violated, "{name} with {setting} = {to}");
                }
                let to = *domain.values(setting).last().unwrap();
                all_at_once = all_at_once.with(Change { setting, to });
            }
            assert!(conflict.refutes(&all_at_once), "{name}");
            assert_eq!(judged(&all_at_once, &bounds), Judgement::Violated, "{name}, all at once");
        }
    }

    #[test]
    fn what_a_conflict_rests_on_is_what_has_to_change() {
        let design = Design::named("fence-without-drain").unwrap();
        let bounds = &small_portfolio(&design)[0];
        let verdict = check(
            &design,
            std::slice::from_ref(bounds),
            Options { threads: 1, ..Options::default() },
        );
        let domain = Domain::new(&design);
        let conflict = Conflict::new(&design, &verdict.counterexample.unwrap(), &domain);
        let drain = SettingId::named("fence.in-flight-writes").unwrap();
        assert!(conflict.because().contains(drain));
        let [drained] = design.alternatives(drain)[..] else { panic!("there are two values") };
        assert!(!conflict.refutes(&design.with(drained)));
    }
}

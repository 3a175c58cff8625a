//! A set of changes that may be a repair, and what may be changed at all.

use crate::design::change::{Change, SettingValue};
use crate::design::setting::{SettingId, SettingSet};
use crate::design::{Design, NAMED};

/// What may be changed, and to what.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    /// The design as it stands.
    pub(super) design: Design,
    /// Each setting that may be changed, with every value that it may have, its own included.
    values: Vec<(SettingId, Vec<SettingValue>)>,
}

impl Domain {
    /// Every setting of a design but those that are fixed. What it claims stays as it is.
    ///
    /// A setting may become the safe default, or what it is in a named design that is safe. There
    /// are others that mend one thing by breaking another: where two operations share an id and
    /// both are blocked, neither does any harm.
    pub(super) fn new(design: &Design) -> Self {
        let good: Vec<_> = NAMED
            .iter()
            .map(|(name, _)| Design::named(name).expect("a named design is well formed"))
            .filter(|named| named.expect.is_empty() && named.guarantee.automatic_takeover)
            .chain([Design::default()])
            .collect();
        let settings = SettingId::safeguards().filter(|setting| !design.is_fixed(*setting));
        let values = settings.map(|setting| {
            let is_good =
                |change: &Change| good.iter().any(|good| good.value(setting) == change.to);
            let others = design.alternatives(setting).into_iter().filter(is_good);
            let own = design.value(setting);
            (setting, std::iter::once(own).chain(others.map(|change| change.to)).collect())
        });
        Self { design: design.clone(), values: values.collect() }
    }

    /// Every setting, with every value that there is.
    #[cfg(test)]
    pub(super) fn of_every_value(design: &Design) -> Self {
        let values = SettingId::safeguards().map(|setting| {
            let others = design.alternatives(setting).into_iter().map(|change| change.to);
            (setting, std::iter::once(design.value(setting)).chain(others).collect())
        });
        Self { design: design.clone(), values: values.collect() }
    }

    /// The same with other claims.
    pub(super) fn claiming(&self, claims: &Design) -> Self {
        let design = Design { guarantee: claims.guarantee, ..self.design.clone() };
        Self { design, values: self.values.clone() }
    }

    /// Every value that a setting may have; none if it must not be changed.
    pub(super) fn values(&self, setting: SettingId) -> &[SettingValue] {
        let found = self.values.iter().find(|(known, _)| *known == setting);
        found.map_or(&[], |(_, values)| values)
    }
}

/// A set of changes that may be a repair. The order is that in which candidates are tried.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Candidate {
    size: usize,
    cost: u32,
    /// How far its values are down the vocabulary, where the safe ones come first: of two that
    /// cost the same, the more usual one is tried first.
    depth: usize,
    /// In the order of a design file, each setting once.
    changes: Vec<Change>,
}

impl Candidate {
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// How many settings it changes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn cost(&self) -> u32 {
        self.cost
    }

    /// The settings that it changes.
    pub(super) fn changed(&self) -> SettingSet {
        self.changes.iter().map(|change| change.setting).collect()
    }

    /// The same with one more change.
    pub(super) fn with(&self, change: Change, domain: &Domain) -> Self {
        let mut changes = self.changes.clone();
        changes.push(change);
        changes.sort();
        let cost = self.cost + u32::from(domain.design.cost(change.setting).get());
        let mut values = change.setting.setting().values.iter();
        let place = values.position(|value| SettingValue::Word(value.name) == change.to);
        let depth = self.depth + place.unwrap_or(0);
        Self { size: changes.len(), cost, depth, changes }
    }

    /// The design with these changes.
    pub(super) fn design(&self, domain: &Domain) -> Design {
        domain.design.with_all(self.changes.iter().copied())
    }

    /// Whether it makes all changes of another one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        other.changes.iter().all(|change| self.changes.contains(change))
    }
}

//! What has to be given up where no repair keeps everything that is claimed.
//!
//! First nothing is claimed that can be given up. Then one claim after the other is made again,
//! those about outcomes and identities first, and each is kept for which there is a repair that
//! keeps the ones before it, too. What is left over cannot be met.

use crate::design::Design;
use crate::design::change::{Change, SettingValue};
use crate::design::setting::{SettingId, SettingSet};
use crate::invariant::Violation;
use crate::repair::candidate::Domain;
use crate::repair::hunt::Hunter;
use crate::repair::{Concession, Impossible, Repair};

/// Who replaces a worker. It is no claim that is given up for another: it decides which others can
/// be kept.
const AUTOMATIC_TAKEOVER: SettingId = SettingId::of("guarantee", "automatic-takeover");

/// The claims in the order in which they are made again, each with what it can be, the strongest
/// first.
const CLAIMS: &[(SettingId, &[SettingValue])] = &[
    (SettingId::of("guarantee", "definite-outcomes"), TRUTH),
    (SettingId::of("guarantee", "stable-identity"), TRUTH),
    (
        SettingId::of("guarantee", "fenced-from"),
        &[
            SettingValue::Word("grant"),
            SettingValue::Word("ready"),
            SettingValue::Word("first-write"),
            SettingValue::Word("never"),
        ],
    ),
    (SettingId::of("guarantee", "expiry"), TRUTH),
    (SettingId::of("guarantee", "revocation"), TRUTH),
    (SettingId::of("guarantee", "rejects-invented-epochs"), TRUTH),
];

const TRUTH: &[SettingValue] = &[SettingValue::Truth(true), SettingValue::Truth(false)];

/// Why a design cannot be repaired, and what can be had instead.
pub(super) fn impossible(
    hunter: &mut Hunter<'_>,
    domain: &Domain,
    violation: &Violation,
    is_proved: bool,
) -> Impossible {
    let claimed = &domain.design;
    let unmet = most_that_can_be_kept(hunter, domain, claimed)
        .map_or_else(Vec::new, |kept| claims_given_up(claimed, &kept));
    let by_hand =
        claimed.with(Change { setting: AUTOMATIC_TAKEOVER, to: SettingValue::Truth(false) });
    let safe_answer = most_that_can_be_kept(hunter, domain, &by_hand).map(|kept| {
        let given_up = claims_given_up(claimed, &kept).into_iter().map(|claim| claim.change);
        let changes = given_up.chain(kept.repair.changes).collect();
        Repair { changes, ..kept.repair }
    });
    let because = in_the_way(hunter, claimed);
    Impossible { is_proved, unmet, violation: violation.clone(), because, safe_answer }
}

/// The most that can be kept.
struct Kept {
    /// The design, claiming no more than that.
    claiming: Design,
    repair: Repair,
    /// The claims of which it is not known whether more of them can be kept.
    undecided: SettingSet,
}

/// The claims in which a design falls short.
fn claims_given_up(claimed: &Design, kept: &Kept) -> Vec<Concession> {
    let differences = claimed.differences(&kept.claiming).into_iter();
    differences
        .filter(|change| change.setting.is_claim())
        .map(|change| Concession { change, is_proved: !kept.undecided.contains(change.setting) })
        .collect()
}

/// As many of the claims as there is a repair for, and that repair; `None` if there is none even
/// for a design that claims as little as it can.
fn most_that_can_be_kept(
    hunter: &mut Hunter<'_>,
    domain: &Domain,
    claimed: &Design,
) -> Option<Kept> {
    let weakest = |(setting, values): &(SettingId, &[SettingValue])| Change {
        setting: *setting,
        to: values[values.len() - 1],
    };
    let mut claiming = claimed.with_all(CLAIMS.iter().map(weakest));
    let mut look_for =
        |design: &Design| hunter.hunt("what can be kept", &domain.claiming(design), 1);
    let mut repair = look_for(&claiming).repairs.pop()?;
    let mut undecided = SettingSet::default();
    for (setting, values) in CLAIMS {
        let claim = claimed.value(*setting);
        let no_stronger = values.iter().skip_while(|value| **value != claim);
        for to in no_stronger.filter(|value| **value != claiming.value(*setting)) {
            let wanted = claiming.with(Change { setting: *setting, to: *to });
            let mut attempt = look_for(&wanted);
            if let Some(found) = attempt.repairs.pop() {
                (claiming, repair) = (wanted, found);
                break;
            }
            if !attempt.is_exhausted {
                undecided = undecided.with(*setting);
            }
        }
    }
    Some(Kept { claiming, repair, undecided })
}

/// The fixed settings that stand in the way of a repair.
fn in_the_way(hunter: &mut Hunter<'_>, claimed: &Design) -> Vec<Change> {
    let as_it_is = |setting| Change { setting, to: claimed.value(setting) };
    let alone = claimed.fixed.iter().filter(|setting| {
        let freed = Design { fixed: claimed.fixed.without(*setting), ..claimed.clone() };
        !hunter.hunt("what stands in the way", &Domain::new(&freed), 1).repairs.is_empty()
    });
    let in_the_way: Vec<_> = alone.map(as_it_is).collect();
    if in_the_way.is_empty() {
        return claimed.fixed.iter().map(as_it_is).collect();
    }
    in_the_way
}

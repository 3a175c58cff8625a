//! Plans as `proptest` strategies, for property tests of one's own.
//!
//! They draw from what a sweep's plans are drawn from, and shrink the way proptest does: fewer
//! faults and tasks first. Proptest draws with `ChaCha` and keeps the seeds of failing cases in
//! `proptest-regressions`, which belongs under version control.
//!
//! ```
//! use holdover::fault::FaultKind;
//! use holdover::plan;
//! use holdover::stack;
//! use holdover_model::design::Design;
//! use proptest::prelude::*;
//!
//! proptest! {
//!     #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
//!
//!     // Every plan of the safe design holds ...
//!     fn our_design_survives(plan in plan::any()) {
//!         prop_assert_eq!(stack::run(&plan).unwrap().finding, None);
//!     }
//!
//!     // ... and in one of another design, crashes are all that happens.
//!     fn crashes_alone_do_no_harm(
//!         plan in plan::any_for(Design::named("co-located-gate").unwrap()),
//!         faults in plan::faults(&[FaultKind::Crash, FaultKind::CrashLoop], 1..=3),
//!     ) {
//!         let plan = plan::Plan { faults, ..plan };
//!         prop_assert_eq!(stack::run(&plan).unwrap().finding, None);
//!     }
//! }
//! our_design_survives();
//! crashes_alone_do_no_harm();
//! ```

use std::ops::RangeInclusive;

use holdover_model::design::Design;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any as any_value, prop_oneof};
use proptest::sample::select;

use super::{Plan, PlannedTask, Profile, generate};
use crate::fault::{FaultKind, PlannedFault};
use crate::random::Seed;
use crate::stack::{AGENTS, Effect};
use crate::world::{LinkProfile, Order};

/// Any plan of the design `push-before-ready`.
pub fn any() -> impl Strategy<Value = Plan> {
    any_for(Design::default())
}

/// Any plan of a design.
pub fn any_for(design: Design) -> impl Strategy<Value = Plan> {
    let profile = Profile::default();
    let kinds = generate::kinds(&design);
    let parts = (any_value::<u64>(), link(), order(), tasks(1..=6), faults(&kinds, 0..=6));
    parts.prop_map(move |(seed, link, order, tasks, faults)| Plan {
        seed: Seed(seed),
        heal_at_us: profile.heal_at_us(),
        order,
        link,
        timing: profile.timing,
        design: design.clone(),
        tasks,
        revocations: Vec::new(),
        faults,
    })
}

/// What the agents want, so many things.
pub fn tasks(count: RangeInclusive<usize>) -> impl Strategy<Value = Vec<PlannedTask>> {
    let begin_within_us = Profile::default().begin_within_us;
    let task = (select(&AGENTS[..]), 0..=begin_within_us, select(Effect::ALL));
    vec(
        task.prop_map(|(agent, begin_at_us, effect)| PlannedTask {
            agent: agent.into(),
            begin_at_us,
            effect,
            misuse: None,
        }),
        count,
    )
}

/// So many faults of these kinds, each at a moment and as long as a sweep would have it.
pub fn faults(
    kinds: &[FaultKind],
    count: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<PlannedFault>> + use<> {
    let fault = (select(kinds.to_vec()), any_value::<u64>());
    vec(fault.prop_map(|(kind, seed)| generate::fault(kind, Seed(seed))), count)
}

/// How long packets travel.
pub fn link() -> impl Strategy<Value = LinkProfile> {
    let Profile { latency_us_min, latency_us_max, .. } = Profile::default();
    (latency_us_min..=latency_us_max).prop_flat_map(move |max| {
        (latency_us_min..=max)
            .prop_map(move |min| LinkProfile { latency_us_min: min, latency_us_max: max })
    })
}

/// How the order of packets is drawn.
pub fn order() -> impl Strategy<Value = Order> {
    let priority = (1_u32..=4).prop_map(|depth| Order::Priority { depth });
    prop_oneof![Just(Order::Uniform), priority, Just(Order::Race)]
}

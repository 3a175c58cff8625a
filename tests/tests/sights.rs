//! What whoever watches a world gets to see, and when.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::message::delivery;
use holdover::point;
use holdover::random::Seed;
use holdover::time::sleep;
use holdover::world::{self, RunEnd, Sight, World, WorldConfig};

/// Runs a host that passes a point every 10 ms, under one fault, for 100 ms; gives what is seen,
/// with its time in milliseconds.
fn seen(trigger: Trigger, fault: Fault) -> Vec<String> {
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("host", || async {
        for number in 0_u32.. {
            sleep(Duration::from_millis(10)).await;
            world::show(&number);
            point("here").await;
        }
    });
    let sights = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&sights);
    world.watch(move |sight| {
        let (at_ns, what) = match *sight {
            Sight::Event(record) => (record.at_ns, "event".into()),
            Sight::Struck { at_ns, fault } => (at_ns, format!("struck {}", fault.kind())),
            Sight::Ended { at_ns, fault } => (at_ns, format!("ended {}", fault.kind())),
            Sight::Frozen { at_ns, host } => (at_ns, format!("frozen {host}")),
            Sight::Thawed { at_ns, host } => (at_ns, format!("thawed {host}")),
            Sight::Down { at_ns, host } => (at_ns, format!("down {host}")),
            Sight::Up { at_ns, host } => (at_ns, format!("up {host}")),
            Sight::Point { at_ns, host, name } => (at_ns, format!("{name} of {host}")),
            Sight::Held { at_ns, point, is_alone, .. } => {
                (at_ns, format!("held {point}{}", if is_alone { " alone" } else { "" }))
            }
            Sight::Sends { at_ns, to, kind, .. } => (at_ns, format!("sends {kind} to {to}")),
            Sight::Shown { at_ns, what, .. } => {
                (at_ns, format!("shown {}", what.downcast_ref::<u32>().unwrap()))
            }
        };
        log.borrow_mut().push(format!("{} {what}", at_ns / 1_000_000));
    });
    world.plan(PlannedFault { trigger, fault }).unwrap();
    assert_eq!(world.run_for(Duration::from_millis(45)), RunEnd::Deadline);
    sights.take()
}

fn second_time_here() -> Trigger {
    Trigger::Point { host: "host".into(), name: "here".into(), nth: 2 }
}

#[test]
fn a_pause_is_seen_from_its_point_to_its_end() {
    let freeze = Fault::Freeze { host: "host".into(), for_us: 12_000 };
    assert_eq!(
        seen(second_time_here(), freeze),
        [
            "10 shown 0",
            "10 here of host",
            "20 shown 1",
            "20 here of host",
            "20 frozen host",
            "20 struck freeze",
            "20 held here",
            "32 thawed host",
            "32 ended freeze",
            "42 shown 2",
            "42 here of host",
        ]
    );
}

#[test]
fn a_stall_stops_a_task_alone() {
    let point = "here".to_owned();
    let stall = Fault::Stall { host: "host".into(), point, for_us: 12_000 };
    assert_eq!(
        seen(second_time_here(), stall)[2..],
        [
            "20 shown 1",
            "20 here of host",
            "20 struck stall",
            "20 held here alone",
            "32 ended stall",
            "42 shown 2",
            "42 here of host",
        ]
    );
}

/// What a task still does in the poll in which its host crashes did not happen.
#[test]
fn a_crash_is_seen_as_down_and_up() {
    let crash = Fault::Crash { host: "host".into(), restart_after_us: 12_000 };
    assert_eq!(
        seen(second_time_here(), crash)[2..],
        [
            "20 shown 1",
            "20 here of host",
            "20 down host",
            "20 struck crash",
            "32 up host",
            "32 ended crash",
            "42 shown 0",
            "42 here of host",
        ]
    );
}

/// A freeze finds nothing to hold on a machine that is down.
#[test]
fn what_does_not_take_hold_has_not_struck() {
    let crash = Fault::Crash { host: "host".into(), restart_after_us: 40_000 };
    let sights = seen(Trigger::At { at_us: 5_000 }, crash);
    assert_eq!(sights, ["5 down host", "5 struck crash", "45 up host", "45 ended crash"]);
}

#[test]
fn a_message_is_seen_when_its_sender_says_what_it_is() {
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("host", || async {
        sleep(Duration::from_millis(10)).await;
        let _ = delivery("other", "order");
    });
    let sent = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&sent);
    world.watch(move |sight| {
        if let Sight::Sends { at_ns, host, to, kind } = *sight {
            log.borrow_mut().push(format!("{} {host} sends {kind} to {to}", at_ns / 1_000_000));
        }
    });
    assert_eq!(world.run_for(Duration::from_millis(45)), RunEnd::Deadline);
    assert_eq!(sent.take(), ["10 host sends order to other"]);
}

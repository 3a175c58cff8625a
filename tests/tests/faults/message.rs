//! Messages of a named kind that are lost, or delivered again.

use std::time::Duration;

use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::message::{Delivery, delivery};
use holdover::net::{TcpListener, TcpStream};
use holdover::plan::Plan;
use holdover::random::Seed;
use holdover::stack;
use holdover::sweep::Sweep;
use holdover_model::design::Design;
use holdover_model::event::EventKind;
use holdover_tests::Diary;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::Scene;

/// Sends four jobs over one connection, and asks before each what becomes of it.
async fn hand_out(diary: Diary) {
    let mut stream = TcpStream::connect("worker:80").await.unwrap();
    for number in b'1'..=b'4' {
        holdover::time::sleep(Duration::from_millis(100)).await;
        match delivery("worker", "job") {
            Delivery::Once => stream.write_all(&[number]).await.unwrap(),
            Delivery::Never => diary.note(format!("lost {}", char::from(number))),
            Delivery::AgainAfter(pause) => {
                stream.write_all(&[number]).await.unwrap();
                holdover::time::sleep(pause).await;
                stream.write_all(&[number]).await.unwrap();
            }
        }
    }
    std::future::pending::<()>().await;
}

async fn take(diary: Diary) {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    while let Ok(number) = stream.read_u8().await {
        diary.note(format!("took {}", char::from(number)));
    }
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.host("worker", take);
    scene.host("queue", hand_out);
    scene
}

fn lose(kind: &str, times: u32) -> Fault {
    Fault::LoseMessage { from: "queue".into(), to: "worker".into(), kind: kind.into(), times }
}

#[test]
fn as_many_messages_are_lost_as_the_fault_says_and_the_connection_lives_on() {
    let mut scene = scene();
    scene.at(150, lose("job", 2));
    // Neither of another kind nor in the other direction is there anything to lose.
    scene.at(0, lose("ping", 9));
    scene.at(
        0,
        Fault::LoseMessage {
            from: "worker".into(),
            to: "queue".into(),
            kind: "job".into(),
            times: 9,
        },
    );
    scene.run();
    let what: Vec<_> = scene.diary.entries().into_iter().map(|entry| entry.1).collect();
    assert_eq!(what, ["took 1", "lost 2", "lost 3", "took 4"]);
}

#[test]
fn a_message_is_delivered_again_once_and_later() {
    let mut scene = scene();
    let (from, to, kind) = ("queue".into(), "worker".into(), "job".into());
    scene.at(150, Fault::Redeliver { from, to, kind, after_us: 250_000 });
    scene.run();
    let expected = [(115, "took 1"), (215, "took 2"), (465, "took 2"), (565, "took 3")];
    assert_eq!(scene.diary.entries()[..4], expected.map(|(at, what)| (at, what.to_owned())));
}

#[test]
fn what_waits_for_a_message_is_over_when_all_heals() {
    let mut scene = scene();
    scene.at(0, lose("job", 9));
    scene.world.heal_at(Duration::from_millis(250));
    scene.run();
    assert_eq!(scene.diary.times("took 3").len(), 1);
    assert_eq!(scene.diary.times("took 2").len(), 0);
}

/// A plan without faults, to which a test adds its own.
pub(crate) fn calm_plan(design: &str) -> Plan {
    let mut plan = Sweep::new(Design::named(design).unwrap()).plan(Seed(1));
    plan.faults.clear();
    plan
}

/// Effects are counted with and without a queue that hands eight jobs out a second time when
/// they are done: it makes itself felt, and makes no second effect.
#[test]
fn jobs_that_are_handed_out_twice_have_one_effect() {
    let mut plan = calm_plan("push-before-ready");
    let count = |run: &stack::Run, kind| {
        run.records.iter().filter(|record| record.event.kind() == kind).count()
    };
    let once = stack::run(&plan).unwrap();
    for (agent, worker) in [("agent-1", "worker-A"), ("agent-2", "worker-B")] {
        for _ in 0..4 {
            let (from, to, kind) = (agent.into(), worker.into(), "perform".into());
            plan.faults.push(PlannedFault {
                trigger: Trigger::At { at_us: 0 },
                fault: Fault::Redeliver { from, to, kind, after_us: 800_000 },
            });
        }
    }
    let twice = stack::run(&plan).unwrap();
    assert_eq!((once.faults_fired.len(), twice.faults_fired.len()), (0, 8));
    assert_eq!((&once.finding, &twice.finding), (&None, &None));
    let [effects, again] = [&once, &twice].map(|run| count(run, EventKind::EffectCommitted));
    assert!(effects >= 3);
    assert_eq!(effects, again);
    // The jobs were done again from the lease on.
    let [leases, again] = [&once, &twice].map(|run| count(run, EventKind::LeaseGranted));
    assert!(leases < again, "{leases} leases, {again} with jobs handed out twice");
}

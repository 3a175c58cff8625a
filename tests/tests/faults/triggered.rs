//! Every trigger with every fault, on code that works, waits, sends and emits.

use std::io::Write;
use std::time::Duration;

use holdover::fault::{Fault, FaultKind, PlannedFault, Trigger};
use holdover::fs::OpenOptions;
use holdover::message::{Delivery, delivery};
use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover::point;
use holdover::random::Seed;
use holdover::world::{self, HostOptions, World, WorldConfig};
use holdover_model::event::{Event, EventKind};
use holdover_model::lease::Epoch;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::sample::sample;

const FOR_US: u64 = 300_000;

/// Writes down that something will be done.
fn journal() -> std::io::Result<()> {
    let mut journal = OpenOptions::new().append(true).create(true).open("/journal")?;
    journal.write_all(b"a job")?;
    journal.sync_all()
}

/// Every 50 ms a worker reaches a point, emits an event, sends a datagram, writes a job down
/// and sends it. It outlives lost connections and failing disks.
async fn work() {
    let heart = UdpSocket::bind("0.0.0.0:53").await.unwrap();
    for epoch in 1.. {
        let Ok(mut stream) = TcpStream::connect("server:80").await else { continue };
        loop {
            holdover::time::sleep(Duration::from_millis(50)).await;
            point("before-work").await;
            let resource = "rule/1".into();
            world::emit(Event::FenceAdvanced { resource, admits: None, epoch: Epoch(epoch) });
            let _ = heart.send_to(b"alive", "server:53").await;
            if journal().is_err() {
                continue;
            }
            let again = match delivery("server", "job") {
                Delivery::Never => continue,
                Delivery::Once => None,
                Delivery::AgainAfter(pause) => Some(pause),
            };
            let done = async {
                stream.write_all(b"ping").await?;
                stream.read_exact(&mut [0; 4]).await?;
                if let Some(pause) = again {
                    holdover::time::sleep(pause).await;
                    stream.write_all(b"ping").await?;
                    stream.read_exact(&mut [0; 4]).await?;
                }
                std::io::Result::Ok(())
            };
            if !matches!(holdover::time::timeout(Duration::from_secs(2), done).await, Ok(Ok(()))) {
                break;
            }
        }
    }
}

/// The same without a point, an event, a message or a registered timer: what any code is.
async fn plain_work() {
    let heart = UdpSocket::bind("0.0.0.0:53").await.unwrap();
    loop {
        let Ok(mut stream) = TcpStream::connect("server:80").await else { continue };
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = heart.send_to(b"alive", "server:53").await;
            if journal().is_err() {
                continue;
            }
            let done = async {
                stream.write_all(b"ping").await?;
                stream.read_exact(&mut [0; 4]).await
            };
            if !matches!(tokio::time::timeout(Duration::from_secs(2), done).await, Ok(Ok(_))) {
                break;
            }
        }
    }
}

async fn echo() {
    let ears = UdpSocket::bind("0.0.0.0:53").await.unwrap();
    tokio::task::spawn_local(async move {
        let mut buffer = [0; 8];
        while ears.recv_from(&mut buffer).await.is_ok() {}
    });
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::task::spawn_local(async move {
            let mut request = [0; 4];
            while stream.read_exact(&mut request).await.is_ok() {
                if stream.write_all(&request).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Runs a second of work under one fault, if any; gives the digest of the run.
fn digest(is_plain: bool, planned: Option<(Trigger, Fault)>) -> [u8; 32] {
    let mut world = World::new(Seed(5), WorldConfig::default());
    let options = HostOptions { plain_timers: is_plain };
    if is_plain {
        world.host_with("worker", options, plain_work);
    } else {
        world.host_with("worker", options, work);
    }
    world.host_with("server", options, echo);
    if let Some((trigger, fault)) = planned.clone() {
        world.plan(PlannedFault { trigger, fault }).unwrap();
    }
    let _ = world.run_until(Duration::from_secs(1));
    let fired = world.faults_fired();
    match planned {
        None => assert_eq!(fired, []),
        Some((trigger, fault)) => {
            assert_eq!(fired.len(), 1, "{trigger}: {fault}");
            assert_eq!((fired[0].plan_index, &fired[0].fault), (0, &fault));
            assert!(fired[0].at_ns > 90_000_000, "{trigger}: {fault}: {}", fired[0].at_ns);
        }
    }
    world.digest()
}

fn before_packet() -> Trigger {
    Trigger::BeforePacket { from: "worker".into(), to: "server".into(), nth: 4 }
}

fn triggers() -> [Trigger; 4] {
    [
        Trigger::At { at_us: 120_000 },
        Trigger::Point { host: "worker".into(), name: "before-work".into(), nth: 2 },
        before_packet(),
        Trigger::Event { kind: EventKind::FenceAdvanced, nth: 2, host: None },
    ]
}

/// What a digest sees of a fault even if it has no effect is that it fired, so a run is also
/// compared with one in which a fault without any effect fires at the same moment.
fn without_effect(trigger: Trigger) -> (Trigger, Fault) {
    (trigger, Fault::PartitionGroups { groups: vec![], for_us: 1 })
}

#[test]
fn every_trigger_works_with_every_fault() {
    for trigger in triggers() {
        let without = digest(false, Some(without_effect(trigger.clone())));
        for kind in FaultKind::ALL {
            let fault = sample(*kind, "worker", "server", FOR_US);
            let with = digest(false, Some((trigger.clone(), fault)));
            // A wall clock shows only to those who look at it.
            if *kind != FaultKind::ClockStep {
                assert_ne!(with, without, "{trigger}: {kind} has no effect");
            }
        }
    }
}

#[test]
fn packets_trigger_every_fault_on_code_without_any_annotation() {
    let without = digest(true, Some(without_effect(before_packet())));
    // These strike what only annotated code has.
    let annotated = [FaultKind::Stall, FaultKind::LoseMessage, FaultKind::Redeliver];
    for kind in FaultKind::ALL {
        let fault = sample(*kind, "worker", "server", FOR_US);
        let with = digest(true, Some((before_packet(), fault)));
        let is_felt = *kind != FaultKind::ClockStep && !annotated.contains(kind);
        assert_eq!(with != without, is_felt, "{kind}");
    }
}

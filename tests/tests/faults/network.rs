//! The network: partitions, lost and late packets, slow links, resets, datagrams.

use std::time::Duration;

use holdover::fault::{Fault, Trigger};
use holdover::net::{TcpListener, TcpStream, UdpSocket};
use holdover_tests::Diary;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scene::{Scene, ask_once, ask_steadily, serve};

#[test]
fn a_partition_cuts_both_ways_and_delivers_when_it_heals() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_steadily);
    let (a, b) = (vec!["client".into()], vec!["server".into()]);
    // In the middle of the exchange: the request has arrived, the answer has not left yet.
    scene.at(204, Fault::Partition { a, b, for_us: 500_000 });
    scene.run();
    assert_eq!(scene.diary.times("served")[..3], [105, 205, 714]);
    assert_eq!(scene.diary.times("answered")[..3], [110, 709, 719]);
    assert_eq!(scene.diary.times("answered").len(), 20);
}

#[test]
fn a_one_way_partition_leaves_the_other_way_open() {
    for (from, to, served, answered) in
        [("client", "server", 705, 710), ("server", "client", 205, 705)]
    {
        let mut scene = Scene::new();
        scene.host("server", serve);
        scene.host("client", ask_steadily);
        let (from, to) = (from.to_owned(), to.to_owned());
        scene.at(150, Fault::PartitionOneWay { from, to, for_us: 550_000 });
        scene.run();
        assert_eq!(scene.diary.times("served")[1], served);
        assert_eq!(scene.diary.times("answered")[1], answered);
    }
}

#[test]
fn a_partition_does_not_concern_others() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.host("bystander", |_| async {});
    let (a, b) = (vec!["bystander".into()], vec!["server".into(), "client".into()]);
    scene.at(0, Fault::Partition { a, b, for_us: 1_000_000 });
    scene.run();
    assert_eq!(scene.diary.times("answered"), [20]);
}

#[test]
fn datagrams_into_a_partition_are_lost() {
    let mut scene = Scene::new();
    scene.host("server", |diary| async move {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        loop {
            let mut number = [0; 1];
            socket.recv_from(&mut number).await.unwrap();
            diary.note(format!("{}", number[0]));
        }
    });
    scene.host("client", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
        for number in 1..=5 {
            holdover::time::sleep(Duration::from_millis(100)).await;
            socket.send_to(&[number], "server:53").await.unwrap();
        }
    });
    let (a, b) = (vec!["client".into()], vec!["server".into()]);
    scene.at(250, Fault::Partition { a, b, for_us: 200_000 });
    scene.run();
    assert_eq!(scene.diary.entries().into_iter().map(|entry| entry.1).collect::<String>(), "125");
}

#[test]
fn a_lost_request_never_reaches_the_server_and_the_client_gets_an_error() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.at(0, Fault::LoseRequest { from: "client".into(), to: "server".into() });
    scene.run();
    assert_eq!(scene.diary.entries(), [(15, "ConnectionReset".into())]);
}

#[test]
fn a_lost_response_leaves_the_work_done_and_the_client_with_an_error() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    scene.at(0, Fault::LoseResponse { from: "client".into(), to: "server".into() });
    scene.run();
    let expected = [(15, "served".into()), (20, "ConnectionReset".into())];
    assert_eq!(scene.diary.entries(), expected);
}

#[test]
fn a_loss_strikes_once_and_only_the_connections_that_the_client_opened() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        for _ in 0..2 {
            ask_once(diary.clone()).await;
        }
    });
    // Nobody connects from the server to the client, so this one waits for ever.
    scene.at(0, Fault::LoseRequest { from: "server".into(), to: "client".into() });
    scene.at(0, Fault::LoseRequest { from: "client".into(), to: "server".into() });
    scene.run();
    let how: Vec<_> = scene.diary.entries().into_iter().map(|entry| entry.1).collect();
    assert_eq!(how, ["ConnectionReset", "served", "answered"]);
}

#[test]
fn a_delay_adds_to_one_direction_for_its_time() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_steadily);
    let (from, to) = ("client".into(), "server".into());
    scene.at(150, Fault::Delay { from, to, extra_us: 40_000, for_us: 100_000 });
    scene.run();
    assert_eq!(scene.diary.times("served")[..3], [105, 245, 305]);
    assert_eq!(scene.diary.times("answered")[..3], [110, 250, 310]);
}

#[test]
fn a_partition_into_groups_cuts_between_all_of_them_and_leaves_bridges() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c", "bridge"] {
        scene.host(name, |diary| async move {
            let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
            let mut from = [0; 8];
            loop {
                let (length, _) = socket.recv_from(&mut from).await.unwrap();
                let from = String::from_utf8_lossy(&from[..length]).into_owned();
                let me = holdover::world::host_name().unwrap();
                diary.note(format!("{from} to {me}"));
            }
        });
    }
    for (name, others) in [("a1", ["a", "b", "c"]), ("b1", ["b", "c", "bridge"])] {
        scene.host(name, move |_| async move {
            holdover::time::sleep(Duration::from_millis(100)).await;
            let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            for other in others {
                socket.send_to(name.as_bytes(), (other, 53)).await.unwrap();
            }
        });
    }
    let group = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let groups = vec![group(&["a", "a1"]), group(&["b", "b1"]), group(&["c"])];
    scene.at(50, Fault::PartitionGroups { groups, for_us: 1_000_000 });
    scene.run();
    let what: Vec<_> = scene.diary.entries().into_iter().map(|entry| entry.1).collect();
    assert_eq!(what, ["a1 to a", "b1 to b", "b1 to bridge"]);
}

#[test]
fn a_late_packet_holds_up_its_own_connection_and_nothing_else() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", |diary| async move {
        let rival = diary.clone();
        tokio::task::spawn_local(async move {
            holdover::time::sleep(Duration::from_millis(200)).await;
            ask_once(rival).await;
        });
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        for _ in 0..2 {
            stream.write_all(b"ping").await.unwrap();
            holdover::time::sleep(Duration::from_millis(50)).await;
        }
        for _ in 0..2 {
            stream.read_exact(&mut [0; 4]).await.unwrap();
            diary.note("late answer");
        }
    });
    let (from, to) = ("client".to_owned(), "server".to_owned());
    let trigger = Trigger::BeforePacket { from: from.clone(), to: to.clone(), nth: 1 };
    scene.plan(trigger, Fault::Late { from, to, extra_us: 400_000 });
    scene.run();
    // The other connection is opened and served in the meantime.
    assert_eq!(scene.diary.times("answered"), [220]);
    assert_eq!(scene.diary.times("served"), [215, 415, 415]);
    assert_eq!(scene.diary.times("late answer"), [420, 420]);
}

#[test]
fn a_late_connection_that_is_closed_arrives_whole() {
    let mut scene = Scene::new();
    scene.host("server", |diary| async move {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut all = String::new();
            stream.read_to_string(&mut all).await.unwrap();
            diary.note(all);
        }
    });
    scene.host("client", |_| async {
        for word in [&b"first"[..], b"second"] {
            let mut stream = TcpStream::connect("server:80").await.unwrap();
            stream.write_all(word).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let (from, to) = ("client".to_owned(), "server".to_owned());
    scene.at(0, Fault::Late { from, to, extra_us: 400_000 });
    scene.run();
    assert_eq!(scene.diary.entries(), [(415, "first".to_owned()), (415, "second".to_owned())]);
}

#[test]
fn a_reset_breaks_established_connections_at_both_ends_and_spares_new_ones() {
    let mut scene = Scene::new();
    scene.host("server", |diary| async move {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let diary = diary.clone();
            tokio::task::spawn_local(async move {
                match stream.read_u8().await {
                    Ok(_) => diary.note("server got data"),
                    Err(error) => diary.note(format!("server {:?}", error.kind())),
                }
            });
        }
    });
    scene.host("client", |diary| async move {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        let error = stream.read_u8().await.unwrap_err();
        diary.note(format!("client {:?}", error.kind()));
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.write_all(b"x").await.unwrap();
        std::future::pending::<()>().await;
    });
    scene.host("bystander", |diary| async move {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        let _ = stream.read_u8().await;
        diary.note("the bystander's connection broke");
    });
    scene.at(100, Fault::Reset { a: "server".into(), b: "client".into() });
    scene.run();
    let mut entries = scene.diary.entries();
    entries[..2].sort_unstable();
    let expected = [
        (105, "client ConnectionReset"),
        (105, "server ConnectionReset"),
        (120, "server got data"),
    ];
    assert_eq!(entries, expected.map(|(at, what)| (at, what.to_owned())));
}

/// Sends ten datagrams of 972 bytes, which with their headers are a thousand, each 10 ms.
async fn send_datagrams(_: Diary) {
    let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
    for number in 0..10 {
        holdover::time::sleep(Duration::from_millis(10)).await;
        socket.send_to(&[number; 972], "server:53").await.unwrap();
    }
}

async fn note_datagrams(diary: Diary) {
    let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
    let mut buffer = [0; 1_000];
    loop {
        socket.recv_from(&mut buffer).await.unwrap();
        diary.note(format!("{}", buffer[0]));
    }
}

/// What of ten datagrams arrives under a fault, in order.
fn datagrams(fault: impl FnOnce(String, String) -> Fault) -> Vec<(u64, String)> {
    let mut scene = Scene::new();
    scene.host("server", note_datagrams);
    scene.host("client", send_datagrams);
    scene.at(0, fault("client".into(), "server".into()));
    scene.run();
    scene.diary.entries()
}

fn numbers(entries: &[(u64, String)]) -> Vec<&str> {
    entries.iter().map(|entry| entry.1.as_str()).collect()
}

#[test]
fn a_slow_link_takes_its_time_for_every_byte() {
    // A thousand bytes in 50 ms: each datagram waits for those before it.
    let entries =
        datagrams(|from, to| Fault::SlowLink { from, to, bytes_per_s: 20_000, for_us: 10_000_000 });
    let times: Vec<_> = entries.iter().map(|entry| entry.0).collect();
    assert_eq!(times, (1..=10).map(|number| number * 50 + 15).collect::<Vec<_>>());
}

#[test]
fn a_slow_link_is_as_fast_as_ever_afterwards() {
    let entries =
        datagrams(|from, to| Fault::SlowLink { from, to, bytes_per_s: 100_000, for_us: 45_000 });
    let times: Vec<_> = entries.iter().map(|entry| entry.0).collect();
    assert_eq!(times, [25, 35, 45, 55, 55, 65, 75, 85, 95, 105]);
}

#[test]
fn all_datagrams_are_lost_doubled_or_spared_at_the_extremes() {
    let for_us = 10_000_000;
    let lost = datagrams(|from, to| Fault::LoseDatagrams { from, to, percent: 100, for_us });
    assert_eq!(lost, []);
    let doubled =
        datagrams(|from, to| Fault::DuplicateDatagrams { from, to, percent: 100, for_us });
    assert_eq!(numbers(&doubled).join(""), "00112233445566778899");
    let spared = datagrams(|from, to| Fault::LoseDatagrams { from, to, percent: 0, for_us });
    assert_eq!(numbers(&spared).join(""), "0123456789");
}

#[test]
fn some_datagrams_are_lost_doubled_or_overtaken_in_between() {
    let for_us = 10_000_000;
    let lost = datagrams(|from, to| Fault::LoseDatagrams { from, to, percent: 50, for_us });
    assert!((1..10).contains(&lost.len()), "{lost:?}");
    let doubled = datagrams(|from, to| Fault::DuplicateDatagrams { from, to, percent: 50, for_us });
    assert!((11..20).contains(&doubled.len()), "{doubled:?}");
    let mixed = datagrams(|from, to| Fault::ReorderDatagrams {
        from,
        to,
        percent: 50,
        extra_us: 60_000,
        for_us,
    });
    let mut order = numbers(&mixed);
    assert_ne!(order.join(""), "0123456789");
    order.sort_unstable();
    assert_eq!(order.join(""), "0123456789", "none is lost and none comes twice");
}

#[test]
fn what_happens_to_datagrams_does_not_happen_to_connections() {
    let (from, to) = (|| "client".to_owned(), || "server".to_owned());
    let for_us = 10_000_000;
    let faults = [
        Fault::LoseDatagrams { from: from(), to: to(), percent: 100, for_us },
        Fault::DuplicateDatagrams { from: from(), to: to(), percent: 100, for_us },
        Fault::ReorderDatagrams { from: from(), to: to(), percent: 100, extra_us: 50_000, for_us },
    ];
    for fault in faults {
        let mut scene = Scene::new();
        scene.host("server", serve);
        scene.host("client", ask_once);
        scene.at(0, fault);
        scene.run();
        assert_eq!(scene.diary.entries(), [(15, "served".into()), (20, "answered".into())]);
    }
}

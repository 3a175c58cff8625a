//! Other people's code on simulated hosts: an HTTP service made with axum, hyper clients,
//! codecs and channels, none of which knows of a simulation, under freezes and partitions.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use futures_util::SinkExt as _;
use holdover::fault::{Fault, PlannedFault, Trigger};
use holdover::net::{TcpListener, TcpStream};
use holdover::random::Seed;
use holdover::world::{RunEnd, World, WorldConfig};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::server::conn::http1 as server;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::time::Instant;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn router() -> Router {
    let counter = Arc::new(AtomicU64::new(0));
    Router::new()
        .route("/", get(|| async { "up" }))
        .route(
            "/count",
            post(|State(counter): State<Arc<AtomicU64>>| async move {
                // Work that takes time, on tokio's own timer.
                tokio::time::sleep(Duration::from_millis(10)).await;
                (counter.fetch_add(1, Ordering::SeqCst) + 1).to_string()
            }),
        )
        .with_state(counter)
}

/// Serves the router. The one setting that a simulation needs: hyper would put the date of
/// this machine into each answer, and so make each run another one.
async fn serve() {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    let service = TowerToHyperService::new(router());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let connection = server::Builder::new()
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(connection);
    }
}

/// One request over a connection of its own.
async fn ask(method: &str, path: &str) -> Result<(StatusCode, String), Failure> {
    let stream = TcpStream::connect("server:80").await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "server")
        .body(Full::<Bytes>::default())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec())?))
}

/// What a client did, and when.
type Log = Rc<RefCell<Vec<(Duration, String)>>>;

/// Counts to ten, one request after the other, each given up after half a second.
async fn count_to_ten(log: Log) {
    let began = Instant::now();
    let mut counted = 0;
    while counted < 10 {
        let limit = tokio::time::sleep(Duration::from_millis(500));
        // Unbiased on purpose: this is how most people write it.
        let outcome = tokio::select! {
            answer = ask("POST", "/count") => match answer {
                Ok((StatusCode::OK, number)) => {
                    counted += 1;
                    number
                }
                Ok((status, _)) => status.to_string(),
                Err(_) => "failed".into(),
            },
            () = limit => "late".into(),
        };
        log.borrow_mut().push((began.elapsed(), outcome));
    }
}

fn run(seed: u64, fault: Option<Fault>) -> (Vec<(Duration, String)>, [u8; 32]) {
    let log = Log::default();
    let sink = Rc::clone(&log);
    let mut world = World::new(Seed(seed), WorldConfig::default());
    world.host("server", serve);
    world.host("client", move || count_to_ten(Rc::clone(&sink)));
    if let Some(fault) = fault {
        world.plan(PlannedFault { trigger: Trigger::At { at_us: 200_000 }, fault }).unwrap();
    }
    assert_eq!(world.run_for(Duration::from_secs(20)), RunEnd::Deadline);
    let digest = world.digest();
    drop(world);
    (Rc::into_inner(log).unwrap().into_inner(), digest)
}

fn answers(log: &[(Duration, String)]) -> Vec<&str> {
    log.iter().map(|(_, outcome)| outcome.as_str()).collect()
}

fn late(log: &[(Duration, String)]) -> usize {
    answers(log).into_iter().filter(|outcome| *outcome == "late").count()
}

#[test]
fn a_calm_service_answers_every_request() {
    let (log, _) = run(1, None);
    assert_eq!(answers(&log), ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    assert!(log[9].0 < Duration::from_secs(2), "{log:?}");
}

#[test]
fn a_partition_delays_answers_and_loses_none() {
    let fault =
        Fault::Partition { a: vec!["client".into()], b: vec!["server".into()], for_us: 3_000_000 };
    let (log, _) = run(1, Some(fault));
    assert!((5..=7).contains(&late(&log)), "{log:?}");
    let last: u64 = log.last().unwrap().1.parse().unwrap();
    assert!(last >= 10, "what the client gave up may have been counted, too: {last}");
    assert!(log.last().unwrap().0 > Duration::from_secs(3));
}

#[test]
fn a_frozen_service_answers_when_it_thaws() {
    let (log, _) = run(1, Some(Fault::Freeze { host: "server".into(), for_us: 2_000_000 }));
    assert!((3..=5).contains(&late(&log)), "{log:?}");
    assert!(answers(&log).iter().all(|outcome| *outcome != "failed"), "{log:?}");
}

#[test]
fn a_restarted_service_has_forgotten_its_count() {
    let (log, _) = run(1, Some(Fault::Crash { host: "server".into(), restart_after_us: 100_000 }));
    let ones = answers(&log).into_iter().filter(|outcome| *outcome == "1").count();
    assert_eq!(ones, 2, "{log:?}");
}

#[test]
fn an_unknown_path_is_not_found() {
    let answers = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&answers);
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("server", serve);
    world.host("client", move || {
        let sink = Rc::clone(&sink);
        async move {
            for path in ["/", "/nowhere"] {
                let (status, body) = ask("GET", path).await.unwrap();
                sink.borrow_mut().push((status.as_u16(), body));
            }
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(5)), RunEnd::Deadline);
    assert_eq!(*answers.borrow(), [(200, "up".to_owned()), (404, String::new())]);
}

/// With all of axum, hyper and an unbiased `select!` in it, a run is still repeatable.
#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..20 {
        let freeze = || Some(Fault::Freeze { host: "server".into(), for_us: 700_000 });
        assert_eq!(run(seed, freeze()), run(seed, freeze()), "seed {seed}");
    }
}

/// Codecs, channels, both kinds of spawned tasks and a join set, on one connection.
#[test]
fn codecs_channels_and_tasks_work_together() {
    use futures_util::StreamExt as _;
    use tokio::sync::{mpsc, oneshot};
    use tokio_util::codec::{Framed, LinesCodec};

    let received = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&received);
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:7").await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let (work, mut inbox) = mpsc::channel::<(String, oneshot::Sender<String>)>(1);
        tokio::spawn(async move {
            while let Some((line, answer)) = inbox.recv().await {
                answer.send(line.to_uppercase()).unwrap();
            }
        });
        let mut lines = Framed::new(stream, LinesCodec::new());
        while let Some(Ok(line)) = lines.next().await {
            let (answer, answered) = oneshot::channel();
            work.send((line, answer)).await.unwrap();
            lines.send(answered.await.unwrap()).await.unwrap();
        }
    });
    world.host("client", move || {
        let sink = Rc::clone(&sink);
        async move {
            let stream = TcpStream::connect("server:7").await.unwrap();
            let (mut send, mut receive) = Framed::new(stream, LinesCodec::new()).split();
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(async move {
                for word in ["epoch", "fence"] {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    send.send(word).await.unwrap();
                }
                std::future::pending::<Infallible>().await;
            });
            let local = tokio::task::spawn_local(async move {
                for _ in 0..2 {
                    let line = receive.next().await.unwrap().unwrap();
                    sink.borrow_mut().push(line);
                }
            });
            local.await.unwrap();
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(1)), RunEnd::Deadline);
    assert_eq!(*received.borrow(), ["EPOCH", "FENCE"]);
}

#[track_caller]
fn is_refused<F: Future<Output = ()> + 'static>(boot: fn() -> F, parts: &[&str]) {
    let mut world = World::new(Seed(1), WorldConfig::default());
    world.host("stranger", boot);
    match world.run_for(Duration::from_secs(1)) {
        RunEnd::Panicked { host, message } => {
            assert_eq!(host, "stranger");
            for part in parts {
                assert!(message.contains(part), "no {part:?} in {message}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_blocking_task_is_refused() {
    let parts = ["real thread", "spawn_blocking"];
    is_refused(|| async { drop(tokio::task::spawn_blocking(|| ())) }, &parts);
}

#[test]
fn a_question_to_the_real_resolver_is_refused() {
    let boot = || async {
        let _ = tokio::net::lookup_host("localhost:80").await.map(drop);
    };
    is_refused(boot, &["real thread", "holdover::net"]);
}

#[test]
fn a_real_socket_is_refused() {
    let boot = || async {
        let _ = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    };
    is_refused(boot, &["real socket", "holdover::net"]);
}

//! The timers and clocks of hosts, tokio's and holdover's own, without any fault.

use std::time::Duration;

use holdover::random::Seed;
use holdover::world::{self, HostOptions, RunEnd, World, WorldConfig};
use holdover_model::event::Event;
use holdover_model::lease::Epoch;
use holdover_model::resource::ResourceId;
use holdover_tests::result_on;
use tokio::time::Instant;

const REGISTERED: HostOptions = HostOptions { plain_timers: false };

fn new_world() -> World {
    World::new(Seed(1), WorldConfig::default())
}

/// Runs code on a host and gives what it returned.
fn on_a_host<T: 'static, F: Future<Output = T> + 'static>(code: impl Fn() -> F + 'static) -> T {
    result_on(&mut new_world(), "host", code)
}

#[test]
fn plain_timers_fire_when_they_should_also_in_spawned_tasks() {
    let (outer, inner) = on_a_host(|| async {
        let started = Instant::now();
        let spawned = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(37)).await;
            started.elapsed()
        });
        tokio::time::sleep(Duration::from_millis(1_234)).await;
        (started.elapsed(), spawned.await.unwrap())
    });
    // Whole milliseconds, like the resolution: not even late.
    assert_eq!(outer, Duration::from_millis(1_234));
    assert_eq!(inner, Duration::from_millis(37));
}

#[test]
fn plain_timers_are_late_by_less_than_their_resolution_and_never_early() {
    let took = on_a_host(|| async {
        let started = Instant::now();
        tokio::time::sleep(Duration::from_micros(1_234_567)).await;
        started.elapsed()
    });
    let late = took.checked_sub(Duration::from_micros(1_234_567)).expect("never early");
    assert!(late < Duration::from_millis(1), "late by {late:?}");
}

#[test]
fn registered_timers_fire_to_the_nanosecond() {
    let took = on_a_host(|| async {
        let started = Instant::now();
        holdover::time::sleep(Duration::from_nanos(1_234_567)).await;
        started.elapsed()
    });
    assert_eq!(took, Duration::from_nanos(1_234_567));
}

#[test]
fn a_timeout_gives_up_exactly_when_it_says_and_not_before() {
    let (slow, took, fast) = on_a_host(|| async {
        let started = Instant::now();
        let never = std::future::pending::<()>();
        let slow = holdover::time::timeout(Duration::from_millis(5), never).await;
        let took = started.elapsed();
        let fast = holdover::time::timeout(Duration::from_secs(5), async { "done" }).await;
        (slow, took, fast)
    });
    assert_eq!(slow, Err(holdover::time::Elapsed));
    assert_eq!(took, Duration::from_millis(5));
    assert_eq!(fast, Ok("done"));
}

#[test]
fn an_interval_ticks_at_once_and_then_every_period() {
    let ticks = on_a_host(|| async {
        let started = Instant::now();
        let mut interval = holdover::time::interval(Duration::from_millis(250));
        let mut ticks = Vec::new();
        for _ in 0..3 {
            interval.tick().await;
            ticks.push(started.elapsed().as_millis());
        }
        ticks
    });
    assert_eq!(ticks, [0, 250, 500]);
}

#[test]
fn timers_work_outside_of_a_simulation() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let started = Instant::now();
        holdover::time::sleep(Duration::from_millis(5)).await;
        assert!(started.elapsed() >= Duration::from_millis(5));
        holdover::point("nobody-listens").await;
        world::emit(Event::FenceAdvanced {
            resource: ResourceId::new("rule/1"),
            admits: None,
            epoch: Epoch(1),
        });
        assert_eq!(world::host_name(), None);
        let real = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(holdover::time::unix_now().unix_ms() / 60_000 >= real.as_secs() / 60 - 1);
    });
}

#[test]
fn the_wall_clock_starts_at_a_fixed_date_and_follows_simulated_time() {
    let (before, after) = on_a_host(|| async {
        let before = holdover::time::unix_now().unix_ns;
        holdover::time::sleep(Duration::from_secs(3)).await;
        (before, holdover::time::unix_now().unix_ns)
    });
    assert_eq!(before, world::START_UNIX_NS);
    assert_eq!(after, world::START_UNIX_NS + 3_000_000_000);
}

#[test]
fn a_year_of_idling_costs_a_handful_of_steps() {
    let mut world = new_world();
    world.host_with("sleeper", REGISTERED, || async {
        for _ in 0..12 {
            holdover::time::sleep(Duration::from_secs(86_400 * 30)).await;
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(86_400 * 365)), RunEnd::Idle);
    assert_eq!(world.now(), Duration::from_secs(86_400 * 360));
    assert!(world.steps() <= 30, "{} steps", world.steps());
}

#[test]
fn cancelled_timers_keep_nobody_busy() {
    let mut world = new_world();
    world.host_with("canceller", REGISTERED, || async {
        for _ in 0..100 {
            let soon = holdover::time::sleep(Duration::from_millis(1));
            let _ = holdover::time::timeout(Duration::from_secs(1_000), soon).await;
        }
    });
    assert_eq!(world.run_for(Duration::from_secs(10_000)), RunEnd::Idle);
    assert!(world.steps() <= 310, "{} steps", world.steps());
}

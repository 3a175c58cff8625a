//! Timers: never early, in order, and given up with what waits for them.

use std::future::pending;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::both;

both!(
    /// Not before its time.
    a_sleep_is_never_too_short,
    {
        let began = time::Instant::now();
        time::sleep(Duration::from_millis(20)).await;
        assert!(began.elapsed() >= Duration::from_millis(20));
    }
);

both!(
    /// A time that has come is not waited for.
    the_past_is_not_waited_for,
    {
        let began = time::Instant::now();
        time::sleep_until(began).await;
        time::sleep(Duration::ZERO).await;
        assert!(began.elapsed() < Duration::from_secs(5));
    }
);

both!(
    /// Whoever waits for less comes first.
    sleeps_end_in_the_order_of_their_times,
    {
        let (sender, mut order) = mpsc::unbounded_channel();
        for ms in [90, 30, 60] {
            let sender = sender.clone();
            tokio::spawn(async move {
                time::sleep(Duration::from_millis(ms)).await;
                sender.send(ms).unwrap();
            });
        }
        drop(sender);
        let mut ended = Vec::new();
        while let Some(ms) = order.recv().await {
            ended.push(ms);
        }
        assert_eq!(ended, [30, 60, 90]);
    }
);

both!(
    /// A timeout gives up what never comes, and lets through what does.
    timeouts_give_up,
    {
        let limit = Duration::from_millis(20);
        assert!(time::timeout(limit, pending::<()>()).await.is_err());
        assert_eq!(time::timeout(limit, async { 7 }).await.ok(), Some(7));
        // What is ready is taken, even if the time is up.
        assert_eq!(time::timeout(Duration::ZERO, async { 7 }).await.ok(), Some(7));
    }
);

both!(
    /// A read that was given up has taken nothing.
    a_read_that_times_out_loses_nothing,
    {
        let listener = net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = net::TcpStream::connect(address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut byte = [0];
        let limit = Duration::from_millis(20);
        assert!(time::timeout(limit, server.read_exact(&mut byte)).await.is_err());
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut byte).await.unwrap();
        assert_eq!(&byte, b"x");
    }
);

both!(
    /// The first tick comes at once, the others after a period each.
    intervals_tick,
    {
        let began = time::Instant::now();
        let mut interval = time::interval(Duration::from_millis(15));
        for _ in 0..4 {
            interval.tick().await;
        }
        assert!(began.elapsed() >= Duration::from_millis(45));
    }
);

both!(
    /// A task that is aborted does not get past its sleep.
    aborted_sleeps_do_not_end,
    {
        let sleeper = tokio::spawn(async { time::sleep(Duration::from_millis(10)).await });
        tokio::task::yield_now().await;
        sleeper.abort();
        time::sleep(Duration::from_millis(30)).await;
        assert!(sleeper.await.unwrap_err().is_cancelled());
    }
);

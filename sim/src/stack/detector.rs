//! The supervisor's failure detector: datagrams that a living worker answers.
//!
//! It knows only silence. A worker that is paused, cut off or crashed looks the same, and
//! one that answers may still be stuck with its work.

use std::time::Duration;

use holdover_model::identity::WorkerId;
use holdover_model::role::Signal;
use tokio::sync::mpsc::UnboundedSender;

use super::timing::Timing;
use crate::net::UdpSocket;
use crate::point;
use crate::time::{Instant, sleep_until};

const PORT: u16 = 7001;

/// Answers every datagram: the worker's part.
pub(super) async fn answer() {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).await.expect("a fresh host has the port free");
    let mut buffer = [0; 8];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        point("heartbeat").await;
        // A lost answer is as good as none.
        let _ = socket.send_to(&buffer[..length], from).await;
    }
}

/// Asks one worker again and again, and suspects it whenever it has been silent for too
/// long.
pub(super) async fn watch(worker: WorkerId, timing: Timing, suspicions: UnboundedSender<Signal>) {
    let heartbeat = Duration::from_micros(timing.heartbeat_us);
    let suspicion = Duration::from_micros(timing.suspicion_us);
    let socket = UdpSocket::bind(("0.0.0.0", 0)).await.expect("a fresh host has ports free");
    let mut buffer = [0; 8];
    let mut heard_at = Instant::now();
    loop {
        let _ = socket.send_to(b"there?", (worker.as_str(), PORT)).await;
        let next = Instant::now() + heartbeat;
        loop {
            tokio::select! {
                biased;
                received = socket.recv_from(&mut buffer) => {
                    if received.is_ok() {
                        heard_at = Instant::now();
                    }
                }
                () = sleep_until(next) => break,
            }
        }
        if heard_at.elapsed() > suspicion
            && suspicions.send(Signal::Suspect(worker.clone())).is_err()
        {
            return;
        }
    }
}

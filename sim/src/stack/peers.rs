//! Whom a host is connected with: one persistent connection per pair of hosts.
//!
//! The side that asks opens the connection, and answers come back on it. A message for a
//! peer without a connection is dropped if the peer is the one that would open it: the
//! protocol asks again. What was written to a connection that then broke may or may not
//! have arrived; nobody here pretends to know.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use holdover_model::design::fence::FenceSettings;
use holdover_model::role::co_located::CoLocated;
use holdover_model::role::{Actor, Message};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

use super::wire::{Frame, Wire};
use crate::message::{Delivery, delivery};
use crate::net::{TcpListener, TcpStream};
use crate::point;
use crate::time::{sleep, timeout};

/// The port on which every role listens.
const PORT: u16 = 7000;

/// How long a connection may take to come about.
const DIAL_TIMEOUT: Duration = Duration::from_millis(250);

/// Whether `from` opens the connection between the two.
fn opens(from: &Actor, to: &Actor, fence: FenceSettings) -> bool {
    match (from, to) {
        (Actor::Agent(_), Actor::Worker(_) | Actor::Destination)
        | (Actor::Worker(_), Actor::Authority | Actor::Ledger | Actor::Destination)
        | (Actor::Supervisor, Actor::Authority) => true,
        // Where the authority says nothing of its own accord, the destination asks.
        (Actor::Authority, Actor::Destination) => !fence.asked().is_consulted(),
        (Actor::Destination, Actor::Authority) => fence.asked().is_consulted(),
        _ => false,
    }
}

/// The sending end of a connection, and which connection it is.
struct Line {
    number: u64,
    outbox: UnboundedSender<Message>,
}

struct Shared {
    me: Actor,
    /// Says whether authority and destination are one host, which is the authority's, and else
    /// which of them asks the other.
    fence: FenceSettings,
    lines: RefCell<BTreeMap<Actor, Line>>,
    lines_opened: RefCell<u64>,
    inbox: UnboundedSender<(Actor, Message)>,
}

/// A host's connections.
#[derive(Clone)]
pub(super) struct Peers(Rc<Shared>);

impl Peers {
    /// Listens for peers, and hands everything that arrives to the receiver.
    pub(super) async fn listen(
        me: Actor,
        fence: FenceSettings,
    ) -> (Self, UnboundedReceiver<(Actor, Message)>) {
        let (inbox, arrivals) = unbounded_channel();
        let peers = Self(Rc::new(Shared {
            me,
            fence,
            lines: RefCell::default(),
            lines_opened: RefCell::default(),
            inbox,
        }));
        let listener =
            TcpListener::bind(("0.0.0.0", PORT)).await.expect("a fresh host has the port free");
        let acceptor = peers.clone();
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn_local(acceptor.clone().answer(stream));
            }
        });
        (peers, arrivals)
    }

    /// Sends a message, unless a fault has other plans for it.
    pub(super) async fn deliver(&self, to: Actor, message: Message) {
        point(message.point_before()).await;
        match delivery(to.name(), message.kind()) {
            Delivery::Once => self.send(&to, message),
            Delivery::Never => {}
            Delivery::AgainAfter(pause) => {
                self.send(&to, message.clone());
                let peers = self.clone();
                spawn_local(async move {
                    sleep(pause).await;
                    peers.send(&to, message);
                });
            }
        }
    }

    /// Sends a message, or drops it if the peer would have to open the connection.
    fn send(&self, to: &Actor, message: Message) {
        let opens = opens(&self.0.me, to, self.0.fence);
        let to = match to {
            Actor::Destination if self.0.fence.asked().is_co_located() => &Actor::Authority,
            to => to,
        };
        let message = match self.0.lines.borrow().get(to) {
            None => message,
            Some(line) => match line.outbox.send(message) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
        };
        if opens {
            let (number, mail) = self.register(to.clone());
            if let Some(line) = self.0.lines.borrow().get(to) {
                line.outbox.send(message).expect("the receiver is right here");
            }
            spawn_local(self.clone().dial(to.clone(), number, mail));
        }
    }

    /// Who says a message: this host's role, or one of the two that live here.
    fn speaker(&self, message: &Message) -> Actor {
        match &self.0.me {
            Actor::Authority if self.0.fence.asked().is_co_located() => CoLocated::speaker(message),
            me => me.clone(),
        }
    }

    fn register(&self, peer: Actor) -> (u64, UnboundedReceiver<Message>) {
        let (outbox, mail) = unbounded_channel();
        let mut opened = self.0.lines_opened.borrow_mut();
        *opened += 1;
        self.0.lines.borrow_mut().insert(peer, Line { number: *opened, outbox });
        (*opened, mail)
    }

    fn unregister(&self, peer: &Actor, number: u64) {
        let mut lines = self.0.lines.borrow_mut();
        if lines.get(peer).is_some_and(|line| line.number == number) {
            lines.remove(peer);
        }
    }

    async fn dial(self, to: Actor, number: u64, mail: UnboundedReceiver<Message>) {
        let dialled = timeout(DIAL_TIMEOUT, TcpStream::connect((to.name(), PORT))).await;
        if let Ok(Ok(stream)) = dialled {
            self.carry(Wire::new(stream), mail).await;
        }
        self.unregister(&to, number);
    }

    /// Serves a connection that a peer has opened. Its first frame says who it is.
    async fn answer(self, stream: TcpStream) {
        let mut wire = Wire::new(stream);
        let Some(Frame { from, message }) = wire.receive().await else { return };
        let (number, mail) = self.register(from.clone());
        if self.0.inbox.send((from.clone(), message)).is_ok() {
            self.carry(wire, mail).await;
        }
        self.unregister(&from, number);
    }

    /// Carries messages both ways until the connection is over or replaced.
    async fn carry(&self, mut wire: Wire, mut mail: UnboundedReceiver<Message>) -> Option<()> {
        loop {
            tokio::select! {
                biased;
                frame = wire.receive() => {
                    let Frame { from, message } = frame?;
                    self.0.inbox.send((from, message)).ok()?;
                }
                message = mail.recv() => {
                    let message = message?;
                    wire.send(&Frame { from: self.speaker(&message), message }).await?;
                }
            }
        }
    }
}

//! How messages travel: length-delimited postcard frames over TCP.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use holdover_model::role::{Actor, Message};
use serde::{Deserialize, Serialize};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::net::TcpStream;

/// One message and who says it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    pub(super) from: Actor,
    pub(super) message: Message,
}

/// A connection that carries frames.
pub(super) struct Wire(Framed<TcpStream, LengthDelimitedCodec>);

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Framed::new(stream, LengthDelimitedCodec::new()))
    }

    /// The next frame; `None` once the connection is over, or carries no frames.
    pub(super) async fn receive(&mut self) -> Option<Frame> {
        let bytes = self.0.next().await?.ok()?;
        postcard::from_bytes(&bytes).ok()
    }

    /// Sends a frame; `None` once the connection is over.
    pub(super) async fn send(&mut self, frame: &Frame) -> Option<()> {
        let bytes = postcard::to_stdvec(frame).expect("messages are plain data");
        self.0.send(Bytes::from(bytes)).await.ok()
    }
}

//! The simulated network as `tokio::net`: change one import and the same code runs here.
//!
//! A host's name is its address: `TcpStream::connect("server:80")`.
//!
//! ```
//! // use tokio::net::{TcpListener, TcpStream, UdpSocket};
//! use holdover::net::{TcpListener, TcpStream, UdpSocket};
//! ```
//!
//! What is known to differ from the sockets of a real machine: whoever only writes, and never
//! reads, does not learn that the peer has dropped its socket; a closed window is announced
//! when it opens and never probed; a connection leaves no `TIME_WAIT` behind.

pub use turmoil_net::shim::tokio::net::*;

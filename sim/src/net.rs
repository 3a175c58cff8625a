//! The simulated network as `tokio::net`: change one import and the same code runs here.
//!
//! A host's name is its address: `TcpStream::connect("server:80")`.

pub use turmoil_net::shim::tokio::net::*;

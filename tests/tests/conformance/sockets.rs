//! Connections and datagrams.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{both, pattern};

/// A listener on a free port, and its address.
macro_rules! listen {
    () => {{
        let listener = net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }};
}

/// Both ends of a new connection: the opener's and the acceptor's.
macro_rules! connection {
    () => {{
        let (listener, address) = listen!();
        let (opened, accepted) = tokio::join!(net::TcpStream::connect(address), listener.accept());
        (opened.unwrap(), accepted.unwrap().0)
    }};
}

both!(
    /// Both ends know each other's address.
    a_connection_has_two_ends,
    {
        let (listener, address) = listen!();
        assert_ne!(address.port(), 0);
        let (opened, accepted) = tokio::join!(net::TcpStream::connect(address), listener.accept());
        let (opened, (accepted, from)) = (opened.unwrap(), accepted.unwrap());
        assert_eq!(opened.peer_addr().unwrap(), address);
        assert_eq!(accepted.local_addr().unwrap(), address);
        assert_eq!(opened.local_addr().unwrap(), from);
        assert_eq!(accepted.peer_addr().unwrap(), from);
    }
);

both!(
    /// Nobody listens.
    a_connection_is_refused,
    {
        let (listener, address) = listen!();
        drop(listener);
        let error = net::TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }
);

both!(
    /// A port has one listener at a time, and is free after it.
    a_port_is_taken_while_it_is_listened_on,
    {
        let (listener, address) = listen!();
        let error = net::TcpListener::bind(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(listener);
        net::TcpListener::bind(address).await.unwrap();
    }
);

both!(
    /// The end of one direction is seen as an end, and the other direction goes on.
    half_closed_connections_carry_answers,
    {
        let (mut client, mut server) = connection!();
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = Vec::new();
        server.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"question");
        server.write_all(b"answer").await.unwrap();
        drop(server);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
        // An end stays an end.
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
    }
);

both!(
    /// After one's own end of a direction nothing can be written.
    nothing_can_be_written_after_the_end,
    {
        let (mut client, _server) = connection!();
        client.shutdown().await.unwrap();
        let error = client.write_all(b"more").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
);

both!(
    /// Whoever drops a connection with unread data resets it.
    unread_data_makes_a_reset_of_a_drop,
    {
        let (mut client, server) = connection!();
        client.write_all(b"never read").await.unwrap();
        server.peek(&mut [0; 8]).await.unwrap();
        drop(server);
        let error = client.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
);

both!(
    /// Whoever reads sees that the peer is gone.
    a_peer_that_is_gone_is_seen_by_reading,
    {
        let (mut client, server) = connection!();
        client.write_all(b"hello?").await.unwrap();
        let mut server = server;
        server.read_exact(&mut [0; 6]).await.unwrap();
        drop(server);
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
    }
);

both!(
    /// A writer is held back while nobody reads, and loses nothing.
    a_slow_reader_holds_its_writer_back,
    {
        const SIZE: usize = 48 << 20;
        let (mut client, mut server) = connection!();
        let writer = tokio::spawn(async move {
            client.write_all(&pattern(SIZE)).await.unwrap();
        });
        time::sleep(Duration::from_millis(300)).await;
        assert!(!writer.is_finished(), "nobody has read anything yet");
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert!(received == pattern(SIZE));
        writer.await.unwrap();
    }
);

both!(
    /// Both directions at once, in pieces of odd sizes.
    large_transfers_cross_intact,
    {
        const SIZE: usize = 2 << 20;
        async fn exchange(
            read: impl tokio::io::AsyncRead + Unpin,
            write: impl tokio::io::AsyncWrite + Unpin,
            piece: usize,
        ) {
            let (mut read, mut write) = (read, write);
            let sends = async move {
                for piece in pattern(SIZE).chunks(piece) {
                    write.write_all(piece).await.unwrap();
                }
                write.shutdown().await.unwrap();
            };
            let receives = async move {
                let mut received = Vec::new();
                read.read_to_end(&mut received).await.unwrap();
                assert!(received == pattern(SIZE));
            };
            tokio::join!(sends, receives);
        }
        let (client, server) = connection!();
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        tokio::join!(
            exchange(client_read, client_write, 1_000_003),
            exchange(server_read, server_write, 777),
        );
    }
);

both!(
    /// Each of many connections gets the answer to its own question.
    many_connections_do_not_mix,
    {
        let (listener, address) = listen!();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut question = [0; 4];
                    stream.read_exact(&mut question).await.unwrap();
                    question.reverse();
                    stream.write_all(&question).await.unwrap();
                });
            }
        });
        let clients = (0..200_u32).map(|number| {
            tokio::spawn(async move {
                let mut stream = net::TcpStream::connect(address).await.unwrap();
                stream.write_all(&number.to_le_bytes()).await.unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).await.unwrap();
                assert_eq!(answer, number.to_be_bytes());
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    }
);

both!(
    /// Connections are accepted in the order in which they were opened, also before anybody
    /// asks for them.
    connections_wait_for_their_listener,
    {
        let (listener, address) = listen!();
        let mut waiting = Vec::new();
        for _ in 0..5 {
            waiting.push(net::TcpStream::connect(address).await.unwrap());
        }
        for stream in &waiting {
            let (_, from) = listener.accept().await.unwrap();
            assert_eq!(from, stream.local_addr().unwrap());
        }
    }
);

both!(
    /// A look ahead takes nothing.
    peeking_takes_nothing,
    {
        let (mut client, mut server) = connection!();
        client.write_all(b"once").await.unwrap();
        let mut buffer = [0; 4];
        assert_eq!(server.peek(&mut buffer).await.unwrap(), 4);
        server.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"once");
    }
);

both!(
    /// A datagram arrives whole, from its sender, or cut to what there is room for.
    datagrams_keep_their_bounds,
    {
        let a = net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let b = net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        for datagram in [&b"first"[..], b"", b"third"] {
            assert_eq!(a.send_to(datagram, to).await.unwrap(), datagram.len());
        }
        let mut buffer = [0; 16];
        assert_eq!(b.recv_from(&mut buffer).await.unwrap(), (5, from));
        assert_eq!(&buffer[..5], b"first");
        assert_eq!(b.recv_from(&mut buffer).await.unwrap(), (0, from));
        // What does not fit is lost.
        let mut small = [0; 2];
        assert_eq!(b.recv_from(&mut small).await.unwrap(), (2, from));
        assert_eq!(&small, b"th");
    }
);

both!(
    /// A connected socket hears its peer only.
    connected_datagram_sockets_hear_their_peer,
    {
        let bind = || net::UdpSocket::bind("127.0.0.1:0");
        let (a, b) = (bind().await.unwrap(), bind().await.unwrap());
        let stranger = bind().await.unwrap();
        let address = b.local_addr().unwrap();
        a.connect(address).await.unwrap();
        b.connect(a.local_addr().unwrap()).await.unwrap();
        stranger.send_to(b"spam", address).await.unwrap();
        a.send(b"hello").await.unwrap();
        let mut buffer = [0; 16];
        let length = b.recv(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"hello");
    }
);

/// A known difference, stated so that it is noticed when it goes: see `main.rs`.
#[test]
fn only_this_machine_tells_a_writer_that_nobody_is_left() {
    macro_rules! writes {
        ($net:path) => {{
            use $net as net;
            async {
                let (mut client, server) = connection!();
                drop(server);
                for _ in 0..20 {
                    if client.write_all(b"hello?").await.is_err() {
                        return true;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                false
            }
        }};
    }
    crate::on_this_machine(|| async { assert!(async { writes!(tokio::net).await }.await) });
    crate::in_the_world(|| async { assert!(!async { writes!(holdover::net).await }.await) });
}

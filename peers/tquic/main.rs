//! Command tquic sends over one stream of one multipath QUIC connection, as docs/program.md asks of a program: a path
//! for each link. SCHEDULER (MinRtt, RoundRobin, Redundant) and CONGESTION_CONTROL (Cubic, Bbr, Bbr3, Copa) choose
//! among TQUIC's; what they don't choose is as TQUIC has it by itself.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, io, process};

use bytes::Bytes;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use ring::digest::{Context, SHA256};
use serde::Deserialize;
use serde_json::json;
use tquic::{Config, Connection, Endpoint, PacketInfo, PacketSendHandler, TlsConfig, TransportHandler};

const PROTOCOL: &[u8] = b"ncp-testbed-program/1";
const NOT_SUPPORTED: i32 = 127;
const CHUNK: usize = 64 << 10;
/// What either end may have unread: a link's rate is to be the limit, not a window.
const MOST: u64 = 64 << 20;
/// Of what is sent for a time, this much may wait for packets, so that it ends in time.
const UNSENT: u64 = 256 << 10;
const IDLE_MS: u64 = 10_000;
const UNTIL_SEEN: Duration = Duration::from_secs(5);

type Anything<T> = Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct Link {
    local: IpAddr,
    remote: IpAddr,
    port: u16,
}

#[derive(Deserialize)]
struct Task {
    role: String,
    testcase: String,
    bytes: Option<u64>,
    seconds: Option<f64>,
    payload: Option<PathBuf>,
    out: PathBuf,
    links: Vec<Link>,
}

impl Task {
    fn sends(&self) -> bool {
        self.role == "sender"
    }
}

/// A socket for each link, with what it can't take yet: one that is full is not to hold up the others.
struct Sockets(Vec<(SocketAddr, UdpSocket, RefCell<VecDeque<Waiting>>)>);

type Waiting = (Vec<u8>, SocketAddr);

impl Sockets {
    fn bind(task: &Task, poll: &Poll) -> io::Result<Self> {
        let mut made = Vec::new();
        for (index, link) in task.links.iter().enumerate() {
            let port = if task.sends() { 0 } else { link.port };
            let mut socket = UdpSocket::bind((link.local, port).into())?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut socket, Token(index), interest)?;
            made.push((socket.local_addr()?, socket, RefCell::default()));
        }
        Ok(Self(made))
    }

    fn flush(&self) {
        for (_, socket, waiting) in &self.0 {
            let mut waiting = waiting.borrow_mut();
            while let Some((packet, to)) = waiting.front() {
                match socket.send_to(packet, *to) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // What a link without a carrier refuses is lost, as on its way.
                    _ => waiting.pop_front(),
                };
            }
        }
    }

    fn receive(&self, endpoint: &mut Endpoint) {
        let mut packet = vec![0; 1 << 16];
        for (local, socket, _) in &self.0 {
            // An error is of one packet, a port that is gone say, or that there are no more.
            while let Ok((length, from)) = socket.recv_from(&mut packet) {
                let info = PacketInfo { src: from, dst: *local, time: Instant::now() };
                let _ = endpoint.recv(&mut packet[..length], &info);
            }
        }
    }
}

impl PacketSendHandler for Sockets {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        for (packet, info) in packets {
            if let Some((_, _, waiting)) = self.0.iter().find(|(local, ..)| *local == info.src) {
                waiting.borrow_mut().push_back((packet.clone(), info.dst));
            }
        }
        self.flush();
        Ok(packets.len())
    }
}

/// What an end has sent or got so far.
struct Transfer {
    task: Task,
    /// From each socket to the other end's, the first one's path being that of the handshake.
    paths: Vec<(SocketAddr, SocketAddr)>,
    payload: Bytes,
    hash: Context,
    bytes: u64,
    started: SystemTime,
    begun: Instant,
    stream: Option<u64>,
    all_written: bool,
    /// When the result was written.
    done: Option<Instant>,
    closed: bool,
    error: Option<Box<dyn Error>>,
}

impl Transfer {
    fn new(task: Task, sockets: &Sockets) -> io::Result<Self> {
        let payload = task.payload.as_ref().map(fs::read).transpose()?.unwrap_or_default();
        let far = task.links.iter().map(|link| SocketAddr::from((link.remote, link.port)));
        Ok(Self {
            paths: sockets.0.iter().map(|(local, ..)| *local).zip(far).collect(),
            task,
            payload: payload.into(),
            hash: Context::new(&SHA256),
            bytes: 0,
            started: SystemTime::now(),
            begun: Instant::now(),
            stream: None,
            all_written: false,
            done: None,
            closed: false,
            error: None,
        })
    }

    fn established(&mut self, connection: &mut Connection) -> tquic::Result<()> {
        if !self.task.sends() {
            return Ok(());
        }
        for (local, remote) in &self.paths[1..] {
            connection.add_path(*local, *remote)?;
        }
        let stream = connection.stream_bidi_new(0, false)?;
        connection.stream_want_read(stream, true)?;
        self.stream = Some(stream);
        Ok(())
    }

    /// Hand on as much as the connection takes.
    fn write(&mut self, connection: &mut Connection) -> tquic::Result<()> {
        let Some(stream) = self.stream else { return Ok(()) };
        while !self.all_written {
            let part = self.next_part();
            if !part.is_empty() && self.task.seconds.is_some() && self.unsent(connection) >= UNSENT {
                return Ok(());
            }
            let all = part.is_empty();
            let written = match connection.stream_write(stream, part.clone(), all) {
                Err(tquic::Error::Done) => return Ok(()),
                other => other?,
            };
            self.hash.update(&part[..written]);
            self.bytes += written as u64;
            self.all_written = all;
        }
        Ok(())
    }

    /// Of the payload, again and again if it is sent for a time; empty at the end.
    fn next_part(&self) -> Bytes {
        let over = match self.task.seconds {
            Some(seconds) => self.begun.elapsed().as_secs_f64() >= seconds,
            None => Some(self.bytes) == self.task.bytes,
        };
        if over {
            return Bytes::new();
        }
        let at = (self.bytes % self.payload.len() as u64) as usize;
        self.payload.slice(at..self.payload.len().min(at + CHUNK))
    }

    /// Bytes that are in no packet yet; fewer if the same data goes over several paths.
    fn unsent(&self, connection: &Connection) -> u64 {
        let stats = connection.stats();
        (self.bytes + stats.lost_bytes).saturating_sub(stats.sent_bytes)
    }

    fn read(&mut self, connection: &mut Connection, stream: u64) -> Anything<()> {
        let mut part = vec![0; CHUNK];
        loop {
            let (length, all) = match connection.stream_read(stream, &mut part) {
                Err(tquic::Error::Done) => return Ok(()),
                other => other?,
            };
            if !self.task.sends() {
                self.hash.update(&part[..length]);
                self.bytes += length as u64;
            }
            if !all {
                continue;
            }
            self.finish(connection)?;
            if self.task.sends() {
                connection.close(true, 0, b"")?;
            } else {
                // So the sender learns that all of it is there.
                connection.stream_write(stream, Bytes::new(), true)?;
            }
            return Ok(());
        }
    }

    fn finish(&mut self, connection: &Connection) -> Anything<()> {
        let digest = self.hash.clone().finish();
        let stats = connection.stats();
        let figures = json!({"sent_packets": stats.sent_count, "lost_packets": stats.lost_count});
        let result = json!({
            "bytes": self.bytes,
            "sha256": digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "started_unix_ns": unix_ns(self.started)?,
            "finished_unix_ns": unix_ns(SystemTime::now())?,
            "version": version(),
            "figures": if self.task.sends() { figures } else { json!({}) },
        });
        fs::write(self.task.out.join("result.json"), result.to_string())?;
        self.done = Some(Instant::now());
        Ok(())
    }

    fn keep(&mut self, error: impl Into<Box<dyn Error>>) {
        self.error.get_or_insert(error.into());
    }
}

struct Handler(Rc<RefCell<Transfer>>);

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, _: &mut Connection) {}

    fn on_conn_established(&mut self, connection: &mut Connection) {
        let mut transfer = self.0.borrow_mut();
        if let Err(error) = transfer.established(connection) {
            transfer.keep(error);
        }
    }

    fn on_conn_closed(&mut self, connection: &mut Connection) {
        let mut transfer = self.0.borrow_mut();
        transfer.closed = true;
        if transfer.done.is_none() {
            let reason = connection.peer_error().or(connection.local_error()).map(|error| format!("{error:?}"));
            transfer.keep(format!("the connection ended early: {}", reason.unwrap_or("it was idle".into())));
        }
    }

    fn on_stream_created(&mut self, connection: &mut Connection, stream: u64) {
        let _ = connection.stream_want_read(stream, true);
    }

    fn on_stream_readable(&mut self, connection: &mut Connection, stream: u64) {
        let mut transfer = self.0.borrow_mut();
        if let Err(error) = transfer.read(connection, stream) {
            transfer.keep(error);
        }
    }

    /// The loop writes.
    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        let _ = connection.stream_want_write(stream, false);
    }

    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

fn main() {
    match run() {
        Ok(code) => process::exit(code),
        Err(error) => {
            eprintln!("tquic: {error}");
            process::exit(1);
        }
    }
}

fn run() -> Anything<i32> {
    let inside = PathBuf::from(env::var("IN")?);
    let task: Task = serde_json::from_slice(&fs::read(inside.join("task.json"))?)?;
    if !["transfer", "seconds"].contains(&task.testcase.as_str()) {
        return Ok(NOT_SUPPORTED);
    }
    let config = Box::new(config(&task)?);
    let poll = Poll::new()?;
    let sockets = Rc::new(Sockets::bind(&task, &poll)?);
    let transfer = Rc::new(RefCell::new(Transfer::new(task, &sockets)?));
    let sends = transfer.borrow().task.sends();
    let mut endpoint = Endpoint::new(config, !sends, Box::new(Handler(transfer.clone())), sockets.clone());
    let mut connection = None;
    if sends {
        let (local, remote) = transfer.borrow().paths[0];
        connection = Some(endpoint.connect(local, remote, None, None, None, None)?);
    } else {
        fs::write(transfer.borrow().task.out.join("ready"), "")?;
    }
    carry_out(poll, &mut endpoint, connection, &sockets, &transfer)?;
    Ok(0)
}

/// Serve the endpoint until the connection has ended, or until the sender should have seen that it has.
fn carry_out(
    mut poll: Poll,
    endpoint: &mut Endpoint,
    connection: Option<u64>,
    sockets: &Sockets,
    transfer: &RefCell<Transfer>,
) -> Anything<()> {
    let mut events = Events::with_capacity(64);
    loop {
        endpoint.process_connections()?;
        let mut timeout = endpoint.timeout();
        {
            let mut now = transfer.borrow_mut();
            if let Some(error) = now.error.take() {
                return Err(error);
            }
            if now.closed || now.done.is_some_and(|done| done.elapsed() > UNTIL_SEEN) {
                return Ok(());
            }
            if now.done.is_some() {
                timeout = Some(timeout.map_or(UNTIL_SEEN, |timeout| timeout.min(UNTIL_SEEN)));
            }
        }
        match poll.poll(&mut events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => other?,
        }
        sockets.receive(endpoint);
        sockets.flush();
        endpoint.on_timeout(Instant::now());
        if let Some(connection) = connection.and_then(|index| endpoint.conn_get_mut(index)) {
            transfer.borrow_mut().write(connection)?;
        }
    }
}

fn config(task: &Task) -> Anything<Config> {
    let mut config = Config::new()?;
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_connection_window(MOST);
    config.set_max_stream_window(MOST);
    config.set_initial_max_data(MOST);
    config.set_initial_max_stream_data_bidi_remote(MOST);
    config.enable_multipath(task.links.len() > 1);
    config.set_active_connection_id_limit(task.links.len() as u64 + 1);
    if let Some(scheduler) = chosen("SCHEDULER", "MinRtt, RoundRobin or Redundant")? {
        config.set_multipath_algorithm(scheduler);
    }
    if let Some(algorithm) = chosen("CONGESTION_CONTROL", "Cubic, Bbr, Bbr3 or Copa")? {
        config.set_congestion_control_algorithm(algorithm);
    }
    config.set_tls_config(if task.sends() { anyone()? } else { self_signed(task)? });
    Ok(config)
}

/// A choice of the environment's, if it makes one.
fn chosen<T: FromStr>(variable: &str, wanted: &str) -> Anything<Option<T>> {
    match env::var(variable) {
        Ok(name) => match name.parse() {
            Ok(one) => Ok(Some(one)),
            Err(_) => Err(format!("{variable} is {name:?}: it must be {wanted}").into()),
        },
        Err(_) => Ok(None),
    }
}

/// Who it talks to is not the question.
fn anyone() -> tquic::Result<TlsConfig> {
    let mut tls = TlsConfig::new_client_config(vec![PROTOCOL.to_vec()], false)?;
    tls.set_verify(false);
    Ok(tls)
}

/// TQUIC reads the certificate and its key from files; they are gone when it has.
fn self_signed(task: &Task) -> Anything<TlsConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["ncp-testbed".into()])?;
    let (certificate, key) = (task.out.join("certificate.pem"), task.out.join("key.pem"));
    fs::write(&certificate, made.cert.pem())?;
    fs::write(&key, made.signing_key.serialize_pem())?;
    let paths = (certificate.to_str().ok_or("$OUT")?, key.to_str().ok_or("$OUT")?);
    let tls = TlsConfig::new_server_config(paths.0, paths.1, vec![PROTOCOL.to_vec()], false);
    fs::remove_file(&certificate)?;
    fs::remove_file(&key)?;
    Ok(tls?)
}

fn unix_ns(at: SystemTime) -> Anything<u64> {
    Ok(at.duration_since(SystemTime::UNIX_EPOCH)?.as_nanos().try_into()?)
}

/// That of TQUIC, as it was built in.
fn version() -> String {
    let lock = include_str!("Cargo.lock");
    let found = lock.split("name = \"tquic\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    format!("TQUIC {}", found.unwrap_or("of an unknown version"))
}

//! Command noq sends over one stream of one multipath QUIC connection, as docs/program.md asks of a program: a path for
//! each link. CONGESTION_CONTROL (Cubic, NewReno, Bbr3) chooses among noq's; it has one scheduler, which fills the path
//! that was opened first before the next one.

use std::error::Error;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, process};

use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::udp::{RecvMeta, Transmit};
use noq::{
    AsyncUdpSocket, ClientConfig, Connection, Endpoint, EndpointConfig, FourTuple, PathError, PathStatus, RecvStream,
    Runtime, SendStream, ServerConfig, TokioRuntime, TransportConfig, UdpSender,
};
use ring::digest::{Context as Hash, SHA256};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use serde::Deserialize;
use serde_json::{json, Value};
use tokio::time::{sleep, timeout};

const PROTOCOL: &[u8] = b"ncp-testbed-program/1";
const NOT_SUPPORTED: i32 = 127;
const CHUNK: usize = 64 << 10;
/// What either end may have unread or unacknowledged: a link's rate is to be the limit, not a window.
const MOST: u32 = 64 << 20;
/// Of what is sent for a time, this much may wait for packets, so that it ends in time.
const UNSENT: u64 = 256 << 10;
const IDLE_MS: u32 = 10_000;
const UNTIL_SEEN: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(5);

type Anything<T> = Result<T, Box<dyn Error>>;

#[derive(Clone, Deserialize)]
struct Link {
    local: IpAddr,
    remote: IpAddr,
    port: u16,
}

impl Link {
    fn far(&self) -> SocketAddr {
        (self.remote, self.port).into()
    }
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

/// A socket for each link, by its local address, taken for one by noq.
#[derive(Debug)]
struct Sockets(Vec<(IpAddr, Box<dyn AsyncUdpSocket>)>);

#[derive(Debug)]
struct Senders(Vec<(IpAddr, Pin<Box<dyn UdpSender>>)>);

impl Sockets {
    fn bind(task: &Task) -> io::Result<Self> {
        let bound = task.links.iter().map(|link| {
            let port = if task.sends() { 0 } else { link.port };
            Ok((link.local, TokioRuntime.wrap_udp_socket(UdpSocket::bind((link.local, port))?)?))
        });
        Ok(Self(bound.collect::<io::Result<_>>()?))
    }
}

impl AsyncUdpSocket for Sockets {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Senders(self.0.iter().map(|(local, socket)| (*local, socket.create_sender())).collect()))
    }

    fn poll_recv(
        &mut self,
        wake: &mut Context<'_>,
        packets: &mut [IoSliceMut<'_>],
        about: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut polled = self.0.iter_mut().map(|(_, socket)| socket.poll_recv(wake, packets, about));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0[0].1.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.0[0].1.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0[0].1.may_fragment()
    }
}

impl UdpSender for Senders {
    fn poll_send(mut self: Pin<&mut Self>, packet: &Transmit<'_>, wake: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The handshake's path is the first link's, and knows no local address yet.
        let index = self.0.iter().position(|(local, _)| Some(*local) == packet.src_ip).unwrap_or(0);
        // What a socket can't take is lost, as in a queue on its way: a link that is full is not to hold up the others,
        // and congestion control is to learn of it.
        let _ = self.0[index].1.as_mut().poll_send(packet, wake);
        Poll::Ready(Ok(()))
    }
}

/// What an end has sent or got so far.
struct Transfer {
    task: Task,
    hash: Hash,
    bytes: u64,
    started: SystemTime,
    begun: Instant,
}

impl Transfer {
    async fn send(&mut self, endpoint: &Endpoint) -> Anything<()> {
        let payload = self.task.payload.as_ref().map(fs::read).transpose()?.unwrap_or_default();
        let connection = endpoint.connect(self.task.links[0].far(), "ncp-testbed")?.await?;
        for link in &self.task.links[1..] {
            tokio::spawn(open_path(connection.clone(), link.clone()));
        }
        let (mut to, mut from) = connection.open_bi().await?;
        self.write(&connection, &mut to, &payload).await?;
        to.finish()?;
        // The receiver ends its side when all of it is there.
        from.read_to_end(0).await?;
        let stats = connection.stats();
        self.finish(json!({"sent_packets": stats.sent_packets, "lost_packets": stats.lost_packets}))?;
        connection.close(0u32.into(), b"");
        let _ = timeout(UNTIL_SEEN, endpoint.wait_idle()).await;
        Ok(())
    }

    /// The payload, again and again if it is sent for a time.
    async fn write(&mut self, connection: &Connection, to: &mut SendStream, payload: &[u8]) -> Anything<()> {
        for part in payload.chunks(CHUNK).cycle() {
            match self.task.seconds {
                Some(seconds) => {
                    while self.unsent(connection) >= UNSENT {
                        sleep(RETRY).await;
                    }
                    if self.begun.elapsed().as_secs_f64() >= seconds {
                        break;
                    }
                }
                None if Some(self.bytes) == self.task.bytes => break,
                None => {}
            }
            to.write_all(part).await?;
            self.hash.update(part);
            self.bytes += part.len() as u64;
        }
        Ok(())
    }

    /// Bytes that are in no packet yet.
    fn unsent(&self, connection: &Connection) -> u64 {
        let stats = connection.stats();
        (self.bytes + stats.lost_bytes).saturating_sub(stats.sent_bytes)
    }

    async fn receive(&mut self, endpoint: &Endpoint) -> Anything<()> {
        fs::write(self.task.out.join("ready"), "")?;
        let connection = endpoint.accept().await.ok_or("the endpoint was closed")?.await?;
        let (mut to, mut from) = connection.accept_bi().await?;
        self.read(&mut from).await?;
        self.finish(json!({}))?;
        to.finish()?;
        let _ = timeout(UNTIL_SEEN, connection.closed()).await;
        Ok(())
    }

    async fn read(&mut self, from: &mut RecvStream) -> Anything<()> {
        while let Some(part) = from.read_chunk(CHUNK).await? {
            self.hash.update(&part);
            self.bytes += part.len() as u64;
        }
        Ok(())
    }

    fn finish(&self, figures: Value) -> Anything<()> {
        let digest = self.hash.clone().finish();
        let result = json!({
            "bytes": self.bytes,
            "sha256": digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "started_unix_ns": unix_ns(self.started)?,
            "finished_unix_ns": unix_ns(SystemTime::now())?,
            "version": version(),
            "figures": figures,
        });
        Ok(fs::write(self.task.out.join("result.json"), result.to_string())?)
    }
}

/// A path over a link, opened once the receiver has given connection IDs for it.
async fn open_path(connection: Connection, link: Link) {
    let path = FourTuple::new(link.far(), Some(link.local));
    while let Err(PathError::RemoteCidsExhausted | PathError::MaxPathIdReached) =
        connection.open_path(path, PathStatus::Available).await
    {
        sleep(RETRY).await;
    }
}

fn main() {
    match run() {
        Ok(code) => process::exit(code),
        Err(error) => {
            eprintln!("noq: {error}");
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
    // One thread, so that a guest repeats what it does.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(carry_out(task))?;
    Ok(0)
}

async fn carry_out(task: Task) -> Anything<()> {
    let (transport, sends) = (Arc::new(transport(&task)?), task.sends());
    let server = if sends { None } else { Some(self_signed(transport.clone())?) };
    let (sockets, runtime) = (Box::new(Sockets::bind(&task)?), Arc::new(TokioRuntime));
    let endpoint = Endpoint::new_with_abstract_socket(EndpointConfig::default(), server, sockets, runtime)?;
    let (started, begun) = (SystemTime::now(), Instant::now());
    let mut transfer = Transfer { task, hash: Hash::new(&SHA256), bytes: 0, started, begun };
    if !sends {
        return transfer.receive(&endpoint).await;
    }
    endpoint.set_default_client_config(anyone(transport)?);
    transfer.send(&endpoint).await
}

fn transport(task: &Task) -> Anything<TransportConfig> {
    let mut config = TransportConfig::default();
    config.max_idle_timeout(Some(noq::VarInt::from_u32(IDLE_MS).into()));
    config.stream_receive_window(MOST.into()).receive_window(MOST.into()).send_window(MOST.into());
    config.max_concurrent_multipath_paths(task.links.len() as u32);
    if let Ok(name) = env::var("CONGESTION_CONTROL") {
        let chosen: Arc<dyn ControllerFactory + Send + Sync> = match name.as_str() {
            "Cubic" => Arc::new(CubicConfig::default()),
            "NewReno" => Arc::new(NewRenoConfig::default()),
            "Bbr3" => Arc::new(Bbr3Config::default()),
            _ => return Err(format!("CONGESTION_CONTROL is {name:?}: it must be Cubic, NewReno or Bbr3").into()),
        };
        config.congestion_controller_factory(chosen);
    }
    Ok(config)
}

/// Who it talks to is not the question.
fn anyone(transport: Arc<TransportConfig>) -> Anything<ClientConfig> {
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport);
    Ok(config)
}

fn self_signed(transport: Arc<TransportConfig>) -> Anything<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["ncp-testbed".into()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut tls =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![made.cert.into()], key.into())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(transport);
    Ok(config)
}

#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn unix_ns(at: SystemTime) -> Anything<u64> {
    Ok(at.duration_since(SystemTime::UNIX_EPOCH)?.as_nanos().try_into()?)
}

/// That of noq, as it was built in.
fn version() -> String {
    let lock = include_str!("Cargo.lock");
    let found = lock.split("name = \"noq\"\nversion = \"").nth(1).and_then(|rest| rest.split('"').next());
    format!("noq {}", found.unwrap_or("of an unknown version"))
}

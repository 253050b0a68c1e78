//! Where a server listens, and what it takes.

use std::fmt;
use std::io;
use std::net::{AddrParseError, SocketAddr};
use std::time::Duration;

/// Where a server listens, and its limits.
///
/// ```
/// use motet_http::Config;
///
/// let config = Config::at(([127, 0, 0, 1], 0).into());
/// assert_eq!(config.limits.body, 1 << 20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The address; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Names under which it may be asked for, beside `localhost` and the loopback addresses.
    pub hosts: Vec<String>,
    /// Its certificate, and the tokens of those who may call: then it speaks TLS. Needed for an
    /// address that other machines can reach.
    #[cfg(feature = "tls")]
    pub keys: Option<crate::Keys>,
    /// Whether only those may connect who have a certificate that the authority of the keys has
    /// signed ([`Keys::add_leaf`](crate::Keys::add_leaf)). A certificate tells a role as a token
    /// does.
    #[cfg(feature = "tls")]
    pub mutual: bool,
    /// Where notifications of DSSP may be sent, each as `host:port`. A subscriber elsewhere is
    /// refused.
    #[cfg(feature = "dssp")]
    pub dssp_subscribers: Vec<String>,
    /// What it takes at most.
    pub limits: Limits,
}

/// What a server takes at most. The greatest value of a type is no limit. All the same a head has
/// 16,384 lines at most, and 128 values lie in each other.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Connections; who comes beyond is answered 503.
    pub connections: usize,
    /// Connections of one address; who comes beyond is answered 503. The addresses of this machine,
    /// by which its programs and a proxy on it come, are not counted.
    pub per_address: usize,
    /// Requests that are carried out at the same time, without event streams; beyond: 503.
    pub in_flight: usize,
    /// Bytes of a head, at least 8 KiB.
    pub head: usize,
    /// Lines of a head.
    pub headers: usize,
    /// How long a head may take, from the begin of the connection or the answer before: so long a
    /// connection may ask nothing.
    pub head_time: Duration,
    /// Bytes of a body.
    pub body: usize,
    /// How long a body may take.
    pub body_time: Duration,
    /// How long the other side may take nothing of an answer, or of a stream.
    pub write_time: Duration,
    /// How deep values may lie in each other.
    pub depth: usize,
    /// How long requests that run may take when the server stops.
    pub stop_time: Duration,
}

/// Why a server did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address can be reached from other machines.
    Exposed(SocketAddr),
    /// Certificates are asked for, and no authority is known whose they could be.
    NoAuthority,
    /// A service has this path, where the server answers itself: nobody could call it.
    OwnPath(String),
    /// The system does not give the address.
    Listen(SocketAddr, io::Error),
    /// The system gives no thread, or no means to wait for connections.
    Thread(io::Error),
}

impl Config {
    /// At this address, with the limits of [`Limits::default`].
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Config {
            listen,
            hosts: Vec::new(),
            #[cfg(feature = "tls")]
            keys: None,
            #[cfg(feature = "tls")]
            mutual: false,
            #[cfg(feature = "dssp")]
            dssp_subscribers: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// The address that a text names, such as `127.0.0.1:50000`; `localhost:50000` is the same.
    ///
    /// ```
    /// use motet_http::Config;
    ///
    /// assert_eq!(Config::address("localhost:80"), Config::address("127.0.0.1:80"));
    /// assert!(Config::address("localhost").is_err());
    /// ```
    ///
    /// # Errors
    /// The text is no address with a port.
    pub fn address(text: &str) -> Result<SocketAddr, AddrParseError> {
        match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}").parse(),
            None => text.parse(),
        }
    }
}

impl Limits {
    /// The same limits, by numbers that can be counted to, have room made for, be added to a time
    /// and fit a stack: else tokio and hyper panic, or the process ends.
    pub(crate) fn countable(mut self) -> Self {
        const MANY: usize = 1 << 28;
        const LINES: usize = 1 << 14;
        const DEPTH: usize = 128;
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        self.connections = self.connections.min(MANY);
        self.in_flight = self.in_flight.min(MANY);
        self.headers = self.headers.min(LINES);
        self.depth = self.depth.min(DEPTH);
        self.head_time = self.head_time.min(YEAR);
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            per_address: 64,
            in_flight: 256,
            head: 16 << 10,
            headers: 64,
            head_time: Duration::from_secs(5),
            body: 1 << 20,
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(60),
            depth: 64,
            stop_time: Duration::from_secs(10),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Exposed(address) => write!(
                f,
                "{address} can be reached from other machines, and without keys this server asks nobody who he is; \
                 listen on 127.0.0.1 or [::1], or make keys by `motet keys new DIR` and give them: --keys DIR"
            ),
            StartError::NoAuthority => f.write_str(
                "those who connect need a certificate, and no authority is known; give keys (--keys DIR) with ca.pem \
                 in their folder, which `motet keys new DIR` makes",
            ),
            StartError::OwnPath(path) => write!(
                f,
                "there is a service at {path}, where the server answers itself; give it another path"
            ),
            StartError::Listen(address, why) => {
                write!(
                    f,
                    "cannot listen on {address}: {why}; choose another port, or 0 for any"
                )
            }
            StartError::Thread(why) => {
                write!(f, "the system gives no thread for the server: {why}")
            }
        }
    }
}

impl std::error::Error for StartError {}

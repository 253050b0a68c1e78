//! Certificates and tokens.

use crate::till::{Answer, Entry, Shop, TillClient};
use motet_http::{Access, Config, Keys, KeysError, Peer, Server};
use motet_ports::wait_blocking;
use motet_service::{FaultCode, Options, Value};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A folder of keys that goes with this.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A path where nothing is.
    fn none(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("motet-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        Folder(path)
    }

    /// Keys with a token of a role `till` and one whose time is over.
    pub(crate) fn new(name: &str) -> Folder {
        let folder = Folder::none(name);
        Keys::make(&folder.0, &["Till.Example".to_owned()], 10).unwrap();
        Keys::add_token(&folder.0, "clerk", "till", 10).unwrap();
        Keys::add_token(&folder.0, "old", "admin", 0).unwrap();
        folder
    }

    pub(crate) fn token(&self, name: &str) -> String {
        let text = fs::read_to_string(self.0.join(format!("{name}.token"))).unwrap();
        text.trim().to_owned()
    }

    pub(crate) fn access(&self, name: &str) -> Access {
        Access::new(Some(self.token(name)), Some(self.0.join("ca.pem")))
    }

    pub(crate) fn shop(&self) -> Shop {
        let keys = Keys::read(&self.0).unwrap();
        Shop::open_with(|config| config.keys = Some(keys))
    }

    /// What is answered to these bytes, sent encrypted.
    pub(crate) fn ask(&self, shop: &Shop, request: &str) -> Answer {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.0.join("ca.pem")).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("till.example").unwrap();
        let client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(client, shop.connect());
        drop(stream.write_all(request.as_bytes()));
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes));
        Answer::of(&bytes)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn entry(cents: i64) -> Entry {
    let name = "ann".to_owned();
    Entry { name, cents }
}

#[test]
fn sem_g430_keys_are_made_whole_and_once() {
    let folder = Folder::new("keys-made");
    let again = Keys::make(&folder.0, &[], 10).unwrap_err();
    assert!(matches!(again, KeysError::Exists(_)), "{again}");
    let written = fs::read_to_string(folder.0.join("node.json")).unwrap();
    for name in ["admin", "viewer", "clerk", "old"] {
        let token = folder.token(name);
        assert_eq!(token.len(), "motet_".len() + 64);
        assert!(!written.contains(&token), "only what it hashes to is kept");
    }
    #[cfg(unix)]
    for entry in fs::read_dir(&folder.0).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o077;
        let is_public = entry.path().extension().is_some_and(|end| end == "pem");
        assert!(is_public || mode == 0, "{:?} is {mode:o}", entry.path());
    }
    let twice = Keys::add_token(&folder.0, "clerk", "till", 1).unwrap_err();
    assert!(twice.to_string().contains("clerk already"), "{twice}");
    let strange = Keys::add_token(&folder.0, "../x", "till", 1).unwrap_err();
    assert!(strange.to_string().contains("../x"), "{strange}");
    // What stands in the way of the list of tokens leaves no token that no server takes.
    let way = folder.0.join("node.json.new");
    fs::create_dir(&way).unwrap();
    Keys::add_token(&folder.0, "late", "till", 1).unwrap_err();
    fs::remove_dir(&way).unwrap();
    Keys::add_token(&folder.0, "late", "till", 1).unwrap();
    let none = Folder::none("keys-none");
    let wrong = Keys::make(&none.0, &["schön".to_owned()], 10).unwrap_err();
    assert!(wrong.to_string().contains("schön"), "{wrong}");
    for host in ["bad host!", "", " ", "a..b", "[]"] {
        let wrong = Keys::make(&none.0, &["robot.example".to_owned(), host.to_owned()], 10);
        let told = wrong.unwrap_err().to_string();
        assert!(told.contains(&format!("{host:?}")), "{told}");
    }
    assert!(!none.0.exists(), "nothing is left of them");
    let long = Keys::make(&none.0, &[], 100_000).unwrap_err();
    assert!(long.to_string().contains("100000 days"), "{long}");
    assert!(!none.0.exists(), "nothing is left of it");
    fs::write(folder.0.join("server.key"), "what is no key").unwrap();
    let broken = Keys::read(&folder.0).unwrap_err();
    assert!(broken.to_string().contains("server.key"), "{broken}");
}

#[test]
fn sem_g550_tokens_that_are_added_at_once_are_all_kept() {
    let folder = Folder::new("keys-at-once");
    let adding = ["a", "b", "c", "d"].map(|who| {
        let path = folder.0.clone();
        let add = move || {
            for number in 0..8 {
                let name = format!("{who}{number}");
                Keys::add_token(&path, &name, &name, 10).unwrap();
            }
        };
        motet_sync::thread::spawn_named("adding", add).unwrap()
    });
    for thread in adding {
        thread.join().unwrap();
    }
    let keys = Keys::read(&folder.0).unwrap();
    let mut roles: Vec<&str> = keys.roles();
    assert_eq!(roles.len(), 4 + 4 * 8, "{roles:?}");
    roles.sort_unstable();
    roles.dedup();
    // Two of the first four are administrators.
    assert_eq!(roles.len(), 3 + 4 * 8, "{roles:?}");
}

#[test]
fn sem_g431_a_peer_with_a_token_calls_as_any_other() {
    let folder = Folder::new("keys-peer");
    let shop = folder.shop();
    let url = shop.server.as_ref().unwrap().url();
    assert!(url.starts_with("https://127.0.0.1:"));
    let peer = Peer::with(&url, &folder.access("admin")).unwrap();
    let till: TillClient = peer.client("/till");
    wait_blocking(async {
        assert_eq!(till.deposit(entry(40)).await.unwrap(), 40);
        let mut watch = peer.watch("/till", None, true).unwrap();
        assert_eq!(watch.next().await.unwrap().unwrap().event, "replace");
        assert_eq!(till.deposit(entry(2)).await.unwrap(), 42);
        assert_eq!(watch.next().await.unwrap().unwrap().event, "deposit");
        let viewer = Peer::with(&url, &folder.access("viewer")).unwrap();
        let viewer: TillClient = viewer.client("/till");
        assert_eq!(viewer.get().await.unwrap().cents["ann"], 42);
        assert_eq!(viewer.balance("ann".to_owned()).await.unwrap(), Some(42));
        let denied = viewer.deposit(entry(1)).await.unwrap_err();
        assert_eq!(denied.code(), FaultCode::PermissionDenied);
        let none = Access::new(None, Some(folder.0.join("ca.pem")));
        let nobody: TillClient = Peer::with(&url, &none).unwrap().client("/till");
        let unknown = nobody.get().await.unwrap_err();
        assert_eq!(unknown.code(), FaultCode::Unauthenticated);
        let old: TillClient = Peer::with(&url, &folder.access("old"))
            .unwrap()
            .client("/till");
        let over = old.get().await.unwrap_err();
        assert!(over.reason().contains("old is over"), "{over}");
        assert_eq!(till.get().await.unwrap().cents["ann"], 42);
    })
    .unwrap();
}

#[test]
fn sem_g431_a_peer_trusts_no_other_node_and_tells_no_token_in_the_clear() {
    let (folder, other) = (Folder::new("keys-own"), Folder::new("keys-other"));
    let shop = folder.shop();
    let url = shop.server.as_ref().unwrap().url();
    let stranger = Peer::with(&url, &other.access("admin")).unwrap();
    let mut options = Options::default();
    options.within = Some(Duration::from_millis(300));
    let called = stranger.call("/till", "get", Value::Null, options);
    let fault = wait_blocking(called).unwrap().unwrap_err();
    assert_eq!(fault.code(), FaultCode::Unauthenticated);
    assert!(fault.reason().contains("certificate"), "{fault}");
    let plain = url.replace("https", "http");
    let clear = Peer::with(&plain, &folder.access("admin")).unwrap_err();
    assert!(clear.reason().contains("https"), "{clear}");
    let unknown = Peer::at(&url).unwrap_err();
    assert!(unknown.reason().contains("ca.pem"), "{unknown}");
    // Who speaks HTTP gets none.
    let answer = shop.get("/healthz");
    assert_eq!(answer.status, 0, "{answer:?}");
}

#[test]
fn sem_g431_a_file_without_a_certificate_is_no_authority() {
    let folder = Folder::new("no-authority");
    let file = folder.0.join("notes.pem");
    fs::write(&file, "none yet\n").unwrap();
    let peer = Peer::with("https://127.0.0.1:1", &Access::new(None, Some(file)));
    let told = peer.err().map(|fault| fault.to_string()).unwrap();
    assert!(told.contains("notes.pem"), "{told}");
    assert!(told.contains("there is no certificate in it"), "{told}");
}

#[test]
fn sem_g434_leaves_are_made_by_the_authority_alone() {
    let (folder, other) = (Folder::new("leaf-made"), Folder::new("leaf-other"));
    let leaf = |name: &str, role: &str, hosts: &[&str]| {
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        Keys::add_leaf(&folder.0, name, role, &hosts, 1)
    };
    let file = leaf("hub", "operator", &["Hub.Example", "10.0.0.5", "[::7]"]).unwrap();
    assert_eq!(file, folder.0.join("hub.pem"));
    let keys = Keys::read_as(&folder.0, "hub").unwrap();
    assert_eq!(keys.hosts(), ["hub.example", "10.0.0.5", "[::7]"]);
    assert_eq!(Keys::read(&folder.0).unwrap().hosts(), ["till.example"]);
    let refused = |error: KeysError, words: &[&str]| {
        let told = error.to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    };
    refused(
        leaf("hub", "viewer", &[]).unwrap_err(),
        &["hub.pem", "another name"],
    );
    refused(
        leaf("server", "viewer", &[]).unwrap_err(),
        &["another name"],
    );
    refused(leaf("../x", "viewer", &[]).unwrap_err(), &["../x"]);
    refused(leaf("y", "a b", &[]).unwrap_err(), &["a b"]);
    refused(leaf("y", "viewer", &["schön"]).unwrap_err(), &["schön"]);
    let long = Keys::add_leaf(&folder.0, "y", "viewer", &[], 9_999).unwrap_err();
    refused(long, &["9999 days"]);
    fs::copy(other.0.join("ca.key"), folder.0.join("ca.key")).unwrap();
    refused(
        leaf("y", "viewer", &[]).unwrap_err(),
        &["ca.pem", "another authority"],
    );
    fs::remove_file(folder.0.join("ca.key")).unwrap();
    refused(
        leaf("y", "viewer", &[]).unwrap_err(),
        &["ca.key", "keep it elsewhere"],
    );
    assert!(!folder.0.join("y.pem").exists(), "nothing is left of them");
}

/// The fault of a call with this certificate.
fn refused(url: &str, ca: &Folder, certificate: Option<PathBuf>) -> (FaultCode, String) {
    let access = Access::new(None, Some(ca.0.join("ca.pem"))).certificate(certificate);
    let till: TillClient = Peer::with(url, &access).unwrap().client("/till");
    let fault = wait_blocking(till.deposit(entry(1)).into_future());
    let fault = fault.unwrap().unwrap_err();
    (fault.code(), fault.reason().to_owned())
}

#[test]
fn sem_g434_a_certificate_tells_a_role_and_others_are_refused_with_what_to_do() {
    let (folder, other) = (Folder::new("leaf-own"), Folder::new("leaf-foreign"));
    for (folder, name, role, days) in [
        (&folder, "hub", "operator", 1),
        (&folder, "eye", "viewer", 1),
        (&folder, "late", "operator", 0),
        (&other, "hub", "operator", 1),
    ] {
        Keys::add_leaf(&folder.0, name, role, &[], days).unwrap();
    }
    let keys = Keys::read_as(&folder.0, "hub").unwrap();
    let shop = Shop::open_with(|config| {
        config.keys = Some(keys);
        config.mutual = true;
    });
    let url = shop.server.as_ref().unwrap().url();
    let ca = Some(folder.0.join("ca.pem"));
    let access = Access::new(None, ca.clone()).certificate(Some(folder.0.join("hub.pem")));
    let peer = Peer::with(&url, &access).unwrap();
    let till: TillClient = peer.client("/till");
    assert_eq!(
        wait_blocking(till.deposit(entry(40)).into_future()).unwrap(),
        Ok(40)
    );
    let known = Some(FaultCode::Unauthenticated);
    for (certificate, code, words) in [
        (None, known, "asks for a certificate"),
        (
            Some(folder.0.join("late.pem")),
            known,
            "is over; ask for another",
        ),
        (
            Some(other.0.join("hub.pem")),
            known,
            "has not signed the certificate",
        ),
        (
            Some(folder.0.join("eye.pem")),
            None,
            "a viewer changes nothing",
        ),
        // The certificate of a server is none of a client.
        (Some(folder.0.join("server.pem")), known, "certificate"),
    ] {
        let (found, reason) = refused(&url, &folder, certificate);
        assert_eq!(
            found,
            code.unwrap_or(FaultCode::PermissionDenied),
            "{reason}"
        );
        assert!(reason.contains(words), "{reason}");
    }
    // A token tells more than the certificate does.
    let both = Access::new(Some(folder.token("viewer")), ca);
    let both = both.certificate(Some(folder.0.join("hub.pem")));
    let viewer: TillClient = Peer::with(&url, &both).unwrap().client("/till");
    let denied = wait_blocking(viewer.deposit(entry(1)).into_future()).unwrap();
    assert_eq!(denied.unwrap_err().code(), FaultCode::PermissionDenied);
    let strange = Peer::with(&url, &access.certificate(Some(folder.0.join("none.pem"))));
    assert!(strange.unwrap_err().reason().contains("none.pem"));
    let mut watch = Peer::with(&url, &Access::new(None, Some(folder.0.join("ca.pem"))))
        .unwrap()
        .watch("/till", None, true)
        .unwrap();
    let fault = wait_blocking(watch.next()).unwrap().unwrap().unwrap_err();
    assert!(fault.reason().contains("asks for a certificate"), "{fault}");
    assert_eq!(shop.node.find("/till").unwrap().lookup().version, 1);
}

#[test]
fn sem_g434_a_certificate_stands_for_a_token_where_none_is_needed() {
    let folder = Folder::new("leaf-or-token");
    Keys::add_leaf(&folder.0, "hub", "operator", &[], 1).unwrap();
    let shop = folder.shop();
    let url = shop.server.as_ref().unwrap().url();
    let ca = Some(folder.0.join("ca.pem"));
    let access = Access::new(None, ca).certificate(Some(folder.0.join("hub.pem")));
    let till: TillClient = Peer::with(&url, &access).unwrap().client("/till");
    assert_eq!(
        wait_blocking(till.deposit(entry(2)).into_future()).unwrap(),
        Ok(2)
    );
    let (code, reason) = refused(&url, &folder, None);
    assert_eq!(code, FaultCode::Unauthenticated);
    assert!(reason.contains("or connect with a certificate"), "{reason}");
    let clear = Peer::with(&url.replace("https", "http"), &access).unwrap_err();
    assert!(clear.reason().contains("https"), "{clear}");
    fs::remove_file(folder.0.join("ca.pem")).unwrap();
    let mut config = Config::at(([127, 0, 0, 1], 0).into());
    config.mutual = true;
    let keyless = Server::start(&shop.node, config.clone()).unwrap_err();
    config.keys = Some(Keys::read(&folder.0).unwrap());
    let unknown = Server::start(&shop.node, config).unwrap_err();
    for error in [keyless, unknown] {
        assert!(error.to_string().contains("ca.pem"), "{error}");
    }
}

#[test]
fn sem_g434_a_node_whose_certificate_is_over_is_told_from_a_foreign_one() {
    let (folder, other) = (Folder::none("leaf-over"), Folder::new("leaf-strange"));
    Keys::make(&folder.0, &[], 0).unwrap();
    let shop = folder.shop();
    let url = shop.server.as_ref().unwrap().url();
    let (_, over) = refused(&url, &folder, None);
    assert!(
        over.contains("the time of the node's certificate is over"),
        "{over}"
    );
    let elsewhere = other.shop();
    let url = elsewhere.server.as_ref().unwrap().url();
    let (_, strange) = refused(&url, &folder, None);
    assert!(strange.contains("another authority"), "{strange}");
}

#[test]
fn sem_g431_with_keys_other_machines_may_be_listened_to() {
    let folder = Folder::new("keys-wide");
    let shop = Shop::open();
    let mut config = Config::at(([0, 0, 0, 0], 0).into());
    config.keys = Some(Keys::read(&folder.0).unwrap());
    let server = Server::start(&shop.node, config).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", server.address().port()));
    drop(stream.unwrap());
}

/// One line of the table of refusals.
struct Case {
    request: &'static str,
    host: &'static str,
    /// The name of a token, or another word for a header.
    token: &'static str,
    more: String,
    body: String,
    /// What is said of the length of the body; else what it is.
    length: Option<usize>,
    status: u16,
}

impl Case {
    /// A change that the clerk may make.
    fn new(status: u16) -> Case {
        Case {
            request: "POST /till/-/deposit",
            host: "till.example",
            token: "clerk",
            more: String::new(),
            body: r#"{"name":"ann","cents":1}"#.to_owned(),
            length: None,
            status,
        }
    }

    fn to(status: u16, request: &'static str) -> Case {
        Case {
            request,
            ..Case::new(status)
        }
    }

    fn at(self, host: &'static str) -> Case {
        Case { host, ..self }
    }

    fn of(self, token: &'static str) -> Case {
        Case { token, ..self }
    }

    fn long(self, length: usize) -> Case {
        let length = Some(length);
        Case { length, ..self }
    }

    fn saying(self, body: &str) -> Case {
        let body = body.to_owned();
        Case { body, ..self }
    }

    fn with(mut self, more: &str) -> Case {
        self.more += more;
        self.more += "\r\n";
        self
    }
}

/// Pages of other sites, and whoever takes the node for another.
fn strangers() -> Vec<Case> {
    let new = Case::new;
    vec![
        new(421).at("evil.example"),
        new(421).at("till.example.evil.example"),
        new(421).at("127.0.0.1.nip.example"),
        // The host comes before all else: who is nobody and sends too much, is told of it alone.
        new(421)
            .at("evil.example")
            .of("")
            .long(9 << 20)
            .with("expect: 100-continue"),
        new(400).with("host: till.example"),
        new(403).with("origin: https://evil.example"),
        new(403).with("origin: null"),
        new(403).with("sec-fetch-site: cross-site"),
        new(403).with("sec-fetch-site: same-site"),
    ]
}

/// Whoever is nobody, or may not.
fn roles() -> Vec<Case> {
    let (new, to) = (Case::new, Case::to);
    vec![
        new(401).of(""),
        new(401).of("Basic YWRtaW46YWRtaW4="),
        new(401).of("Bearer"),
        new(401).of("Bearer motet_0000"),
        new(401).of("old"),
        new(400).with("authorization: Bearer motet_0000"),
        to(401, "GET /").of(""),
        to(401, "GET /metrics").of(""),
        to(401, "GET /openapi.json").of(""),
        to(401, "GET /till/-/events").of(""),
        new(403).of("viewer"),
        to(403, "PUT /till").of("viewer"),
        to(403, "PATCH /till").of("viewer"),
        to(403, "POST /till/-/drop").of("viewer"),
        to(403, "POST /sys/manifests/-/load").of("viewer"),
        to(403, "POST /guarded/-/deposit"),
        to(403, "GET /guarded/-/events"),
        to(403, "GET /events?of=/guarded,/till"),
    ]
}

/// Requests that have no sense.
fn forms() -> Vec<Case> {
    let (new, to) = (Case::new, Case::to);
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    vec![
        to(400, "POST /till/../till/-/deposit"),
        to(400, "POST /till/%2e%2e/-/deposit"),
        to(400, "GET /till/-/%00"),
        to(404, "POST /tills/-/deposit"),
        new(413).long((1 << 20) + 1).with("expect: 100-continue"),
        new(400).saying(&deep),
        new(400).saying("{"),
        new(422).saying(r#"{"name":"ann","cents":"much"}"#),
        new(400).with("motet-timeout: soon"),
        new(400).with("motet-body: both"),
        new(400).with("idempotency-key: "),
        new(400).with("transfer-encoding: chunked"),
        to(405, "DELETE /till"),
        to(405, "GET /till/-/deposit"),
    ]
}

#[test]
fn sem_g432_whatever_is_refused_reaches_no_handler() {
    let folder = Folder::new("keys-table");
    let shop = folder.shop();
    let guarded = shop.guarded();
    let calls = |path: &str| shop.node.find(path).unwrap().figures().calls;
    let before = (calls("/till"), calls("/guarded"));
    for case in strangers().into_iter().chain(roles()).chain(forms()) {
        let (status, token) = (case.status, case.token);
        let authorization = match token {
            "" => String::new(),
            header if header.starts_with('B') => format!("authorization: {header}\r\n"),
            name => format!("authorization: Bearer {}\r\n", folder.token(name)),
        };
        let head = format!(
            "{} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{authorization}{}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            case.request,
            case.host,
            case.more,
            case.length.unwrap_or(case.body.len()),
        );
        let answer = folder.ask(&shop, &(head.clone() + &case.body));
        assert_eq!(answer.status, status, "{head}{answer:?}");
        let after = (calls("/till"), calls("/guarded"));
        assert_eq!(after, before, "{head}");
        if status != 400 || !answer.body.is_empty() {
            assert_eq!(
                answer.header("content-type"),
                Some("application/problem+json")
            );
        }
        if status == 401 {
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(shop.node.find("/till").unwrap().lookup().version, 0);
    drop(guarded);
    let done = Case::new(200);
    let token = folder.token(done.token);
    let head = format!(
        "{} HTTP/1.1\r\nhost: TILL.example:80\r\nconnection: close\r\nauthorization: bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
        done.request,
        done.body.len(),
        done.body
    );
    assert_eq!(folder.ask(&shop, &head).status, 200);
    let health = "GET /healthz HTTP/1.1\r\nhost: till.example\r\nconnection: close\r\n\r\n";
    assert_eq!(
        folder.ask(&shop, health).status,
        200,
        "nobody is asked for his health"
    );
}

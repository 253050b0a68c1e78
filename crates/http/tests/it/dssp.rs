//! Operations as SOAP envelopes.

use crate::till::{Answer, Shop};
use motet_dispatch::Dispatcher;
use motet_ports::wait_blocking;
use motet_sync::thread::spawn_named;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const SOAP_11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const SOAP_12: &str = "http://www.w3.org/2003/05/soap-envelope";

fn envelope(soap: &str, verb: &str, header: &str, body: &str) -> String {
    format!(
        "<e:Envelope xmlns:e='{soap}' xmlns:w='http://schemas.xmlsoap.org/ws/2004/08/addressing'><e:Header>\
         <w:Action>http://schemas.microsoft.com/xw/2004/10/dssp.html:{verb}Request</w:Action>\
         <w:MessageID>urn:uuid:7</w:MessageID>{header}</e:Header><e:Body>{body}</e:Body></e:Envelope>"
    )
}

fn post(shop: &Shop, envelope: &str) -> Answer {
    let kind = "content-type: application/soap+xml; charset=utf-8\r\n";
    shop.ask("POST", "/till", kind, envelope)
}

#[track_caller]
fn has(answer: &Answer, status: u16, words: &[&str]) {
    assert_eq!(answer.status, status, "{answer:?}");
    for word in words {
        assert!(answer.body.contains(word), "{word}: {answer:?}");
    }
}

#[test]
fn sem_g438_the_action_is_the_verb_and_the_body_the_operation() {
    let shop = Shop::open();
    let tell = |verb: &str, body: &str| post(&shop, &envelope(SOAP_12, verb, "", body));
    let deposit =
        "<deposit xmlns='test:till/1'><name>ann &amp; bob</name><cents>40</cents></deposit>";
    let done = tell("Update", deposit);
    let answer = "<UpdateResponse xmlns=\"test:till/1\">40</UpdateResponse>";
    let words = [
        ":UpdateResponse</a:Action>",
        "<a:RelatesTo>urn:uuid:7<",
        answer,
    ];
    has(&done, 200, &words);
    let kind = Some("application/soap+xml; charset=utf-8");
    assert_eq!(done.header("content-type"), kind);
    let entry = "<cents><entry key=\"ann &amp; bob\">40</entry></cents>";
    has(&tell("Get", ""), 200, &[":GetResponse<", entry]);
    let balance = |name: &str| tell("Query", &format!("<balance>{name}</balance>"));
    has(&balance("ann &amp; bob"), 200, &[">40</QueryResponse>"]);
    has(&balance("eve"), 200, &["xsi:nil=\"true\"/>"]);
    has(
        &tell("Lookup", ""),
        200,
        &["<contract>test:till/1</contract>"],
    );
    let state = "<Accounts><cents><eve>7</eve></cents></Accounts>";
    has(&tell("Replace", state), 200, &[":ReplaceResponse<"]);
    assert_eq!(shop.get("/till/cents/eve").json(), 7);
    has(&tell("Drop", ""), 200, &[":DropResponse<"]);
    assert_eq!(shop.get("/till").status, 404);
}

#[test]
fn sem_g438_version_1_1_is_answered_in_it() {
    let shop = Shop::open();
    let kind = "content-type: text/xml\r\n";
    let tell = |verb, body| shop.ask("POST", "/till", kind, &envelope(SOAP_11, verb, "", body));
    let got = tell("Get", "");
    has(&got, 200, &[SOAP_11, "<cents></cents>"]);
    assert_eq!(got.header("content-type"), Some("text/xml; charset=utf-8"));
    let refused = tell(
        "Update",
        "<withdraw><name>ann</name><cents>1</cents></withdraw>",
    );
    let words = ["<faultcode>s:Server</faultcode>", "<d:OperationFailed/>"];
    has(&refused, 500, &words);
}

#[test]
fn sem_g439_a_message_that_is_refused_is_told_why_and_changes_nothing() {
    let shop = Shop::open();
    let deposit = "<deposit><name>ann</name><cents>1</cents></deposit>";
    let good = envelope(SOAP_12, "Update", "", deposit);
    let of = |verb, header, body: &str| envelope(SOAP_12, verb, header, body);
    let deep = "<a>".repeat(63) + &"</a>".repeat(63);
    let elsewhere = "<w:ReplyTo><w:Address>http://evil.example/</w:Address></w:ReplyTo>";
    let strange = "<w:Secret e:mustUnderstand='1'/>";
    let much = deposit.replace('1', "much");
    let (action, message) = ("ActionNotSupported", "MessageNotSupported");
    let cases = [
        (of("Fly", "", ""), action),
        (of("Insert", "", deposit), action),
        (of("Update", elsewhere, deposit), action),
        (of("Update", strange, deposit), message),
        (of("Update", "", "<other/>"), message),
        (
            of("Update", "", "<deposit><cents>1</cents></deposit>"),
            message,
        ),
        (of("Update", "", &much), message),
        (of("Update", "", &format!("{deposit}{deposit}")), message),
        (of("Update", "", &deep), message),
        (good.replace(SOAP_12, "urn:other"), message),
        (good.replace("w:Action", "w:Other"), message),
        (good.replace("dssp.html", "other.html"), action),
        (good.replace(">ann<", ">&b;<"), message),
        (format!("<!DOCTYPE a [<!ENTITY b 'c'>]>{good}"), message),
        (format!("<?b c?>{good}"), message),
        (good[..good.len() - 9].to_owned(), message),
        ("{}".to_owned(), message),
    ];
    for (sent, code) in cases {
        let refused = post(&shop, &sent);
        let code = format!("<s:Value>d:{code}</s:Value>");
        assert_eq!(refused.status, 400, "{sent}: {refused:?}");
        assert!(refused.body.contains(&code), "{sent}: {refused:?}");
    }
    assert_eq!(shop.get("/till").header("etag"), Some("\"v0\""));
    has(&post(&shop, &good), 200, &[">1</UpdateResponse>"]);
}

fn subscribe(shop: &Shop, body: &str) -> Answer {
    let body = format!("<Subscribe>{body}</Subscribe>");
    post(shop, &envelope(SOAP_12, "Subscribe", "", &body))
}

/// Takes the next notification, and answers with this status.
fn take(subscriber: &TcpListener, status: u16) -> String {
    let (mut stream, _) = subscriber.accept().unwrap();
    let (mut told, mut piece) = (Vec::new(), [0; 1024]);
    while !told.ends_with(b"</s:Envelope>") {
        let bytes = stream.read(&mut piece).unwrap();
        assert_ne!(bytes, 0, "{}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&piece[..bytes]);
    }
    let answer = format!("HTTP/1.1 {status} Told\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    String::from_utf8(told).unwrap()
}

/// Waits until `/till` tells nobody.
fn until_none(shop: &Shop) {
    let till = shop.node.find("/till").unwrap();
    let begun = Instant::now();
    while !till.lookup().subscriptions.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is there");
        std::thread::yield_now();
    }
}

#[test]
fn sem_g601_a_subscriber_is_told_by_envelopes() {
    let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = subscriber.local_addr().unwrap();
    let shop = Shop::open_with(|config| config.dssp_subscribers = vec![at.to_string()]);
    let address = format!("<Subscriber>http://{at}/told?by=till</Subscriber>");
    let filter = "<TypeFilter><item>deposit</item></TypeFilter>";
    // One that has started anew subscribes again, and is told once.
    for _ in 0..2 {
        let begun = subscribe(&shop, &format!("{address}{filter}"));
        has(&begun, 200, &[":SubscribeResponse</a:Action>"]);
    }
    let till = shop.node.find("/till").unwrap();
    assert_eq!(till.lookup().subscriptions.len(), 1);
    // It wants to hear of deposits only.
    let withdraw = r#"{"name":"ann","cents":0}"#;
    shop.send("POST", "/till/-/withdraw", "", withdraw);
    shop.deposit("ann", 40);
    let told = take(&subscriber, 202);
    for word in [
        "POST /told?by=till HTTP/1.1\r\n",
        "application/soap+xml",
        "dssp.html:UpdateRequest</a:Action>",
        "/told?by=till</a:To>",
        "<deposit xmlns=\"test:till/1\">",
        "<cents>40</cents>",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Who refuses one is told no more.
    shop.deposit("ann", 2);
    assert!(take(&subscriber, 410).contains("<cents>2</cents>"));
    until_none(&shop);
    has(&subscribe(&shop, &address), 200, &[]);
    has(&post(&shop, &envelope(SOAP_12, "Drop", "", "")), 200, &[]);
    assert!(take(&subscriber, 200).contains(":DropRequest</a:Action>"));
}

#[test]
fn sem_g619_a_filter_of_dssp_may_be_a_verb() {
    let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = subscriber.local_addr().unwrap();
    let shop = Shop::open_with(|config| config.dssp_subscribers = vec![at.to_string()]);
    let filter = "<TypeFilter><item>update</item></TypeFilter>";
    let begun = format!("<Subscriber>http://{at}/told</Subscriber>{filter}");
    has(&subscribe(&shop, &begun), 200, &[]);
    // A patch is told as Replace.
    let merge = "content-type: application/merge-patch+json\r\n";
    let patched = shop.ask("PATCH", "/till", merge, r#"{"cents":{"bob":5}}"#);
    assert_eq!(patched.status, 200, "{patched:?}");
    shop.deposit("ann", 40);
    let told = take(&subscriber, 202);
    assert!(told.contains(":UpdateRequest</a:Action>"), "{told}");
    assert!(told.contains("<cents>40</cents>"), "{told}");
}

#[test]
fn sem_g601_a_service_that_ends_before_its_server_sends_drop() {
    motet_testkit::within(Duration::from_secs(100), || {
        let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = subscriber.local_addr().unwrap();
        for _ in 0..20 {
            let known = at.to_string();
            let mut shop = Shop::open_with(|config| config.dssp_subscribers = vec![known]);
            let address = format!("<Subscriber>http://{at}/told</Subscriber>");
            has(&subscribe(&shop, &address), 200, &[]);
            let server = shop.server.take().unwrap();
            wait_blocking(shop.node.shutdown()).unwrap();
            let stopping = spawn_named("stopping", move || server.stop()).unwrap();
            assert!(take(&subscriber, 200).contains(":DropRequest</a:Action>"));
            stopping.join().unwrap();
        }
    });
}

#[test]
fn sem_g601_a_server_stops_at_once_though_all_workers_are_busy() {
    let long = Duration::from_secs(3600);
    motet_testkit::within(Duration::from_secs(100), move || {
        let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = subscriber.local_addr().unwrap();
        let mut shop = Shop::open_on(
            Dispatcher::new(2),
            |builder| builder.limit(long),
            |config| {
                config.dssp_subscribers = vec![at.to_string()];
                config.limits.stop_time = long;
            },
        );
        let address = format!("<Subscriber>http://{at}/told</Subscriber>");
        has(&subscribe(&shop, &address), 200, &[]);
        let busy = shop.keep_busy();
        shop.server.take().unwrap().stop();
        drop(busy);
        // It has been asked for all the same.
        until_none(&shop);
    });
}

#[test]
fn sem_g601_who_subscribes_again_has_one_place() {
    let subscriber = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = subscriber.local_addr().unwrap();
    let shop = Shop::open_with(|config| config.dssp_subscribers = vec![at.to_string()]);
    let told = |place: usize| {
        let address = format!("<Subscriber>http://{at}/{place}</Subscriber>");
        subscribe(&shop, &address)
    };
    for place in 0..64 {
        has(&told(place), 200, &[]);
    }
    has(&told(64), 500, &["d:QueuingLimitExceeded<"]);
    // As many are told as may: one of them may begin anew.
    for _ in 0..100 {
        has(&told(7), 200, &[]);
    }
    let till = shop.node.find("/till").unwrap();
    assert_eq!(till.lookup().subscriptions.len(), 64);
    has(&told(64), 500, &["d:QueuingLimitExceeded<"]);
}

#[test]
fn sem_g601_nobody_is_told_where_the_configuration_does_not_say() {
    let [known, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [at, elsewhere] = [&known, &other].map(|one| one.local_addr().unwrap());
    let shop = Shop::open_with(|config| config.dssp_subscribers = vec![at.to_string()]);
    let (denied, message) = ("PermissionDenied", "MessageNotSupported");
    for (url, code) in [
        (format!("http://{elsewhere}/"), denied),
        (format!("http://{at}@{elsewhere}/"), denied),
        (format!("http://user@{at}/"), denied),
        (format!("https://{at}/"), message),
        (format!("{at}/told"), message),
        (String::new(), message),
    ] {
        let refused = subscribe(&shop, &format!("<Subscriber>{url}</Subscriber>"));
        has(&refused, 400, &[&format!("<s:Value>d:{code}</s:Value>")]);
    }
    for word in ["rob", "insert"] {
        let strange = format!("<TypeFilter><item>{word}</item></TypeFilter>");
        let strange = format!("<Subscriber>http://{at}/</Subscriber>{strange}");
        has(&subscribe(&shop, &strange), 400, &["d:ActionNotSupported<"]);
    }
    let till = shop.node.find("/till").unwrap();
    assert!(till.lookup().subscriptions.is_empty());
    // Unless it is said, there is no such place.
    let url = format!("<Subscriber>http://{at}/</Subscriber>");
    has(
        &subscribe(&Shop::open(), &url),
        400,
        &["d:PermissionDenied<"],
    );
}

#[cfg(feature = "tls")]
#[test]
fn sem_g601_who_may_change_nothing_has_nobody_told_by_dssp() {
    let folder = crate::keys::Folder::new("keys-dssp");
    let keys = motet_http::Keys::read(&folder.0).unwrap();
    let shop = Shop::open_with(|config| {
        config.keys = Some(keys);
        config.dssp_subscribers = vec!["127.0.0.1:9".to_owned()];
    });
    let wanted = "<Subscribe><Subscriber>http://127.0.0.1:9/</Subscriber></Subscribe>";
    let sent = envelope(SOAP_12, "Subscribe", "", wanted);
    let till = shop.node.find("/till").unwrap();
    for (name, status, count) in [("viewer", 400, 0), ("clerk", 200, 1)] {
        let head = format!(
            "POST /till HTTP/1.1\r\nhost: till.example\r\nconnection: close\r\n\
             authorization: Bearer {}\r\ncontent-type: application/soap+xml\r\n\
             content-length: {}\r\n\r\n{sent}",
            folder.token(name),
            sent.len()
        );
        let answer = folder.ask(&shop, &head);
        assert_eq!(answer.status, status, "{name}: {answer:?}");
        assert_eq!(till.lookup().subscriptions.len(), count, "{name}");
    }
}

//! Operations as SOAP envelopes.

use crate::till::{Answer, Shop};

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

//! The console in a browser, against a node that lives.

use crate::browser::Page;
use crate::till::Shop;
use motet_testkit::patience;
use serde_json::json;
use std::time::Instant;

const VIEWS: [&str; 10] = [
    "services",
    "service/till",
    "live",
    "waiting",
    "jobs",
    "log",
    "captured",
    "trace",
    "mesh",
    "manifests",
];

/// The widths of a desk and of a telephone.
const WIDTHS: [u32; 2] = [1280, 360];

#[test]
fn sem_g425_the_console_is_small_and_loads_nothing_from_elsewhere() {
    let shop = Shop::open();
    let page = shop.get("/console/");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let policy = policy.replace("'none'", "").replace("'self'", "");
    assert!(
        !policy.contains('\'') && !policy.contains("http"),
        "{policy}"
    );
    let mut all = page.body.clone();
    let mut left: Vec<String> = vec!["style.css".into(), "icon.svg".into(), "app.js".into()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = left.pop() {
        let file = shop.get(&format!("/console/{name}"));
        assert_eq!(file.status, 200, "{name}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let tag = file.header("etag").unwrap();
        let known = format!("if-none-match: {tag}\r\n");
        let same = shop.ask("GET", &format!("/console/{name}"), &known, "");
        assert_eq!((same.status, same.body.as_str()), (304, ""));
        let imports = file.body.split("from './").skip(1);
        let imports = imports.filter_map(|rest| rest.split('\'').next());
        left.extend(
            imports
                .filter(|name| !seen.iter().any(|seen| seen == name))
                .map(str::to_owned),
        );
        if !seen.contains(&name) {
            all += &file.body;
            seen.push(name);
        }
    }
    assert!(seen.len() > 12, "{seen:?}");
    assert!(all.len() < 150 << 10, "{} bytes", all.len());
    let foreign = all.replace("http://www.w3.org/", "");
    assert!(!foreign.contains("http://") && !foreign.contains("https://"));
    assert_eq!(shop.get("/console").header("location"), Some("/console/"));
    assert_eq!(shop.get("/console/none.js").status, 404);
    assert_eq!(shop.send("POST", "/console/", "", "1").status, 405);
}

#[test]
fn sem_g425_an_operation_is_called_from_its_form_needs_chromium() {
    let Some(mut page) = Page::open("console-form") else {
        return;
    };
    let shop = Shop::open();
    page.look_at(1280, 900, false);
    page.go(&format!("http://{}/console/", shop.at));
    page.until("document.querySelector('tr[data-path=\"/till\"] .badge.running')");
    page.value("document.querySelector('tr[data-path=\"/till\"] a').click()");
    page.until("document.querySelector('[data-operation=deposit]')");
    // What is told before somebody listens is not shown.
    page.until("document.querySelector('.panel .link.on')");
    // By keys alone: the operation opens, its fields are written, and it is sent.
    page.value("document.querySelector('[data-operation=deposit] > summary').focus()");
    page.press("Enter");
    page.until("document.querySelector('[data-operation=deposit]').open");
    for _ in 0..2 {
        page.press("Tab");
        page.until("document.activeElement.matches('[data-operation=deposit] input')");
        let kind = page.value("document.activeElement.type");
        page.write(if kind == "text" { "ann" } else { "40" });
    }
    page.press("Enter");
    page.until("document.querySelector('[data-operation=deposit] .answer')?.innerText === '40'");
    page.until("document.querySelector('.tree [data-at=\"/cents/ann\"]')?.innerText === '40'");
    page.until("document.querySelector('.told li b')?.innerText === 'deposit'");
    assert_eq!(shop.get("/till").json(), json!({"cents": {"ann": 40}}));
    // What is changed elsewhere is seen here.
    shop.deposit("ann", 2);
    page.until("document.querySelector('.tree [data-at=\"/cents/ann\"]').innerText === '42'");
    // A value is edited in its place.
    page.value("document.querySelector('.tree [data-at=\"/cents/ann\"]').click()");
    page.until("document.activeElement.matches('.tree input.edit')");
    page.write("7");
    page.press("Enter");
    page.until("document.querySelector('.tree [data-at=\"/cents/ann\"]')?.innerText === '7'");
    assert_eq!(shop.get("/till").json(), json!({"cents": {"ann": 7}}));
    assert_eq!(shop.get("/till").header("etag"), Some("\"v3\""));
    // What the form cannot be is said before anything is sent, and the answer to the call before
    // does not hide it.
    page.value("document.querySelector('[data-operation=deposit] form').requestSubmit()");
    page.value(
        "document.querySelector('[data-operation=deposit] input[type=number]').value = '0.5'",
    );
    page.value("document.querySelector('[data-operation=deposit] form').requestSubmit()");
    page.until("document.querySelector('[data-operation=deposit] .refused')?.innerText.includes('whole number')");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn sem_g427_the_mesh_of_a_node_is_told_with_those_who_are_slow() {
    let (shop, _mesh) = Shop::in_mesh();
    let status = shop.get("/sys/mesh/-/status").json();
    assert_eq!(status["node"], "shop");
    assert_eq!(status["peers"][0]["name"], "shelf");
    assert_eq!(status["peers"][0]["up"], true);
    assert_eq!(status["peers"][0]["subscriptions"], json!(["stock/**"]));
    let topic = &status["topics"][0];
    assert_eq!(
        (&topic["key"], &topic["class"]),
        (&json!("stock/apples"), &json!("latest"))
    );
    assert_eq!(topic["published"], 3);
    let subscriber =
        json!({"node": "shelf", "waiting": 2, "in_flight": 1, "dropped": 0, "slow": true});
    assert_eq!(topic["subscribers"], json!([subscriber]));
    assert_eq!(Shop::open().get("/sys/mesh/-/status").status, 404);
}

#[test]
fn sem_g428_a_captured_call_is_told_with_those_that_it_has_made() {
    let shop = Shop::open();
    let captured = "motet-capture: 1\r\n";
    let began = shop.send("POST", "/till/-/audit", captured, "10");
    let job = began.header("location").unwrap().to_owned();
    while shop.get(&job).json()["status"] != "done" {
        std::thread::yield_now();
    }
    let told = shop.get("/sys/debug").json()["captured"].clone();
    let of = |name: &str| {
        let mut all = told.as_array().unwrap().iter();
        let found = all.find(|one| one["operation"] == name);
        found.unwrap_or_else(|| panic!("{name}: {told}")).clone()
    };
    let (audit, balance) = (of("audit"), of("balance"));
    assert_eq!(audit["parent"], json!(null));
    assert_eq!(balance["parent"], audit["id"]);
    assert!(balance["began_us"].as_u64() >= audit["began_us"].as_u64());
    assert_eq!(
        of("report")["parent"],
        audit["id"],
        "its job says how far it is"
    );
    // Nothing else was captured: neither what the node does for itself, nor what comes after.
    shop.deposit("ann", 1);
    assert_eq!(told.as_array().unwrap().len(), 3, "{told}");
    assert_eq!(shop.get("/sys/debug").json()["captured"], told);
}

#[test]
fn sem_g429_latencies_are_told_by_operation() {
    let shop = Shop::open();
    for _ in 0..40 {
        shop.deposit("ann", 1);
    }
    shop.get("/till/-/wait?ms=30");
    assert_eq!(shop.get("/till/-/wait?body=30").json(), 30);
    // A call is counted when it is over, which may be after its answer.
    let wait = "motet_operation_seconds_count{service=\"/till\",operation=\"wait\"}";
    let (begun, mut text) = (Instant::now(), String::new());
    while !text.contains(wait) && begun.elapsed() < patience() {
        text = shop.get("/metrics").body;
    }
    let value = |line: &str| -> f64 {
        let found = text.lines().find_map(|own| own.strip_prefix(line));
        let found = found.unwrap_or_else(|| panic!("{line}: {text}"));
        found.trim().parse().unwrap()
    };
    let of = |operation: &str| format!("{{service=\"/till\",operation=\"{operation}\"");
    let count =
        |operation: &str| value(&format!("motet_operation_seconds_count{}}}", of(operation)));
    assert_eq!((count("deposit"), count("wait")), (40.0, 1.0));
    let quantile = |operation: &str, share: &str| {
        value(&format!(
            "motet_operation_seconds{},quantile=\"{share}\"}}",
            of(operation)
        ))
    };
    let (half, most) = (quantile("deposit", "0.5"), quantile("deposit", "0.99"));
    assert!(0.0 < half && half <= most && most < 10.0, "{half} {most}");
    assert!(quantile("wait", "0.99") > 0.025, "the wait is in it");
    let figures = shop.get("/sys/diagnostics/-/figures").json();
    let mut all = figures.as_array().unwrap().iter();
    let till = all.find(|one| one["path"] == "/till").unwrap();
    assert_eq!(till["latencies"][0]["operation"], "");
    assert!(till["latencies"][0]["count"].as_u64() >= Some(41), "{till}");
}

#[test]
fn sem_g425_every_view_fits_and_complains_of_nothing_needs_chromium() {
    let Some(mut page) = Page::open("console-views") else {
        return;
    };
    let (shop, _mesh) = Shop::in_mesh();
    shop.deposit("ann", 40);
    let captured = "motet-capture: 1\r\n";
    let body = r#"{"name":"ann","cents":2}"#;
    assert_eq!(
        shop.send("POST", "/till/-/deposit", captured, body).json(),
        42
    );
    assert_eq!(
        shop.send("POST", "/till/-/audit", captured, "10").status,
        202
    );
    let own = format!("http://{}/", shop.at);
    page.look_at(1280, 900, false);
    page.go(&format!("{own}console/"));
    page.until("document.querySelector('tr[data-path=\"/till\"]')");
    for (width, dark) in WIDTHS
        .into_iter()
        .flat_map(|width| [(width, false), (width, true)])
    {
        page.look_at(width, 800, dark);
        for view in VIEWS {
            page.value(&format!("location.hash = '#/{view}'"));
            page.until(
                "document.querySelector('main h1') && !document.querySelector('main .refused')",
            );
            page.until(match view {
                "services" => {
                    "document.querySelector('tr[data-path=\"/till\"] [data-label=p99]')?.innerText.endsWith('s')"
                }
                "service/till" => {
                    "document.querySelector('.tree [data-at]') \
                     && document.querySelector('[data-operation=deposit] .took').innerText.startsWith('p50')"
                }
                "live" => "document.querySelectorAll('.plot svg').length === 2",
                "waiting" => "document.querySelector('.graph rect') && main.innerText.includes('No service waits')",
                "jobs" => "document.querySelector('.job .badge.done')",
                "log" => "document.querySelector('.log li')",
                "captured" => "main.innerText.includes('/till deposit')",
                "trace" => {
                    "[...document.querySelectorAll('.spans [data-depth=\"1\"] b')].some((b) => b.innerText === 'balance') \
                     && document.querySelectorAll('.spans svg rect').length === 4"
                }
                "mesh" => "['shelf', 'stock/**', 'latest', 'slow'].every((word) => main.innerText.includes(word))",
                _ => "main.innerText.includes('test:till/1')",
            });
            let over = page.value("document.documentElement.scrollWidth - innerWidth");
            assert!(
                over.as_i64() <= Some(0),
                "{view} is {over} wider than {width}"
            );
        }
        let paper = page.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(paper == "rgb(16, 20, 25)", dark, "{paper}");
    }
    assert_eq!(page.complaints, [""; 0]);
    let foreign: Vec<&String> = page
        .requests
        .iter()
        .filter(|url| !url.starts_with(&own))
        .collect();
    assert!(
        page.requests.len() > 20 && foreign.is_empty(),
        "{foreign:?}"
    );
}

#[test]
fn sem_g425_a_number_that_the_page_cannot_hold_is_not_sent_needs_chromium() {
    let Some(mut page) = Page::open("console-numbers") else {
        return;
    };
    let shop = Shop::open();
    page.go(&format!("http://{}/console/", shop.at));
    page.until("document.querySelector('tr[data-path=\"/till\"] .badge.running')");
    for (text, is_held) in [
        (
            r#"{"a": [9007199254740991, -1, 2.5e300], "b": "9007199254740993"}"#,
            true,
        ),
        (r#"{"a": 9007199254740993}"#, false),
        (r#"["\\", 18446744073709551615, "\""]"#, false),
        ("[-9007199254740993]", false),
    ] {
        let text_of_page = json!(text);
        let ask = "import('/console/api.js').then(({ exact }) => exact";
        let told = page.value(&format!("{ask}({text_of_page}))"));
        assert_eq!(told, json!(is_held), "{text}");
    }
    let form = "import('/console/forms.js').then(({ form }) => {
        const made = form({ type: 'integer', minimum: 0 });
        const send = (text) => {
            made.node.querySelector('input').value = text;
            try { return made.read(); } catch (error) { return error.title; }
        };
        return ['7', '9007199254740993'].map(send);
    })";
    assert_eq!(page.value(form), json!([7, "Not sent"]));
}

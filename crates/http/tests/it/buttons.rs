//! What the console does when its buttons and filters are used, in a browser.

use crate::browser::Page;
use crate::till::Shop;
use motet_dispatch::Dispatcher;
use motet_ports::timer::sleep;
use motet_ports::wait_blocking;
use motet_service::{Create, Cx, Fault, Service, State, contract, data};
use serde_json::json;
use std::time::Duration;

#[data]
#[derive(Default)]
struct OvenHeat {}

#[contract(uri = "test:oven/1", state = OvenHeat)]
trait Oven {
    /// Takes longer than anybody waits.
    #[submit(job)]
    async fn bake(cx: Cx, loaves: u64) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Oven)]
struct StoneOven {
    #[state]
    heat: State<OvenHeat>,
}

impl Oven for StoneOven {
    async fn bake(cx: Cx, loaves: u64) -> Result<u64, Fault> {
        cx.progress(0.25, "it rises");
        sleep(Duration::from_secs(24 * 3600)).await;
        Ok(loaves)
    }
}

/// The console of a shop, at this view.
fn console(page: &mut Page, shop: &Shop, view: &str) {
    page.look_at(1280, 900, false);
    page.go(&format!("http://{}/console/#/{view}", shop.at));
    page.until("document.querySelector('main h1')");
}

#[test]
fn sem_g425_a_job_is_cancelled_by_its_button_needs_chromium() {
    let Some(mut page) = Page::open("console-cancel") else {
        return;
    };
    let shop = Shop::open_on(
        Dispatcher::new(2),
        |builder| builder.register::<StoneOven>(),
        |_| {},
    );
    let oven = shop.node.create(Create::<StoneOven>::of().at("/oven"));
    let oven = wait_blocking(oven).unwrap().unwrap();
    let begun = wait_blocking(async { oven.bake(40).await });
    let job = begun.unwrap().unwrap().path;
    console(&mut page, &shop, "jobs");
    page.until("document.querySelector('.job .badge')?.textContent === 'running'");
    page.until("document.querySelector('.job .progress').textContent.includes('it rises')");
    assert_eq!(shop.get(&job).json()["status"], "running");
    page.value("document.querySelector('.job .progress button').click()");
    page.until("document.querySelector('.job .badge').textContent === 'cancelled'");
    page.until("!document.querySelector('.job .progress button')");
    assert_eq!(shop.get(&job).json()["status"], "cancelled");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn sem_g425_a_manifest_is_loaded_by_its_button_needs_chromium() {
    let Some(mut page) = Page::open("console-manifest") else {
        return;
    };
    let shop = Shop::open();
    console(&mut page, &shop, "manifests");
    // The button of a type writes a record of it.
    page.until(
        "[...document.querySelectorAll('main tbody th')].some((th) => th.textContent === 'till')",
    );
    page.value(
        "[...document.querySelectorAll('main tbody tr')]
            .find((row) => row.querySelector('th').textContent === 'till')
            .querySelector('button').click()",
    );
    let written = page.value("document.querySelector('textarea').value");
    let written = written.as_str().unwrap();
    assert!(
        written.starts_with("[[service]]\ntype = \"till\"\n"),
        "{written}"
    );
    // A record that fails does not keep the other.
    let both = format!(
        "{}\n[[service]]\ntype = \"nobody\"\nat = \"/nobody\"\n",
        written.replace("/till", "/box")
    );
    page.value(&format!(
        "document.querySelector('textarea').value = {}",
        json!(both)
    ));
    page.value("document.querySelector('main form [type=submit]').click()");
    page.until("document.querySelector('.loaded a')?.textContent === '/box'");
    page.until("document.querySelector('.loaded .refused')?.textContent.includes('nobody')");
    assert_eq!(shop.get("/box").json(), json!({"cents": {}}));
    assert_eq!(shop.get("/nobody").status, 404);
    assert_eq!(page.complaints, [""; 0]);
}

/// What the log shows, newest first.
const SHOWN: &str =
    "JSON.stringify([...document.querySelectorAll('.log .text')].map((one) => one.textContent))";

fn say(shop: &Shop, level: &str, text: &str) {
    let entry = json!({"at_ms": 1, "level": level, "category": "oven", "service": "/till",
        "text": text});
    let said = shop.send("POST", "/sys/log/-/write", "", &entry.to_string());
    assert_eq!(said.status, 200, "{said:?}");
}

#[test]
fn sem_g425_the_log_is_filtered_needs_chromium() {
    let Some(mut page) = Page::open("console-log") else {
        return;
    };
    let shop = Shop::open();
    say(&shop, "info", "it is warm");
    say(&shop, "warning", "it is hot");
    say(&shop, "error", "it burns");
    console(&mut page, &shop, "log");
    page.until(&format!("{SHOWN}.includes('it is warm')"));
    for (level, expected) in [
        ("error", json!(["it burns"])),
        ("warning", json!(["it burns", "it is hot"])),
    ] {
        page.value(&format!(
            "document.querySelector('.filters select').value = '{level}';
             document.querySelector('.filters select').dispatchEvent(new Event('change'))"
        ));
        assert_eq!(page.value(SHOWN), expected.to_string(), "{level}");
    }
    page.until("document.querySelector('main h1 .link.on')");
    page.value("document.querySelector('.filter').focus()");
    page.until("document.activeElement.matches('.filter')");
    page.write("BURN");
    page.until(&format!("{SHOWN} === '{}'", json!(["it burns"])));
    // What comes is filtered, too.
    say(&shop, "error", "the door is open");
    say(&shop, "info", "it burns less");
    say(&shop, "error", "it burns again");
    let both = json!(["it burns again", "it burns"]);
    page.until(&format!("{SHOWN} === '{both}'"));
    page.write(" or not");
    page.until("document.querySelector('.log').textContent === 'No entry fits the filter.'");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn sem_g425_a_service_is_dropped_by_its_name_needs_chromium() {
    let Some(mut page) = Page::open("console-drop") else {
        return;
    };
    let shop = Shop::open();
    console(&mut page, &shop, "services");
    let row = "document.querySelector('main tr[data-path=\"/till\"]')";
    page.until(row);
    page.value("document.querySelector('.filter').focus()");
    page.until("document.activeElement.matches('.filter')");
    page.write("none of them");
    page.until(
        "document.querySelector('main').textContent.includes('No service fits the filter.')",
    );
    page.value("location.hash = '#/service/till'");
    page.until("document.querySelector('#drop')");
    page.value("document.querySelector('#drop').closest('details').open = true");
    page.value("document.querySelector('#drop').focus()");
    page.until("document.activeElement.matches('#drop')");
    let button = "document.querySelector('#drop').closest('form').querySelector('button')";
    // Another name does not end it.
    page.write("/til");
    page.until("document.querySelector('#drop').value === '/til'");
    assert_eq!(page.value(&format!("{button}.disabled")), true);
    page.value(&format!("{button}.click()"));
    assert_eq!(shop.get("/till").status, 200);
    page.write("l");
    page.until(&format!("!{button}.disabled"));
    assert_eq!(page.complaints, [""; 0]);
    page.value(&format!("{button}.click()"));
    page.until(&format!("location.hash === '#/services' && !{row}"));
    assert_eq!(shop.get("/till").status, 404);
}

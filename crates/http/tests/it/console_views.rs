//! What views of the console show of a node at work: calls under way, jobs on ranks, whoever needs
//! a token.

use crate::browser::Page;
#[cfg(feature = "tls")]
use crate::keys::Folder;
use crate::till::Shop;
use motet_comm::World;
use motet_dispatch::Dispatcher;
use motet_ports::{Port, wait_blocking};
use motet_service::{Create, Cx, Fault, Service, State, contract, data};
#[cfg(feature = "tls")]
use serde_json::json;
use std::time::Duration;

/// How long a call waits that is under way while a page looks: it does not end by that.
const LONG: Duration = Duration::from_secs(3600);

#[data]
#[derive(Default)]
struct Nothing {}

#[contract(uri = "test:desk/1", state = Nothing)]
trait Desks {
    /// Asks `/vault`, and waits for its answer.
    #[query]
    async fn ask(cx: Cx) -> Result<u64, Fault>;
    /// Answers when something comes to the port that is sent with the call.
    #[query]
    async fn hold(cx: Cx) -> Result<u64, Fault>;
    /// Adds the numbers of so many ranks.
    #[submit(job)]
    async fn add(cx: Cx, ranks: usize) -> Result<u64, Fault>;
}

#[derive(Service)]
#[service(contract = Desks, name = "desk")]
struct OneDesk {
    #[state]
    nothing: State<Nothing>,
}

impl Desks for OneDesk {
    async fn ask(cx: Cx) -> Result<u64, Fault> {
        let opens = cx.header::<Port<()>>().expect("the test sends it");
        let vault: DesksClient = cx.client("/vault")?;
        vault.hold().header(Port::clone(&opens)).within(LONG).await
    }
    async fn hold(cx: Cx) -> Result<u64, Fault> {
        let opens = cx.header::<Port<()>>().expect("the test sends it");
        opens.recv().await;
        Ok(1)
    }
    async fn add(cx: Cx, ranks: usize) -> Result<u64, Fault> {
        let ranks = cx.ranks(World::threads(ranks)).profile();
        let sums = ranks.run(async |comm| comm.allreduce(comm.rank() as u64, |a, b| a + b).await);
        Ok(sums.await?[0])
    }
}

/// A shop with a desk at `/desk` and another at `/vault`.
fn shop_with_desks() -> (Shop, DesksClient) {
    let shop = Shop::open_on(Dispatcher::new(2), |builder| builder, |_| {});
    let create = |path: &str| {
        let desk = Create::<OneDesk>::of().at(path);
        wait_blocking(shop.node.create(desk)).unwrap().unwrap()
    };
    let [_vault, desk] = ["/vault", "/desk"].map(create);
    (shop, desk)
}

/// Where the line of a call under way begins and ends, seen from the middle of the lower side of
/// `/desk` and of the upper side of `/vault`: about 0 pixels, right and down.
const ENDS_OF_LINE: &str = "(() => {
    const box = (name) => [...document.querySelectorAll('.graph a')]
        .find((one) => one.textContent === name).querySelector('rect').getBBox();
    const line = document.querySelector('.graph path.wait');
    const [from, to] = [line.getPointAtLength(0), line.getPointAtLength(line.getTotalLength())];
    const [desk, vault] = [box('/desk'), box('/vault')];
    return [from.x - desk.x - desk.width / 2, from.y - desk.y - desk.height,
        to.x - vault.x - vault.width / 2, to.y - vault.y];
})()";

#[test]
fn sem_g425_sem_g426_a_call_under_way_is_drawn_needs_chromium() {
    let Some(mut page) = Page::open("console-waiting") else {
        return;
    };
    let (shop, desk) = shop_with_desks();
    let opens = Port::<()>::new();
    let asked = desk.ask().header(opens.clone()).within(LONG);
    let asked = asked.into_future();
    page.look_at(1280, 900, false);
    page.go(&format!("http://{}/console/#/waiting", shop.at));
    page.until("document.querySelector('.graph path.wait')");
    let busy = "[...document.querySelectorAll('.graph a')]
        .filter((one) => one.querySelector('rect.busy'))
        .map((one) => one.textContent).sort().join()";
    assert_eq!(page.value(busy), "/desk,/vault");
    let lines = "document.querySelectorAll('.graph path.wait, .graph path.ring').length";
    assert_eq!(page.value(lines), 1);
    let ends = page.value(ENDS_OF_LINE);
    for end in ends.as_array().unwrap() {
        assert!(end.as_f64().unwrap().abs() < 2.0, "{ends}");
    }
    let row = "[...document.querySelectorAll('main td a')].map((one) => one.innerText).join()";
    assert_eq!(page.value(row), "/desk,/vault");
    opens.post(()).unwrap();
    assert_eq!(wait_blocking(asked).unwrap(), Ok(1));
    page.until("main.innerText.includes('No service waits')");
    page.until("document.querySelector('.graph') && !document.querySelector('.graph path.wait')");
    assert_eq!(page.complaints, [""; 0]);
}

/// Of each rank of a profile: its name, what its bar is called, and how wide the bar's parts are.
const RANKS: &str = "[...document.querySelectorAll('.profile tr')].map((row) => [
    row.querySelector('th').textContent, row.title,
    [...row.querySelectorAll('rect')].map((part) => Number(part.getAttribute('width')))])";

#[test]
fn sem_g425_where_the_time_of_the_ranks_of_a_job_went_is_drawn_needs_chromium() {
    let Some(mut page) = Page::open("console-profile") else {
        return;
    };
    let (shop, _desk) = shop_with_desks();
    let began = shop.send("POST", "/desk/-/add", "", "2");
    assert_eq!(began.status, 202, "{began:?}");
    let job = began.header("location").unwrap().to_owned();
    page.look_at(1280, 900, false);
    page.go(&format!("http://{}/console/#/jobs", shop.at));
    page.until("document.querySelector('.job .badge.done')");
    page.until("document.querySelector('.profile')");
    let said = page.value(
        "[...document.querySelectorAll('.job summary')].map((one) => one.textContent)
            .filter((text) => /^profile: 2 ranks, \\S+ s, imbalance \\S+ %$/.test(text)).length",
    );
    assert_eq!(said, 1);
    let legend =
        "[...document.querySelectorAll('.job .legend li')].map((one) => one.textContent).join()";
    assert_eq!(page.value(legend), "computing,messaging,waiting");
    // The parts of the bars are those of the profile, and the longest rank has a whole bar.
    let profile = shop.get(&job).json()["profile"].clone();
    let parts = |rank: usize| {
        let stages = profile["ranks"][rank]["stages"].as_array().unwrap();
        ["computing", "messaging", "waiting"].map(|part| {
            let times = stages.iter().map(|stage| stage[part].as_f64().unwrap());
            times.sum::<f64>()
        })
    };
    let all = [0, 1].map(parts);
    let longest = all
        .iter()
        .map(|parts| parts.iter().sum::<f64>())
        .fold(0.0, f64::max);
    assert!(longest > 0.0, "{profile}");
    let drawn = page.value(RANKS);
    assert_eq!(drawn.as_array().map(Vec::len), Some(2), "{drawn}");
    for (rank, parts) in all.iter().enumerate() {
        let row = &drawn[rank];
        assert_eq!(row[0], format!("rank {rank}"));
        let title = row[1].as_str().unwrap();
        for part in ["computing ", ", messaging ", ", waiting "] {
            assert!(title.contains(part), "{title}");
        }
        for (part, time) in parts.iter().enumerate() {
            let width = row[2][part].as_f64().unwrap();
            let expected = time / longest * 1000.0;
            assert!((width - expected).abs() < 1e-6, "{drawn} {profile}");
        }
    }
    // It is seen when it is opened.
    page.value("document.querySelector('.profile').closest('details').open = true");
    page.until("document.querySelector('.profile svg').getBoundingClientRect().width > 50");
    assert_eq!(page.complaints, [""; 0]);
}

#[cfg(feature = "tls")]
#[test]
fn sem_g425_a_node_with_keys_is_looked_at_with_a_token_needs_chromium() {
    const SERVES: &str = "document.querySelector('tr[data-path=\"/till\"] .badge.running')";
    const KEPT: &str = "sessionStorage.getItem('motet-token')";
    let Some(mut page) = Page::open("console-token") else {
        return;
    };
    let folder = Folder::new("console-token-keys");
    let (shop, token) = (folder.shop(), folder.token("viewer"));
    let place = format!("{}/console/", shop.server.as_ref().unwrap().url());
    // The browser does not know the authority of the node.
    page.tell(
        "Security.setIgnoreCertificateErrors",
        &json!({"ignore": true}),
    );
    page.look_at(1280, 900, false);
    // A token in the address is taken, and is not there any more.
    page.go(&format!("{place}#token={token}"));
    page.until(SERVES);
    assert_eq!(page.value("location.href"), format!("{place}#/services"));
    assert_eq!(page.value("document.querySelector('dialog')"), json!(null));
    assert_eq!(page.value(KEPT), token.as_str());
    // Without one it is asked for, and nothing is shown until it is right.
    page.value("sessionStorage.clear()");
    page.go("about:blank");
    page.go(&place);
    for (given, is_known) in [("motet_0", false), (token.as_str(), true)] {
        page.until("document.querySelector('dialog[open] #token')?.value === ''");
        page.until("document.activeElement.id === 'token'");
        assert_eq!(
            page.value("document.querySelector('main tr[data-path]')"),
            json!(null)
        );
        page.write(given);
        page.press("Enter");
        if is_known {
            page.until(SERVES);
        }
    }
    page.until("!document.querySelector('dialog')");
    assert_eq!(page.value(KEPT), token.as_str());
    assert!(
        page.requests.iter().all(|url| !url.contains("motet_")),
        "a token is in no address: {:?}",
        page.requests
    );
}

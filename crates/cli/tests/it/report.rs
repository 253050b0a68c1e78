//! The pictures, tables and the page of a run, as a user makes them and as a browser shows them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::ProgramFolder;
use serde_json::Value;

/// Rows that were measured with `motet bench run all --quick`, and the record of the machine.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/data/sample");

/// A place with the sample in the folder `out`.
fn sample() -> ProgramFolder {
    let place = ProgramFolder::new();
    fs::create_dir(place.path("out")).unwrap();
    for name in ["rows.jsonl", "machine.json"] {
        fs::copy(Path::new(SAMPLE).join(name), place.path("out").join(name)).unwrap();
    }
    place
}

#[test]
fn plot_writes_pictures_and_tables() {
    let place = sample();
    let out = place.run("bench plot out").quiet_success();
    assert!(out.contains("pictures are in out/pictures"), "{out}");
    let (pictures, tables) = (place.names("out/pictures"), place.names("out/tables"));
    for name in ["e03-time-pipeline.svg", "e03-time-pipeline.png"] {
        assert!(pictures.contains(&name.to_owned()), "{name}: {pictures:?}");
    }
    for name in ["e06.md", "e06.csv"] {
        assert!(tables.contains(&name.to_owned()), "{name}: {tables:?}");
    }
    let left = place
        .names("out")
        .into_iter()
        .filter(|name| name.starts_with('.'));
    assert_eq!(left.count(), 0, "nothing is left beside the files");
}

#[test]
fn join_puts_two_machines_into_one_folder() {
    let place = sample();
    let same = place.run("bench join out out --out both");
    assert!(same.err.contains("motet bench compare"), "{}", same.err);
    fs::create_dir(place.path("other")).unwrap();
    let rows = place.read("out/rows.jsonl");
    let mut machine: Value = serde_json::from_str(&place.read("out/machine.json")).unwrap();
    machine["machine"]["model"] = Value::from("Another processor");
    fs::write(place.path("other/rows.jsonl"), &rows).unwrap();
    fs::write(place.path("other/machine.json"), machine.to_string()).unwrap();
    let joined = place.run("bench join out other --out both").quiet_success();
    assert!(joined.contains("motet bench report both"), "{joined}");
    assert_eq!(place.read("both/rows.jsonl"), rows);
    place.run("bench report both").quiet_success();
    let page = place.read("both/report.html");
    assert!(page.contains("Another processor"));
    assert!(page.contains("both machines have"));
    let again = place.run("bench join both other --out third");
    assert!(again.err.contains("two machines already"), "{}", again.err);
}

#[test]
fn compare_prints_the_rows_that_differ_beyond_their_spread() {
    let place = sample();
    let same = place.run("bench compare out out").quiet_success();
    assert!(same.contains(" rows agree (100.0 %); "), "{same}");
    assert_eq!(same.lines().count(), 1, "{same}");
    fs::create_dir(place.path("later")).unwrap();
    let changed = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let several = row["runs"].as_u64().is_some_and(|runs| runs > 1);
        if several && row["experiment"] == "E01" && row["point"]["what"] == "unit" {
            row["median"] = Value::from(row["median"].as_f64().unwrap() * 1000.0);
        }
        format!("{row}\n")
    };
    let rows: String = place.read("out/rows.jsonl").lines().map(changed).collect();
    fs::write(place.path("later/rows.jsonl"), rows).unwrap();
    let apart = place.run("bench compare out later").quiet_success();
    let lines: Vec<&str> = apart.lines().collect();
    assert_eq!(
        lines.len(),
        3,
        "headings, a row, and how many agree: {apart}"
    );
    assert!(
        lines[1].starts_with("E01 motet, what unit: time (us)"),
        "{apart}"
    );
    assert!(lines[1].ends_with("1000.00"), "{apart}");
    let json = place.run("bench compare out later --json").quiet_success();
    let row: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(row["row"]["experiment"], "E01");
    let refused = place.run("bench compare out nowhere");
    assert!(
        refused.err.contains("nowhere has no rows"),
        "{}",
        refused.err
    );
}

#[test]
fn the_report_says_first_what_is_lost_and_then_everything_else() {
    let place = sample();
    let out = place.run("bench report out").quiet_success();
    assert_eq!(out, "the report is out/report.html\n");
    let page = place.read("out/report.html");
    let order = [
        "id=\"loses\"",
        "id=\"machine\"",
        "id=\"e03\"",
        "id=\"e06\"",
        "id=\"claims\"",
        "id=\"figures\"",
    ];
    let at = order.map(|anchor| page.find(anchor).unwrap_or_else(|| panic!("{anchor}")));
    assert!(at.is_sorted(), "{at:?}");
    for key in 1..=50 {
        assert!(
            page.contains(&format!("<td id=\"c{key:02}\">")),
            "C{key:02}"
        );
    }
    // Everything is inside, and nothing is fetched or run.
    for outside in [
        "<script",
        "<link",
        "<img",
        "src=",
        "@import",
        "url(",
        "href=\"http",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Whatever is linked to is there.
    for link in page.split("href=\"#").skip(1) {
        let anchor = link.split('"').next().unwrap();
        let known = page.contains(&format!("id=\"{anchor}\""));
        // A claim names its experiment also where that was not measured.
        assert!(known || anchor.starts_with('e'), "{anchor}");
    }
}

#[test]
fn sem_g337_a_page_without_peers_says_that_nothing_is_compared() {
    let place = sample();
    let motet = |line: &&str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["series"]
            .as_str()
            .is_some_and(|series| series.starts_with("motet"))
    };
    let rows = place.read("out/rows.jsonl");
    let kept: Vec<&str> = rows.lines().filter(motet).collect();
    assert!(!kept.is_empty() && kept.len() < rows.lines().count());
    place.write("out/rows.jsonl", kept.join("\n") + "\n");
    place.run("bench report out").quiet_success();
    let page = place.read("out/report.html");
    assert!(!page.contains("of 0 comparisons"));
    assert!(page.contains("there was no peer to compare with"));
    assert!(page.contains("Nothing is compared"));
}

#[test]
fn text_out_of_rows_is_escaped() {
    let place = sample();
    let rows = place.read("out/rows.jsonl");
    let evil = "<img src=x onerror=alert(1)>";
    let first = rows.lines().find(|row| row.contains("\"median\"")).unwrap();
    let mut row: Value = serde_json::from_str(first).unwrap();
    row["series"] = evil.into();
    place.write("out/rows.jsonl", format!("{rows}{row}\n"));
    place.run("bench report out").quiet_success();
    let page = place.read("out/report.html");
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn wrong_folders_are_refused_in_one_line_and_nothing_is_written() {
    let place = sample();
    let rows = place.read("out/rows.jsonl");
    let first = rows.lines().next().unwrap();
    let cases = [
        (String::new(), "out has no rows: measure some"),
        (
            format!("{first}\n{{\"schema\":1\n{first}\n"),
            "rows.jsonl:2",
        ),
        (
            first.replace("\"schema\":1", "\"schema\":9") + "\n",
            "rows.jsonl:1",
        ),
        (
            first.replace("\"experiment\":\"E", "\"experiment\":\"X") + "\n",
            "which is no experiment",
        ),
    ];
    for (text, said) in cases {
        place.write("out/rows.jsonl", text);
        for command in ["plot", "report"] {
            let run = place.run(&format!("bench {command} out"));
            assert_eq!((run.code, run.out.as_str()), (2, ""), "{said}");
            assert!(run.err.contains(said), "{said}: {}", run.err);
            assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        }
        assert_eq!(place.names("out"), ["machine.json", "rows.jsonl"]);
    }
    // Half a line is left out, and told.
    place.write("out/rows.jsonl", format!("{first}\n{}", &first[..40]));
    let run = place.run("bench report out");
    assert!(
        run.code == 0 && run.err.contains("is cut off and left out"),
        "{}",
        run.err
    );
}

/// What the browser sees of a page.
struct Seen {
    /// The width of the page's content, in pixels.
    content: f64,
    /// How many pictures have a size.
    pictures: u64,
    /// What scripts complained of.
    errors: Vec<String>,
}

#[test]
fn the_page_opens_in_a_browser_needs_chromium() {
    let Some(chromium) = chromium() else {
        return;
    };
    let place = sample();
    place.run("bench report out").quiet_success();
    let page = place.read("out/report.html");
    let pictures = page.matches("<svg").count() as u64;
    assert!(pictures > 10, "{pictures} pictures");
    for width in [1280, 400] {
        let seen = see(&chromium, &place, &page, width);
        assert_eq!(seen.errors, [""; 0], "{width} pixels");
        assert_eq!(seen.pictures, pictures, "{width} pixels");
        assert!(
            seen.content <= f64::from(width),
            "the page is {} pixels wide in a window of {width}",
            seen.content
        );
    }
    shot(&chromium, &place);
}

/// The browser; where there is none the test is left out, and a failure on the build machine.
fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("MOTET_CHROMIUM").filter(|path| !path.is_empty());
    let chromium = PathBuf::from(named.unwrap_or("chromium".into()));
    let runs = Command::new(&chromium)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if runs.is_ok_and(|status| status.success()) {
        return Some(chromium);
    }
    let reason = format!(
        "{} does not run: install chromium, or set MOTET_CHROMIUM",
        chromium.display()
    );
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    eprintln!("left out: {reason}");
    None
}

fn headless(chromium: &Path, place: &ProgramFolder) -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(chromium).args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--allow-file-access-from-files",
        "--virtual-time-budget=10000",
    ]);
    let profile = place.path("profile");
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// Opens the page in a frame of this width, since a window cannot be as narrow.
fn see(chromium: &Path, place: &ProgramFolder, page: &str, width: u32) -> Seen {
    const PROBE: &str = "<script>
        const errors = [];
        window.onerror = (message) => { errors.push(String(message)); };
        window.onload = () => {
            const drawn = [...document.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect());
            parent.postMessage(JSON.stringify({
                content: document.documentElement.scrollWidth,
                pictures: drawn.filter((box) => box.width > 200 && box.height > 150).length,
                errors,
            }), '*');
        };
        </script></head>";
    place.write("out/probed.html", page.replacen("</head>", PROBE, 1));
    let frame = format!(
        "<!DOCTYPE html><body><pre id=\"seen\"></pre><script>
        window.onmessage = (event) => {{ document.getElementById('seen').textContent = event.data; }};
        </script><iframe src=\"probed.html\" style=\"border:0;width:{width}px;height:900px\"></iframe></body>"
    );
    place.write("out/frame.html", frame);
    let address = format!("file://{}", place.path("out/frame.html").display());
    let output = headless(chromium, place)
        .args(["--dump-dom", &address])
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let told = dom
        .split("<pre id=\"seen\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next());
    let told = told.filter(|told| !told.is_empty()).unwrap_or_else(|| {
        panic!(
            "the page told nothing: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let told: Value = serde_json::from_str(&told.replace("&quot;", "\"")).unwrap();
    let errors = told["errors"].as_array().unwrap().iter();
    Seen {
        content: told["content"].as_f64().unwrap(),
        pictures: told["pictures"].as_u64().unwrap(),
        errors: errors.map(|error| error.to_string()).collect(),
    }
}

/// A picture of the page, which is not blank.
fn shot(chromium: &Path, place: &ProgramFolder) {
    let file = place.path("page.png");
    let address = format!("file://{}", place.path("out/report.html").display());
    let status = headless(chromium, place)
        .args([
            "--window-size=1280,2400",
            &format!("--screenshot={}", file.display()),
            &address,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(&file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((frame.width, frame.height), (1280, 2400));
    let bytes = frame.color_type.samples();
    let background = &pixels[..bytes];
    let drawn = pixels
        .chunks(bytes)
        .filter(|pixel| *pixel != background)
        .count();
    let share = drawn as f64 / f64::from(frame.width * frame.height);
    assert!(share > 0.02, "{share} of the page is drawn on");
}

//! A browser without a window, driven by its DevTools protocol over pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A page in a browser of its own.
pub(crate) struct Page {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// What scripts, the policy of the page and the network complained of.
    pub(crate) complaints: Vec<String>,
    /// The addresses that were asked for.
    pub(crate) requests: Vec<String>,
    profile: PathBuf,
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

impl Page {
    /// An empty page; `None` where there is no browser.
    pub(crate) fn open(name: &str) -> Option<Page> {
        let chromium = chromium()?;
        let profile = std::env::temp_dir().join(format!("motet-{name}-{}", std::process::id()));
        // The protocol is at descriptors 3 and 4.
        let mut browser = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"])
            .args(["sh", "timeout", "300"])
            .arg(chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (browser.stdin.take(), browser.stdout.take());
        let mut page = Page {
            browser,
            to: to.unwrap(),
            from: BufReader::new(from.unwrap()),
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            profile,
        };
        let target = page.tell("Target.createTarget", &json!({"url": "about:blank"}));
        let how = json!({"targetId": target["targetId"], "flatten": true});
        let attached = page.tell("Target.attachToTarget", &how);
        page.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.tell(&format!("{domain}.enable"), &json!({}));
        }
        Some(page)
    }

    /// Sends a command: its result.
    pub(crate) fn tell(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let mut command = json!({"id": self.next, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        self.to
            .write_all(format!("{command}\0").as_bytes())
            .unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.next {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Reads an event: whether it is this one.
    fn next_event(&mut self, name: &str) -> bool {
        let message = self.read();
        self.note(&message);
        message["method"] == name
    }

    /// An event of the page.
    fn note(&mut self, message: &Value) {
        let about = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => {
                self.complaints.push(about["exceptionDetails"].to_string())
            }
            "Runtime.consoleAPICalled" if about["type"] == "error" => {
                self.complaints.push(about["args"].to_string());
            }
            "Log.entryAdded" => self.complaints.push(about["entry"].to_string()),
            "Network.requestWillBeSent" => {
                let url = about["request"]["url"].as_str().unwrap();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }

    /// The value of an expression, which may be a promise.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let how = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let told = self.tell("Runtime.evaluate", &how);
        let thrown = &told["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        told["result"]["value"].clone()
    }

    /// Opens an address, and waits until it is there.
    pub(crate) fn go(&mut self, url: &str) {
        self.tell("Page.navigate", &json!({"url": url}));
        while !self.next_event("Page.loadEventFired") {}
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn until(&mut self, expression: &str) {
        let wait = format!(
            "new Promise((done) => {{
                const end = performance.now() + 60000;
                const look = () => {{
                    if ({expression}) done(true);
                    else if (performance.now() > end) done(false);
                    else setTimeout(look, 20);
                }};
                look();
            }})"
        );
        if self.value(&wait) != true {
            let text = self.value("document.body.innerText");
            panic!("{expression} does not come: {:?}\n{text}", self.complaints);
        }
    }

    /// The size of the window, in pixels, and whether the user likes it dark.
    pub(crate) fn look_at(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.tell("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tell("Emulation.setEmulatedMedia", &media);
    }

    /// Presses a key, such as `Tab` or `Enter`.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            _ => (0, ""),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "text": if kind == "keyDown" { text } else { "" }});
            self.tell("Input.dispatchKeyEvent", &event);
        }
    }

    /// Writes into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.tell("Input.insertText", &json!({"text": text}));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.session.clear();
            self.tell("Browser.close", &json!({}));
        } else {
            drop(self.browser.kill());
        }
        drop(self.browser.wait());
        drop(std::fs::remove_dir_all(&self.profile));
    }
}

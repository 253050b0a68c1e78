//! What processes do, line by line.

use super::process::Number;
use super::{Core, Simulation};

impl Simulation {
    /// Keeps a trace from now on: a line of JSON for each thing that a process does, to be
    /// animated.
    pub fn keep_trace(&self) {
        *self.0.0.trace.borrow_mut() = Some(Vec::new());
    }

    /// The lines of the trace so far.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.0.0.trace.borrow().clone().unwrap_or_default()
    }
}

impl Core {
    /// Adds a line to the trace, if there is one.
    pub(super) fn tell(&self, number: Number, does: impl FnOnce() -> String) {
        if let Some(trace) = &mut *self.trace.borrow_mut() {
            let (process, does) = (json(&self.name_of(number)), json(&does()));
            let time = self.now.get();
            trace.push(format!(
                "{{\"time\":{time},\"process\":{process},\"does\":{does}}}"
            ));
        }
    }
}

/// A string of JSON.
fn json(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0'..=' ' if letter != ' ' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

//! The record of the machine, as it is written.

use super::html::Html;
use crate::text::number;
use serde_json::Value;

pub(super) fn section(html: &mut Html, machine: &Value) {
    html.open("section", &[]);
    html.heading(2, "machine", "The machine and the versions");
    match machine {
        Value::Null => html.p("The folder has no record of the machine."),
        record => {
            let mut lines = Vec::new();
            flatten("", record, &mut lines);
            html.table(&["what", "value"], lines, |html, (name, value)| {
                html.cell(&name);
                html.cell(&value);
            });
        }
    }
    html.close("section");
}

/// A line that names the machine, of what the record tells.
pub(super) fn line(machine: &Value) -> String {
    let text = |name: &str| machine.get(name).map(plain).filter(|text| !text.is_empty());
    let model = ["model", "processor", "cpu"]
        .iter()
        .find_map(|name| text(name));
    let cores = text("cores").map(|cores| format!("{cores} cores"));
    let system = ["kernel", "system", "os"]
        .iter()
        .find_map(|name| text(name));
    let all: Vec<String> = [model, cores, system].into_iter().flatten().collect();
    if all.is_empty() {
        return "a machine without a record".to_owned();
    }
    all.join(", ")
}

/// Every value with the names that lead to it.
fn flatten(path: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    let below = |name: &str| {
        let name = name.replace('_', " ");
        if path.is_empty() {
            name
        } else {
            format!("{path}, {name}")
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&below(name), value, lines);
            }
        }
        Value::Array(values)
            if values
                .iter()
                .any(|value| value.is_object() || value.is_array()) =>
        {
            for (at, value) in values.iter().enumerate() {
                flatten(&below(&(at + 1).to_string()), value, lines);
            }
        }
        value => lines.push((path.to_owned(), plain(value))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(value) if value.is_f64() => number(value.as_f64().unwrap_or(f64::NAN)),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_any_shape_become_lines() {
        let record = serde_json::json!({
            "model": "X <1>", "cores": 2, "copy_gb_per_s": 5.123_456,
            "caches": [32, 1024], "peers": {"go": "1.24", "java": null}, "nodes": [{"id": 0}]
        });
        let mut lines = Vec::new();
        flatten("", &record, &mut lines);
        let text: Vec<String> = lines
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        for line in [
            "copy gb per s: 5.12",
            "caches: 32, 1024",
            "peers, go: 1.24",
            "peers, java: ",
            "nodes, 1, id: 0",
        ] {
            assert!(text.contains(&line.to_owned()), "{line}: {text:?}");
        }
        assert_eq!(line(&record), "X <1>, 2 cores");
        assert_eq!(line(&Value::Null), "a machine without a record");
    }
}

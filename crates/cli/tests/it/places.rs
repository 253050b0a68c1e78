//! The data that comes with the project and the first command of its README.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_places_of_the_world_are_clustered_on_the_globe() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_motet"))
        .current_dir(root)
        .args([
            "cluster",
            "examples/data/places.csv.gz",
            "--geo",
            "lat,lon",
            "--clusters",
            "8",
        ])
        .args(["--json", "--out"])
        .arg(out.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["points"], 144_563);
    assert_eq!(result["dimensions"], 3);
    assert_eq!(result["spread_unit"], "km");
    let table = result["table"].as_array().unwrap();
    assert_eq!(table.len(), 8);
    let size = |row: &Value| row["size"].as_u64().unwrap();
    assert_eq!(table.iter().map(size).sum::<u64>(), 144_563);
    assert!(
        table
            .windows(2)
            .all(|pair| size(&pair[0]) >= size(&pair[1]))
    );
    for row in table {
        let spread = row["spread"].as_f64().unwrap();
        assert!((100.0..4000.0).contains(&spread), "{spread}");
        let lat = row["centre"][0].as_f64().unwrap();
        assert!((-45.0..70.0).contains(&lat), "{lat}");
    }
    let map = std::fs::read_to_string(out.path().join("map.svg")).unwrap();
    assert!(map.len() < 1_000_000);
    assert!(map.contains("30° N") && map.contains("places.csv.gz: 8 clusters"));
}

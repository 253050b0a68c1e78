//! What the system says of the machine and of the limits it sets. Linux tells; elsewhere nothing is
//! known but the number of processors.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use motet_sync::thread;
use serde::{Deserialize, Serialize};

/// Processors.
///
/// ```
/// use motet_machine::system::Cores;
///
/// assert!(Cores::here().usable >= 1);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cores {
    /// Those that this process may use.
    pub usable: usize,
    /// Those of the machine.
    pub installed: Option<usize>,
    /// How many of them a control group lets it use at a time.
    pub quota: Option<f64>,
}

/// A cache of the first processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// From 1, the nearest.
    pub level: u32,
    /// data, instruction or unified.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// How many processors have it in common.
    pub shared_by: usize,
}

/// Memory in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SystemMemory {
    /// Of the machine.
    pub total_bytes: Option<u64>,
    /// What programs can have now.
    pub available_bytes: Option<u64>,
    /// What a control group allows.
    pub limit_bytes: Option<u64>,
}

/// How many the system allows; absent when there is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SystemLimits {
    /// Processes and threads of the user.
    pub processes: Option<u64>,
    /// Of one process.
    pub open_files: Option<u64>,
}

impl Cores {
    /// As this process sees them.
    #[must_use]
    pub fn here() -> Cores {
        let list = text("/sys/devices/system/cpu/online");
        Cores {
            usable: thread::cores(),
            installed: list.as_deref().and_then(listed),
            quota: quota(),
        }
    }
}

impl Cache {
    /// All of them, as the system lists them.
    #[must_use]
    pub fn all() -> Vec<Cache> {
        let folder = |index: u32| format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        (0..16)
            .map(folder)
            .take_while(|folder| Path::new(folder).exists())
            .filter_map(|folder| {
                let field = |name: &str| text(&format!("{folder}/{name}"));
                Some(Cache {
                    level: field("level")?.parse().ok()?,
                    kind: field("type")?.to_lowercase(),
                    bytes: bytes(&field("size")?)?,
                    shared_by: listed(&field("shared_cpu_list")?)?,
                })
            })
            .collect()
    }
}

impl SystemMemory {
    /// As this process sees it.
    #[must_use]
    pub fn here() -> SystemMemory {
        let told = text("/proc/meminfo").unwrap_or_default();
        SystemMemory {
            total_bytes: kilobytes(&told, "MemTotal:"),
            available_bytes: kilobytes(&told, "MemAvailable:"),
            limit_bytes: memory_limit(),
        }
    }
}

impl SystemLimits {
    /// Those of this process.
    #[must_use]
    pub fn here() -> SystemLimits {
        let told = text("/proc/self/limits").unwrap_or_default();
        SystemLimits {
            processes: soft_limit(&told, "Max processes"),
            open_files: soft_limit(&told, "Max open files"),
        }
    }
}

/// The processor's model; absent where the system does not tell it.
#[must_use]
pub fn processor() -> Option<String> {
    let told = text("/proc/cpuinfo")?;
    // x86 says a name, other machines numbers.
    let field = |name: &str| {
        let line = told.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name").or_else(|| {
        Some(format!(
            "{} {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    })
}

/// The system and its version, such as `Linux 6.1.0`.
#[must_use]
pub fn system() -> String {
    let file = |name: &str| text(&format!("/proc/sys/kernel/{name}"));
    match (file("ostype"), file("osrelease")) {
        (Some(kind), Some(release)) => format!("{kind} {release}"),
        _ => std::env::consts::OS.to_owned(),
    }
}

/// The first line that a program says when it is asked for its version; absent when it does not run
/// or fails.
#[must_use]
pub fn said(program: &Path, ask: &str) -> Option<String> {
    let told = Command::new(program)
        .arg(ask)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&told.stdout);
    let line = text.lines().next()?.trim().to_owned();
    told.status.success().then_some(line)
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// How many numbers a list such as `0-3,8` has.
fn listed(list: &str) -> Option<usize> {
    list.split(',')
        .map(|part| match part.split_once('-') {
            Some((first, last)) => {
                let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
                Some((last + 1).saturating_sub(first))
            }
            None => part.parse::<usize>().ok().map(|_| 1),
        })
        .sum()
}

/// A size such as `32K`.
fn bytes(size: &str) -> Option<u64> {
    let (number, unit) = match size.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => size
            .strip_suffix('M')
            .map_or((size, 1), |number| (number, 1 << 20)),
    };
    Some(number.parse::<u64>().ok()? * unit)
}

fn kilobytes(told: &str, field: &str) -> Option<u64> {
    let rest = told.lines().find_map(|line| line.strip_prefix(field))?;
    let number = rest.trim().strip_suffix("kB")?.trim();
    Some(number.parse::<u64>().ok()? * 1024)
}

fn soft_limit(told: &str, field: &str) -> Option<u64> {
    let rest = told.lines().find_map(|line| line.strip_prefix(field))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The folders of this process's control groups and of those above, each of which may set a limit.
/// They are of the second version, or of a controller of the first. The root is also where a
/// container sees its own.
fn groups(controller: &str) -> Vec<String> {
    let told = text("/proc/self/cgroup").unwrap_or_default();
    let mut folders = Vec::new();
    for line in told.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let root = match names {
            "" => "/sys/fs/cgroup".to_owned(),
            names if names.split(',').any(|name| name == controller) => {
                format!("/sys/fs/cgroup/{controller}")
            }
            _ => continue,
        };
        folders.extend(upwards(root, path));
    }
    folders
}

/// The folder of a group below a root, those above it, and the root.
fn upwards(root: String, path: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut path = path.trim_end_matches('/');
    while !path.is_empty() {
        folders.push(format!("{root}{path}"));
        path = path.rfind('/').map_or("", |end| &path[..end]);
    }
    folders.push(root);
    folders
}

fn quota() -> Option<f64> {
    let quotas = groups("cpu").into_iter().filter_map(|group| {
        let second = || {
            let told = text(&format!("{group}/cpu.max"))?;
            let (quota, period) = told.split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
        };
        let first = || {
            let number = |name: &str| text(&format!("{group}/{name}"))?.parse::<f64>().ok();
            let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
            (quota > 0.0).then_some(quota / period)
        };
        second().or_else(first)
    });
    quotas.reduce(f64::min)
}

fn memory_limit() -> Option<u64> {
    // The first version says "no limit" by a number near the largest there is.
    const NONE: u64 = 1 << 60;
    let limits = groups("memory").into_iter().filter_map(|group| {
        let files = ["memory.max", "memory.limit_in_bytes"];
        let limit = |file: &&str| text(&format!("{group}/{file}"))?.parse::<u64>().ok();
        files.iter().find_map(limit).filter(|&limit| limit < NONE)
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sizes_are_read() {
        assert_eq!(listed("0-3,8"), Some(5));
        assert_eq!(listed("7"), Some(1));
        assert_eq!(listed("none"), None);
        assert_eq!(bytes("48K"), Some(48 * 1024));
        assert_eq!(bytes("2M"), Some(2 << 20));
        assert_eq!(bytes("many"), None);
    }

    #[test]
    fn the_groups_above_one_count_too() {
        let folders = |path: &str| upwards("/sys".to_owned(), path);
        assert_eq!(
            folders("/a.slice/b/c"),
            ["/sys/a.slice/b/c", "/sys/a.slice/b", "/sys/a.slice", "/sys"]
        );
        assert_eq!(folders("/"), ["/sys"]);
        assert_eq!(folders("/a"), ["/sys/a", "/sys"]);
    }

    #[test]
    fn fields_are_found() {
        let told = "MemTotal:       24 kB\nMemAvailable:    7 kB\n";
        assert_eq!(kilobytes(told, "MemAvailable:"), Some(7 * 1024));
        let told = "Max processes   96000   96001   processes\nMax open files  unlimited  9  files";
        assert_eq!(soft_limit(told, "Max processes"), Some(96_000));
        assert_eq!(soft_limit(told, "Max open files"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_is_known() {
        let cores = Cores::here();
        assert!(cores.usable >= 1 && cores.installed.unwrap() >= cores.usable);
        let memory = SystemMemory::here();
        assert!(memory.available_bytes.unwrap() <= memory.total_bytes.unwrap());
        assert!(system().starts_with("Linux "));
    }
}

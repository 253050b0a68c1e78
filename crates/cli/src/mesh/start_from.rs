//! Where a subscription begins, as a word, a number or a time.

use std::time::{Duration, UNIX_EPOCH};

use motet::mesh::StartFrom;

/// What `--from` says.
pub(super) fn start_from(text: &str) -> Result<StartFrom, String> {
    match text {
        "new" => return Ok(StartFrom::New),
        "all" => return Ok(StartFrom::All),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Ok(StartFrom::Number(number));
    }
    let seconds = seconds(text)
        .ok_or("give new, all, the number of a sample, or a time in UTC as 2026-12-24T18:30:00Z")?;
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    Ok(StartFrom::Time(time.ok_or("no clock shows this time")?))
}

/// The seconds since 1970 of a time as `2026-12-24T18:30:00Z`.
fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let days = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let is_there = year >= 1970 && (1..=*days.get(before)?).contains(&day);
    if !is_there || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Leap years before this one, beyond those before 1970.
    let past = year - 1;
    let leaps = past / 4 - past / 100 + past / 400 - 477;
    let whole = (year - 1970) * 365 + leaps + days[..before].iter().sum::<u64>() + day - 1;
    Some(((whole * 24 + hour) * 60 + minute) * 60 + second)
}

/// Three numbers of so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sem_g557_words_numbers_and_times_are_read_and_nothing_else_is() {
        let at = |seconds| Ok(StartFrom::Time(UNIX_EPOCH + Duration::from_secs(seconds)));
        assert_eq!(start_from("new"), Ok(StartFrom::New));
        assert_eq!(start_from("all"), Ok(StartFrom::All));
        assert_eq!(start_from("17"), Ok(StartFrom::Number(17)));
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1972-03-01T00:00:00Z", 68_256_000),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-12-24T18:30:00Z", 1_798_137_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(start_from(text), at(seconds), "{text}");
        }
        for text in [
            "",
            "old",
            "-1",
            "2026-12-24",
            "2026-12-24T18:30:00",
            "2026-12-24T18:30Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1969-12-31T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
        ] {
            let error = start_from(text).unwrap_err();
            assert!(error.contains("a time in UTC"), "{text}: {error}");
        }
    }
}

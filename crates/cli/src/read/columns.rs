//! Which columns a table has and which of them are meant.

use crate::error::InputError;

use super::records::InputRecord;

/// A column asked for by its name or by its number from 1.
pub(crate) type WantedColumn = String;

/// The columns of a table.
#[derive(Debug)]
pub(crate) struct Columns {
    file: String,
    /// Names in order; columns of a table without a header are called by their number.
    names: Vec<String>,
    named: bool,
}

impl Columns {
    /// Columns with the names in `header`.
    pub(crate) fn named(file: &str, header: &InputRecord) -> Columns {
        let name = |(index, name): (usize, &str)| match name {
            "" => nameless(index),
            name => name.to_owned(),
        };
        let names = header.fields().enumerate().map(name).collect();
        Columns {
            file: file.to_owned(),
            names,
            named: true,
        }
    }

    /// Columns of a table without a header.
    pub(crate) fn numbered(file: &str, count: usize) -> Columns {
        let names = (0..count).map(nameless).collect();
        Columns {
            file: file.to_owned(),
            names,
            named: false,
        }
    }

    /// The name of column `index`, from 0.
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The index from 0 of the column asked for: by its exact name, else by its number.
    pub(crate) fn find(&self, wanted: &str) -> Result<usize, InputError> {
        let mut same = (0..self.len()).filter(|&index| self.names[index] == wanted);
        match (same.next(), same.next()) {
            (Some(index), None) => Ok(index),
            (Some(first), Some(second)) => Err(InputError::AmbiguousColumn {
                file: self.file.clone(),
                name: wanted.to_owned(),
                first: first + 1,
                second: second + 1,
            }),
            (None, _) => match wanted.parse::<usize>() {
                Ok(number) if (1..=self.len()).contains(&number) => Ok(number - 1),
                _ => Err(self.unknown(wanted)),
            },
        }
    }

    /// The indices of several columns, in the order asked for; none may come twice.
    pub(crate) fn find_all(&self, wanted: &[WantedColumn]) -> Result<Vec<usize>, InputError> {
        let mut found = Vec::with_capacity(wanted.len());
        for name in wanted {
            let index = self.find(name)?;
            if found.contains(&index) {
                return Err(self.twice(index));
            }
            found.push(index);
        }
        Ok(found)
    }

    /// The error for a column that is asked for twice.
    pub(crate) fn twice(&self, index: usize) -> InputError {
        InputError::ColumnTwice {
            file: self.file.clone(),
            name: self.names[index].clone(),
        }
    }

    fn unknown(&self, wanted: &str) -> InputError {
        InputError::UnknownColumn {
            file: self.file.clone(),
            name: match wanted.trim() {
                "" => "''".to_owned(),
                _ => wanted.to_owned(),
            },
            advice: if self.named {
                self.advice(wanted)
            } else {
                format!(
                    "it has no header: give numbers from 1 to {}, or --header if its first line \
                     holds names",
                    self.len()
                )
            },
        }
    }

    /// The nearest name, if one is near, and the names there are.
    fn advice(&self, wanted: &str) -> String {
        const SHOWN: usize = 20;
        let distance = |name: &String| {
            strsim::damerau_levenshtein(&name.to_lowercase(), &wanted.to_lowercase())
        };
        let nearest = self
            .names
            .iter()
            .min_by_key(|name| distance(name))
            .filter(|name| distance(name) <= 1 + wanted.chars().count() / 3);
        let mut advice = nearest.map_or(String::new(), |name| format!("did you mean {name}? "));
        advice.push_str("the columns are ");
        let shown: Vec<&str> = self.names.iter().take(SHOWN).map(String::as_str).collect();
        advice.push_str(&shown.join(", "));
        if self.len() > SHOWN {
            advice.push_str(&format!(" and {} more", self.len() - SHOWN));
        }
        // Names are told apart by commas where they are asked for.
        if self.names.iter().any(|name| name.contains(',')) {
            advice.push_str("; give the number of one whose name has a comma");
        }
        advice
    }
}

/// What a column without a name is called, in messages and in the results.
fn nameless(index: usize) -> String {
    format!("column{}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Columns {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Columns {
            file: "in.csv".to_owned(),
            names,
            named: true,
        }
    }

    #[test]
    fn names_win_over_numbers() {
        let years = columns(&["year", "3", "total"]);
        assert_eq!(years.find("3").unwrap(), 1);
        assert_eq!(years.find("2").unwrap(), 1);
        assert_eq!(years.find("1").unwrap(), 0);
        assert_eq!(
            years
                .find_all(&["total".to_owned(), "1".to_owned()])
                .unwrap(),
            [2, 0]
        );
    }

    #[test]
    fn a_column_asked_for_by_name_and_by_number_comes_twice() {
        let error = columns(&["x", "y"])
            .find_all(&["y".to_owned(), "2".to_owned()])
            .unwrap_err();
        assert!(matches!(error, InputError::ColumnTwice { name, .. } if name == "y"));
    }

    #[test]
    fn the_nearest_name_is_offered_only_when_it_is_near() {
        let places = columns(&["latitude", "longitude", "country"]);
        let text = |wanted| places.find(wanted).unwrap_err().to_string();
        assert!(text("latitide").contains("did you mean latitude? the columns are latitude, long"));
        assert!(text("LATITUDE").contains("did you mean latitude?"));
        assert!(!text("zz").contains("did you mean"));
        assert!(text("4").contains("the columns are latitude"));
        assert!(text("0").contains("the columns are latitude"));
    }

    #[test]
    fn a_name_with_a_comma_is_given_by_its_number() {
        let told = |names: &[&str]| columns(names).find("a").unwrap_err().to_string();
        let words = "; give the number of one whose name has a comma";
        assert!(told(&["a,x", "y"]).ends_with(words));
        assert!(!told(&["x", "y"]).contains(words));
    }

    #[test]
    fn a_name_that_two_columns_have_is_refused() {
        let error = columns(&["x", "y", "x"]).find("x").unwrap_err();
        assert!(matches!(
            error,
            InputError::AmbiguousColumn {
                first: 1,
                second: 3,
                ..
            }
        ));
    }

    #[test]
    fn a_table_without_a_header_is_addressed_by_numbers() {
        let plain = Columns::numbered("in.csv", 3);
        assert_eq!(plain.find("3").unwrap(), 2);
        assert_eq!(plain.name(2), "column3");
        let text = plain.find("lat").unwrap_err().to_string();
        assert!(text.contains("numbers from 1 to 3"), "{text}");
    }
}

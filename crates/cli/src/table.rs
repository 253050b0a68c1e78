//! The options that say what the rows of a table are.

use std::path::PathBuf;

use clap::Args;

use crate::error::OptionError;
use crate::read::{ColumnChoice, OnMissing, TableChoice, TableRequest};

/// Options that say which columns of numbers count, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Table")]
pub struct ColumnArgs {
    /// Columns to cluster by, names or numbers from 1 [default: all numeric ones]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Columns not to cluster by, names or numbers from 1
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        conflicts_with = "columns"
    )]
    pub exclude: Vec<String>,

    /// Bring every column to mean 0 and standard deviation 1 first
    ///
    /// Centres are printed in the columns' own units, spreads in standard deviations.
    #[arg(long, visible_alias = "standardize")]
    pub standardise: bool,
}

/// Options that say how the rows are written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Table")]
pub struct WrittenArgs {
    /// What to do with a row that has an empty cell, NA, N/A, nan, ? or null in a chosen column
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OnMissing::Error)]
    pub missing: OnMissing,

    /// Character between the fields: , or ; or tab or any other [default: found]
    #[arg(long, value_name = "C")]
    pub delimiter: Option<String>,

    /// The first line holds the names of the columns
    #[arg(long, conflicts_with = "no_header")]
    pub header: bool,

    /// The first line is a point [default for both: found]
    #[arg(long)]
    pub no_header: bool,
}

/// Options that say what rows of numbers are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Table")]
pub struct RowArgs {
    /// The columns.
    #[command(flatten)]
    pub numbers: ColumnArgs,

    /// Columns of any kind that labels.csv repeats as they are, as of names or numbers of the rows
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub keep: Vec<String>,

    /// Column with the weights of the points
    #[arg(long, value_name = "COL")]
    pub weight: Option<String>,

    /// The text.
    #[command(flatten)]
    pub written: WrittenArgs,
}

/// Options that say what the rows are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Table")]
pub struct TableArgs {
    /// Rows of numbers.
    #[command(flatten)]
    pub rows: RowArgs,

    /// Points on the globe: the columns of latitude and longitude in degrees
    ///
    /// Distances are those in space between points on the sphere, so neither the poles nor the date
    /// line matter. Centres are latitudes and longitudes, spreads are in km. Spreads and inertia
    /// are about the mean of the points, which lies inside of the globe, below the centre.
    #[arg(
        long,
        value_name = "LAT,LON",
        value_delimiter = ',',
        num_args = 1,
        conflicts_with_all = ["columns", "exclude", "standardise"]
    )]
    pub geo: Vec<String>,
}

impl RowArgs {
    /// The first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let (numbers, written) = (&self.numbers, &self.written);
        let given = [
            ("--columns", !numbers.columns.is_empty()),
            ("--exclude", !numbers.exclude.is_empty()),
            ("--keep", !self.keep.is_empty()),
            ("--weight", self.weight.is_some()),
            ("--standardise", numbers.standardise),
            ("--missing", written.missing != OnMissing::Error),
            ("--delimiter", written.delimiter.is_some()),
            ("--header", written.header),
            ("--no-header", written.no_header),
        ];
        let first = given.into_iter().find(|(_, given)| *given);
        first.map(|(option, _)| option)
    }
}

impl TableArgs {
    /// The first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let geo = (!self.geo.is_empty()).then_some("--geo");
        self.rows.given().or(geo)
    }
}

/// The table that the options ask for.
pub(crate) fn request(file: PathBuf, table: TableArgs) -> Result<TableRequest, OptionError> {
    let TableArgs { rows, geo } = table;
    let (numbers, written) = (rows.numbers, rows.written);
    let columns = match <[String; 2]>::try_from(geo) {
        Ok([lat, lon]) => ColumnChoice::Geo { lat, lon },
        Err(none) if none.is_empty() && numbers.columns.is_empty() => ColumnChoice::Numeric,
        Err(none) if none.is_empty() => ColumnChoice::Listed(numbers.columns),
        Err(other) => {
            return Err(OptionError::Value {
                option: "--geo",
                value: format!("'{}'", other.join(",")),
                advice: "name two columns, as in --geo lat,lon",
            });
        }
    };
    if written.missing == OnMissing::Mean && matches!(columns, ColumnChoice::Geo { .. }) {
        return Err(OptionError::Conflict {
            option: "--missing mean",
            other: "--geo",
            advice: "a mean of degrees is no place; give --missing drop-row",
        });
    }
    let header = match (written.header, written.no_header) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let choice = TableChoice {
        header,
        columns,
        weight: rows.weight,
        exclude: numbers.exclude,
        keep: rows.keep,
    };
    let delimiter = written.delimiter.as_deref().map(delimiter).transpose()?;
    Ok(TableRequest {
        file,
        delimiter,
        choice,
        missing: written.missing,
    })
}

fn delimiter(text: &str) -> Result<u8, OptionError> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        &[byte]
            if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(&byte) =>
        {
            Ok(byte)
        }
        _ => Err(OptionError::Value {
            option: "--delimiter",
            value: format!("'{}'", text.escape_debug()),
            advice: "give one character, as in --delimiter ';', or tab",
        }),
    }
}

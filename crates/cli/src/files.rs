//! The files of `--out`.

mod folder;
mod pipe;
mod place;
mod tables;

pub(crate) use folder::{
    ByteWriter, Content, ResultsFolder, Unwritable, public_temporary, writable,
};
pub(crate) use tables::{write_centres, write_labels, write_trace};

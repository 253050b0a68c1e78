//! Where bytes come from: a file or standard input, packed by gzip or zstd, or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::format::{LOOK, foreign};
use crate::error::{InputError, InputPosition};

/// Bytes of text set aside for a look before the table is read.
const HEAD_BYTES: u64 = 64 * 1024;

/// What packed bytes begin with.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// An opened input: unpacked text without a byte order mark.
pub(crate) struct InputText {
    /// What messages call it: the path as given, or `<stdin>`.
    pub(crate) label: String,
    /// What has packed the bytes, if they were.
    pub(crate) packed: Option<&'static str>,
    /// The first 64 KiB of the text; `text` begins with them too.
    pub(crate) head: Vec<u8>,
    /// The whole text from its beginning.
    pub(crate) text: Box<dyn BufRead>,
}

impl InputText {
    /// Opens `path`; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<InputText, InputError> {
        if path.as_os_str() == "-" {
            return InputText::from_reader("<stdin>".to_owned(), io::stdin().lock());
        }
        let file = open_file(path)?;
        InputText::from_reader(path.display().to_string(), file)
    }

    /// Unpacks when the first bytes are those of gzip or zstd, whatever the name says.
    pub(crate) fn from_reader(
        label: String,
        mut bytes: impl Read + 'static,
    ) -> Result<InputText, InputError> {
        let mut magic = Vec::new();
        bytes
            .by_ref()
            .take(LOOK as u64)
            .read_to_end(&mut magic)
            .map_err(|e| fault(&label, None, e))?;
        if let Some(found) = foreign(&magic) {
            return Err(InputError::Format {
                file: label,
                what: found.what,
                advice: found.advice,
            });
        }
        let known = [("gzip", GZIP), ("zstd", ZSTD)];
        let packed = known.iter().find(|(_, first)| magic.starts_with(first));
        let packed = packed.map(|(name, _)| *name);
        let whole = BufReader::new(Cursor::new(magic).chain(bytes));
        let mut text: Box<dyn BufRead> = match packed {
            Some("gzip") => Box::new(BufReader::new(MultiGzDecoder::new(whole))),
            Some(_) => {
                let frames = Frames::new(whole).map_err(|e| fault(&label, packed, e))?;
                Box::new(BufReader::new(frames))
            }
            None => Box::new(whole),
        };
        let mut head = Vec::new();
        text.by_ref()
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .map_err(|e| fault(&label, packed, e))?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        let text = Box::new(Cursor::new(head.clone()).chain(text));
        Ok(InputText {
            label,
            packed,
            head,
            text,
        })
    }

    /// The whole text, for what cannot be read row by row.
    ///
    /// # Errors
    /// [`InputError::NotUtf8`] with the first such line, and what [`fault`] says.
    pub(crate) fn whole(mut self) -> Result<(String, String), InputError> {
        let mut bytes = Vec::new();
        let read = self.text.read_to_end(&mut bytes);
        read.map_err(|e| fault(&self.label, self.packed, e))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((self.label, text)),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let before = good.iter().filter(|byte| **byte == b'\n').count();
                let place = InputPosition::line(&self.label, before as u64 + 1);
                Err(InputError::NotUtf8 { place })
            }
        }
    }
}

/// Whether this is a file that can be read twice. What is no file, as a pipe, can be read once
/// only, and `-` is standard input whatever the folder holds.
pub(crate) fn is_file(path: &Path) -> bool {
    path.as_os_str() != "-" && path.is_file()
}

/// Opens a file that is to be read.
///
/// # Errors
/// [`InputError::Missing`], [`InputError::Open`], [`InputError::Directory`].
pub(crate) fn open_file(path: &Path) -> Result<File, InputError> {
    let label = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) => return Err(InputError::opening(label, source)),
    };
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(InputError::Directory { file: label });
    }
    Ok(file)
}

/// What zstd has packed, which may be several frames one after the other.
struct Frames<R: BufRead> {
    /// `None` at the end.
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> Frames<R> {
    fn new(bytes: R) -> io::Result<Self> {
        let frame = StreamingDecoder::new(bytes).map_err(io::Error::other)?;
        Ok(Frames { frame: Some(frame) })
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            let read = frame.read(to)?;
            if read > 0 || to.is_empty() {
                return Ok(read);
            }
            if let Some(mut bytes) = self.frame.take().map(StreamingDecoder::into_inner)
                && has_more(&mut bytes)?
            {
                self.frame = Frames::new(bytes)?.frame;
            }
        }
        Ok(0)
    }
}

/// Whether anything follows.
fn has_more(bytes: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match bytes.fill_buf() {
            Ok(rest) => return Ok(!rest.is_empty()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The error for a read that failed. The complaints of gzip and zstd carry no code of the operating
/// system.
pub(crate) fn fault(label: &str, packed: Option<&'static str>, source: io::Error) -> InputError {
    let file = label.to_owned();
    if source.kind() == io::ErrorKind::OutOfMemory {
        return InputError::Memory { file };
    }
    match packed.filter(|_| source.raw_os_error().is_none()) {
        Some(packed) => InputError::BrokenPack {
            file,
            packed,
            source,
        },
        None => InputError::Read { file, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    /// Hands over one byte per call, as a slow pipe may.
    struct Drip(Cursor<Vec<u8>>);

    impl Read for Drip {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let one = to.len().min(1);
            self.0.read(&mut to[..one])
        }
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(bytes: Vec<u8>) -> Result<(Option<&'static str>, String), InputError> {
        let mut source = InputText::from_reader("in".to_owned(), Drip(Cursor::new(bytes)))?;
        let mut text = String::new();
        let read = source.text.read_to_string(&mut text);
        read.map_err(|e| fault(&source.label, source.packed, e))?;
        Ok((source.packed, text))
    }

    #[test]
    fn plain_and_packed_text_read_the_same_one_byte_at_a_time() {
        let text = "a,b\n1,2\n";
        assert_eq!(read_all(text.into()).unwrap(), (None, text.to_owned()));
        assert_eq!(
            read_all(packed(text.as_bytes())).unwrap(),
            (Some("gzip"), text.to_owned())
        );
    }

    #[test]
    fn sem_g338_several_frames_of_zstd_are_one_text() {
        let pack = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let long = "0123456789\n".repeat(20_000);
        let mut bytes = pack(&long);
        bytes.extend(pack("2\n"));
        let read = read_all(bytes.clone()).unwrap();
        assert_eq!(read, (Some("zstd"), format!("{long}2\n")));
        bytes.truncate(bytes.len() / 2);
        assert!(matches!(
            read_all(bytes),
            Err(InputError::BrokenPack { packed: "zstd", .. })
        ));
    }

    #[test]
    fn a_text_in_another_encoding_is_named_by_its_line_packed_or_not() {
        let bytes = b">a\nAC\n>b\n\xe9C\n";
        for bytes in [bytes.to_vec(), packed(bytes)] {
            let source = InputText::from_reader("in".to_owned(), Cursor::new(bytes)).unwrap();
            let Err(InputError::NotUtf8 { place }) = source.whole() else {
                panic!("no error");
            };
            assert_eq!(place.to_string(), "in:4");
        }
    }

    /// Has no end, but a fault where it would be.
    struct Faulty(Cursor<Vec<u8>>);

    impl Read for Faulty {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            match self.0.read(to)? {
                0 if !to.is_empty() => Err(io::Error::from_raw_os_error(5)),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn sem_g338_a_fault_behind_a_frame_of_zstd_is_not_the_end_of_the_text() {
        let bytes = compress_to_vec(&b"1,2\n"[..], CompressionLevel::Fastest);
        let read = InputText::from_reader("in".to_owned(), Faulty(Cursor::new(bytes)));
        assert!(matches!(read.err(), Some(InputError::Read { .. })));
    }

    #[test]
    fn what_memory_does_not_hold_is_no_fault_of_the_disk_or_the_pack() {
        for packed in [None, Some("gzip")] {
            let told = fault("a.npy", packed, io::ErrorKind::OutOfMemory.into()).to_string();
            assert!(
                told.starts_with("there is not enough memory for a.npy: "),
                "{told}"
            );
        }
    }

    #[test]
    fn several_gzip_members_are_one_text() {
        let mut bytes = packed(b"1\n");
        bytes.extend(packed(b"2\n"));
        assert_eq!(read_all(bytes).unwrap().1, "1\n2\n");
    }

    #[test]
    fn a_text_longer_than_the_head_is_whole() {
        let text = "0123456789\n".repeat(20_000);
        assert_eq!(read_all(packed(text.as_bytes())).unwrap().1, text);
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        assert_eq!(
            read_all(b"\xef\xbb\xbfa\n1\n".to_vec()).unwrap().1,
            "a\n1\n"
        );
    }

    #[test]
    fn a_cut_gzip_file_is_named_so() {
        let mut bytes = packed("1,2\n".repeat(40_000).as_bytes());
        bytes.truncate(bytes.len() - 9);
        assert!(matches!(
            read_all(bytes),
            Err(InputError::BrokenPack { .. })
        ));
    }
}

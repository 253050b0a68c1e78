//! What ranks ask of each other's windows between processes.

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// The body is put at the offset.
    Put = 1,
    /// The body is combined with what is at the offset.
    Accumulate,
    /// The body has a length; so much from the offset is sent back.
    Get,
    /// The body is combined, and what was there is sent back.
    Fetch,
    /// The body has what is expected and what is to be there then; what was there is sent back.
    Swap,
    /// A lock is asked for.
    Lock,
    /// A lock is given back, or not wanted any more.
    Unlock,
    /// What was asked before is done when this is answered.
    Flush,
}

/// What a message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) act: Act,
    /// The number of an operation, or 1 for an exclusive lock.
    pub(crate) op: u8,
    /// The kind of the numbers.
    pub(crate) kind: u8,
    /// Whether an answer is wanted.
    pub(crate) answers: bool,
    /// How many fences the rank had come to that asks.
    pub(crate) epoch: u32,
    /// With which the answer comes.
    pub(crate) tag: u32,
    /// In elements.
    pub(crate) offset: u64,
}

const ACTS: [Act; 8] = [
    Act::Put,
    Act::Accumulate,
    Act::Get,
    Act::Fetch,
    Act::Swap,
    Act::Lock,
    Act::Unlock,
    Act::Flush,
];

impl Head {
    pub(crate) const BYTES: usize = 20;

    pub(crate) fn written(&self) -> [u8; Head::BYTES] {
        let mut bytes = [0; Head::BYTES];
        bytes[..4].copy_from_slice(&[self.act as u8, self.op, self.kind, u8::from(self.answers)]);
        bytes[4..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.tag.to_le_bytes());
        bytes[12..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Head, String> {
        let found = || format!("{} bytes are no head of a window's message", bytes.len());
        let bytes: &[u8; Head::BYTES] = bytes.try_into().map_err(|_| found())?;
        let act = ACTS.into_iter().find(|act| *act as u8 == bytes[0]);
        let four = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        Ok(Head {
            act: act.ok_or_else(|| format!("a window cannot do {}", bytes[0]))?,
            op: bytes[1],
            kind: bytes[2],
            answers: bytes[3] != 0,
            epoch: four(4),
            tag: four(8),
            offset: u64::from(four(16)) << 32 | u64::from(four(12)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for act in ACTS {
            let head = Head {
                act,
                op: 3,
                kind: 12,
                answers: act == Act::Get,
                epoch: u32::MAX - 1,
                tag: 77,
                offset: 5 << 33 | 9,
            };
            assert_eq!(Head::read(&head.written()), Ok(head));
        }
        assert!(Head::read(&[1; 19]).unwrap_err().contains("19 bytes"));
        assert!(Head::read(&[9; Head::BYTES]).unwrap_err().contains('9'));
    }
}

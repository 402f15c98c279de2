//! Protocol Buffers, as far as three messages of the kubelet need them.
//!
//! A message is a row of fields; a field has a number and is either an integer or bytes. Unknown
//! fields are passed over, as the format asks for.

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed message")]
pub(super) struct Malformed;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A varint; negative numbers wrap around.
    Integer(u64),
    /// A text, a message, or packed integers.
    Bytes(&'a [u8]),
    /// Fixed-size numbers, which none of our messages has.
    Other,
}

impl<'a> Value<'a> {
    /// The bytes of a message or a text; nothing else can be one.
    pub(super) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Integer(_) | Self::Other => Err(Malformed),
        }
    }

    /// A text.
    pub(super) fn text(self) -> Result<String, Malformed> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }

    /// An integer.
    pub(super) fn integer(self) -> Result<u64, Malformed> {
        match self {
            Self::Integer(value) => Ok(value),
            Self::Bytes(_) | Self::Other => Err(Malformed),
        }
    }

    /// An integer of a list: lists of integers are written as packed bytes or one by one.
    pub(super) fn integers(self, into: &mut Vec<u64>) -> Result<(), Malformed> {
        match self {
            Self::Integer(value) => into.push(value),
            Self::Bytes(mut bytes) => {
                while !bytes.is_empty() {
                    into.push(varint(&mut bytes)?);
                }
            }
            Self::Other => return Err(Malformed),
        }
        Ok(())
    }
}

/// The fields of a message, one after the other.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = field(&mut self.0);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

fn field<'a>(bytes: &mut &'a [u8]) -> Result<(u64, Value<'a>), Malformed> {
    let tag = varint(bytes)?;
    let value = match tag & 7 {
        0 => Value::Integer(varint(bytes)?),
        1 => skip(bytes, 8)?,
        2 => {
            let length = usize::try_from(varint(bytes)?).map_err(|_| Malformed)?;
            let (taken, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
            *bytes = rest;
            Value::Bytes(taken)
        }
        5 => skip(bytes, 4)?,
        _ => return Err(Malformed),
    };
    Ok((tag >> 3, value))
}

fn skip<'a>(bytes: &mut &'a [u8], count: usize) -> Result<Value<'a>, Malformed> {
    *bytes = bytes.get(count..).ok_or(Malformed)?;
    Ok(Value::Other)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_one_after_the_other() {
        // 1: 150, 2: "ok", 3: 8 bytes, 4: 4 bytes, 5: packed 1 and 300.
        let bytes = [
            &[0x08, 0x96, 0x01, 0x12, 2, b'o', b'k', 0x19][..],
            &[0; 8],
            &[0x25, 0, 0, 0, 0, 0x2a, 3, 1, 0xac, 0x02],
        ]
        .concat();
        let fields: Vec<_> = Fields(&bytes).map(Result::unwrap).collect();
        assert_eq!(fields[0], (1, Value::Integer(150)));
        assert_eq!(fields[1].1.text().unwrap(), "ok");
        assert_eq!((fields[2], fields[3]), ((3, Value::Other), (4, Value::Other)));
        let mut numbers = Vec::new();
        fields[4].1.integers(&mut numbers).unwrap();
        fields[0].1.integers(&mut numbers).unwrap();
        assert_eq!(numbers, [1, 300, 150]);
    }

    #[test]
    fn cut_and_overlong_messages_are_malformed() {
        let spoiled: [&[u8]; 7] = [
            &[0x08],
            &[0x12, 5, b'o'],
            &[0x0b],
            &[0x19, 0],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x80],
        ];
        for bytes in spoiled {
            assert_eq!(Fields(bytes).last(), Some(Err(Malformed)), "{bytes:?}");
        }
    }
}

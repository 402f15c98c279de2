//! Lists of CPUs as the kernel writes them: `0-15,32-47`.

use std::collections::BTreeSet;
use std::fmt;

/// No machine has a CPU with a larger number; whatever says so is not a list of CPUs.
const CPU_MAX: u32 = 65_535;

/// CPUs, or NUMA nodes: the kernel writes both alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// Reads a list. An empty text is an empty list; anything malformed, such as `7-3`, is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut ids = BTreeSet::new();
        let text = text.trim();
        if text.is_empty() {
            return Some(Self(ids));
        }
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            ids.extend(first..=last);
        }
        Some(Self(ids))
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number is among them.
    pub fn contains(&self, id: u32) -> bool {
        self.0.contains(&id)
    }

    /// Those that are in both.
    pub fn common(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Those that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}

impl Extend<u32> for CpuList {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, ids: I) {
        self.0.extend(ids);
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = ids.next() {
            let mut last = first;
            while let Some(next) = ids.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

fn number(text: &str) -> Option<u32> {
    // `parse` takes a sign as well.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && *number <= CPU_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        for text in ["", "0", "0-1", "0-15,32-47", "1,3,5-6", "65535"] {
            assert_eq!(CpuList::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CpuList::parse(" 3,1-2,2\n").unwrap().to_string(), "1-3");
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["7-3", "a", "0-", "-1", "+1", "0,,1", "0-1-2", "65536", "0-99999999999"] {
            assert_eq!(CpuList::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lists_are_compared() {
        let list = |text| CpuList::parse(text).unwrap();
        assert_eq!(list("0-7").common(&list("4-11")), list("4-7"));
        assert_eq!(list("0-7").without(&list("4-11")), list("0-3"));
        assert!(list("0-7").contains(7) && !list("0-7").contains(8));
    }
}

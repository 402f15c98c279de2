//! Strings that occur often, stored once and compared as numbers.

use crate::map::{Table, hash_of};

/// An interned string. Two symbols of one table are equal exactly when their strings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than four billion strings"))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table behind [`Symbol`]. It only grows: names of labels, taints, images and nodes repeat.
#[derive(Default)]
pub struct Symbols {
    strings: Vec<Box<str>>,
    table: Table<Symbol>,
}

impl Symbols {
    /// The symbol of `text`, made if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.find(text) {
            return symbol;
        }
        let symbol = Symbol::at(self.strings.len());
        self.strings.push(text.into());
        let strings = &self.strings;
        self.table.insert_unique(hash_of(text), symbol, |at| hash_of(&*strings[at.index()]));
        symbol
    }

    /// The symbol of `text`, if it was ever interned.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.table.find(hash_of(text), |at| &*self.strings[at.index()] == text).copied()
    }

    /// The string of a symbol.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.strings[symbol.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_a_symbol() {
        let mut symbols = Symbols::default();
        let zone = symbols.intern("zone");
        let rack = symbols.intern("rack");
        assert_ne!(zone, rack);
        assert_eq!(symbols.intern("zone"), zone);
        assert_eq!(symbols.text(rack), "rack");
        assert_eq!(symbols.find("host"), None);
    }
}

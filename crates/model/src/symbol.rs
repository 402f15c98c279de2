//! Strings that occur often, stored once and compared as numbers.

use crate::map::{Table, hash_of};

/// An interned string. Two symbols of one table are equal exactly when their strings are, as long
/// as somebody holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

impl Symbol {
    fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than four billion strings"))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The table behind [`Symbol`]. A string stays for as long as somebody holds it: users choose
/// labels, images and names of nodes, and new ones never stop coming.
#[derive(Default)]
pub struct Symbols {
    rows: Vec<Row>,
    free: Vec<Symbol>,
    table: Table<Symbol>,
}

struct Row {
    text: Box<str>,
    holds: u32,
}

impl Symbols {
    /// The symbol of `text`, held until [`Symbols::release`].
    pub fn hold(&mut self, text: &str) -> Symbol {
        let symbol = self.find(text).unwrap_or_else(|| self.add(text));
        self.rows[symbol.index()].holds += 1;
        symbol
    }

    fn add(&mut self, text: &str) -> Symbol {
        let row = Row { text: text.into(), holds: 0 };
        let symbol = match self.free.pop() {
            Some(symbol) => {
                self.rows[symbol.index()] = row;
                symbol
            }
            None => {
                self.rows.push(row);
                Symbol::at(self.rows.len() - 1)
            }
        };
        let rows = &self.rows;
        self.table.insert_unique(hash_of(text), symbol, |at| hash_of(&*rows[at.index()].text));
        symbol
    }

    /// Holds a symbol that somebody holds once more.
    pub(crate) fn hold_again(&mut self, symbol: Symbol) -> Symbol {
        self.rows[symbol.index()].holds += 1;
        symbol
    }

    /// Gives up one hold.
    pub fn release(&mut self, symbol: Symbol) {
        let row = &mut self.rows[symbol.index()];
        row.holds -= 1;
        if row.holds > 0 {
            return;
        }
        let text = std::mem::take(&mut row.text);
        let entry = self.table.find_entry(hash_of(&*text), |other| *other == symbol);
        entry.expect("a string that is held is listed").remove();
        self.free.push(symbol);
    }

    /// Gives up one hold of each.
    pub(crate) fn release_all(&mut self, symbols: impl IntoIterator<Item = Symbol>) {
        symbols.into_iter().for_each(|symbol| self.release(symbol));
    }

    /// The symbol of `text`, if somebody holds it.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.table.find(hash_of(text), |at| &*self.rows[at.index()].text == text).copied()
    }

    /// The string of a symbol that somebody holds.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.rows[symbol.index()].text
    }

    /// How many strings are kept.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.len()
    }
}

/// Holds strings for one owner and notes which, so that the owner can give all of them up.
pub(crate) struct Holder<'a> {
    symbols: &'a mut Symbols,
    held: Vec<Symbol>,
}

impl<'a> Holder<'a> {
    pub(crate) fn new(symbols: &'a mut Symbols) -> Self {
        Self { symbols, held: Vec::new() }
    }

    pub(crate) fn hold(&mut self, text: &str) -> Symbol {
        let symbol = self.symbols.hold(text);
        self.held.push(symbol);
        symbol
    }

    /// What was held, each as often as it was.
    pub(crate) fn take(&mut self) -> Box<[Symbol]> {
        std::mem::take(&mut self.held).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_a_symbol() {
        let mut symbols = Symbols::default();
        let zone = symbols.hold("zone");
        let rack = symbols.hold("rack");
        assert_ne!(zone, rack);
        assert_eq!(symbols.hold("zone"), zone);
        assert_eq!(symbols.text(rack), "rack");
        assert_eq!(symbols.find("host"), None);
    }

    #[test]
    fn a_string_stays_while_somebody_holds_it() {
        let mut symbols = Symbols::default();
        let zone = symbols.hold("zone");
        symbols.hold_again(zone);
        symbols.release(zone);
        assert_eq!((symbols.find("zone"), symbols.count()), (Some(zone), 1));
        symbols.release(zone);
        assert_eq!((symbols.find("zone"), symbols.count()), (None, 0));
        for at in 0..100 {
            let name = symbols.hold(&format!("name-{at}"));
            symbols.release(name);
        }
        assert_eq!(symbols.rows.len(), 1, "places are used again");
    }
}

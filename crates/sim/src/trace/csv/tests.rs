//! Texts that read, and texts that are refused.

use super::*;

fn fields(text: &str) -> Vec<Vec<String>> {
    let table = Table::read("t.csv", text).unwrap();
    let owned = |row: Row<'_>| row.fields.iter().map(|field| field.to_string()).collect();
    table.rows().unwrap().map(owned).collect()
}

#[test]
fn fields_by_table() {
    // (text, fields of the rows below the header)
    let table: [(&str, &[[&str; 2]]); 6] = [
        ("a,b\n1,2\n", &[["1", "2"]]),
        ("a,b\r\n1,2\r\n\r\n3,\r\n", &[["1", "2"], ["3", ""]]),
        ("\u{feff}a,b\n,2", &[["", "2"]]),
        ("\n\na,b\n\n1,2\n\n", &[["1", "2"]]),
        ("a,b\n\"1,5\",\"say \"\"hi\"\"\"\n", &[["1,5", "say \"hi\""]]),
        ("a,b\n\"two\nlines\",2\n3,4\n", &[["two\nlines", "2"], ["3", "4"]]),
    ];
    for (text, expected) in table {
        assert_eq!(fields(text), expected, "{text:?}");
    }
}

#[test]
fn a_fault_names_file_line_column_value_and_what_was_expected() {
    let read = |text: &str| -> Result<u64, String> {
        let inner = || -> Result<u64, TraceError> {
            let table = Table::read("t.csv", text)?;
            let column = table.column("b")?;
            table.rows()?.map(|row| row.number(column, 1..=9)).sum()
        };
        inner().map_err(|error| error.to_string())
    };
    assert_eq!(read("a,b\nx,3\nx,4\n"), Ok(7));
    // (text, refusal)
    let table = [
        ("", "t.csv: the file is empty, expected a line with the names of columns"),
        ("a,b\n", "t.csv: there is nothing below the header"),
        ("a,c\n1,2\n", "t.csv:1: expected a column \"b\", found a, c"),
        ("b,b\n1,2\n", "t.csv:1: two columns named \"b\""),
        ("a,b\n1,2\n1\n", "t.csv:3: expected 2 fields as in the header, found 1"),
        ("a,b\n1,x\n", "t.csv:2: b: expected a whole number from 1 to 9, found \"x\""),
        ("a,b\n\n1,10\n", "t.csv:3: b: expected a whole number from 1 to 9, found \"10\""),
        (
            "a,b\n\"1\n1\",1\n1,-1\n",
            "t.csv:4: b: expected a whole number from 1 to 9, found \"-1\"",
        ),
        ("a,b\n\"1,2\n", "t.csv:2: a quoted field that does not end"),
        (
            "a,b\n\"1\"2,2\n",
            "t.csv:2: expected a comma or the end of the line behind a closing quote",
        ),
        ("a,b\n1\"2\",2\n", "t.csv:2: a quote inside a field that does not begin with one"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), Err(expected.to_owned()), "{text:?}");
    }
}

//! How many jobs that want several GPUs would fit.

use sim::RoomReport;

use super::section;
use crate::cmd::table::Align::Right;
use crate::cmd::table::{Table, grouped};

pub(super) fn room(report: &RoomReport) -> String {
    let mut table = Table::new(&[
        ("size", Right),
        ("GPUs of one island", Right),
        ("whole nodes", Right),
        ("whole nodes of one rack", Right),
    ]);
    for (at, size) in report.sizes.iter().enumerate() {
        let counts = [report.gpus[at], report.nodes[at], report.nodes_of_rack[at]];
        let [gpus, nodes, of_rack] = counts.map(grouped);
        table.row([size.to_string(), gpus, nodes, of_rack]);
    }
    section("Room at the end: how many jobs of a size would fit", &table)
}

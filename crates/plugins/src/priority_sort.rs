//! Orders the queue: higher priority first, then whoever has waited longest.

use framework::{Order, Plugin};

pub(crate) struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        "PrioritySort"
    }
}

impl Order for PrioritySort {
    fn rank(&self, priority: i32) -> i64 {
        -i64::from(priority)
    }
}

//! The engine from outside, with real plugins: scripts by table, and random stories held against
//! the cold path.

mod bindings;
mod checkpoint;
mod cold_path;
mod drivers;
mod evictions;
mod gang_keys;
mod gangs;
mod gangs_after;
mod gangs_agree;
mod gangs_found;
mod gangs_limits;
mod gangs_minimum;
mod gangs_options;
mod gangs_order;
mod holds;
mod kept_results;
mod lines;
mod namespaces;
mod nodes;
mod nominated;
mod one_by_one;
mod outlook;
mod preempt;
mod queue;
mod queues;
mod relist;
mod repeatable;
mod rescue;
mod room;
mod sizes;
mod turns;
mod volumes;
mod wake;
mod wake_volumes;
mod work;

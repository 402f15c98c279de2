//! The questions plugins answer, one trait each.
//!
//! A plugin has no handle, no client and no clock: it sees the catalog, the usage and its own
//! arguments, and gives a value back. What it worked out for a class is the value it returns from
//! `prepare`, so nothing can be asked before it is prepared.

mod admit;
mod args;
mod classify;
mod feasible;
mod network;
mod order;
mod parts;
mod plugin;
mod point;
mod profile;
mod rank;
mod settings;
mod wake;

pub use admit::Admit;
pub use args::{
    Args, BalancedArgs, ClassifierArgs, CoschedulingArgs, CostTiers, FabricArgs, FitArgs,
    FragmentationArgs, LevelArgs, NamespaceOffset, Namespaces, NodeAffinityArgs, NumaArgs,
    PodAffinityArgs, PreemptionArgs, ResourceWeight, ShapePoint, SpreadArgs, Strategy, Tenant,
    TenantHardwareArgs, TierBoosts, TierRule, TierRules, TierScores, VolumeBindingArgs, VramArgs,
    WorkloadArgs,
};
pub use classify::Classify;
pub use feasible::{Feasible, Narrow, Reach, Rows, UNFIT, Verdict, View};
pub use network::{Closeness, Network};
pub use order::{Order, Sharing};
pub use parts::Parts;
pub use plugin::Plugin;
pub use point::{Point, Points};
pub use profile::{Profile, Ranking, Rescues};
pub use rank::{
    FINE, FINE_WEIGHTS_MAX, LAST_RESORT, MAX_SCORE, Normalize, Rank, Scores, WEIGHTS_MAX,
    WholePoints, is_last_resort, plus, said, sweep_by_node,
};
pub use settings::{PluginChoice, PluginInfo, ProfileSettings};
pub use wake::{cures, is_about_others, names_object};

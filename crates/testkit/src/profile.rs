//! Profiles for fixtures.

use std::collections::BTreeMap;

use engine::{Options, Scheduler};
use framework::{Args, PluginChoice, Point, Profile, ProfileSettings};
use model::{Catalog, Time};

use crate::Script;

/// kube-scheduler's own profile, `default-scheduler`, to the letter.
///
/// # Panics
/// Never: the defaults have a profile.
#[must_use]
pub fn kube_profile() -> ProfileSettings {
    let settings = k8s::config::defaults(plugins::known());
    settings.profiles.into_iter().next().expect("the defaults have a profile")
}

/// kube-scheduler's own profile, `default-scheduler`, in which labels and annotations make gangs.
#[must_use]
pub fn default_profile() -> ProfileSettings {
    let mut profile = kube_profile();
    profile.add(Point::Permit, "Coscheduling");
    profile
}

/// Our own profile, for the pods of scripts: under the name `default-scheduler`.
///
/// # Panics
/// Never: the defaults have our profile.
#[must_use]
pub fn own_profile() -> ProfileSettings {
    let settings = k8s::config::defaults(plugins::known());
    let is_ours = |profile: &ProfileSettings| profile.scheduler == "kubenexus-scheduler";
    let own = settings.profiles.into_iter().find(is_ours).expect("the defaults have our profile");
    ProfileSettings { scheduler: "default-scheduler".into(), ..own }
}

/// A profile with arguments for one plugin.
#[must_use]
pub fn with_args(
    mut profile: ProfileSettings,
    plugin: &'static str,
    args: Args,
) -> ProfileSettings {
    profile.args.retain(|(other, _)| *other != plugin);
    profile.args.push((plugin, args));
    profile
}

/// A profile of one plugin, at all of its points with weight 1, beside the order of the queue.
///
/// # Panics
/// When no plugin has that name.
#[must_use]
pub fn only(plugin: &str) -> ProfileSettings {
    let info = plugins::known().iter().find(|info| info.name == plugin);
    let info = info.unwrap_or_else(|| panic!("there is no plugin {plugin:?}"));
    let choice = |name| PluginChoice { name, weight: 1 };
    let mut points = vec![(Point::QueueSort, vec![choice("PrioritySort")])];
    let of_plugin = Point::ALL.iter().filter(|(point, _)| info.points.has(*point));
    points.extend(of_plugin.map(|(point, _)| (*point, vec![choice(info.name)])));
    ProfileSettings { scheduler: "default-scheduler".into(), points, args: Vec::new() }
}

impl Script {
    /// A scheduler whose profile is changed before it is used, such as for plugins of a test.
    ///
    /// # Panics
    /// When the profile cannot be made.
    #[must_use]
    pub fn changed(
        profile: &ProfileSettings,
        options: Options,
        change: impl FnOnce(&mut Profile),
    ) -> Self {
        let mut catalog = Catalog::default();
        let mut profile = plugins::build(profile, &mut catalog).expect("a valid profile");
        change(&mut profile);
        let scheduler = Scheduler::new(catalog, vec![profile], options);
        let (now, pods, events) = (Time::default(), BTreeMap::new(), Vec::new());
        Self { scheduler, now, pods, events }
    }
}

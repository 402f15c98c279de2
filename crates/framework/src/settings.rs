//! Profiles as configured: names and arguments, before any plugin is made.

use crate::args::Args;
use crate::point::{Point, Points};

/// What a configuration may say about a plugin.
#[derive(Clone, Copy, Debug)]
pub struct PluginInfo {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Points it can be enabled at.
    pub points: Points,
    /// Whether it is built. One that is not can be disabled, and enabled only where it is on by
    /// default anyway.
    pub is_built: bool,
}

/// A plugin at an extension point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginChoice {
    /// The registered name, never an alias.
    pub name: &'static str,
    /// How much its score counts; 1 where it does not matter.
    pub weight: i64,
}

/// A profile: which plugins are asked what, in which order, with which arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSettings {
    /// Pods that name this scheduler are scheduled by this profile.
    pub scheduler: String,
    /// Plugins at each point, in the order they are asked.
    pub points: Vec<(Point, Vec<PluginChoice>)>,
    /// Arguments that differ from the defaults, by plugin.
    pub args: Vec<(&'static str, Args)>,
}

impl ProfileSettings {
    /// The plugins at a point, in order.
    #[must_use]
    pub fn at(&self, point: Point) -> &[PluginChoice] {
        let found = self.points.iter().find(|(other, _)| *other == point);
        found.map_or(&[], |(_, choices)| choices)
    }

    /// Adds a plugin at a point, behind those that are there.
    pub fn add(&mut self, point: Point, name: &'static str) {
        let choice = PluginChoice { name, weight: 1 };
        match self.points.iter_mut().find(|(other, _)| *other == point) {
            Some((_, choices)) => choices.push(choice),
            None => self.points.push((point, vec![choice])),
        }
    }

    /// The arguments given for a plugin.
    #[must_use]
    pub fn args_of(&self, plugin: &str) -> Option<&Args> {
        self.args.iter().find(|(name, _)| *name == plugin).map(|(_, args)| args)
    }
}

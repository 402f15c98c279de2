//! ResourceSlices and ResourceClaims: the devices that drivers tell of, by node, and which of them
//! are allocated. What drivers tell of whom no resource is known is not kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{ClaimedDevice, ResourceClaimFacts, ResourceSliceFacts};
use crate::map::Map;

/// The driver and the resource that every cluster knows.
const NVIDIA: (&str, &str) = ("gpu.nvidia.com", "nvidia.com/gpu");
/// How many drivers have a resource, and how long the names of both may be.
const DRIVERS_MAX: usize = 64;
const NAME_MAX: usize = 317;
/// Slices of a node beyond which none of them counts.
const SLICES_MAX: usize = 64;

/// A pool, by its driver and its name.
type Pool = (Box<str>, Box<str>);

/// All slices and claims.
pub(super) struct Slices {
    /// Resources by driver.
    drivers: Vec<(Box<str>, Box<str>)>,
    /// By the name of the node, then by their own.
    of_node: BTreeMap<Box<str>, BTreeMap<Box<str>, ResourceSliceFacts>>,
    /// The nodes of slices.
    node_of: Map<Box<str>, Box<str>>,
    /// How many slices of a pool each node has.
    pools: BTreeMap<Pool, BTreeMap<Box<str>, u32>>,
    /// What is allocated, by key of the claim.
    claims: BTreeMap<Box<str>, Box<[ClaimedDevice]>>,
    /// How many claims have each device of a pool.
    claimed: BTreeMap<Pool, BTreeMap<Box<str>, u32>>,
}

impl Default for Slices {
    fn default() -> Self {
        Self {
            drivers: vec![(NVIDIA.0.into(), NVIDIA.1.into())],
            of_node: BTreeMap::new(),
            node_of: Map::default(),
            pools: BTreeMap::new(),
            claims: BTreeMap::new(),
            claimed: BTreeMap::new(),
        }
    }
}

/// The pool of a node as its slices tell of it.
pub(super) struct NodePool<'a> {
    pub(super) driver: &'a str,
    pub(super) pool: &'a str,
    /// Slices of the highest generation.
    pub(super) slices: Vec<&'a ResourceSliceFacts>,
    /// Whether other nodes have slices of it as well.
    pub(super) is_spread: bool,
}

impl NodePool<'_> {
    /// How many slices of the highest generation there should be.
    pub(super) fn slice_count(&self) -> usize {
        let counts = self.slices.iter().map(|slice| slice.slice_count as usize);
        counts.max().unwrap_or(0)
    }
}

impl Slices {
    /// Sets the resources of drivers; tells whether the names are sound and not too many.
    pub(super) fn set_drivers(&mut self, drivers: Vec<(String, String)>) -> bool {
        let is_sound = |name: &String| !name.is_empty() && name.len() <= NAME_MAX;
        let names: BTreeSet<&String> = drivers.iter().map(|(driver, _)| driver).collect();
        let are_sound = drivers.iter().all(|(driver, of)| is_sound(driver) && is_sound(of));
        if !are_sound || drivers.len() > DRIVERS_MAX || names.len() != drivers.len() {
            return false;
        }
        self.drivers = drivers.into_iter().map(|(driver, of)| (driver.into(), of.into())).collect();
        true
    }

    /// The resource that a driver tells of.
    pub(super) fn resource(&self, driver: &str) -> Option<&str> {
        let found = self.drivers.iter().find(|(known, _)| **known == *driver);
        found.map(|(_, resource)| &**resource)
    }

    /// Whether a driver tells of a resource.
    pub(super) fn tells_of(&self, resource: &str) -> bool {
        self.drivers.iter().any(|(_, known)| **known == *resource)
    }

    /// Whether a slice is known to be just so, or nothing of it is kept.
    pub(super) fn has_slice(&self, facts: &ResourceSliceFacts) -> bool {
        let known = self.node_of.get(&facts.name);
        let known = known.and_then(|node| self.of_node.get(node)?.get(&facts.name));
        known == Some(facts).filter(|facts| self.is_kept(facts))
    }

    /// Whether a claim is known to be just so.
    pub(super) fn has_claim(&self, facts: &ResourceClaimFacts) -> bool {
        let known = self.claims.get(&facts.key()).map_or(&[][..], |devices| devices);
        known.iter().eq(self.kept(facts))
    }

    fn is_kept(&self, facts: &ResourceSliceFacts) -> bool {
        !facts.node.is_empty() && self.resource(&facts.driver).is_some()
    }

    fn kept<'a>(
        &'a self,
        facts: &'a ResourceClaimFacts,
    ) -> impl Iterator<Item = &'a ClaimedDevice> {
        facts.devices.iter().filter(|claimed| self.resource(&claimed.driver).is_some())
    }

    /// Takes in a slice; tells the nodes whose devices may be others now.
    pub(super) fn set_slice(&mut self, facts: &ResourceSliceFacts) -> BTreeSet<Box<str>> {
        let mut touched = self.delete_slice(&facts.name);
        if !self.is_kept(facts) {
            return touched;
        }
        let pool = (facts.driver.clone(), facts.pool.clone());
        let nodes = self.pools.entry(pool).or_default();
        *nodes.entry(facts.node.clone()).or_default() += 1;
        touched.extend(spread(nodes));
        touched.insert(facts.node.clone());
        self.node_of.insert(facts.name.clone(), facts.node.clone());
        let slices = self.of_node.entry(facts.node.clone()).or_default();
        slices.insert(facts.name.clone(), facts.clone());
        touched
    }

    /// Forgets a slice; tells the nodes whose devices may be others now.
    pub(super) fn delete_slice(&mut self, name: &str) -> BTreeSet<Box<str>> {
        let mut touched = BTreeSet::new();
        let Some(node) = self.node_of.remove(name) else { return touched };
        let slices = self.of_node.get_mut(&node).expect("a node of a slice has some");
        let facts = slices.remove(name).expect("a slice of a node is listed there");
        if slices.is_empty() {
            self.of_node.remove(&node);
        }
        let pool = (facts.driver, facts.pool);
        let nodes = self.pools.get_mut(&pool).expect("the pool of a slice is known");
        touched.extend(spread(nodes));
        let count = nodes.get_mut(&node).expect("a node of a slice is counted");
        *count -= 1;
        if *count == 0 {
            nodes.remove(&node);
        }
        if nodes.is_empty() {
            self.pools.remove(&pool);
        }
        touched.insert(node);
        touched
    }

    /// Takes in what is allocated to a claim; tells the nodes where something is allocated that
    /// was not, or is not any more.
    pub(super) fn set_claim(&mut self, facts: &ResourceClaimFacts) -> BTreeSet<Box<str>> {
        if self.has_claim(facts) {
            return BTreeSet::new();
        }
        let mut touched = self.delete_claim(&facts.key());
        let kept: Box<[ClaimedDevice]> = self.kept(facts).cloned().collect();
        for claimed in &kept {
            let pool = (claimed.driver.clone(), claimed.pool.clone());
            touched.extend(self.node_of_pool(&pool));
            let devices = self.claimed.entry(pool).or_default();
            *devices.entry(claimed.device.clone()).or_default() += 1;
        }
        if !kept.is_empty() {
            self.claims.insert(facts.key(), kept);
        }
        touched
    }

    /// Forgets a claim; tells the nodes where something is not allocated any more.
    pub(super) fn delete_claim(&mut self, key: &str) -> BTreeSet<Box<str>> {
        let mut touched = BTreeSet::new();
        for claimed in self.claims.remove(key).unwrap_or_default() {
            let pool = (claimed.driver, claimed.pool);
            touched.extend(self.node_of_pool(&pool));
            let devices = self.claimed.get_mut(&pool).expect("what is claimed is counted");
            let count = devices.get_mut(&claimed.device).expect("what is claimed is counted");
            *count -= 1;
            if *count == 0 {
                devices.remove(&claimed.device);
            }
            if devices.is_empty() {
                self.claimed.remove(&pool);
            }
        }
        touched
    }

    /// The node that has a pool for itself.
    fn node_of_pool(&self, pool: &Pool) -> Option<Box<str>> {
        let nodes = self.pools.get(pool)?;
        nodes.keys().next().filter(|_| nodes.len() == 1).cloned()
    }

    /// Whether nothing is allocated to any claim.
    pub(super) fn are_unclaimed(&self) -> bool {
        self.claimed.is_empty()
    }

    /// Whether a device is allocated to a claim.
    pub(super) fn is_claimed(&self, pool: &NodePool<'_>, device: &str) -> bool {
        let pool = (pool.driver.into(), pool.pool.into());
        self.claimed.get(&pool).is_some_and(|devices| devices.contains_key(device))
    }

    /// The pools of a node, by driver and name, if it has any; too many slices are none, and then
    /// that is told.
    pub(super) fn pools(&self, node: &str) -> Result<Vec<NodePool<'_>>, usize> {
        let Some(slices) = self.of_node.get(node) else { return Ok(Vec::new()) };
        if slices.len() > SLICES_MAX {
            return Err(slices.len());
        }
        let mut pools: BTreeMap<(&str, &str), Vec<&ResourceSliceFacts>> = BTreeMap::new();
        for slice in slices.values() {
            pools.entry((&slice.driver, &slice.pool)).or_default().push(slice);
        }
        Ok(pools
            .into_iter()
            .map(|((driver, pool), slices)| self.pool(driver, pool, slices))
            .collect())
    }

    fn pool<'a>(
        &self,
        driver: &'a str,
        pool: &'a str,
        mut slices: Vec<&'a ResourceSliceFacts>,
    ) -> NodePool<'a> {
        let newest = slices.iter().map(|slice| slice.generation).max();
        slices.retain(|slice| Some(slice.generation) == newest);
        let nodes = self.pools.get(&(driver.into(), pool.into()));
        let is_spread = nodes.is_some_and(|nodes| nodes.len() > 1);
        NodePool { driver, pool, slices, is_spread }
    }

    /// The node of a slice that is kept.
    pub(super) fn node_of(&self, slice: &str) -> Option<&str> {
        self.node_of.get(slice).map(|node| &**node)
    }

    /// All slices that are kept.
    pub(super) fn slices(&self) -> impl Iterator<Item = &ResourceSliceFacts> {
        self.of_node.values().flat_map(BTreeMap::values)
    }

    /// All claims to which something is allocated.
    pub(super) fn claims(&self) -> impl Iterator<Item = ResourceClaimFacts> {
        self.claims.iter().map(|(key, devices)| {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            let (namespace, name) = (namespace.into(), name.into());
            ResourceClaimFacts { namespace, name, devices: devices.clone() }
        })
    }
}

/// The nodes of a pool that are no longer alone, or could be again: of more than two no single one
/// can become the only one.
fn spread(nodes: &BTreeMap<Box<str>, u32>) -> impl Iterator<Item = Box<str>> {
    nodes.keys().filter(|_| nodes.len() <= 2).cloned()
}

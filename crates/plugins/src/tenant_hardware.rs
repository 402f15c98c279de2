//! Gives tenants the hardware of their tier, and leaves accelerators to pods that ask for some.
//!
//! What a node's hardware is worth is one of three tiers: what a label says, else what the products
//! of its accelerators are worth by a table of models, the costliest counting, else what another
//! label says of its cost. Which tier a tenant has is what ProfileClassifier makes of sources that
//! an administrator owns; a pod can lower its tier by its own word, and is then held to the rules
//! of both. Tenants prefer one tier of hardware, and have others that are allowed. What is not
//! allowed is used where nothing better is left, unless that is denied. A node can be reserved for
//! tenants of one tier.
//!
//! As long as nobody has been given a tier, pods with accelerators are not looked at and no node is
//! reserved for anybody.
//!
//! Pods without accelerators prefer nodes without any. WorkloadAware says nothing of this: it packs
//! no pods onto such nodes, which leaves an empty node without accelerators as good as one with.
//!
//! Arguments: [`TenantHardwareArgs`]. Cost: once for every node whose facts changed, for all
//! classes of a tier together; none for the pods that come and go.

use std::sync::Arc;

use framework::{
    FINE, Feasible, MAX_SCORE, Narrow, Parts, Plugin, Rank, Reach, Scores, TenantHardwareArgs, View,
};
use model::{Catalog, Class, HardwareTier, NodeId, Reason, ReservedFor, Tier, TierFault, is_gpu};

use crate::profile_classifier::ProfileClassifier;

pub(crate) struct TenantHardware {
    rules: Arc<Rules>,
    /// What a node without accelerators scores for pods that ask for none, in parts of a point.
    cpu_pod_score: i32,
    classifier: Option<ProfileClassifier>,
}

impl TenantHardware {
    /// `weight` is what its scores count. Without a classifier nobody has a tier.
    pub(crate) fn new(
        args: TenantHardwareArgs,
        weight: i64,
        classifier: Option<ProfileClassifier>,
    ) -> Self {
        let best = i64::from(MAX_SCORE * FINE);
        let score = best * i64::from(args.cpu_pod_weight) / weight.saturating_abs().max(1);
        let cpu_pod_score = i32::try_from(score.min(best)).expect("at most the best score");
        let models = args.models.iter().map(|(name, tier)| Model::new(name, *tier)).collect();
        Self { rules: Arc::new(Rules { args, models }), cpu_pod_score, classifier }
    }

    /// Whose pods a class is, if anybody has been given a tier.
    fn tenants(&self, catalog: &Catalog, class: &Class) -> Option<Tenants> {
        let classifier = self.classifier.as_ref()?;
        let is_any_given = classifier.gives_tiers() || catalog.has_tiered_namespaces();
        is_any_given.then(|| {
            let (granted, kept) = classifier.tiers(catalog, class);
            Tenants { granted, kept }
        })
    }

    fn is_of_system(&self, class: &Class) -> bool {
        let mut system = self.rules.args.system_namespaces.iter();
        system.any(|namespace| *namespace == class.spec.namespace)
    }
}

impl Plugin for TenantHardware {
    fn name(&self) -> &'static str {
        "TenantHardware"
    }
}

impl Feasible for TenantHardware {
    fn reads(&self) -> Parts {
        Parts::default()
    }

    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        if self.is_of_system(class) {
            return None;
        }
        let asks = class.gpus.is_some();
        let keeps_off = !asks && self.rules.args.reserves_accelerators;
        let tenants = self.tenants(catalog, class);
        let says_anything = keeps_off || tenants.is_some();
        let rules = self.rules.clone();
        says_anything.then(|| Box::new(Allowed { rules, tenants, asks, keeps_off }) as _)
    }
}

impl Rank for TenantHardware {
    fn reads(&self) -> Parts {
        Parts::default()
    }

    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        if class.gpus.is_none() {
            let score = self.cpu_pod_score;
            return (score > 0).then(|| Box::new(CpuPods { score }) as _);
        }
        let tenants = self.tenants(catalog, class)?;
        Some(Box::new(Suited { rules: self.rules.clone(), tier: tenants.kept }))
    }
}

/// The tiers of a class.
#[derive(Clone, Copy)]
struct Tenants {
    /// What an administrator gives.
    granted: Tier,
    /// What the pod keeps of it.
    kept: Tier,
}

/// The arguments, and what follows from them.
struct Rules {
    args: TenantHardwareArgs,
    models: Vec<Model>,
}

impl Rules {
    /// The tier of the accelerators of a node, if it is known.
    fn tier(&self, catalog: &Catalog, node: NodeId) -> Option<HardwareTier> {
        let told = catalog.node(node).hardware.as_deref().map(|facts| &facts.tiers);
        let label = told.and_then(|tiers| tiers.tier);
        let cost = told.and_then(|tiers| tiers.cost_milli);
        let by_cost = || cost.map(|cost| self.args.costs.of(cost));
        label.or_else(|| self.by_models(catalog, node)).or_else(by_cost)
    }

    /// The costliest tier of the products that a node has.
    fn by_models(&self, catalog: &Catalog, node: NodeId) -> Option<HardwareTier> {
        let resources = catalog.devices(node)?.resources.iter();
        let of_gpus = resources.filter(|of| is_gpu(catalog.resource_name(of.resource)));
        let mut products: Vec<&str> =
            of_gpus.flat_map(|of| &of.devices).filter_map(|it| it.model.as_deref()).collect();
        products.dedup();
        products.into_iter().filter_map(|product| self.by_model(product)).max()
    }

    /// The tier of a product: by its whole name, else by its words.
    fn by_model(&self, product: &str) -> Option<HardwareTier> {
        let found = |is_whole: bool| {
            let models = self.models.iter().filter(|model| (model.words.len() > 1) == is_whole);
            models.filter(|model| model.is_meant_by(product)).map(|model| model.tier).max()
        };
        found(true).or_else(|| found(false))
    }
}

/// A model of the table.
struct Model {
    words: Vec<String>,
    tier: HardwareTier,
}

impl Model {
    fn new(name: &str, tier: HardwareTier) -> Self {
        Self { words: words(name).map(str::to_owned).collect(), tier }
    }

    /// Whether a product has its word, or has just its words if these are several.
    fn is_meant_by(&self, product: &str) -> bool {
        match &self.words[..] {
            [own] => words(product).any(|word| word.eq_ignore_ascii_case(own)),
            all => {
                let same = |(word, own): (&str, &String)| word.eq_ignore_ascii_case(own);
                words(product).count() == all.len() && words(product).zip(all).all(same)
            }
        }
    }
}

/// The words of a product name, which labels have with `-` for blanks.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split([' ', '-', '_']).filter(|word| !word.is_empty())
}

/// Which nodes pods of a class may use.
struct Allowed {
    rules: Arc<Rules>,
    tenants: Option<Tenants>,
    /// Whether they ask for accelerators.
    asks: bool,
    /// Whether they are kept off accelerators.
    keeps_off: bool,
}

impl Allowed {
    fn fault(&self, catalog: &Catalog, node: NodeId) -> Option<TierFault> {
        if self.tenants.is_some_and(|tenants| self.is_reserved(tenants, catalog, node)) {
            return Some(TierFault::Reserved);
        }
        if self.keeps_off && catalog.has_accelerators(node) {
            return Some(TierFault::Accelerators);
        }
        let Tenants { granted, kept } = self.tenants.filter(|_| self.asks)?;
        let rules = [granted, kept].map(|tier| self.rules.args.rules.of(tier));
        if rules.iter().all(|rule| rule.overflows) {
            return None;
        }
        let tier = self.rules.tier(catalog, node)?;
        let is_denied = rules.iter().any(|rule| !rule.overflows && !rule.allows(tier));
        is_denied.then_some(TierFault::NotAllowed)
    }

    /// Whether a node is kept for others.
    fn is_reserved(&self, tenants: Tenants, catalog: &Catalog, node: NodeId) -> bool {
        let facts = catalog.node(node).hardware.as_deref();
        match facts.and_then(|facts| facts.tiers.reserved) {
            None => false,
            Some(ReservedFor::System) => true,
            Some(ReservedFor::Tenants(tier)) => tier != tenants.granted || tier != tenants.kept,
        }
    }
}

impl Narrow for Allowed {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn variant(&self) -> u64 {
        let tiers = self.tenants.map_or(0, |it| 1 + it.granted as u64 + 4 * it.kept as u64);
        1 + u64::from(self.asks) + 2 * u64::from(self.keeps_off) + 4 * tiers
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| self.fault(view.catalog, *node).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        self.fault(view.catalog, node).map(Reason::Tier).into_iter().collect()
    }
}

/// A class that asks for accelerators.
struct Suited {
    rules: Arc<Rules>,
    tier: Tier,
}

impl Scores for Suited {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn variant(&self) -> u64 {
        2 + self.tier as u64
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let args = &self.rules.args;
        let rule = args.rules.of(self.tier);
        for (node, score) in nodes.iter().zip(out) {
            *score = args.scores.of(rule, self.rules.tier(view.catalog, *node));
        }
    }
}

/// A class that asks for none.
struct CpuPods {
    score: i32,
}

impl Scores for CpuPods {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn variant(&self) -> u64 {
        1
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, score) in nodes.iter().zip(out) {
            *score = if view.catalog.has_accelerators(*node) { 0 } else { self.score };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use HardwareTier::{Economy, Premium, Standard};

    fn plugin(args: TenantHardwareArgs, weight: i64) -> TenantHardware {
        TenantHardware::new(args, weight, None)
    }

    #[test]
    fn tiers_of_products_by_table() {
        let table = [
            ("NVIDIA-H100-80GB-HBM3", Some(Premium)),
            ("NVIDIA H100 NVL", Some(Premium)),
            ("NVIDIA-H200", Some(Premium)),
            ("NVIDIA-H20", Some(Premium)),
            ("NVIDIA-B200", Some(Premium)),
            ("NVIDIA-GB200", Some(Premium)),
            ("AMD-Instinct-MI300X-OAM", Some(Premium)),
            ("AMD_Instinct_MI325X", Some(Premium)),
            ("NVIDIA-A100-SXM4-80GB", Some(Standard)),
            ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", Some(Standard)),
            ("NVIDIA-A100-SXM4-40GB-SHARED", Some(Standard)),
            ("NVIDIA A40", Some(Standard)),
            ("NVIDIA-L40S", Some(Standard)),
            ("nvidia-l40s", Some(Standard)),
            ("NVIDIA-L40", Some(Economy)),
            ("NVIDIA-L4", Some(Economy)),
            ("NVIDIA-A10", Some(Economy)),
            ("Tesla-T4", Some(Economy)),
            ("Tesla-V100-SXM2-32GB", Some(Economy)),
            // No part of a word is a model.
            ("NVIDIA-A10G", None),
            ("NVIDIA-A1000", None),
            ("NVIDIA-GH200-480GB", None),
            ("H1000", None),
            ("", None),
        ];
        let rules = plugin(TenantHardwareArgs::default(), 8).rules;
        for (product, tier) in table {
            assert_eq!(rules.by_model(product), tier, "{product}");
        }
    }

    #[test]
    fn a_whole_name_counts_before_its_words() {
        let mut args = TenantHardwareArgs::default();
        args.models.push(("NVIDIA H100 PCIe".to_owned(), Standard));
        args.models.push(("NVIDIA RTX 6000 Ada Generation".to_owned(), Economy));
        let rules = plugin(args, 8).rules;
        let table = [
            ("NVIDIA-H100-PCIe", Some(Standard)),
            ("NVIDIA-H100-80GB-HBM3", Some(Premium)),
            ("NVIDIA-RTX-6000-Ada-Generation", Some(Economy)),
            ("NVIDIA-RTX-6000-Ada", None),
            ("NVIDIA-RTX-6000-Ada-Generation-SHARED", None),
        ];
        for (product, tier) in table {
            assert_eq!(rules.by_model(product), tier, "{product}");
        }
    }

    /// Whatever the plugin weighs, the term for pods without accelerators weighs as it says.
    #[test]
    fn pods_without_accelerators_have_a_weight_of_their_own() {
        let score = |cpu_pod_weight, weight| {
            let args = TenantHardwareArgs { cpu_pod_weight, ..TenantHardwareArgs::default() };
            plugin(args, weight).cpu_pod_score
        };
        let table = [(1, 8, 12_500), (2, 8, 25_000), (8, 8, 100_000), (0, 8, 0), (9, 8, 100_000)];
        for (own, weight, expected) in table {
            assert_eq!(score(own, weight), expected, "{own} of {weight}");
        }
        assert_eq!(score(1, 0), 100_000);
    }
}

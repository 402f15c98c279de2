//! Arguments of `TenantHardware`.

use model::{HardwareTier, Tier};

use HardwareTier::{Economy, Premium, Standard};

/// Which hardware tenants may use, and what nodes are worth to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantHardwareArgs {
    /// What tenants of each tier may use.
    pub rules: TierRules,
    /// What nodes score.
    pub scores: TierScores,
    /// Models of accelerators with their tiers, each once: one word of a product name, or the whole
    /// of it.
    pub models: Vec<(String, HardwareTier)>,
    /// Tiers by cost.
    pub costs: CostTiers,
    /// Whether pods that ask for no accelerators are kept off nodes that have some.
    pub reserves_accelerators: bool,
    /// What it counts that a node without accelerators is left to pods that ask for none, in units
    /// of weights; at most the weight of the plugin.
    pub cpu_pod_weight: u32,
    /// Namespaces whose pods are turned away by no node.
    pub system_namespaces: Vec<String>,
}

impl TenantHardwareArgs {
    const PREMIUM: [&str; 10] =
        ["H100", "H200", "H20", "B200", "B300", "GB200", "GB300", "MI300X", "MI325X", "MI355X"];
    const STANDARD: [&str; 4] = ["A100", "A40", "L40S", "MI250"];
    const ECONOMY: [&str; 5] = ["L40", "L4", "A10", "T4", "V100"];

    /// Models of a tier.
    pub fn models_of(&self, tier: HardwareTier) -> impl Iterator<Item = &str> {
        let models = self.models.iter().filter(move |(_, other)| *other == tier);
        models.map(|(name, _)| &**name)
    }
}

impl Default for TenantHardwareArgs {
    fn default() -> Self {
        let of = |tier| move |name: &&str| ((*name).to_owned(), tier);
        let premium = Self::PREMIUM.iter().map(of(Premium));
        let standard = Self::STANDARD.iter().map(of(Standard));
        let economy = Self::ECONOMY.iter().map(of(Economy));
        Self {
            rules: TierRules::default(),
            scores: TierScores::default(),
            models: premium.chain(standard).chain(economy).collect(),
            costs: CostTiers::default(),
            reserves_accelerators: false,
            cpu_pod_weight: 1,
            system_namespaces: vec!["kube-system".to_owned()],
        }
    }
}

/// What tenants of each tier may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierRules {
    /// Of the highest tier.
    pub gold: TierRule,
    /// Of the middle one.
    pub silver: TierRule,
    /// Of the lowest one.
    pub bronze: TierRule,
}

impl Default for TierRules {
    fn default() -> Self {
        let rule = |allowed: &[HardwareTier]| TierRule { allowed: allowed.into(), overflows: true };
        Self {
            gold: rule(&[Premium, Standard, Economy]),
            silver: rule(&[Standard, Economy]),
            bronze: rule(&[Economy]),
        }
    }
}

impl TierRules {
    /// What tenants of a tier may use.
    #[must_use]
    pub fn of(&self, tier: Tier) -> &TierRule {
        match tier {
            Tier::Gold => &self.gold,
            Tier::Silver => &self.silver,
            Tier::Bronze => &self.bronze,
        }
    }
}

/// What some tenants may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierRule {
    /// Tiers of hardware that are theirs, each once; the first, which there must be, is preferred.
    pub allowed: Vec<HardwareTier>,
    /// Whether they may use others as well, where nothing better is left.
    pub overflows: bool,
}

impl TierRule {
    /// Whether a tier of hardware is theirs.
    #[must_use]
    pub fn allows(&self, tier: HardwareTier) -> bool {
        self.allowed.contains(&tier)
    }
}

/// What nodes score for pods that ask for accelerators, each from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierScores {
    /// Hardware of the preferred tier.
    pub preferred: u8,
    /// Hardware that is allowed and cheaper, before steps are taken off.
    pub cheaper: u8,
    /// What is taken off for every step that it is cheaper by.
    pub cheaper_step: u8,
    /// Hardware of a tier that is not known.
    pub unknown: u8,
    /// Hardware that is allowed and costlier than the preferred one.
    pub costlier: u8,
    /// Hardware that is not allowed, for tenants who may overflow.
    pub overflow: u8,
}

impl Default for TierScores {
    fn default() -> Self {
        Self {
            preferred: 100,
            cheaper: 70,
            cheaper_step: 10,
            unknown: 50,
            costlier: 10,
            overflow: 10,
        }
    }
}

impl TierScores {
    /// What hardware of a tier scores for tenants with a rule.
    #[must_use]
    pub fn of(&self, rule: &TierRule, tier: Option<HardwareTier>) -> i32 {
        let (Some(tier), Some(preferred)) = (tier, rule.allowed.first()) else {
            return self.unknown.into();
        };
        if !rule.allows(tier) {
            return self.overflow.into();
        }
        match (*preferred as i32).cmp(&(tier as i32)) {
            std::cmp::Ordering::Equal => self.preferred.into(),
            std::cmp::Ordering::Less => self.costlier.into(),
            std::cmp::Ordering::Greater => {
                let steps = *preferred as i32 - tier as i32;
                (i32::from(self.cheaper) - steps * i32::from(self.cheaper_step)).max(0)
            }
        }
    }
}

/// From what cost on a node is of a tier, in thousandths; below all of them it is economy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostTiers {
    /// From here on it is premium; more than for standard.
    pub premium_milli: u64,
    /// From here on it is standard.
    pub standard_milli: u64,
}

impl Default for CostTiers {
    fn default() -> Self {
        Self { premium_milli: 3_000, standard_milli: 1_000 }
    }
}

impl CostTiers {
    /// The tier of a node by what it costs.
    #[must_use]
    pub fn of(self, cost_milli: u64) -> HardwareTier {
        match cost_milli {
            cost if cost >= self.premium_milli => Premium,
            cost if cost >= self.standard_milli => Standard,
            _ => Economy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_table() {
        let rules = TierRules::default();
        // (tenants, premium, standard, economy, unknown)
        let table = [
            (Tier::Gold, [100, 60, 50, 50]),
            (Tier::Silver, [10, 100, 60, 50]),
            (Tier::Bronze, [10, 10, 100, 50]),
        ];
        let tiers = [Some(Premium), Some(Standard), Some(Economy), None];
        for (tenants, expected) in table {
            let found = tiers.map(|tier| TierScores::default().of(rules.of(tenants), tier));
            assert_eq!(found, expected, "{tenants:?}");
        }
        // What is allowed and costlier than what is preferred.
        let rule = TierRule { allowed: vec![Standard, Premium], overflows: false };
        let found =
            tiers.map(|tier| TierScores { costlier: 7, ..TierScores::default() }.of(&rule, tier));
        assert_eq!(found, [7, 100, 10, 50]);
        // Many steps do not lead below nothing.
        let steep = TierScores { cheaper_step: 100, ..TierScores::default() };
        assert_eq!(steep.of(&rules.gold, Some(Economy)), 0);
    }

    #[test]
    fn costs_by_table() {
        let table =
            [(0, Economy), (999, Economy), (1_000, Standard), (2_999, Standard), (3_000, Premium)];
        for (cost, tier) in table {
            assert_eq!(CostTiers::default().of(cost), tier, "{cost}");
        }
        assert_eq!(CostTiers::default().of(u64::MAX), Premium);
    }
}

//! What a case is about. Subjects are switched on and off per case so that each meets few others
//! at a time: filters then leave some nodes, and scores differ for a reason that can be read.

use crate::draw::Draw;

/// The subjects of a case.
#[derive(Debug, Default)]
pub(super) struct Theme {
    pub(super) taints: bool,
    pub(super) unschedulable: bool,
    pub(super) selector: bool,
    pub(super) required: bool,
    pub(super) match_fields: bool,
    pub(super) preferred: bool,
    pub(super) node_name: bool,
    pub(super) ports: bool,
    pub(super) rare_resources: bool,
    pub(super) init_containers: bool,
    pub(super) overhead: bool,
    pub(super) pod_level: bool,
    pub(super) resize: bool,
    pub(super) images: bool,
    pub(super) features: bool,
    pub(super) volumes: bool,
    pub(super) spread: bool,
    pub(super) pod_affinity: bool,
    /// Pods are more and less important, and there are budgets for evicting them.
    pub(super) preemption: bool,
    /// There are services and controllers, and pods name their owners.
    pub(super) groupings: bool,
    /// Nodes have room for a handful of pods only.
    pub(super) crowded: bool,
    /// Quantities are written in every way the API allows.
    pub(super) odd_amounts: bool,
    /// Selectors that an API server would refuse; kube-scheduler has rules for them nevertheless.
    pub(super) invalid_selectors: bool,
}

impl Theme {
    fn draw(draw: &mut Draw) -> Theme {
        let node_name = draw.chance(3);
        // A name in two places can conflict.
        let match_fields = draw.chance(if node_name { 40 } else { 8 });
        let preemption = draw.chance(30);
        Theme {
            taints: draw.chance(if preemption { 15 } else { 35 }),
            unschedulable: draw.chance(15),
            selector: draw.chance(15),
            required: draw.chance(22),
            match_fields,
            preferred: draw.chance(40),
            node_name,
            ports: draw.chance(30),
            rare_resources: draw.chance(25),
            init_containers: draw.chance(40),
            overhead: draw.chance(20),
            pod_level: draw.chance(20),
            resize: draw.chance(30),
            images: draw.chance(50),
            features: draw.chance(12),
            volumes: draw.chance(25),
            spread: draw.chance(25),
            pod_affinity: draw.chance(25),
            preemption,
            crowded: draw.chance(if preemption { 50 } else { 12 }),
            groupings: draw.chance(30),
            odd_amounts: draw.chance(30),
            invalid_selectors: draw.chance(if match_fields { 30 } else { 8 }),
        }
    }
}

/// What the objects of one case share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) theme: Theme,
    /// Names of the nodes that exist.
    pub(super) nodes: Vec<String>,
    /// Size of each image of [`super::container::IMAGES`]. An image has one size in the whole
    /// cluster: with several, kube-scheduler's answer depends on which node it saw first.
    pub(super) image_bytes: Vec<u64>,
}

impl World {
    pub(super) fn draw(draw: &mut Draw) -> World {
        const MB: u64 = 1 << 20;
        // A single node is seldom: nothing can differ on it.
        let theme = Theme::draw(draw);
        let count_max = if theme.preemption { 4 } else { 8 };
        let count = if draw.chance(4) { 1 } else { draw.between(2, count_max) };
        let image_bytes = super::container::IMAGES
            .iter()
            .map(|_| match draw.between(0, 3) {
                0 => draw.between(1, 30 * MB),
                1 => draw.between(30 * MB, 1_000 * MB),
                2 => draw.between(1_000 * MB, 8_000 * MB),
                _ => draw.between(8_000 * MB, 60_000 * MB),
            })
            .collect();
        World { theme, nodes: (0..count).map(|index| format!("n{index}")).collect(), image_bytes }
    }

    /// A world in which hardly anything but volumes decides.
    pub(super) fn of_volumes(draw: &mut Draw) -> World {
        let theme = Theme {
            taints: draw.chance(5),
            unschedulable: draw.chance(4),
            selector: draw.chance(4),
            required: draw.chance(4),
            node_name: draw.chance(1),
            crowded: draw.chance(3),
            preemption: draw.chance(45),
            ..Theme::default()
        };
        let count = if theme.preemption { draw.between(2, 3) } else { draw.between(2, 6) };
        let nodes = (0..count).map(|index| format!("n{index}")).collect();
        World { theme, nodes, image_bytes: vec![1 << 20; super::container::IMAGES.len()] }
    }
}

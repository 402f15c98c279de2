//! Prefers nodes that have the pod's images already, the larger the better.
//!
//! An image counts by its size times the share of nodes that have it, so that a node which is the
//! only one with an image does not attract every pod that needs it.

use framework::{MAX_SCORE, Parts, Plugin, Rank, Reach, Scores, View};
use model::{Catalog, Class, NodeId, Symbol, hash_of};

const MIB: i64 = 1024 * 1024;
/// Images that add up to less than this are quicker to pull than to think about.
const LEAST: i64 = 23 * MIB;
/// What counts of the images of a pod, per image.
const MOST_PER_IMAGE: i64 = 1000 * MIB;

pub(crate) struct ImageLocality;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }
}

impl Rank for ImageLocality {
    fn reads(&self) -> Parts {
        Parts::IMAGES
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        Some(Box::new(Prepared { images: class.images.clone() }))
    }
}

/// The score of a node on which images of a summed, spread-weighted size are present.
fn score(present: i64, images: usize) -> i32 {
    let most = MOST_PER_IMAGE.saturating_mul(i64::try_from(images).unwrap_or(i64::MAX));
    // As kube-scheduler clamps: the lower bound is looked at first, even when it is the higher.
    let present = if present < LEAST { LEAST } else { present.min(most) };
    let share = i128::from(MAX_SCORE) * i128::from(present - LEAST) / i128::from(most - LEAST);
    i32::try_from(share).expect("a share of the best score")
}

/// What an image of `size` counts when `nodes` of `all` nodes have it.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as upstream")]
fn weighted(size: i64, nodes: u32, all: usize) -> i64 {
    let spread = f64::from(nodes) / all as f64;
    (size as f64 * spread) as i64
}

/// Of how many images of a pod all sets are looked at that a node could have.
const SETS_OF_MAX: usize = 4;

/// The scores of nodes with all sets of images, by what each counts.
fn scores_of_sets(counts: &[i64], images: usize) -> Vec<i32> {
    let present = |set: usize| {
        let counts = counts.iter().enumerate().filter(move |(at, _)| set & (1 << at) != 0);
        counts.map(|(_, count)| *count).fold(0, i64::saturating_add)
    };
    (0..1 << counts.len()).map(|set| score(present(set), images)).collect()
}

struct Prepared {
    images: Box<[Symbol]>,
}

impl Scores for Prepared {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    /// What an image counts depends on how many nodes there are, with the image and without; but
    /// where images have the same size everywhere it takes many of them to change a score.
    fn revision(&self, catalog: &Catalog) -> u64 {
        let all = catalog.nodes().len();
        let images = self.images.iter().map(|image| catalog.image(*image));
        let known = images.filter(|image| image.nodes > 0);
        let counts = known.clone().map(|image| Some(weighted(image.size?, image.nodes, all)));
        match counts.collect::<Option<Vec<_>>>() {
            Some(counts) if counts.len() <= SETS_OF_MAX => {
                hash_of(&scores_of_sets(&counts, self.images.len()))
            }
            _ => known.fold(0, |sum, image| {
                hash_of(&(sum, image.nodes, all)).wrapping_add(image.revision)
            }),
        }
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let all = view.catalog.nodes().len();
        let spread = |image: &Symbol| (*image, view.catalog.image(*image).nodes);
        let spread: Vec<_> = self.images.iter().map(spread).collect();
        for (node, out) in nodes.iter().zip(out) {
            let node = view.catalog.node(*node);
            let count = |(image, nodes): &(Symbol, u32)| {
                Some(weighted(node.image_size(*image)?, *nodes, all))
            };
            let present = spread.iter().filter_map(count).fold(0, i64::saturating_add);
            *out = score(present, self.images.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_table() {
        // (present bytes, images, score)
        let table = [
            (0, 0, 0),
            (0, 1, 0),
            (23 * MIB, 1, 0),
            (1000 * MIB, 1, 100),
            (5000 * MIB, 1, 100),
            (1000 * MIB, 2, 49),
            (500 * MIB, 1, 48),
        ];
        for (present, images, expected) in table {
            assert_eq!(score(present, images), expected, "{present} in {images}");
        }
    }

    #[test]
    fn sets_of_images_have_the_scores_of_nodes_with_them() {
        let (a, b) = (500 * MIB, 1000 * MIB);
        let expected = [0, a, b, a + b].map(|present| score(present, 3));
        assert_eq!(scores_of_sets(&[a, b], 3), expected);
        assert_eq!(scores_of_sets(&[], 3), [score(0, 3)]);
    }

    #[test]
    fn an_image_counts_by_its_spread() {
        assert_eq!(weighted(900, 1, 3), 300);
        assert_eq!(weighted(900, 3, 3), 900);
        assert_eq!(weighted(1000, 1, 3), 333);
    }
}

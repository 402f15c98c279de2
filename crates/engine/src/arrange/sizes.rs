//! How large pods are, and how much room nodes have for them.

use model::{Amounts, Catalog, ClassId, NodeId, ResourceId, Txn};

/// Every resource that is asked for.
pub(super) fn amounts(
    amounts: &Amounts<ResourceId>,
) -> impl Iterator<Item = (ResourceId, i64)> + '_ {
    let fixed = [
        (ResourceId::CPU, amounts.cpu),
        (ResourceId::MEMORY, amounts.memory),
        (ResourceId::EPHEMERAL, amounts.ephemeral),
    ];
    fixed.into_iter().chain(amounts.scalars.iter().copied())
}

/// How large pods of a class are: the largest part of what a node has at most of a resource.
pub(crate) fn share(catalog: &Catalog, class: ClassId) -> u64 {
    let part = |(resource, asked): (ResourceId, i64)| {
        let most = catalog.nodes().iter().map(|node| catalog.offer(*node).amounts.of(resource));
        let most = most.max().unwrap_or(0).max(1);
        u64::try_from(i128::from(asked.max(0)) * (1 << 20) / i128::from(most)).unwrap_or(u64::MAX)
    };
    amounts(&catalog.class(class).requests.fit).map(part).max().unwrap_or(0)
}

/// How much a node has left of what a class asks for, in the scarcest of it.
pub(super) fn room(txn: &Txn<'_>, class: ClassId, node: NodeId) -> u64 {
    let catalog = txn.catalog();
    let (offer, load) = (&catalog.offer(node).amounts, txn.usage().load(node));
    let left = |(resource, asked): (ResourceId, i64)| {
        let left = i128::from(offer.of(resource)) - i128::from(load.of(resource));
        (asked > 0).then(|| u64::try_from(left * 1024 / i128::from(asked)).unwrap_or(0))
    };
    amounts(&catalog.class(class).requests.fit).filter_map(left).min().unwrap_or(0)
}

/// How many pods of a class a node would have room for if it were empty.
pub(crate) fn places(catalog: &Catalog, class: ClassId, node: NodeId) -> usize {
    let offer = catalog.offer(node);
    let asked = amounts(&catalog.class(class).requests.fit).filter(|(_, asked)| *asked > 0);
    let places = asked.map(|(resource, asked)| offer.amounts.of(resource) / asked);
    let places = places.chain([offer.pods_max]).min().unwrap_or(0);
    usize::try_from(places).unwrap_or(0)
}

//! Who is woken that waits for the network.

use model::FabricFault;
use testkit::own_profile;

use crate::wake::{Case, stuck};

/// What is tried for a fault.
pub(crate) fn case(fault: &FabricFault) -> Case {
    match fault {
        FabricFault::Invalid(_) => {
            stuck("node a; pod r on=a; pod p fabric-broken=x").with(own_profile())
        }
        FabricFault::TooSlow => slow(),
    }
}

fn slow() -> Case {
    let case = Case::new(
        "node a label=network.kubenexus.io/fabric:roce; pod r on=a; pod p min-fabric=infiniband",
        &[
            "node a label=network.kubenexus.io/fabric:infiniband",
            "node b label=network.kubenexus.io/fabric-type:InfiniBand",
            "node b label=nvidia.com/gpu.clique:x",
            "pod p min-fabric=roce",
        ],
        &[
            "gone pod r",
            "node a label=network.kubenexus.io/fabric:roce cpu=8",
            "node b",
            "node b label=network.kubenexus.io/fabric:nonsense",
        ],
    );
    case.with(own_profile())
}

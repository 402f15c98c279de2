//! Plugins that rank nodes by their facts, by table.

use testkit::{check_with, only};

#[test]
fn taint_toleration_prefers_fewer_taints() {
    check_with(
        &[only("TaintToleration")],
        "
        node a
        node b taint=spot:PreferNoSchedule
        node c taint=spot:PreferNoSchedule taint=old:PreferNoSchedule taint=slow:PreferNoSchedule
        judge p
        > a fits TaintToleration=100
        > b fits TaintToleration=67
        > c fits TaintToleration=0
        judge p tolerate=spot
        > a fits TaintToleration=100
        > b fits TaintToleration=100
        > c fits TaintToleration=0
        judge p tolerate=*
        > a fits TaintToleration=100
        > b fits TaintToleration=100
        > c fits TaintToleration=100
        # Only tolerations of that effect, or of every effect, count here.
        judge p tolerate=spot:NoSchedule tolerate=old:PreferNoSchedule
        > a fits TaintToleration=100
        > b fits TaintToleration=50
        > c fits TaintToleration=0
        ",
    );
}

#[test]
fn node_affinity_prefers_matching_terms() {
    check_with(
        &[only("NodeAffinity")],
        "
        node a zone=x
        node b zone=x disk=ssd
        node c
        judge p
        > a fits
        > b fits
        > c fits
        judge p prefer=10:zone:in:x prefer=30:disk:exists
        > a fits NodeAffinity=25
        > b fits NodeAffinity=100
        > c fits NodeAffinity=0
        # Preferences that no node meets leave all at 0.
        judge p prefer=10:zone:in:z
        > a fits NodeAffinity=0
        > b fits NodeAffinity=0
        > c fits NodeAffinity=0
        # The highest counts among nodes that fit alone.
        judge p prefer=10:zone:in:x prefer=30:disk:exists require=disk:absent
        > a fits NodeAffinity=100
        > b NodeAffinity UnschedulableAndUnresolvable: node(s) didn't match Pod's node \
          affinity/selector
        > c fits NodeAffinity=0
        # Terms of no weight and empty terms say nothing, even if they make no sense.
        judge p prefer=0:zone:what:x prefer=5: prefer=1:@metadata.name:in:c
        > a fits NodeAffinity=0
        > b fits NodeAffinity=0
        > c fits NodeAffinity=100
        judge p prefer=5:zone:what:x
        > a fits NodeAffinity=0
        > b fits NodeAffinity=0
        > c fits NodeAffinity=0
        > fault Error: a preferred node affinity term is invalid, so nodes cannot be ranked
        ",
    );
}

#[test]
fn image_locality() {
    check_with(
        &[only("ImageLocality")],
        "
        node a image=web@1000Mi image=db@500Mi
        node b image=web@1000Mi
        node c image=small@20Mi
        judge p
        > a fits ImageLocality=0
        > b fits ImageLocality=0
        > c fits ImageLocality=0
        # An image counts by the share of nodes that have it.
        judge p image=web
        > a fits ImageLocality=65
        > b fits ImageLocality=65
        > c fits ImageLocality=0
        judge p image=web image=db
        > a fits ImageLocality=40
        > b fits ImageLocality=32
        > c fits ImageLocality=0
        judge p image=small
        > a fits ImageLocality=0
        > b fits ImageLocality=0
        > c fits ImageLocality=0
        gone node c
        judge p image=web
        > a fits ImageLocality=100
        > b fits ImageLocality=100
        ",
    );
}

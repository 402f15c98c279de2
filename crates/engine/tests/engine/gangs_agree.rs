//! Gangs of which pods and objects say what does not agree: they wait, and say why.

use testkit::check;

#[test]
fn what_is_said_of_a_gang_must_agree() {
    check(
        "
        node a
        pod g1 gang=g/2
        pod g2 gang=g/3
        after 1s
        step
        > g1 waits: gang: members of g disagree on how many start together: 2, 3
        > g2 waits: gang: members of g disagree on how many start together: 2, 3
        > gang g waits: gang: members of g disagree on how many start together: 2, 3
        pod g2 gang=g/2
        step
        > g1 -> a
        > g2 -> a
        pod x broken=two_names
        step
        > x waits: gang: two_names
        ",
    );
}

#[test]
fn pods_have_the_priority_of_their_pod_group() {
    let why = "gang: all pods in a single pod group should have the same priority as the pod \
               group's priority, got";
    check(&format!(
        "
        node a cpu=4
        podgroup native/g min=2 priority=7
        pod g1 cpu=1 group=native/g priority=7
        pod g2 cpu=1 group=native/g priority=9
        after 1s
        step
        > g1 waits: {why} 9 and 7
        > g2 waits: {why} 9 and 7
        > gang g waits: {why} 9 and 7
        gone pod g2
        pod g3 cpu=1 group=native/g priority=7
        step
        > g1 -> a
        > g3 -> a
        # Those on nodes count as well, and it does not matter how many start together.
        podgroup native/h min=1 priority=7
        pod h1 cpu=1 group=native/h priority=1 on=a
        pod h2 cpu=1 group=native/h priority=7
        after 1s
        step
        > h2 waits: {why} 1 and 7
        > gang h waits: {why} 1 and 7
        # An object from before there were priorities says nothing about them.
        podgroup native/h min=1
        step
        > gang h started
        > h2 -> a
        "
    ));
}

//! Jobs: what their pods ask for, when they come, how they end.

use model::{
    Amounts, Effect, Features, FieldOperator, HostPort, LabelOperator, Millis, Need, NodeTerm,
    Operator, PodSpec, Preference, Protocol, Requests, RequirementSpec, Time, Toleration,
};

use super::company;
use super::nodes::name;
use super::{IMAGES, LABELS, MIB, OTHER, OURS, SCALARS, TAINTS, few};
use crate::dice::Dice;
use crate::plan::{Gates, Job, Life};
use crate::quantities::requests_of;

pub(super) fn draw(dice: &mut Dice, span: Millis, nodes: usize, has_second: bool) -> Vec<Job> {
    let count = dice.between(2, 20);
    let nodes = nodes as u64;
    (0..count).map(|number| job(dice, number, span, nodes, has_second)).collect()
}

fn job(dice: &mut Dice, number: u64, span: Millis, nodes: u64, has_second: bool) -> Job {
    let is_ours = !(has_second && dice.percent(25));
    let spec = spec(dice, nodes, is_ours);
    let some_node =
        |dice: &mut Dice, percent: u64| dice.percent(percent).then(|| name(dice.between(0, nodes)));
    Job {
        name: format!("j{number}"),
        at: Time(if dice.percent(30) { 0 } else { dice.between(0, span.0 * 9 / 10) }),
        pods: few(dice, 40),
        followers: if dice.percent(15) { few(dice, 20) } else { 0 },
        labels: company::labels(dice),
        spec,
        priority: dice.pick(&[0, 0, 0, -5, 10, 1_000]),
        node: some_node(dice, 6),
        runs: dice.percent(70).then(|| range(dice, span.0 / 3)),
        gates: (is_ours && dice.percent(10)).then(|| gates(dice, span)),
        life: Life {
            grace: if dice.percent(50) { range(dice, 30_000) } else { (Millis(0), Millis(0)) },
            deleted_after: dice.percent(20).then(|| range(dice, span.0)),
            failed_percent: if dice.percent(20) { dice.between(1, 50) } else { 0 },
            resized: dice
                .percent(15)
                .then(|| (Millis(dice.between(1, span.0 / 2)), dice.pick(&[25, 50, 150, 300]))),
            tolerant_after: dice.percent(10).then(|| Millis(dice.between(0, span.0 / 2))),
            wishes: None,
            nominated: some_node(dice, 8),
            is_modest: dice.percent(8),
            ..Life::default()
        },
        gang: None,
    }
}

fn range(dice: &mut Dice, most: u64) -> (Millis, Millis) {
    let low = dice.between(1, most);
    (Millis(low), Millis(dice.between(low, most)))
}

fn gates(dice: &mut Dice, span: Millis) -> Gates {
    let lifted_after = dice.percent(80).then(|| Millis(dice.between(1, span.0)));
    Gates { names: ["quota".into()].into(), lifted_after }
}

fn spec(dice: &mut Dice, nodes: u64, is_ours: bool) -> PodSpec {
    let mut spec = PodSpec {
        scheduler: if is_ours { dice.pick(&OURS) } else { OTHER }.to_owned(),
        namespace: dice.pick(&["red", "blue", "blue", "shy"]).to_owned(),
        requests: requests(dice),
        ..PodSpec::default()
    };
    if dice.percent(30) {
        spec.tolerations = tolerations(dice);
    }
    if dice.percent(10) {
        let (key, values) = dice.pick(&LABELS);
        spec.node_selector = vec![(key.to_owned(), dice.pick(values).to_owned())];
    }
    if dice.percent(18) {
        let count = dice.pick(&[1, 1, 2]);
        spec.required = Some((0..count).map(|_| term(dice, nodes)).collect());
    }
    if dice.percent(25) {
        let count = dice.between(1, 2);
        spec.preferred = (0..count).map(|_| preference(dice, nodes)).collect();
    }
    if dice.percent(10) {
        spec.ports = ports(dice);
    }
    if dice.percent(4) {
        // One beyond the last: a node that is not there, and never will be.
        spec.target = Some(name(dice.between(0, nodes)));
    }
    if dice.percent(20) {
        spec.images = vec![dice.pick(&IMAGES).to_owned()];
    }
    if dice.percent(5) {
        spec.features = Features::BIND_MOUNT_OPTIONS;
    }
    if is_ours && dice.percent(3) {
        spec.needs = vec![dice.pick(&[Need::Volumes, Need::ResourceClaims])];
    }
    company::draw(dice, &mut spec);
    spec
}

fn requests(dice: &mut Dice) -> Requests<String> {
    let scalars = SCALARS.iter().filter_map(|name| {
        let amount = if dice.percent(7) { dice.between(1, 2) as i64 } else { 0 };
        (amount > 0).then(|| ((*name).to_owned(), amount))
    });
    let mut scalars: Vec<(String, i64)> = scalars.collect();
    scalars.sort();
    requests_of(Amounts {
        cpu: dice.pick(&[0, 100, 250, 500, 1_000, 2_000]),
        memory: dice.pick(&[0, 64, 128, 256, 1_024]) * MIB,
        ephemeral: dice.pick(&[0, 0, 0, 0, 128, 1_024]) * MIB,
        scalars: scalars.into(),
    })
}

fn tolerations(dice: &mut Dice) -> Vec<Toleration<String>> {
    let count = dice.between(1, 2);
    let one = |dice: &mut Dice| Toleration {
        key: (!dice.percent(15)).then(|| dice.pick(&TAINTS).to_owned()),
        value: dice.pick(&["", "yes"]).to_owned(),
        operator: dice.pick(&[Operator::Exists, Operator::Exists, Operator::Equal]),
        effect: dice.pick(&[None, None, Some(Effect::NoSchedule), Some(Effect::NoExecute)]),
    };
    (0..count).map(|_| one(dice)).collect()
}

fn preference(dice: &mut Dice, nodes: u64) -> Preference {
    let weight = dice.pick(&[1, 10, 100]);
    let mut term = term(dice, nodes);
    if dice.percent(4) {
        term.expressions.push(RequirementSpec {
            key: "zone".to_owned(),
            operator: LabelOperator::Unknown,
            values: Vec::new(),
        });
    }
    Preference { weight, term }
}

fn term(dice: &mut Dice, nodes: u64) -> NodeTerm {
    let mut term = NodeTerm::default();
    if dice.percent(15) {
        let operator = dice.pick(&[FieldOperator::In, FieldOperator::NotIn]);
        let values = vec![name(dice.between(0, nodes))];
        let key = "metadata.name".to_owned();
        term.fields.push(RequirementSpec { key, operator, values });
    }
    if term.fields.is_empty() || dice.percent(30) {
        let count = dice.pick(&[1, 1, 2]);
        term.expressions = (0..count).map(|_| requirement(dice)).collect();
    }
    term
}

fn requirement(dice: &mut Dice) -> RequirementSpec<LabelOperator> {
    let (_, operator) = dice.pick(&LabelOperator::WORDS);
    let (key, values) = match operator {
        LabelOperator::Gt | LabelOperator::Lt => LABELS[2],
        LabelOperator::In
        | LabelOperator::NotIn
        | LabelOperator::Exists
        | LabelOperator::DoesNotExist
        | LabelOperator::Unknown => dice.pick(&LABELS),
    };
    let values = match operator {
        LabelOperator::In | LabelOperator::NotIn => {
            let count = dice.between(1, 2);
            (0..count).map(|_| dice.pick(values).to_owned()).collect()
        }
        LabelOperator::Gt | LabelOperator::Lt => vec![dice.pick(&["3", "16", "40"]).to_owned()],
        LabelOperator::Exists | LabelOperator::DoesNotExist | LabelOperator::Unknown => Vec::new(),
    };
    RequirementSpec { key: key.to_owned(), operator, values }
}

fn ports(dice: &mut Dice) -> Vec<HostPort<String>> {
    vec![HostPort {
        address: dice.pick(&[None, None, Some("10.0.0.1"), Some("10.0.0.2")]).map(str::to_owned),
        protocol: if dice.percent(80) { Protocol::Tcp } else { Protocol::Udp },
        port: dice.pick(&[80, 443]),
    }]
}

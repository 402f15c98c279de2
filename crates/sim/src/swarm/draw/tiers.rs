//! Namespaces as objects, how an administrator has whom served, and pods that ask for more.

use framework::ProfileSettings;
use model::{Hints, Labels, Millis, Said, Tier, Time};
use serde_json::{Value as Json, json};

use super::{OURS, TEAM, TEAMS};
use crate::checkers::TIER;
use crate::dice::Dice;
use crate::plan::{Job, NamespacePlan};

const NAMESPACES: [&str; 3] = ["red", "blue", "shy"];
/// Words of an administrator, and some that mean nothing.
const WORDS: [&str; 7] = ["gold", "gold", "silver", "bronze", "Gold", "golden", ""];
const TIERS: [&str; 3] = ["gold", "silver", "bronze"];
const CLASSES: [&str; 2] = ["production", "spot"];

/// In a good part of all worlds there are namespaces with labels, which come, change and go.
pub(super) fn draw(
    dice: &mut Dice,
    (jobs, span): (&mut [Job], Millis),
    profiles: &mut Vec<ProfileSettings>,
) -> Vec<NamespacePlan> {
    if !dice.percent(60) {
        return Vec::new();
    }
    if dice.percent(80) {
        *profiles = configured(dice);
    }
    jobs.iter_mut().for_each(|job| ask(dice, job, span));
    NAMESPACES.map(|name| namespace(dice, name, span)).into()
}

fn namespace(dice: &mut Dice, name: &str, span: Millis) -> NamespacePlan {
    let mut at = if dice.percent(70) { 0 } else { dice.between(0, span.0) };
    let mut states = vec![(Time(at), Some(labels(dice)))];
    for _ in 0..dice.pick(&[0, 1, 2, 4, 8]) {
        at = dice.between(at, span.0);
        states.push((Time(at), (!dice.percent(30)).then(|| labels(dice))));
    }
    NamespacePlan { name: name.into(), states }
}

fn labels(dice: &mut Dice) -> Labels {
    let team = dice.percent(60).then(|| (TEAM.into(), dice.pick(&TEAMS).into()));
    let tier = dice.percent(70).then(|| (TIER.into(), dice.pick(&WORDS).into()));
    team.into_iter().chain(tier).collect()
}

/// What a job's pods say of themselves, from the start or some time later.
fn ask(dice: &mut Dice, job: &mut Job, span: Millis) {
    let word = |dice: &mut Dice| Said::read(dice.pick(&WORDS), &Tier::WORDS);
    let hints = Hints {
        tier: dice.percent(30).then(|| word(dice)),
        priority_class: dice.percent(40).then(|| dice.pick(&CLASSES).into()),
        ..Hints::default()
    };
    job.spec.hints = hints.if_any();
    let later = |dice: &mut Dice| (Millis(dice.between(0, span.0 / 2)), word(dice));
    job.life.wishes = dice.percent(20).then(|| later(dice));
}

/// Profiles as an administrator writes them.
fn configured(dice: &mut Dice) -> Vec<ProfileSettings> {
    let [kube, own] = OURS;
    let offset = json!({"namespaceSelector": selector(dice), "offset": dice.pick(&[-5, 15])});
    let mut order = json!({
        "starvation": {"orderAfterSeconds": dice.pick(&[1, 10, 60])},
        "namespacePriority": [offset],
    });
    if dice.percent(30) {
        order["tierOrderBoost"] = json!({"gold": 3, "silver": 2, "bronze": 1});
    }
    let mut profiles = vec![json!({"schedulerName": own, "pluginConfig": [
        {"name": "Coscheduling", "args": order},
        {"name": "ProfileClassifier", "args": classifier(dice)},
    ]})];
    // Every profile has an administrator's words of its own.
    profiles.push(match dice.percent(30) {
        true => json!({
            "schedulerName": kube,
            "plugins": {"preFilter": {"enabled": [{"name": "ProfileClassifier"}]}},
            "pluginConfig": [{"name": "ProfileClassifier", "args": classifier(dice)}],
        }),
        false => json!({"schedulerName": kube}),
    });
    let file = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    });
    let settings = k8s::config::from_json(&file, plugins::known());
    settings.expect("what is drawn is a valid configuration").profiles
}

fn classifier(dice: &mut Dice) -> Json {
    let tenant = |dice: &mut Dice, number: u64| {
        let mut tenant = json!({"name": format!("t{number}")});
        match dice.percent(60) {
            true => tenant["namespaceSelector"] = selector(dice),
            false => tenant["namespaces"] = json!([dice.pick(&NAMESPACES)]),
        }
        if dice.percent(80) {
            tenant["tier"] = json!(dice.pick(&TIERS));
        }
        tenant
    };
    let count = dice.pick(&[0, 0, 1, 2]);
    let tenants: Vec<Json> = (0..count).map(|number| tenant(dice, number)).collect();
    let classes = dice.percent(70).then(|| {
        let tiers = [dice.pick(&TIERS), dice.pick(&TIERS)];
        let named = CLASSES.iter().zip(tiers);
        named.map(|(name, tier)| json!({"name": name, "tier": tier})).collect::<Vec<_>>()
    });
    json!({"tenants": tenants, "priorityClasses": classes.unwrap_or_default()})
}

fn selector(dice: &mut Dice) -> Json {
    json!({"matchLabels": {TEAM: dice.pick(&TEAMS)}})
}

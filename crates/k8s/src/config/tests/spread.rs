//! How pods without constraints of their own are spread, by profile.

use framework::{Args, LevelArgs, SpreadArgs};

use super::{good, known, read};
use crate::config::{defaults, load, write};

/// What a profile makes of arguments of PodTopologySpread; none stands for no arguments at all.
fn spread(scheduler: &str, args: Option<&str>) -> Option<SpreadArgs> {
    let args =
        args.map(|args| format!("pluginConfig: [{{name: PodTopologySpread, args: {args}}}]"));
    let rest = args.unwrap_or_default();
    let settings = good(&format!("profiles:\n- schedulerName: {scheduler}\n  {rest}\n"));
    // What is written means the same.
    let text = write(&settings, &known()).to_string();
    assert_eq!(load(&text, &known()).expect("what is written is valid"), settings, "{text}");
    match settings.profiles[0].args_of("PodTopologySpread") {
        Some(Args::Spread(args)) => Some(args.clone()),
        Some(_) => panic!("arguments of another plugin"),
        None => None,
    }
}

/// TopologySpread spreads them in ours, unless a file says otherwise.
#[test]
fn only_our_profile_leaves_pods_without_constraints_alone() {
    let none = Some(SpreadArgs::List(Vec::new()));
    let ours = "kubenexus-scheduler";
    assert_eq!(spread(ours, None), none);
    assert_eq!(spread(ours, Some("{}")), none);
    assert_eq!(spread(ours, Some("{defaultingType: List}")), none);
    // No arguments are those of kube-scheduler.
    assert_eq!(spread(ours, Some("{defaultingType: System}")), None);
    for other in ["default-scheduler", "mine"] {
        assert_eq!(spread(other, None), None);
        assert_eq!(spread(other, Some("{}")), None);
        assert_eq!(spread(other, Some("{defaultingType: System}")), None);
        assert_eq!(spread(other, Some("{defaultingType: List}")), none);
    }
    let listed = "[{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]";
    let listed = format!("{{defaultConstraints: {listed}}}");
    let Some(SpreadArgs::List(list)) = spread(ours, Some(&listed)) else { panic!("a list") };
    assert_eq!(list.len(), 1);
    let profiles = defaults(&known()).profiles;
    let given = profiles.iter().map(|profile| profile.args_of("PodTopologySpread").cloned());
    assert_eq!(given.collect::<Vec<_>>(), [None, none.map(Args::Spread)]);
}

#[test]
fn weights_of_levels() {
    let args = |args: &str| {
        let config = format!("pluginConfig: [{{name: TopologySpread, args: {args}}}]");
        read(&format!("profiles:\n- {config}\n")).expect("valid").profiles.remove(0).args
    };
    assert_eq!(args("{}"), []);
    assert_eq!(args("{zoneWeight: 60, rackWeight: 25, hostWeight: 15}"), []);
    let found = LevelArgs { zone: 0, rack: 25, host: 100 };
    let found = [("TopologySpread", Args::Levels(found))];
    assert_eq!(args("{zoneWeight: 0, hostWeight: 100}"), found);
}

//! Settings in words: what runs at each extension point, and what is accepted without effect.

mod gangs;

use std::fmt::Write as _;

use framework::{
    Args, FabricArgs, FitArgs, FragmentationArgs, NodeAffinityArgs, NumaArgs, PluginInfo,
    PodAffinityArgs, Point, PreemptionArgs, ProfileSettings, ResourceWeight, ShapePoint,
    SpreadArgs, Strategy, VolumeBindingArgs, VramArgs,
};
use k8s::config::{ClientConnection, LeaderElection, Notes, Settings};
use model::{FabricLevel, Millis, NodeTerm, SpreadSpec};

/// Where the second column starts.
const COLUMN: usize = 22;
/// Lines are wrapped here.
const WIDTH: usize = 80;

/// The whole description.
pub(super) fn all(settings: &Settings, notes: &Notes, known: &[PluginInfo]) -> String {
    let mut text = String::new();
    for each in &settings.profiles {
        profile(each, known, &mut text);
    }
    leader_election(&settings.leader_election, &mut text);
    text.push_str("waiting after a failed attempt\n");
    row("from", &span(settings.initial_backoff), &mut text);
    row("doubling up to", &span(settings.max_backoff), &mut text);
    text.push('\n');
    client_connection(&settings.client_connection, &mut text);
    not_built(settings, known, &mut text);
    without_effect(notes, &mut text);
    text
}

fn profile(profile: &ProfileSettings, known: &[PluginInfo], text: &mut String) {
    let _ = writeln!(text, "profile {}", profile.scheduler);
    for (point, word) in Point::ALL {
        let is_scoring = matches!(point, Point::Score | Point::PlacementScore);
        let names = profile.at(point).iter().map(|choice| {
            let star = if is_built(choice.name, known) { "" } else { "*" };
            let weight = if is_scoring { format!(":{}", choice.weight) } else { String::new() };
            format!("{}{star}{weight}", choice.name)
        });
        let names = names.collect::<Vec<_>>().join(", ");
        if !names.is_empty() {
            row(word, &names, text);
        }
    }
    text.push('\n');
    gangs::meaning(profile, text);
    if profile.args.is_empty() {
        return;
    }
    let _ = writeln!(text, "arguments of {} that differ from the defaults", profile.scheduler);
    for (plugin, args) in &profile.args {
        match args {
            Args::Fit(args) => row(plugin, &fit(args), text),
            Args::Balanced(args) => row(plugin, &resources(&args.resources), text),
            Args::NodeAffinity(args) => {
                for line in affinity(args) {
                    row(plugin, &line, text);
                }
            }
            Args::PodAffinity(args) => row(plugin, &pod_affinity(*args), text),
            Args::Spread(SpreadArgs::System) => row(plugin, "as the system does", text),
            Args::Spread(SpreadArgs::List(list)) if list.is_empty() => {
                row(plugin, "pods without constraints are not spread", text);
            }
            Args::Spread(SpreadArgs::List(list)) => {
                for spread in list {
                    row(plugin, &constraint(spread), text);
                }
            }
            Args::Preemption(args) => row(plugin, &preemption(*args), text),
            Args::Coscheduling(args) => {
                for line in gangs::coscheduling(args) {
                    row(plugin, &line, text);
                }
            }
            Args::Classifier(args) => {
                for line in gangs::classifier(args) {
                    row(plugin, &line, text);
                }
            }
            Args::VolumeBinding(args) => row(plugin, &volumes(args), text),
            Args::Workload(args) => {
                let line = format!("nodes are as full as {}", resources(&args.weights));
                row(plugin, &line, text);
            }
            Args::Fabric(args) => row(plugin, &fabric(args), text),
            Args::Numa(args) => {
                for line in numa(args) {
                    row(plugin, &line, text);
                }
            }
            Args::Vram(args) => {
                for line in vram(*args) {
                    row(plugin, &line, text);
                }
            }
            Args::Fragmentation(args) => row(plugin, &fragmentation(*args), text),
        }
    }
    text.push('\n');
}

fn fabric(args: &FabricArgs) -> String {
    let level = |level: &FabricLevel| format!("{} ({})", level.name, level.labels.join(" or "));
    let levels: Vec<String> = args.levels.iter().map(level).collect();
    format!("levels of the network, the tightest first: {}", levels.join(", "))
}

fn pod_affinity(args: PodAffinityArgs) -> String {
    let mut text = format!("hard affinity of other pods counts {}", args.near_weight);
    if args.ignores_preferences_of_others {
        text.push_str("; preferences of other pods count only for pods with preferences");
    }
    text
}

fn volumes(args: &VolumeBindingArgs) -> String {
    let seconds = args.bind_timeout.0 / 1000;
    format!("pods wait for volumes for {seconds} s; storage counts{}", points(&args.shape))
}

fn numa(args: &NumaArgs) -> Vec<String> {
    let unknown = args
        .allows_unknown
        .then(|| "pods that insist on NUMA nodes may go to nodes of unknown topology".to_owned());
    let driver = |(driver, resource): &(String, String)| {
        format!("devices of driver {driver} are counted as {resource}")
    };
    unknown.into_iter().chain(args.drivers.iter().map(driver)).collect()
}

fn vram(args: VramArgs) -> Vec<String> {
    let kept = f64::from(args.headroom_milli) / 10.0;
    let headroom = (args.headroom_milli > 0)
        .then(|| format!("{kept} % of the memory of every GPU are kept free"));
    let mixed = args.allows_mixed.then(|| "the GPUs of a pod may be of several models".to_owned());
    headroom.into_iter().chain(mixed).collect()
}

fn fragmentation(args: FragmentationArgs) -> String {
    let FragmentationArgs { pristine_min, small_max, window } = args;
    format!(
        "{pristine_min} or more GPUs that are all free are kept from requests for {small_max} or \
         fewer; demand is learnt over {}",
        span(window)
    )
}

fn points(shape: &[ShapePoint]) -> String {
    shape.iter().map(|at| format!(" {}%:{}", at.utilization, at.score)).collect()
}

fn preemption(args: PreemptionArgs) -> String {
    let PreemptionArgs { candidates_percentage, candidates_min } = args;
    format!("candidates: {candidates_percentage} % of the nodes, at least {candidates_min}")
}

fn constraint(spread: &SpreadSpec) -> String {
    let must = if spread.is_required { "must be" } else { "are better" };
    format!("pods without constraints {must} within {} over {}", spread.max_skew, spread.key)
}

fn fit(args: &FitArgs) -> String {
    let strategy = match &args.strategy {
        Strategy::LeastAllocated => "LeastAllocated".to_owned(),
        Strategy::MostAllocated => "MostAllocated".to_owned(),
        Strategy::RequestedToCapacityRatio(points) => {
            format!("RequestedToCapacityRatio{}", self::points(points))
        }
    };
    let mut text = format!("{strategy} by {}", resources(&args.resources));
    for (what, names) in
        [("resources", &args.ignored_resources), ("resource groups", &args.ignored_groups)]
    {
        if !names.is_empty() {
            let _ = write!(text, "; ignored {what}: {}", names.join(", "));
        }
    }
    text
}

fn resources(resources: &[ResourceWeight]) -> String {
    let shown = resources.iter().map(|resource| format!("{}:{}", resource.name, resource.weight));
    shown.collect::<Vec<_>>().join(", ")
}

fn affinity(args: &NodeAffinityArgs) -> Vec<String> {
    let required = args.required.iter().map(|terms| match &terms[..] {
        [] => "no node matches: nodeSelectorTerms is empty".to_owned(),
        terms => {
            let terms: Vec<_> = terms.iter().map(term).collect();
            format!("a node must match: {}", terms.join(", or "))
        }
    });
    let preferred = args.preferred.iter().map(|preference| {
        format!("a node is better by {} with: {}", preference.weight, term(&preference.term))
    });
    required.chain(preferred).collect()
}

fn term(term: &NodeTerm) -> String {
    fn shown(key: &str, operator: impl std::fmt::Debug, values: &[String]) -> String {
        match values {
            [] => format!("{key} {operator:?}"),
            values => format!("{key} {operator:?} [{}]", values.join(", ")),
        }
    }
    let labels = term.expressions.iter().map(|each| shown(&each.key, each.operator, &each.values));
    let fields = term.fields.iter().map(|each| shown(&each.key, each.operator, &each.values));
    let parts: Vec<_> = labels.chain(fields).collect();
    if parts.is_empty() { "nothing (an empty term)".into() } else { parts.join(" and ") }
}

fn leader_election(election: &LeaderElection, text: &mut String) {
    text.push_str("leader election\n");
    if election.leader_elect {
        let lease = format!("{}/{}", election.resource_namespace, election.resource_name);
        row("lease", &lease, text);
        row("taken over after", &span(election.lease_duration), text);
        row("given up after", &span(election.renew_deadline), text);
        row("tried every", &span(election.retry_period), text);
    } else {
        row("off", "run one replica only", text);
    }
    text.push('\n');
}

fn client_connection(connection: &ClientConnection, text: &mut String) {
    text.push_str("connection to the API server\n");
    let kubeconfig = connection.kubeconfig.as_deref();
    row("kubeconfig", kubeconfig.unwrap_or("none: the service account of the pod"), text);
    let milli = connection.qps_milli;
    let rate = match (milli, milli % 1000) {
        (i64::MIN..0, _) => "no limit".to_owned(),
        (0.., 0) => format!("{} per second, {} at once", milli / 1000, connection.burst),
        (0.., rest) => {
            format!("{}.{rest:03} per second, {} at once", milli / 1000, connection.burst)
        }
    };
    row("requests", &rate, text);
}

fn not_built(settings: &Settings, known: &[PluginInfo], text: &mut String) {
    let points = settings.profiles.iter().flat_map(|profile| &profile.points);
    let used: Vec<&str> = points.flat_map(|(_, choices)| choices).map(|each| each.name).collect();
    let missing = known.iter().filter(|info| !info.is_built && used.contains(&info.name));
    let missing: Vec<&str> = missing.map(|info| info.name).collect();
    if !missing.is_empty() {
        text.push_str("\n* not built yet\n");
        row("plugins", &missing.join(", "), text);
        let meaning = "a pod that needs one of them waits, and its status says why; it is never \
                       placed as if it had not asked";
        row("meaning", meaning, text);
    }
}

/// Settings that are given and change nothing, each once however many profiles have it.
fn without_effect(notes: &Notes, text: &mut String) {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for note in &notes.without_effect {
        let name = note.path.rsplit('.').next().unwrap_or_default();
        if !rows.contains(&(name, &note.message)) {
            rows.push((name, &note.message));
        }
    }
    if !rows.is_empty() {
        text.push_str("\naccepted without effect\n");
    }
    rows.into_iter().for_each(|(name, why)| row(name, why, text));
}

fn is_built(name: &str, known: &[PluginInfo]) -> bool {
    known.iter().any(|info| info.name == name && info.is_built)
}

/// A duration as a configuration writes it.
fn span(span: Millis) -> String {
    match (span.0 / 1000, span.0 % 1000) {
        (seconds, 0) => format!("{seconds}s"),
        _ => format!("{}ms", span.0),
    }
}

/// A line of two columns, the second one wrapped.
pub(super) fn row(name: &str, value: &str, text: &mut String) {
    let _ = write!(text, "  {name:0$}", COLUMN - 2);
    let mut column = (name.chars().count() + 2).max(COLUMN);
    for (at, word) in value.split(' ').enumerate() {
        let length = word.chars().count();
        if column + 1 + length > WIDTH {
            let _ = write!(text, "\n{:COLUMN$}", "");
            column = COLUMN;
        } else if at > 0 || column > COLUMN {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

//! Arguments of the plugins that count resources.

use framework::{Args, BalancedArgs, FitArgs, ResourceWeight, ShapePoint, Strategy};
use model::is_qualified_name;

use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot, quoted};

/// `NodeResourcesFitArgs`, if they differ from the defaults.
pub(in crate::config) fn fit(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const FIELDS: [&str; 5] =
        ["apiVersion", "kind", "ignoredResources", "ignoredResourceGroups", "scoringStrategy"];
    let fields = spot.fields(&FIELDS, problems)?;
    check_args_type(&fields, "NodeResourcesFit", problems);
    let mut args = FitArgs {
        ignored_resources: names(&fields, "ignoredResources", problems),
        ignored_groups: names(&fields, "ignoredResourceGroups", problems),
        ..FitArgs::default()
    };
    if let Some((strategy, resources)) = scoring_strategy(&fields, problems) {
        args.strategy = strategy;
        args.resources = resources;
    }
    (args != FitArgs::default()).then_some(Args::Fit(args))
}

/// `NodeResourcesBalancedAllocationArgs`, if they differ from the defaults.
pub(in crate::config) fn balanced(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    let fields = spot.fields(&["apiVersion", "kind", "resources"], problems)?;
    check_args_type(&fields, "NodeResourcesBalancedAllocation", problems);
    let mut args = BalancedArgs { resources: Vec::new() };
    for item in fields.items("resources", problems) {
        let place = item.place.clone();
        // Balance compares fractions of nodes, which have no weights.
        let Some(found) = resource(item, 1, problems) else { continue };
        if args.resources.contains(&found) {
            let message = format!("resource {} is given twice", quoted(&found.name));
            problems.report(&place, message);
        } else {
            args.resources.push(found);
        }
    }
    if args.resources.is_empty() {
        args = BalancedArgs::default();
    }
    (args != BalancedArgs::default()).then_some(Args::Balanced(args))
}

/// Names of resources or, for groups, of their domains.
fn names(fields: &Fields<'_>, field: &str, problems: &mut Problems) -> Vec<String> {
    let is_group = field == "ignoredResourceGroups";
    let mut names = Vec::new();
    for item in fields.items(field, problems) {
        let Some(name) = item.text(problems) else { continue };
        if is_group && name.contains('/') {
            item.expected("the part of a resource's name before the slash", problems);
        } else if !is_qualified_name(name) {
            item.expected("the name of a resource, such as example.com/gpu", problems);
        } else {
            names.push(name.to_owned());
        }
    }
    names
}

/// How nodes are scored, and by which resources. None when nothing is written.
fn scoring_strategy(
    fields: &Fields<'_>,
    problems: &mut Problems,
) -> Option<(Strategy, Vec<ResourceWeight>)> {
    let fields = fields
        .get("scoringStrategy")?
        .fields(&["type", "resources", "requestedToCapacityRatio"], problems)?;
    let mut resources = Vec::new();
    for item in fields.items("resources", problems) {
        resources.extend(resource(item, 100, problems));
    }
    if resources.is_empty() {
        resources = ResourceWeight::cpu_and_memory();
    }
    Some((strategy(&fields, problems)?, resources))
}

fn strategy(fields: &Fields<'_>, problems: &mut Problems) -> Option<Strategy> {
    #[derive(Clone, Copy)]
    enum Type {
        Least,
        Most,
        Ratio,
    }
    const TYPES: [(&str, Type); 3] = [
        ("LeastAllocated", Type::Least),
        ("MostAllocated", Type::Most),
        ("RequestedToCapacityRatio", Type::Ratio),
    ];
    let found = fields.required("type", problems)?.word(&TYPES, problems)?;
    let ratio = fields.get("requestedToCapacityRatio");
    let strategy = match found {
        Type::Least => Strategy::LeastAllocated,
        Type::Most => Strategy::MostAllocated,
        Type::Ratio => {
            let ratio = fields.required("requestedToCapacityRatio", problems)?;
            let points = ratio.fields(&["shape"], problems);
            let points = points.map(|fields| shape(&fields, problems));
            return Some(Strategy::RequestedToCapacityRatio(points.unwrap_or_default()));
        }
    };
    if let Some(ratio) = ratio {
        let message = "can only be given when type is RequestedToCapacityRatio";
        problems.report(&ratio.place, message);
    }
    Some(strategy)
}

/// The points of the line, at least one, from left to right.
pub(super) fn shape(fields: &Fields<'_>, problems: &mut Problems) -> Vec<ShapePoint> {
    let items = fields.items("shape", problems);
    if items.is_empty() {
        problems.report(&fields.place_at("shape"), "expected at least one point, found none");
    }
    let mut points: Vec<ShapePoint> = Vec::new();
    for item in items {
        let Some(fields) = item.fields(&["utilization", "score"], problems) else { continue };
        let score = fields.integer("score", 0..=10, problems).unwrap_or(0);
        let utilization = match fields.get("utilization") {
            Some(spot) => spot.integer(0..=100, problems),
            None => Some(0),
        };
        let Some(utilization) = utilization else { continue };
        if let Some(last) = points.last().filter(|last| utilization <= last.utilization) {
            let wanted = format!("expected more than {}, which precedes it", last.utilization);
            let message = format!("{wanted}, found {utilization}");
            problems.report(&fields.place_at("utilization"), message);
        }
        points.push(ShapePoint { utilization, score });
    }
    points
}

/// A resource with its weight, 1 to `weight_max`. Zero stands for one.
fn resource(item: Spot<'_>, weight_max: i64, problems: &mut Problems) -> Option<ResourceWeight> {
    let fields = item.fields(&["name", "weight"], problems)?;
    let mut weight = 1;
    if let Some(spot) = fields.get("weight")
        && let Some(found) = spot.integer(i64::MIN..=i64::MAX, problems)
    {
        weight = if found == 0 { 1 } else { found };
        if !(0..=weight_max).contains(&found) {
            let wanted = match weight_max {
                1 => "a weight of 1".to_owned(),
                _ => format!("a weight from 1 to {weight_max}"),
            };
            spot.expected(&wanted, problems);
        }
    }
    let name = fields.required("name", problems)?;
    let text = name.text(problems)?;
    if text.is_empty() {
        name.expected("the name of a resource", problems);
    }
    Some(ResourceWeight { name: text.to_owned(), weight })
}

//! What a pod says of the network it wants. All of it but one hint is a constraint: what means
//! nothing keeps the pod from being placed.

use model::{CoLocation, FabricTier, FabricWish};

use super::annotations::{Annotations, fault};
use super::view::PodView;

/// The slowest network that will do.
const MIN_TIER: &str = "scheduling.kubenexus.io/min-fabric-tier";
/// How close to each other the pods of a gang must be.
const CO_LOCATE: &str = "scheduling.kubenexus.io/co-locate";
/// The level that is meant.
const LEVEL: &str = "scheduling.kubenexus.io/topology-level";
/// Whether all pods of a gang must be in one NVLink domain of several nodes.
const CLIQUE: &str = "scheduling.kubenexus.io/require-clique";
/// Whether it talks a lot to others.
const INTENSIVE: &str = "scheduling.kubenexus.io/network-intensive";

/// Annotations that are read.
pub(super) const ANNOTATIONS: [&str; 5] = [MIN_TIER, CO_LOCATE, LEVEL, CLIQUE, INTENSIVE];

/// The level that `require-clique` means.
const CLIQUE_LEVEL: &str = "clique";
/// How many characters the name of a level may have.
const LEVEL_MAX: usize = 317;

/// What a pod says of the network; nothing if it says nothing.
pub(super) fn wish(pod: &PodView) -> Option<Box<FabricWish>> {
    let annotations = &pod.metadata.annotations;
    let wish = match read(annotations) {
        Ok(wish) => wish,
        Err(fault) => FabricWish { fault: Some(fault.into()), ..FabricWish::default() },
    };
    (wish != FabricWish::default()).then(|| Box::new(wish))
}

fn read(annotations: &Annotations) -> Result<FabricWish, String> {
    if let Some(long) = annotations.too_long().iter().find(|long| ANNOTATIONS.contains(&long.key)) {
        return Err(long.to_string());
    }
    let truth = |key: &str| match annotations.get(key) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(value) => Err(fault(key, value, "\"true\" or \"false\"")),
    };
    let min_tier = annotations.get(MIN_TIER).map(|value| {
        let expected = "nvswitch, nvlink, infiniband, roce or ethernet";
        FabricTier::read(value).ok_or_else(|| fault(MIN_TIER, value, expected))
    });
    let co_location = annotations.get(CO_LOCATE).map(|value| {
        let found = CoLocation::WORDS.iter().find(|(word, _)| *word == value);
        let (_, found) =
            found.ok_or_else(|| fault(CO_LOCATE, value, "strict, preferred or none"))?;
        Ok::<_, String>(*found)
    });
    let level = annotations.get(LEVEL).map(|value| {
        let is_name = !value.is_empty() && value.len() <= LEVEL_MAX;
        is_name.then_some(value).ok_or_else(|| fault(LEVEL, value, "the name of a level"))
    });
    let (co_location, level) = (co_location.transpose()?, level.transpose()?);
    let wish = FabricWish {
        min_tier: min_tier.transpose()?,
        co_location: co_location.unwrap_or_default(),
        level: level.map(Into::into),
        is_network_intensive: truth(INTENSIVE)?,
        fault: None,
    };
    if truth(CLIQUE)? != Some(true) {
        return Ok(wish);
    }
    match (co_location, level) {
        (Some(other), _) if other != CoLocation::Strict => {
            let value = annotations.get(CO_LOCATE).unwrap_or_default();
            Err(fault(CO_LOCATE, value, &format!("strict, as annotation {CLIQUE} says")))
        }
        (_, Some(level)) if level != CLIQUE_LEVEL => {
            Err(fault(LEVEL, level, &format!("{CLIQUE_LEVEL}, as annotation {CLIQUE} says")))
        }
        _ => {
            let level = Some(CLIQUE_LEVEL.into());
            Ok(FabricWish { co_location: CoLocation::Strict, level, ..wish })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    type Said<'a> = &'a [(&'a str, &'a str)];

    fn read(annotations: Said<'_>) -> Option<FabricWish> {
        let entries = annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
        let annotations: Map<String, serde_json::Value> = entries.collect();
        let pod = json!({"metadata": {"name": "p", "annotations": annotations}});
        let view: PodView = serde_json::from_value(pod).expect("a pod");
        wish(&view).map(|wish| *wish)
    }

    #[test]
    fn what_pods_say_by_table() {
        let nothing = FabricWish::default();
        let clique = FabricWish {
            co_location: CoLocation::Strict,
            level: Some("clique".into()),
            ..nothing.clone()
        };
        let table: [(Said<'_>, Option<FabricWish>); 8] = [
            (&[], None),
            (&[(CO_LOCATE, "preferred")], None),
            (
                &[(MIN_TIER, "RoCE")],
                Some(FabricWish { min_tier: Some(FabricTier::Roce), ..nothing.clone() }),
            ),
            (
                &[(CO_LOCATE, "none")],
                Some(FabricWish { co_location: CoLocation::None, ..nothing.clone() }),
            ),
            (&[(CLIQUE, "true")], Some(clique.clone())),
            (&[(CLIQUE, "true"), (CO_LOCATE, "strict"), (LEVEL, "clique")], Some(clique)),
            (&[(CLIQUE, "false")], None),
            (
                &[(INTENSIVE, "true")],
                Some(FabricWish { is_network_intensive: Some(true), ..nothing }),
            ),
        ];
        for (annotations, expected) in table {
            assert_eq!(read(annotations), expected, "{annotations:?}");
        }
    }

    #[test]
    fn nonsense_is_named() {
        let long = "x".repeat(400);
        let table: [(Said<'_>, &str); 7] = [
            (&[(MIN_TIER, "fast")], "min-fabric-tier is \"fast\": expected nvswitch"),
            (&[(CO_LOCATE, "Strict")], "co-locate is \"Strict\": expected strict, preferred"),
            (&[(LEVEL, "")], "topology-level is \"\": expected the name"),
            (&[(LEVEL, &long)], "expected the name of a level"),
            (&[(INTENSIVE, "yes")], "network-intensive is \"yes\": expected \"true\""),
            (&[(CLIQUE, "true"), (CO_LOCATE, "none")], "expected strict, as annotation"),
            (&[(CLIQUE, "true"), (LEVEL, "rack")], "\"rack\": expected clique, as annotation"),
        ];
        for (annotations, expected) in table {
            let fault = read(annotations).and_then(|wish| wish.fault).expect("a fault");
            assert!(fault.contains(expected), "{annotations:?}: {fault}");
        }
    }
}

//! A case: a file of manifests in steps. `tests/e2e/cases/README.md` says how one is written.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context as _, Result, bail, ensure};

/// A file below `tests/e2e/cases`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Folder and name: `spread/zone`.
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
}

/// What is done, and what comes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// The line it begins at.
    pub(super) line: usize,
    /// For `kubectl apply`; empty if nothing is applied.
    pub(super) manifests: String,
    /// Further commands: the words after `kubectl`.
    pub(super) commands: Vec<Vec<String>>,
    /// What holds in the end, of pods, budgets and claims.
    pub(super) expected: Vec<Expected>,
}

/// What is expected of a pod, a budget or a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// A pod's name, with its namespace and a slash before it unless that is `default`. With a star
    /// at its end it means all pods whose names begin so. A claim's name has `claim` before it.
    pub(super) who: String,
    pub(super) outcome: Outcome,
}

/// How things stand when a step has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The pod is bound to one of these, which are equally good.
    On(Vec<String>),
    /// The pod fits nowhere; it has this node in prospect.
    Waits(Option<String>),
    /// The scheduler has decided for this node and waits for the pod's volumes.
    Prebinding(String),
    /// The pod is deleted and still there.
    Leaving,
    /// The pod is not there any more.
    Gone,
    /// The budget allows so many disruptions.
    Allows(i32),
    /// The claim is in this state.
    Claim(ClaimState),
}

/// How a PersistentVolumeClaim stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClaimState {
    /// It has no volume.
    Pending,
    /// It has this one, or if nothing is said any.
    Bound(Option<String>),
    /// Its volume is not there any more.
    Lost,
    /// It is deleted and still there.
    Leaving,
    /// It is not there.
    Gone,
}

impl fmt::Display for ClaimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("pending"),
            Self::Bound(None) => f.write_str("bound"),
            Self::Bound(Some(volume)) => write!(f, "bound to {volume}"),
            Self::Lost => f.write_str("lost"),
            Self::Leaving => f.write_str("leaving"),
            Self::Gone => f.write_str("gone"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(nodes) => write!(f, "on {}", nodes.join(" or ")),
            Self::Waits(None) => f.write_str("waits"),
            Self::Waits(Some(node)) => write!(f, "waits for {node}"),
            Self::Prebinding(node) => write!(f, "prebinding on {node}"),
            Self::Leaving => f.write_str("leaving"),
            Self::Gone => f.write_str("gone"),
            Self::Allows(number) => write!(f, "allows {number}"),
            Self::Claim(state) => state.fmt(f),
        }
    }
}

/// Every case in the folders below this one, by name.
pub(super) fn read_all(root: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in list(root)?.iter().filter(|path| path.is_dir()) {
        for file in list(folder)?.iter().filter(|path| path.extension() == Some("yaml".as_ref())) {
            let text = fs::read_to_string(file);
            let text = text.with_context(|| format!("reading {}", file.display()))?;
            let steps = parse(&text).with_context(|| file.display().to_string())?;
            let name = file.with_extension("").strip_prefix(root)?.display().to_string();
            cases.push(Case { name, steps });
        }
    }
    Ok(cases)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn parse(text: &str) -> Result<Vec<Step>> {
    let mut steps = vec![Step { line: 1, ..Step::default() }];
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let step = steps.last_mut().expect("there is one from the start");
        if line.starts_with("# then") {
            steps.push(Step { line: number, ..Step::default() });
        } else if let Some(command) = line.strip_prefix("# kubectl ") {
            let words = words(command).with_context(|| format!("line {number}"))?;
            step.commands.push(words);
        } else if let Some(rest) = line.strip_prefix("# expect ") {
            let expected = expected(rest).with_context(|| format!("line {number}: `{rest}`"))?;
            step.expected.push(expected);
        } else if line != "---" || !step.manifests.is_empty() {
            let is_said = !line.is_empty() && !line.starts_with('#');
            if is_said || !step.manifests.is_empty() {
                step.manifests.push_str(line);
                step.manifests.push('\n');
            }
        }
    }
    Ok(steps)
}

/// Words as a shell splits them, with single quotes only.
fn words(text: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for (number, part) in text.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    ensure!(text.matches('\'').count().is_multiple_of(2), "a quote is not closed in `{text}`");
    Ok(words)
}

fn expected(text: &str) -> Result<Expected> {
    const FORMS: &str = "expected is `POD: on NODE or NODE`, `POD: waits`, `POD: waits for NODE`, \
                         `POD: prebinding on NODE`, `POD: leaving`, `POD: gone`, \
                         `BUDGET: allows NUMBER` or what is expected of `claim CLAIM`";
    let (who, outcome) = text.split_once(": ").context(FORMS)?;
    let outcome: Vec<_> = outcome.split_whitespace().collect();
    if who.starts_with("claim ") {
        let outcome = Outcome::Claim(expected_of_claim(&outcome)?);
        return Ok(Expected { who: who.to_owned(), outcome });
    }
    let outcome = match outcome.as_slice() {
        ["on", nodes @ ..] if nodes.len() % 2 == 1 => {
            let (names, others): (Vec<_>, Vec<_>) =
                nodes.iter().enumerate().partition(|(place, _)| place % 2 == 0);
            ensure!(others.iter().all(|(_, word)| **word == "or"), FORMS);
            Outcome::On(names.into_iter().map(|(_, name)| (*name).to_owned()).collect())
        }
        ["waits"] => Outcome::Waits(None),
        ["waits", "for", node] => Outcome::Waits(Some((*node).to_owned())),
        ["prebinding", "on", node] => Outcome::Prebinding((*node).to_owned()),
        ["leaving"] => Outcome::Leaving,
        ["gone"] => Outcome::Gone,
        ["allows", number] => Outcome::Allows(number.parse().context(FORMS)?),
        _ => bail!(FORMS),
    };
    Ok(Expected { who: who.to_owned(), outcome })
}

fn expected_of_claim(outcome: &[&str]) -> Result<ClaimState> {
    Ok(match outcome {
        ["pending"] => ClaimState::Pending,
        ["bound"] => ClaimState::Bound(None),
        ["bound", "to", volume] => ClaimState::Bound(Some((*volume).to_owned())),
        ["lost"] => ClaimState::Lost,
        ["leaving"] => ClaimState::Leaving,
        ["gone"] => ClaimState::Gone,
        _ => bail!(
            "expected of a claim is `pending`, `bound`, `bound to VOLUME`, `lost`, `leaving` or \
             `gone`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_manifests_and_comments_that_are_done_in_order() {
        let text = "# What it shows.\n\
                    kind: Node\n\
                    ---\n\
                    kind: Pod # a word\n\
                    # expect shield: allows 0\n\
                    # then, later\n\
                    # kubectl patch pod a -p '{\"a b\": 1}'\n\
                    # expect a: on x or y\n\
                    # expect other/b: waits for x\n\
                    # expect c: prebinding on x\n\
                    # expect claim data: bound to pv-a\n";
        let steps = parse(text).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].manifests, "kind: Node\n---\nkind: Pod # a word\n");
        assert_eq!(steps[0].expected[0].outcome, Outcome::Allows(0));
        assert_eq!((steps[1].line, &*steps[1].manifests), (6, ""));
        assert_eq!(steps[1].commands, [["patch", "pod", "a", "-p", "{\"a b\": 1}"]]);
        let on = Outcome::On(vec!["x".into(), "y".into()]);
        assert_eq!(steps[1].expected[0], Expected { who: "a".into(), outcome: on });
        assert_eq!(steps[1].expected[1].outcome, Outcome::Waits(Some("x".into())));
        assert_eq!(steps[1].expected[2].outcome, Outcome::Prebinding("x".into()));
        let bound = Outcome::Claim(ClaimState::Bound(Some("pv-a".into())));
        assert_eq!(steps[1].expected[3], Expected { who: "claim data".into(), outcome: bound });
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for line in [
            "a: on",
            "a: on x y",
            "a: stays",
            "a on x",
            "a: allows many",
            "a: bound",
            "claim a: waits",
            "claim a: bound to",
        ] {
            let error = parse(&format!("kind: Pod\n# expect {line}\n")).unwrap_err();
            assert!(format!("{error:#}").starts_with(&format!("line 2: `{line}`")), "{error:#}");
        }
        assert!(parse("# kubectl patch -p 'open\n").is_err());
    }
}

//! Why not: the cold path that asks about every node by itself, and shares nothing with the kept
//! results but the plugins.

use framework::View;
use model::{NodeId, PodFacts, Reason};

use crate::board::Board;
use crate::screen::{Screen, plugins_of, screen};
use crate::{Scheduler, profile_of};

/// What the scheduler thinks of a pod on every node.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Who turned the pod away before any node was looked at, and why.
    pub refusal: Option<(&'static str, Reason)>,
    /// Why nodes cannot be ranked, if they cannot.
    pub fault: Option<Reason>,
    /// Every node, in the order of their ids; none if the pod was turned away.
    pub nodes: Vec<(NodeId, NodeJudgement)>,
}

/// What the scheduler thinks of a pod on one node.
#[derive(Debug, PartialEq, Eq)]
pub enum NodeJudgement {
    /// The pod fits; weighted scores by plugin.
    Fits(Vec<(&'static str, i32)>),
    /// The pod does not fit: who says so first, and all it says.
    Unfit(&'static str, Vec<Reason>),
}

impl Scheduler {
    /// Judges a pod that is not in the cluster. Nothing is changed that anyone could see.
    ///
    /// Returns nothing if no profile has the name the pod asks for.
    pub fn judge(&mut self, pod: &PodFacts) -> Option<Judgement> {
        if !self.schedules(&pod.spec.scheduler) {
            return None;
        }
        let class = self.catalog.class_of(&pod.spec);
        let tags = self.catalog.tags_of(pod);
        self.usage.count_crowds(&mut self.catalog);
        let profile = profile_of(&self.profiles, &self.catalog, class);
        let mut board = Board::new(profile, &self.catalog, self.catalog.class(class));
        let view = View { catalog: &self.catalog, usage: &self.usage, tags };
        board.refresh_around(view);
        let judgement = judge(&board, view);
        self.catalog.release_class(class);
        self.catalog.release_tags(tags);
        Some(judgement)
    }
}

fn judge(board: &Board, view: View<'_>) -> Judgement {
    let mut judgement = Judgement { refusal: None, fault: None, nodes: Vec::new() };
    if view.catalog.nodes().is_empty() {
        return judgement;
    }
    let screen = screen(&board.before, view);
    if let Screen::Refused(refusal) = screen {
        judgement.refusal = Some((refusal.plugin, refusal.reason));
        return judgement;
    }
    for node in view.catalog.nodes() {
        let verdict = match why_not(board, &screen, view, *node) {
            Some((plugin, reasons)) => NodeJudgement::Unfit(plugin, reasons),
            None => NodeJudgement::Fits(Vec::new()),
        };
        judgement.nodes.push((*node, verdict));
    }
    let is_fit = |verdict: &NodeJudgement| matches!(verdict, NodeJudgement::Fits(_));
    if board.is_broken() && judgement.nodes.iter().any(|(_, verdict)| is_fit(verdict)) {
        judgement.fault = Some(Reason::BrokenPreference);
    }
    score(board, view, &mut judgement.nodes);
    judgement
}

/// Adds the scores of every plugin to the nodes that fit.
fn score(board: &Board, view: View<'_>, nodes: &mut [(NodeId, NodeJudgement)]) {
    let is_fit = |(node, verdict): &(NodeId, NodeJudgement)| {
        matches!(verdict, NodeJudgement::Fits(_)).then_some(*node)
    };
    let fit: Vec<NodeId> = nodes.iter().filter_map(is_fit).collect();
    for prepared in board.rankings.iter().filter(|prepared| prepared.scores.applies(view)) {
        let mut raws = vec![0; fit.len()];
        prepared.scores.scores(view, &fit, &mut raws);
        let highest = raws.iter().copied().max().unwrap_or(0);
        let mut scores =
            raws.into_iter().map(|raw| prepared.scores.normalize().score(raw, highest));
        for (_, verdict) in nodes.iter_mut() {
            if let NodeJudgement::Fits(parts) = verdict {
                let score = scores.next().expect("one score for every node that fits");
                parts.push((prepared.plugin, prepared.weight * score));
            }
        }
    }
}

/// Who turns a node down first, and why; nothing if the node fits.
pub(crate) fn why_not(
    board: &Board,
    screen: &Screen,
    view: View<'_>,
    node: NodeId,
) -> Option<(&'static str, Vec<Reason>)> {
    if let Screen::Only(only) = screen {
        let name = view.catalog.node_name(node);
        let excluded = only.iter().find(|(_, names)| !names.contains(name));
        if let Some((plugin, _)) = excluded {
            return Some((plugin, vec![Reason::NotNamed(plugins_of(only))]));
        }
    }
    let filters = board.filters.iter().filter(|(_, filter)| filter.applies(view));
    let mut answers = filters.map(|(plugin, filter)| (*plugin, filter.why_not(view, node)));
    answers.find(|(_, reasons)| !reasons.is_empty())
}

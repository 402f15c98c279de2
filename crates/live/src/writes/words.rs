//! What is written, put into words.

use std::sync::atomic::Ordering;

use http::Method;
use jiff::Timestamp;
use k8s::render::{self, Record, Regarding};

use super::{PodStatus, STRATEGIC, Text, Write, Writes};
use crate::dispatch::pod_path;
use crate::order::{Doubt, GroupRef, Happened, PodRef, Subject};

/// Method, path, kind of body and body of a request.
pub(super) type Words = (Method, String, &'static str, Vec<u8>);

impl Writes {
    pub(super) fn put_into_words(&self, write: &Write) -> Words {
        match write {
            Write::Event { about, scheduler, at, text } => {
                let (path, body) = self.event(about, scheduler, *at, text);
                (Method::POST, path, "application/json", body)
            }
            Write::Pod(PodStatus { pod: PodRef { key, version }, said, change }) => {
                let at;
                let patch = match said {
                    Some((reason, message, since)) => {
                        at = seconds(*since);
                        render::status_patch((key, version), (reason, message), &at, change)
                    }
                    None => {
                        let node = change.nomination.as_ref().and_then(Option::as_deref);
                        render::nomination_patch(key, version, node)
                    }
                };
                let body = serde_json::to_vec(&patch).expect("a patch is plain text");
                (Method::PATCH, format!("{}/status", pod_path(key)), STRATEGIC, body)
            }
            Write::Group { group, condition, at } => {
                let at = seconds(*at);
                let patch = render::group_patch(&group.uid, condition, &at);
                let body = serde_json::to_vec(&patch).expect("a patch is plain text");
                let path =
                    format!("{}/status", group.api.path_of(&group.key.namespace, &group.key.name));
                (Method::PATCH, path, STRATEGIC, body)
            }
        }
    }

    /// Where an event goes to, and the event.
    fn event(
        &self,
        about: &Subject,
        scheduler: &str,
        at: Timestamp,
        text: &Text,
    ) -> (String, Vec<u8>) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let instance = format!("{scheduler}-{}", self.hostname);
        let at = micros(at);
        let version;
        let regarding = match about {
            Subject::Pod(pod) => pod.regarding(),
            Subject::Node(name) => Regarding::node(name),
            Subject::Group(GroupRef { api, key, uid, version: resource_version }) => {
                version = api.api_version();
                Regarding {
                    api_version: &version,
                    kind: api.object,
                    name: &key.name,
                    namespace: &key.namespace,
                    uid,
                    resource_version,
                }
            }
        };
        let (record, note) = match text {
            Text::Scheduled(node) => {
                let Regarding { namespace, name, .. } = regarding;
                (Record::Scheduled, render::scheduled_note((namespace, name), node))
            }
            Text::Failed(why) => (Record::FailedScheduling, render::cut_note(why)),
            Text::Preempted(by, node) => {
                (Record::Preempted(by.regarding()), render::preempted_note(&by.key, node))
            }
            Text::GangTakenBack(note) => (Record::GangTakenBack, render::cut_note(note)),
            Text::GangIncomplete(note) => (Record::GangIncomplete, render::cut_note(note)),
            Text::Gang(Happened::Scheduled, note) => {
                (Record::GangScheduled, render::cut_note(note))
            }
            Text::Gang(Happened::Degraded, note) => (Record::GangDegraded, render::cut_note(note)),
            Text::Gang(Happened::TimeoutsDiffer, note) => {
                (Record::GangTimeoutsDiffer, render::cut_note(note))
            }
            Text::Doubtful(Doubt::Tier, note) => (Record::TierUnknown, render::cut_note(note)),
            Text::Doubtful(Doubt::Hint, note) => (Record::HintIgnored, render::cut_note(note)),
            Text::Doubtful(Doubt::Hardware, note) => {
                (Record::HardwareIgnored, render::cut_note(note))
            }
        };
        let reporter = (scheduler, &*instance);
        let event = render::event(record, regarding, &note, &at, serial, reporter);
        let body = serde_json::to_vec(&event).expect("an event is plain text");
        let namespace = regarding.namespace;
        (format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"), body)
    }
}

impl PodRef {
    fn regarding(&self) -> Regarding<'_> {
        Regarding::pod(&self.key, &self.version)
    }
}

/// A time as `Time` writes it.
fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time as `MicroTime` writes it.
fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

//! One page of a list.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Objects per page. Smaller than what servers offer: a page is in memory as a whole.
pub(super) const SIZE: usize = 250;
/// The most that is read of a page: every object may be as large as etcd takes them, 1.5 MiB.
pub(crate) const BYTES_MAX: usize = SIZE * (3 << 19);

/// Objects that are still text, and where the list goes on.
pub(crate) struct Page<'a> {
    pub(crate) items: Vec<&'a RawValue>,
    pub(super) version: String,
    /// What to ask the next page with; nothing on the last.
    pub(crate) next: Option<String>,
}

pub(crate) fn read(body: &[u8]) -> Result<Page<'_>, String> {
    #[derive(Deserialize)]
    struct List<'a> {
        metadata: Meta,
        #[serde(borrow)]
        items: Option<Vec<&'a RawValue>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: String,
        #[serde(default)]
        r#continue: String,
    }
    let list: List<'_> =
        serde_json::from_slice(body).map_err(|error| format!("a list: {error}"))?;
    let next = Some(list.metadata.r#continue).filter(|token| !token.is_empty());
    let items = list.items.unwrap_or_default();
    Ok(Page { items, version: list.metadata.resource_version, next })
}

//! Arguments of `VolumeBinding`.

use framework::{Args, VolumeBindingArgs};
use model::Millis;

use super::resources::shape;
use crate::config::sections::check_args_type;
use crate::document::{Problems, Spot};

/// The longest time that is waited for volumes, in seconds: longer than any provisioner takes.
const TIMEOUT_MAX: i64 = 1 << 40;

/// `VolumeBindingArgs`.
pub(in crate::config) fn volume_binding(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const TIMEOUT: &str = "bindTimeoutSeconds";
    const SHAPE: &str = "shape";
    let fields = spot.fields(&["apiVersion", "kind", TIMEOUT, SHAPE], problems)?;
    check_args_type(&fields, "VolumeBinding", problems);
    let mut args = VolumeBindingArgs::default();
    if let Some(seconds) = fields.integer(TIMEOUT, 0..=i64::MAX, problems) {
        let seconds = seconds.min(TIMEOUT_MAX);
        args.bind_timeout = Millis(u64::try_from(seconds).unwrap_or(0) * 1000);
    }
    // None is the same as no shape, as kube-scheduler has it.
    if !fields.items(SHAPE, problems).is_empty() {
        args.shape = shape(&fields, problems);
    }
    (args != VolumeBindingArgs::default()).then_some(Args::VolumeBinding(args))
}

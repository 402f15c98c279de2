//! Arguments of plugins about GPUs.

use framework::{Args, FragmentationArgs, VramArgs};
use model::Millis;
use serde_json::Value;

use super::{good, known};
use crate::config::{from_json, write};

/// The arguments that a profile has with these, after they were written and read again.
pub(super) fn args(plugin: &str, text: &str) -> Option<Args> {
    let body = format!(
        "profiles:\n- plugins: {{multiPoint: {{enabled: [{{name: {plugin}}}]}}}}\n  pluginConfig:\n\
         \x20 - {{name: {plugin}, args: {text}}}\n"
    );
    let settings = good(&body);
    let written: Value = write(&settings, &known());
    assert_eq!(from_json(&written, &known()).as_ref(), Ok(&settings), "{written:#}");
    settings.profiles[0].args_of(plugin).cloned()
}

#[test]
fn memory_of_gpus_by_table() {
    let vram =
        |headroom_milli, allows_mixed| Some(Args::Vram(VramArgs { headroom_milli, allows_mixed }));
    let table = [
        ("{}", None),
        ("{headroom: 0, allowMixed: false}", None),
        ("{headroom: 0.1}", vram(100, false)),
        ("{headroom: 0.007}", vram(7, false)),
        ("{headroom: 0.5, allowMixed: true}", vram(500, true)),
        ("{kind: VRAMSchedulerArgs, headroom: 1e-3}", vram(1, false)),
    ];
    for (text, expected) in table {
        assert_eq!(args("VRAMScheduler", text), expected, "{text}");
    }
    for milli in (0..=500_u16).step_by(25) {
        let text = format!("{{headroom: {}, allowMixed: true}}", f64::from(milli) / 1000.0);
        assert_eq!(args("VRAMScheduler", &text), vram(milli, true), "{text}");
    }
}

#[test]
fn fragmentation_by_table() {
    let defaults = FragmentationArgs::default();
    let other = |pristine_min, small_max, seconds| {
        let window = Millis::seconds(seconds);
        Some(Args::Fragmentation(FragmentationArgs { pristine_min, small_max, window }))
    };
    assert_eq!((defaults.pristine_min, defaults.small_max), (8, 2));
    assert_eq!(defaults.window, Millis::seconds(24 * 3600));
    let table = [
        ("{}", None),
        ("{pristineMin: 8, smallRequestMax: 2, windowSeconds: 86400}", None),
        ("{pristineMin: 4}", other(4, 2, 86_400)),
        ("{pristineMin: 2, smallRequestMax: 0, windowSeconds: 60}", other(2, 0, 60)),
        (
            "{pristineMin: 128, smallRequestMax: 127, windowSeconds: 604800}",
            other(128, 127, 604_800),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(args("ResourceFragmentation", text), expected, "{text}");
    }
}

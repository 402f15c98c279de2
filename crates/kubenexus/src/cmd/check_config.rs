//! placeholder
pub(crate) fn run(_: &std::path::Path) -> anyhow::Result<()> {
    Ok(())
}

//! Reads the files of the trace.

use std::collections::BTreeMap;

use super::node::Node;
use super::shapes::{Ask, Models, Shape, ShapeAt};
use super::{Trace, WHOLE_GPU};
use crate::trace::csv::{Column, Row, Table, TraceError};

/// More than any machine has, and little enough that sums of many fit.
const AMOUNT_MAX: u64 = 1 << 40;
/// More GPUs than any machine has.
const GPUS_MAX: u64 = 1024;

/// Reads nodes (`sn,cpu_milli,memory_mib,gpu,model`) and pods
/// (`name,cpu_milli,memory_mib,num_gpu,gpu_milli`, and `gpu_spec` if any pod asks for a model).
/// Other columns are skipped. The names of the files are for messages.
///
/// # Errors
/// When a file does not have these columns, a value is not as expected, there are no GPUs, or no
/// pod asks for one.
pub fn read(nodes: (&str, &str), pods: (&str, &str)) -> Result<Trace, TraceError> {
    let mut trace = Trace { nodes: read_nodes(nodes)?, shapes: Vec::new(), pods: Vec::new() };
    if trace.capacity_milli() == 0 {
        return Err(TraceError::new(nodes.0, None, "no node has a GPU"));
    }
    read_pods(pods, &mut trace)?;
    if trace.shapes.iter().all(|shape| shape.demand_milli() == 0) {
        return Err(TraceError::new(pods.0, None, "no pod asks for a GPU"));
    }
    Ok(trace)
}

fn read_nodes((file, text): (&str, &str)) -> Result<Vec<Node>, TraceError> {
    let table = Table::read(file, text)?;
    let name = table.column("sn")?;
    let (cpu, memory) = (table.column("cpu_milli")?, table.column("memory_mib")?);
    let (gpus, model) = (table.column("gpu")?, table.column("model")?);
    let mut models: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes = BTreeMap::new();
    for row in table.rows()? {
        let model_name = row.text(model);
        let next = models.len();
        let node = Node {
            cpu_milli: row.number(cpu, 0..=AMOUNT_MAX)?,
            memory_mib: row.number(memory, 0..=AMOUNT_MAX)?,
            gpus: vec![WHOLE_GPU; row.number(gpus, 0..=GPUS_MAX)? as usize].into(),
            model: *models.entry(model_name).or_insert(next),
            model_name: model_name.into(),
        };
        if nodes.insert(row.name(name)?, node).is_some() {
            return Err(row.fault(name, "a name that no node above has"));
        }
    }
    Ok(nodes.into_values().collect())
}

/// Columns of the pods.
struct Columns {
    cpu: Column,
    memory: Column,
    gpus: Column,
    gpu: Column,
    models: Option<Column>,
}

fn read_pods((file, text): (&str, &str), trace: &mut Trace) -> Result<(), TraceError> {
    let table = Table::read(file, text)?;
    let columns = Columns {
        cpu: table.column("cpu_milli")?,
        memory: table.column("memory_mib")?,
        gpus: table.column("num_gpu")?,
        gpu: table.column("gpu_milli")?,
        models: table.optional("gpu_spec"),
    };
    let mut places: BTreeMap<Shape, ShapeAt> = BTreeMap::new();
    for row in table.rows()? {
        let shape = shape(row, &columns)?;
        let place = places.entry(shape).or_insert_with_key(|shape| {
            trace.shapes.push(shape.clone());
            ShapeAt(trace.shapes.len() - 1)
        });
        trace.pods.push(*place);
    }
    Ok(())
}

fn shape(row: Row<'_>, columns: &Columns) -> Result<Shape, TraceError> {
    let gpus = row.number(columns.gpus, 0..=GPUS_MAX)?;
    let gpu_milli = match gpus {
        // What a pod without GPUs says of their parts and models means nothing.
        0 => 0,
        1 => row.number(columns.gpu, 1..=WHOLE_GPU)?,
        _ => row.number(columns.gpu, WHOLE_GPU..=WHOLE_GPU)?,
    };
    let models = columns.models.filter(|_| gpus > 0).map_or("", |column| row.text(column));
    let models: Vec<&str> = models.split('|').filter(|model| !model.is_empty()).collect();
    let ask = Ask {
        cpu_milli: row.number(columns.cpu, 0..=AMOUNT_MAX)?,
        gpu_milli,
        gpus: gpus as usize,
        models: Models(models.join("|").into()),
    };
    Ok(Shape { ask, memory_mib: row.number(columns.memory, 0..=AMOUNT_MAX)? })
}

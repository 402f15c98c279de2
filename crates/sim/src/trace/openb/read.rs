//! Reads the files of the trace.

use std::collections::BTreeMap;

use super::node::Node;
use super::shapes::{Ask, Models, Shape, ShapeAt};
use super::{Life, Trace, WHOLE_GPU};
use crate::trace::csv::{Column, Row, Table, TraceError};

/// More than any machine has, and little enough that sums of many fit.
const AMOUNT_MAX: u64 = 1 << 40;
/// More GPUs than any machine has.
const GPUS_MAX: u64 = 1024;

/// Reads nodes (`sn,cpu_milli,memory_mib,gpu,model`) and pods
/// (`name,cpu_milli,memory_mib,num_gpu,gpu_milli`, and `gpu_spec` if any pod asks for a model).
/// `creation_time` and `deletion_time` are needed where pods leave. Other columns are skipped. The
/// names of the files are for messages.
///
/// # Errors
/// When a file does not have these columns, a value is not as expected, there are no GPUs, or no
/// pod asks for one.
pub fn read(nodes: (&str, &str), pods: (&str, &str)) -> Result<Trace, TraceError> {
    let (nodes_read, lives) = (read_nodes(nodes)?, Ok(Vec::new()));
    let mut trace = Trace { nodes: nodes_read, shapes: Vec::new(), pods: Vec::new(), lives };
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
    let mut nodes: BTreeMap<&str, Node> = BTreeMap::new();
    for row in table.rows()? {
        let model_name = row.text(model);
        let next = models.len();
        let node = Node {
            name: row.name(name)?.into(),
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
    trace.lives = lives(&table).and_then(|lives| {
        let asks = |(pod, life): (&ShapeAt, &Life)| {
            life.deleted > life.created && trace.shapes[pod.0].demand_milli() > 0
        };
        let is_used = trace.pods.iter().zip(&lives).any(asks);
        let unused = || TraceError::new(file, None, "no pod uses a GPU for any time");
        is_used.then_some(lives).ok_or_else(unused)
    });
    Ok(())
}

/// When each pod was made and deleted, in seconds.
fn lives(table: &Table<'_>) -> Result<Vec<Life>, TraceError> {
    let (created, deleted) = (table.column("creation_time")?, table.column("deletion_time")?);
    let life = |row: Row<'_>| {
        let life = Life {
            created: row.number(created, 0..=AMOUNT_MAX)?,
            deleted: row.number(deleted, 0..=AMOUNT_MAX)?,
        };
        let is_sound = life.deleted >= life.created;
        is_sound.then_some(life).ok_or_else(|| row.fault(deleted, "no time before creation_time"))
    };
    table.rows()?.map(life).collect()
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

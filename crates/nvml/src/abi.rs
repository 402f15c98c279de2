//! The functions of the library, their types, and nothing else.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::path::Path;

use crate::{Error, Link};

/// A GPU, as the library hands it out. It is never looked into.
#[derive(Clone, Copy)]
pub(crate) struct Device(*mut c_void);

/// What a call gave that may be refused for good reasons.
pub(crate) enum Returned<T> {
    Value(T),
    Refused,
}

/// The longest text the library writes: names and unique names have 96 bytes at most.
const TEXT_BYTES: usize = 96;

/// Room behind every structure that the library fills. A later driver could write a larger one
/// than it is documented to; then it would write here.
const SPARE: usize = 256;

const SUCCESS: c_int = 0;
const LINK_TO_GPU: c_uint = 0;
const LINK_TO_SWITCH: c_uint = 2;
const FABRIC_COMPLETED: c_uchar = 3;

#[repr(C)]
struct Pci {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    ids: c_uint,
    subsystem: c_uint,
    text: [c_char; 32],
}

#[repr(C)]
struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[repr(C)]
struct Fabric {
    cluster: [c_uchar; 16],
    status: c_int,
    clique: c_uint,
    state: c_uchar,
}

/// A structure that the library fills, with room behind it.
#[repr(C)]
struct Filled<T> {
    value: T,
    spare: [u8; SPARE],
}

type Start = unsafe extern "C" fn() -> c_int;
type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
type Handle = unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void, *mut c_char, c_uint) -> c_int;
type Fill<T> = unsafe extern "C" fn(*mut c_void, *mut T) -> c_int;
type FillLink<T> = unsafe extern "C" fn(*mut c_void, c_uint, *mut T) -> c_int;

/// The library, started. It is stopped and closed when this is dropped.
pub(crate) struct Library(libloading::Library);

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Open { path: path.to_owned(), source };
        // SAFETY: opening runs the library's initialisers. Which library it is was decided by
        // whoever started the program: NVIDIA's, whose initialisers do nothing we rely on.
        let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
        // SAFETY: in NVML this function takes nothing and returns a code.
        let start = unsafe { library.get::<Start>(b"nvmlInit_v2") }.map_err(failed)?;
        // SAFETY: as above; it may be called at any time.
        check("nvmlInit_v2", unsafe { start() })?;
        Ok(Self(library))
    }

    pub(crate) fn count(&self) -> Result<u32, Error> {
        let name = "nvmlDeviceGetCount_v2";
        // SAFETY: in NVML this function fills one unsigned integer.
        let Some(count) = (unsafe { self.function::<Count>(name) }) else { return Ok(0) };
        let mut number = 0;
        // SAFETY: the pointer is to an integer that lives during the call.
        check(name, unsafe { count(&mut number) })?;
        Ok(number)
    }

    pub(crate) fn device(&self, index: u32) -> Option<Device> {
        // SAFETY: in NVML this function takes an index and fills one pointer.
        let get = unsafe { self.function::<Handle>("nvmlDeviceGetHandleByIndex_v2") }?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a pointer that lives during the call.
        let code = unsafe { get(index, &mut handle) };
        (code == SUCCESS && !handle.is_null()).then_some(Device(handle))
    }

    pub(crate) fn uuid(&self, device: Device) -> Option<String> {
        self.text("nvmlDeviceGetUUID", device)
    }

    pub(crate) fn name(&self, device: Device) -> Option<String> {
        self.text("nvmlDeviceGetName", device)
    }

    pub(crate) fn memory_bytes(&self, device: Device) -> Option<u64> {
        let memory: Memory = self.fill("nvmlDeviceGetMemoryInfo", device)?;
        (memory.total > 0).then_some(memory.total)
    }

    pub(crate) fn bus(&self, device: Device) -> Option<String> {
        let pci: Pci = self.fill("nvmlDeviceGetPciInfo_v3", device)?;
        Some(address(&pci))
    }

    pub(crate) fn clique(&self, device: Device) -> Option<String> {
        let fabric: Fabric = self.fill("nvmlDeviceGetGpuFabricInfo", device)?;
        let is_known = fabric.state == FABRIC_COMPLETED
            && fabric.status == SUCCESS
            && fabric.cluster.iter().any(|byte| *byte != 0);
        is_known.then(|| format!("{}.{}", uuid_text(&fabric.cluster), fabric.clique))
    }

    pub(crate) fn is_link_active(&self, device: Device, index: u32) -> Returned<bool> {
        match self.fill_link::<c_uint>("nvmlDeviceGetNvLinkState", device, index) {
            Some(state) => Returned::Value(state == 1),
            None => Returned::Refused,
        }
    }

    /// What an active link leads to, if the library says so.
    pub(crate) fn link(&self, device: Device, index: u32) -> Option<Link> {
        let kind: Option<c_uint> =
            self.fill_link("nvmlDeviceGetNvLinkRemoteDeviceType", device, index);
        if kind == Some(LINK_TO_SWITCH) {
            return Some(Link::Switch);
        }
        // Drivers that do not know the kind of the other end know GPUs only.
        if kind.is_some_and(|kind| kind != LINK_TO_GPU) {
            return None;
        }
        let pci: Pci = self.fill_link("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, index)?;
        Some(Link::Gpu(address(&pci)))
    }

    /// A function, if the library has it.
    ///
    /// # Safety
    /// The function of this name must have the type `F`.
    unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller says so.
        unsafe { self.0.get::<F>(name.as_bytes()) }.ok().map(|function| *function)
    }

    fn text(&self, name: &str, device: Device) -> Option<String> {
        // SAFETY: only called for functions of NVML that fill a text of a given size.
        let get = unsafe { self.function::<Text>(name) }?;
        let mut text = [0; TEXT_BYTES + 1];
        // SAFETY: the buffer has one byte more than the function is told.
        let code = unsafe { get(device.0, text.as_mut_ptr(), TEXT_BYTES as c_uint) };
        (code == SUCCESS).then(|| read_text(&text)).filter(|text| !text.is_empty())
    }

    fn fill<T>(&self, name: &str, device: Device) -> Option<T> {
        // SAFETY: only called with the structure that NVML documents for the function.
        let get = unsafe { self.function::<Fill<T>>(name) }?;
        filled(|place| {
            // SAFETY: `place` is a `T`, zeroed, with spare room behind it.
            unsafe { get(device.0, place) }
        })
    }

    fn fill_link<T>(&self, name: &str, device: Device, index: u32) -> Option<T> {
        // SAFETY: only called with the structure that NVML documents for the function.
        let get = unsafe { self.function::<FillLink<T>>(name) }?;
        filled(|place| {
            // SAFETY: `place` is a `T`, zeroed, with spare room behind it.
            unsafe { get(device.0, index, place) }
        })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: in NVML this function takes nothing and returns a code.
        if let Some(stop) = unsafe { self.function::<Start>("nvmlShutdown") } {
            // SAFETY: the library was started, and nothing of it is used afterwards.
            let _ = unsafe { stop() };
        }
    }
}

/// A structure that a call fills, if it succeeds.
fn filled<T>(call: impl FnOnce(*mut T) -> c_int) -> Option<T> {
    // SAFETY: all types this is used with are integers and arrays of integers, for which zero is
    // a value.
    let mut room: Filled<T> = unsafe { std::mem::zeroed() };
    let code = call(std::ptr::from_mut(&mut room).cast());
    (code == SUCCESS).then_some(room.value)
}

fn check(call: &'static str, code: c_int) -> Result<(), Error> {
    if code == SUCCESS { Ok(()) } else { Err(Error::Call { call, code }) }
}

/// `0000:18:00.0`: GPUs are function 0 of their device.
fn address(pci: &Pci) -> String {
    format!("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)
}

fn read_text(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn uuid_text(bytes: &[u8; 16]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

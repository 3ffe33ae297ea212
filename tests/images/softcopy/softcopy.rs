//! softcopy: a display miniport for a board with memory and no engine. It copies with the CPU.
//!
//! * Model: WDDM 1.3, two nodes. Local memory is what BAR 1 shows, segment 1; segment 2 is an
//!   aperture that exists in software alone, as a table of slots. BuildPagingBuffer writes what is
//!   to be done as records of its own into the paging buffer; DxgkDdiSubmitCommand queues the
//!   buffer and a DPC; the DPC carries out one buffer a node and reports its fence.
//! * Memory: local memory and system pages are reached through views of all of it that StartDevice
//!   makes with DxgkCbMapMemory. More than 64 GiB of either is refused. Page lists are the kernel's
//!   only while it calls: their page numbers go into the records.
//! * Data: an allocation's private data is what a run without GPU model gives by default:
//!   size:u64,flags:u32,index:u32. Commands are none, and what comes is not looked at.
//! * Language: Rust 2021 without its standard library. `wdk` is what bindgen makes of wdk.h. The
//!   kernel calls each function with pointers that the contract says are valid for the call: that
//!   is what each `unsafe` leans on. A panic is a bug check with line and column.
//! * Mistakes: `--cfg mistake`: a transfer from local memory leaves out its last page.
//!
//! Rules of the contract (`drydock explain PB-004`) are named where they are kept.
#![no_std]
#![allow(non_snake_case)] // names of the DDI are the WDK's
#![allow(unknown_lints, unexpected_cfgs)] // of `mistake`, which newer compilers ask to be declared

use core::ffi::c_void;
use core::mem::{size_of, zeroed};
use core::ptr::{addr_of, addr_of_mut, copy_nonoverlapping, null_mut, write_bytes};

mod wdk;
use wdk::*;

/// C's types as the Windows x64 compiler has them.
#[allow(non_camel_case_types)]
pub mod ctypes {
    pub use core::ffi::c_void;
    pub type c_char = i8;
    pub type c_schar = i8;
    pub type c_uchar = u8;
    pub type c_short = i16;
    pub type c_ushort = u16;
    pub type c_int = i32;
    pub type c_uint = u32;
    pub type c_long = i32;
    pub type c_ulong = u32;
    pub type c_longlong = i64;
    pub type c_ulonglong = u64;
}

const POOL_TAG: u32 = u32::from_le_bytes(*b"Zsft");
const PAGE: u64 = 4096;
const PAGE_BITS: u32 = 12;
const VIEW_BITS: u32 = 30; // memory is mapped in views of 1 GiB
const MOST_VIEWS: usize = 64;
const SEGMENT_LOCAL: u32 = 1;
const SEGMENT_APERTURE: u32 = 2;
const APERTURE_BASE: u64 = 1 << 40;
const APERTURE_PAGES: u64 = 16384;
const NODE_COPY: u32 = 1;
const NODES: usize = 2;
const QUEUE_SLOTS: usize = 64;
const PAGING_BUFFER_BYTES: u32 = 64 * 1024;
const DMA_BUFFER_BYTES: u32 = 64 * 1024;
const LIST_ENTRIES: u32 = 1024;
const PRIORITY_NORMAL: u32 = 0x7800_0000;
const FLAG_CPU_VISIBLE: u32 = 1 << 0;
const FLAG_CACHED: u32 = 1 << 1;
const FLAG_APERTURE_ONLY: u32 = 1 << 3;
const FLAG_PREFER_APERTURE: u32 = 1 << 4;
const FLAG_NO_APERTURE: u32 = 1 << 5;

// ---- What there is ------------------------------------------------------------------------------

const COMMAND_COPY: u32 = 0;
const COMMAND_FILL: u32 = 1;
const COMMAND_MAP: u32 = 2;
const COMMAND_UNMAP: u32 = 3;
const COMMAND_RENDER: u32 = 4;

/// One record of a buffer. Page numbers stand behind it: of the source, then of the destination.
#[repr(C)]
struct Command {
    kind: u32,
    bytes: u32,       // of the record
    source: u64,      // of COPY, where the side has no list
    destination: u64, // of COPY and FILL, where the side has no list; MAP, UNMAP: slot
    size: u64,        // bytes
    pattern: u32,
    page_count: u32, // of each list; MAP, UNMAP: slots
    has_source_list: bool,
    has_destination_list: bool,
    reserved: [u8; 6],
}

const COMMAND_BYTES: u32 = size_of::<Command>() as u32;
const ENTRY_BYTES: u32 = size_of::<u64>() as u32;

impl Command {
    /// The page numbers behind a record.
    unsafe fn pages(this: *const Command) -> *const u64 {
        this.add(1) as *const u64
    }

    unsafe fn pages_mut(this: *mut Command) -> *mut u64 {
        this.add(1) as *mut u64
    }
}

#[derive(Clone, Copy)]
struct Submission {
    fence: u32,
    address: u64, // in system memory
    bytes: u32,   // 0: nothing is to be done
}

struct Node {
    queue: [Submission; QUEUE_SLOTS],
    oldest: u32, // counters
    newest: u32,
    completed_fence: u32,
    preemption_fence: u32,
    is_preempted: bool, // still to be reported
}

impl Node {
    fn slot(counter: u32) -> usize {
        counter as usize % QUEUE_SLOTS
    }

    fn has_work(&self) -> bool {
        self.oldest != self.newest
    }
}

/// Memory from one physical address on, as the driver sees it.
struct Views {
    list: [*mut u8; MOST_VIEWS],
    count: usize,
}

impl Views {
    fn look(&self, offset: u64) -> Option<*mut u8> {
        let view = *self.list[..self.count].get((offset >> VIEW_BITS) as usize)?;
        Some(view.wrapping_add((offset & ((1 << VIEW_BITS) - 1)) as usize))
    }
}

struct Adapter {
    dxgkrnl: DXGKRNL_INTERFACE,
    window: PHYSICAL_ADDRESS,
    local_bytes: u64,
    local: Views,
    system: Views,
    slots: *mut u64,  // page number plus one; 0: none
    lock: KSPIN_LOCK, // of the nodes
    nodes: [Node; NODES],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PrivateData {
    size: u64,
    flags: u32,
    index: u32,
}

struct Device {
    adapter: *mut Adapter,
}

struct Context {
    node: u32,
}

struct Allocation {
    size: u64,
}

/// What a device has of an allocation.
struct Opening {
    #[allow(dead_code)]
    allocation: *mut Allocation,
}

/// Calls a function of DXGKRNL_INTERFACE with the adapter's DeviceHandle before the arguments.
macro_rules! kernel {
    ($adapter:expr, $name:ident $(, $argument:expr)*) => {
        (*$adapter).dxgkrnl.$name.unwrap()((*$adapter).dxgkrnl.DeviceHandle $(, $argument)*)
    };
}

/// Memory for `count` of T, zero; null: there is none.
unsafe fn take<T>(count: usize) -> *mut T {
    ExAllocatePool2(
        POOL_FLAG_NON_PAGED as u64,
        (count * size_of::<T>()) as SIZE_T,
        POOL_TAG,
    ) as *mut T
}

unsafe fn give_back<T>(memory: *mut T) {
    if !memory.is_null() {
        ExFreePoolWithTag(memory as PVOID, POOL_TAG);
    }
}

/// Work of the nodes between KeAcquireSpinLockAtDpcLevel and its release, at DISPATCH_LEVEL.
unsafe fn locked<T>(adapter: *mut Adapter, work: impl FnOnce(&mut [Node; NODES]) -> T) -> T {
    KeAcquireSpinLockAtDpcLevel(addr_of_mut!((*adapter).lock));
    let result = work(&mut (*adapter).nodes);
    KeReleaseSpinLockFromDpcLevel(addr_of_mut!((*adapter).lock));
    result
}

fn is_success(status: NTSTATUS) -> bool {
    status >= 0
}

// ---- The engine ---------------------------------------------------------------------------------

unsafe fn system_page(adapter: &Adapter, pfn: u64) -> Option<*mut u8> {
    adapter.system.look(pfn << PAGE_BITS)
}

/// Where byte `offset` of a side is; what follows in its page follows there.
unsafe fn locate(
    adapter: &Adapter,
    address: u64,
    list: Option<*const u64>,
    offset: u64,
) -> Option<*mut u8> {
    if let Some(list) = list {
        let page = system_page(adapter, *list.add((offset >> PAGE_BITS) as usize))?;
        return Some(page.add((offset & (PAGE - 1)) as usize));
    }
    let at = address + offset;
    if at < adapter.local_bytes {
        return adapter.local.look(at);
    }
    let slot = at.checked_sub(APERTURE_BASE)? >> PAGE_BITS;
    if slot >= APERTURE_PAGES {
        return None;
    }
    let page = system_page(adapter, (*adapter.slots.add(slot as usize)).checked_sub(1)?)?;
    Some(page.add((at & (PAGE - 1)) as usize))
}

/// Sides agree in where pages begin: offsets are whole pages, and so are addresses (XFER-006).
unsafe fn run_copy(adapter: &Adapter, command: *const Command) {
    let pages = Command::pages(command);
    let from = (*command).has_source_list.then(|| pages);
    let behind = if from.is_some() {
        (*command).page_count
    } else {
        0
    };
    let to = (*command)
        .has_destination_list
        .then(|| pages.add(behind as usize));
    let mut size = (*command).size;

    if cfg!(mistake) && from.is_none() && size > PAGE {
        size -= PAGE;
    }
    for offset in (0..size).step_by(PAGE as usize) {
        let source = locate(adapter, (*command).source, from, offset);
        let destination = locate(adapter, (*command).destination, to, offset);

        if let (Some(source), Some(destination)) = (source, destination) {
            copy_nonoverlapping(source, destination, PAGE.min(size - offset) as usize);
        }
    }
}

unsafe fn run_fill(adapter: &Adapter, command: *const Command) {
    for word in 0..(*command).size / 4 {
        if let Some(at) = locate(adapter, (*command).destination, None, word * 4) {
            (at as *mut u32).write_unaligned((*command).pattern);
        }
    }
}

unsafe fn run_slots(adapter: &Adapter, command: *const Command) {
    for i in 0..u64::from((*command).page_count) {
        let slot = (*command).destination + i;

        if slot >= APERTURE_PAGES {
            break;
        }
        *adapter.slots.add(slot as usize) = match (*command).kind {
            COMMAND_MAP => *Command::pages(command).add(i as usize) + 1,
            _ => 0,
        };
    }
}

unsafe fn run_command(adapter: &Adapter, command: *const Command) {
    match (*command).kind {
        COMMAND_COPY => run_copy(adapter, command),
        COMMAND_FILL => run_fill(adapter, command),
        COMMAND_MAP | COMMAND_UNMAP => run_slots(adapter, command),
        _ => {} // of a client: this board draws nothing
    }
}

/// The records of a submission, wherever its buffer's pages are: it is contiguous (PB-018).
unsafe fn run_submission(adapter: &Adapter, submission: &Submission) {
    let mut done = 0;

    while done + COMMAND_BYTES <= submission.bytes {
        let address = submission.address + u64::from(done);
        let page = match system_page(adapter, address >> PAGE_BITS) {
            Some(page) => page,
            None => return,
        };
        let command = page.add((address & (PAGE - 1)) as usize) as *const Command;

        if (*command).bytes < COMMAND_BYTES || (*command).bytes > submission.bytes - done {
            return;
        }
        run_command(adapter, command);
        done += (*command).bytes;
    }
}

struct NodeCall {
    adapter: *mut Adapter,
    node: usize,
}

unsafe fn report(adapter: *mut Adapter, ordinal: usize) {
    let node = addr_of_mut!((*adapter).nodes[ordinal]);
    let mut data: DXGKARGCB_NOTIFY_INTERRUPT_DATA = zeroed();

    if !(*node).is_preempted {
        return;
    }
    (*node).is_preempted = false;
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.__bindgen_anon_1.DmaPreempted.PreemptionFenceId = (*node).preemption_fence;
    data.__bindgen_anon_1.DmaPreempted.LastCompletedFenceId = (*node).completed_fence;
    data.__bindgen_anon_1.DmaPreempted.NodeOrdinal = ordinal as u32;
    kernel!(adapter, DxgkCbNotifyInterrupt, &mut data);
}

/// At the level of the device's interrupt, where completions are told of (FENCE-005).
unsafe extern "C" fn complete_oldest(context: PVOID) -> BOOLEAN {
    let call = &*(context as *const NodeCall);
    let node = addr_of_mut!((*call.adapter).nodes[call.node]);
    let mut data: DXGKARGCB_NOTIFY_INTERRUPT_DATA = zeroed();

    (*node).completed_fence = (*node).queue[Node::slot((*node).oldest)].fence;
    (*node).oldest = (*node).oldest.wrapping_add(1);
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.__bindgen_anon_1.DmaCompleted.SubmissionFenceId = (*node).completed_fence;
    data.__bindgen_anon_1.DmaCompleted.NodeOrdinal = call.node as u32;
    kernel!(call.adapter, DxgkCbNotifyInterrupt, &mut data);
    report(call.adapter, call.node);
    1
}

unsafe extern "C" fn report_preemption(context: PVOID) -> BOOLEAN {
    let call = &*(context as *const NodeCall);

    report(call.adapter, call.node);
    1
}

unsafe fn synchronize(adapter: *mut Adapter, routine: PKSYNCHRONIZE_ROUTINE, node: usize) {
    let mut call = NodeCall { adapter, node };
    let mut result: BOOLEAN = 0;

    kernel!(
        adapter,
        DxgkCbSynchronizeExecution,
        routine,
        addr_of_mut!(call) as PVOID,
        0,
        &mut result
    );
}

/// One submission a node and DPC: so others get their turn, and a preemption finds some to drop.
unsafe extern "C" fn DpcRoutine(MiniportDeviceContext: IN_CONST_PVOID) {
    let adapter = MiniportDeviceContext as *mut Adapter;
    let mut is_more = false;

    for i in 0..NODES {
        let oldest = locked(adapter, |nodes| {
            nodes[i]
                .has_work()
                .then(|| nodes[i].queue[Node::slot(nodes[i].oldest)])
        });

        if let Some(submission) = oldest {
            run_submission(&*adapter, &submission);
            synchronize(adapter, Some(complete_oldest), i);
            is_more |= (*adapter).nodes[i].has_work();
        }
    }
    kernel!(adapter, DxgkCbNotifyDpc);
    if is_more {
        kernel!(adapter, DxgkCbQueueDpc);
    }
}

/// The board has no interrupt.
unsafe extern "C" fn InterruptRoutine(_: IN_CONST_PVOID, _MessageNumber: IN_ULONG) -> BOOLEAN {
    0
}

/// Keeps SUB-001 to SUB-006: at DISPATCH_LEVEL, and it may not fail.
unsafe extern "C" fn SubmitCommand(
    hAdapter: IN_CONST_HANDLE,
    args: IN_CONST_PDXGKARG_SUBMITCOMMAND,
) -> NTSTATUS {
    let adapter = hAdapter as *mut Adapter;
    let args = &*args;
    let context = args.__bindgen_anon_1.hContext as *const Context;
    let ordinal = if context.is_null() {
        args.NodeOrdinal
    } else {
        (*context).node
    };
    let is_null = args.Flags.__bindgen_anon_1.__bindgen_anon_1.NullRendering() != 0;
    let start = args.DmaBufferSubmissionStartOffset;
    let submission = Submission {
        fence: args.SubmissionFenceId,
        address: args.DmaBufferPhysicalAddress.QuadPart as u64 + u64::from(start),
        bytes: if is_null {
            0
        } else {
            args.DmaBufferSubmissionEndOffset - start
        },
    };

    locked(adapter, |nodes| {
        let node = &mut nodes[ordinal as usize];

        node.queue[Node::slot(node.newest)] = submission;
        node.newest = node.newest.wrapping_add(1);
    });
    kernel!(adapter, DxgkCbQueueDpc);
    kSTATUS_SUCCESS
}

/// What no DPC has begun is dropped, and the kernel's to submit again (FENCE-007, FENCE-008).
unsafe extern "C" fn PreemptCommand(
    hAdapter: IN_CONST_HANDLE,
    args: IN_CONST_PDXGKARG_PREEMPTCOMMAND,
) -> NTSTATUS {
    let adapter = hAdapter as *mut Adapter;
    let ordinal = (*args).NodeOrdinal as usize;

    locked(adapter, |nodes| {
        let node = &mut nodes[ordinal];

        node.newest = node.oldest;
        node.preemption_fence = (*args).PreemptionFenceId;
        node.is_preempted = true;
    });
    synchronize(adapter, Some(report_preemption), ordinal);
    kernel!(adapter, DxgkCbQueueDpc);
    kSTATUS_SUCCESS
}

unsafe extern "C" fn QueryCurrentFence(
    hAdapter: IN_CONST_HANDLE,
    args: INOUT_PDXGKARG_QUERYCURRENTFENCE,
) -> NTSTATUS {
    let adapter = hAdapter as *const Adapter;

    (*args).CurrentFence = (*adapter).nodes[(*args).NodeOrdinal as usize].completed_fence;
    kSTATUS_SUCCESS
}

/// The last fence submitted counts as completed (TDR-006), and nothing is touched any more.
unsafe extern "C" fn ResetFromTimeout(hAdapter: IN_CONST_HANDLE) -> NTSTATUS {
    let adapter = hAdapter as *mut Adapter;

    for node in &mut (*adapter).nodes {
        if node.has_work() {
            node.completed_fence = node.queue[Node::slot(node.newest.wrapping_sub(1))].fence;
        }
        node.oldest = node.newest;
        node.is_preempted = false;
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn RestartFromTimeout(_: IN_CONST_HANDLE) -> NTSTATUS {
    kSTATUS_SUCCESS
}

unsafe extern "C" fn CollectDbgInfo(
    _: IN_CONST_HANDLE,
    _: IN_CONST_PDXGKARG_COLLECTDBGINFO,
) -> NTSTATUS {
    kSTATUS_SUCCESS
}

// ---- Building -----------------------------------------------------------------------------------

/// What is left of a paging buffer: pDmaBuffer moves, DmaSize stays (PB-004, PB-007).
struct Room<'a> {
    args: &'a mut DXGKARG_BUILDPAGINGBUFFER,
    bytes: u32,
}

impl<'a> Room<'a> {
    fn of(args: &'a mut DXGKARG_BUILDPAGINGBUFFER) -> Self {
        let bytes = if args.pDmaBuffer.is_null() {
            0
        } else {
            args.DmaSize
        };
        Room { args, bytes }
    }

    /// Page numbers that fit into a record, where each page needs so many.
    fn pages_that_fit(&self, lists: u32) -> u64 {
        u64::from(self.bytes.saturating_sub(COMMAND_BYTES) / (lists * ENTRY_BYTES))
    }

    /// A record with so many page numbers behind it, zero but for its kind; None: it does not fit.
    unsafe fn begin(&mut self, kind: u32, list_length: u64) -> Option<*mut Command> {
        let bytes = u64::from(COMMAND_BYTES) + list_length * u64::from(ENTRY_BYTES);
        let command = self.args.pDmaBuffer as *mut Command;

        if bytes > u64::from(self.bytes) {
            return None;
        }
        write_bytes(command, 0, 1);
        (*command).kind = kind;
        (*command).bytes = bytes as u32;
        Some(command)
    }

    unsafe fn end(&mut self, command: *const Command) {
        self.args.pDmaBuffer =
            (self.args.pDmaBuffer as *mut u8).add((*command).bytes as usize) as *mut c_void;
        self.bytes -= (*command).bytes;
    }
}

/// The page numbers of a list, from one of its pages on (MmGetMdlPfnArray).
unsafe fn page_numbers(mdl: *const MDL, first: u32) -> *const u64 {
    (mdl.add(1) as *const u64).add(first as usize)
}

/// MultipassOffset counts pages. Keeps XFER-003 to XFER-005.
unsafe fn build_transfer(args: &mut DXGKARG_BUILDPAGINGBUFFER) -> NTSTATUS {
    let transfer = args.__bindgen_anon_1.Transfer;
    let total = transfer.TransferSize as u64;
    let pages = (total + PAGE - 1) >> PAGE_BITS;
    let side = |segment: u32, address: LARGE_INTEGER, mdl: *mut MDL| match segment {
        0 => (0, Some(page_numbers(mdl, transfer.MdlOffset))),
        _ => (
            address.QuadPart as u64 + u64::from(transfer.TransferOffset),
            None,
        ),
    };
    let (source, from) = side(
        transfer.Source.SegmentId,
        transfer.Source.__bindgen_anon_1.SegmentAddress,
        transfer.Source.__bindgen_anon_1.pMdl,
    );
    let (destination, to) = side(
        transfer.Destination.SegmentId,
        transfer.Destination.__bindgen_anon_1.SegmentAddress,
        transfer.Destination.__bindgen_anon_1.pMdl,
    );
    let lists = u32::from(from.is_some()) + u32::from(to.is_some());
    let mut room = Room::of(args);

    while u64::from(room.args.MultipassOffset) < pages {
        let first = u64::from(room.args.MultipassOffset);
        let left = pages - first;
        let count = if lists > 0 {
            left.min(room.pages_that_fit(lists))
        } else {
            left
        };
        let record = if count > 0 {
            room.begin(COMMAND_COPY, count * u64::from(lists))
        } else {
            None
        };
        let command = match record {
            Some(command) => command,
            None => return kSTATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        };
        let mut list = Command::pages_mut(command);

        (*command).source = source + (first << PAGE_BITS);
        (*command).destination = destination + (first << PAGE_BITS);
        (*command).size = (count << PAGE_BITS).min(total - (first << PAGE_BITS));
        (*command).page_count = if lists > 0 { count as u32 } else { 0 };
        (*command).has_source_list = from.is_some();
        (*command).has_destination_list = to.is_some();
        for numbers in [from, to].into_iter().flatten() {
            copy_nonoverlapping(numbers.add(first as usize), list, count as usize);
            list = list.add(count as usize);
        }
        room.end(command);
        room.args.MultipassOffset += count as u32;
    }
    kSTATUS_SUCCESS
}

unsafe fn build_fill(args: &mut DXGKARG_BUILDPAGINGBUFFER) -> NTSTATUS {
    let fill = args.__bindgen_anon_1.Fill;
    let mut room = Room::of(args);

    if fill.FillSize == 0 {
        return kSTATUS_SUCCESS;
    }
    let command = match room.begin(COMMAND_FILL, 0) {
        Some(command) => command,
        None => return kSTATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
    };
    (*command).destination = fill.Destination.SegmentAddress.QuadPart as u64;
    (*command).size = fill.FillSize as u64;
    (*command).pattern = fill.FillPattern;
    room.end(command);
    kSTATUS_SUCCESS
}

unsafe fn build_map(args: &mut DXGKARG_BUILDPAGINGBUFFER) -> NTSTATUS {
    let map = args.__bindgen_anon_1.MapApertureSegment;
    let pages = map.NumberOfPages as u64;
    let numbers = page_numbers(map.pMdl, map.MdlOffset);
    let mut room = Room::of(args);

    while u64::from(room.args.MultipassOffset) < pages {
        let first = u64::from(room.args.MultipassOffset);
        let count = (pages - first).min(room.pages_that_fit(1));
        let record = if count > 0 {
            room.begin(COMMAND_MAP, count)
        } else {
            None
        };
        let command = match record {
            Some(command) => command,
            None => return kSTATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        };

        (*command).destination = map.OffsetInPages as u64 + first;
        (*command).page_count = count as u32;
        copy_nonoverlapping(
            numbers.add(first as usize),
            Command::pages_mut(command),
            count as usize,
        );
        room.end(command);
        room.args.MultipassOffset += count as u32;
    }
    kSTATUS_SUCCESS
}

unsafe fn build_unmap(args: &mut DXGKARG_BUILDPAGINGBUFFER) -> NTSTATUS {
    let unmap = args.__bindgen_anon_1.UnmapApertureSegment;
    let mut room = Room::of(args);
    let command = match room.begin(COMMAND_UNMAP, 0) {
        Some(command) => command,
        None => return kSTATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
    };

    (*command).destination = unmap.OffsetInPages as u64;
    (*command).page_count = unmap.NumberOfPages as u32;
    room.end(command);
    kSTATUS_SUCCESS
}

/// What is not known, and what this board has nothing for, is done when it is built (PB-028).
unsafe extern "C" fn BuildPagingBuffer(
    _: IN_CONST_HANDLE,
    args: IN_PDXGKARG_BUILDPAGINGBUFFER,
) -> NTSTATUS {
    match (*args).Operation {
        DXGK_OPERATION_TRANSFER => build_transfer(&mut *args),
        DXGK_OPERATION_FILL => build_fill(&mut *args),
        DXGK_OPERATION_MAP_APERTURE_SEGMENT => build_map(&mut *args),
        DXGK_OPERATION_UNMAP_APERTURE_SEGMENT => build_unmap(&mut *args),
        _ => kSTATUS_SUCCESS,
    }
}

/// A record with an address for every allocation of the list: that is how the kernel knows what
/// must be resident while it runs. The command itself is the client's, and means nothing here.
unsafe extern "C" fn Render(_: IN_CONST_HANDLE, args: INOUT_PDXGKARG_RENDER) -> NTSTATUS {
    let args = &mut *args;
    let listed = args.AllocationListSize;
    let command = args.pDmaBuffer as *mut Command;
    let mut used = 0;

    if u64::from(COMMAND_BYTES) + u64::from(listed) * u64::from(ENTRY_BYTES)
        > u64::from(args.DmaSize)
        || listed > args.PatchLocationListOutSize
    {
        return kSTATUS_INVALID_USER_BUFFER;
    }
    write_bytes(command, 0, 1);
    (*command).kind = COMMAND_RENDER;
    for i in 0..listed {
        let entry = &*args.pAllocationList.add(i as usize);

        if entry.hDeviceSpecificAllocation.is_null() {
            continue;
        }
        *Command::pages_mut(command).add(used as usize) =
            entry.__bindgen_anon_1.PhysicalAddress.QuadPart as u64;
        write_bytes(args.pPatchLocationListOut, 0, 1);
        (*args.pPatchLocationListOut).AllocationIndex = i;
        (*args.pPatchLocationListOut).PatchOffset = COMMAND_BYTES + used * ENTRY_BYTES;
        args.pPatchLocationListOut = args.pPatchLocationListOut.add(1);
        used += 1;
    }
    (*command).bytes = COMMAND_BYTES + used * ENTRY_BYTES;
    args.pDmaBuffer = (args.pDmaBuffer as *mut u8).add((*command).bytes as usize) as *mut c_void;
    args.MultipassOffset = args.CommandLength;
    kSTATUS_SUCCESS
}

unsafe extern "C" fn Patch(_: IN_CONST_HANDLE, args: IN_CONST_PDXGKARG_PATCH) -> NTSTATUS {
    let args = &*args;
    let first = args.PatchLocationListSubmissionStart;

    if args.Flags.__bindgen_anon_1.__bindgen_anon_1.Paging() != 0 {
        return kSTATUS_SUCCESS;
    }
    for i in first..first + args.PatchLocationListSubmissionLength {
        let location = &*args.pPatchLocationList.add(i as usize);
        let entry = &*args.pAllocationList.add(location.AllocationIndex as usize);
        let at = (args.pDmaBuffer as *mut u8).add(location.PatchOffset as usize);

        (at as *mut u64).write_unaligned(entry.__bindgen_anon_1.PhysicalAddress.QuadPart as u64);
    }
    kSTATUS_SUCCESS
}

// ---- Objects ------------------------------------------------------------------------------------

/// The segments that hold an allocation, as a set of bits, and the one that it prefers.
fn segments_of(flags: u32) -> (u32, u32) {
    const LOCAL: u32 = 1 << (SEGMENT_LOCAL - 1);
    const APERTURE: u32 = 1 << (SEGMENT_APERTURE - 1);

    if flags & FLAG_APERTURE_ONLY != 0 {
        (APERTURE, SEGMENT_APERTURE)
    } else if flags & FLAG_NO_APERTURE != 0 {
        (LOCAL, SEGMENT_LOCAL)
    } else if flags & FLAG_PREFER_APERTURE != 0 {
        (LOCAL | APERTURE, SEGMENT_APERTURE)
    } else {
        (LOCAL | APERTURE, SEGMENT_LOCAL)
    }
}

unsafe fn create_one(info: &mut DXGK_ALLOCATIONINFO) -> NTSTATUS {
    if info.pPrivateDriverData.is_null()
        || (info.PrivateDriverDataSize as usize) < size_of::<PrivateData>()
    {
        return kSTATUS_INVALID_PARAMETER;
    }
    let data = (info.pPrivateDriverData as *const PrivateData).read_unaligned();
    if data.size == 0 {
        return kSTATUS_INVALID_PARAMETER;
    }
    let allocation: *mut Allocation = take(1);
    if allocation.is_null() {
        return kSTATUS_NO_MEMORY;
    }
    let (set, preferred) = segments_of(data.flags);
    let has_both = set.count_ones() == 2;

    (*allocation).size = data.size;
    info.__bindgen_anon_1.Alignment = PAGE as u32;
    info.Size = data.size as SIZE_T;
    info.PitchAlignedSize = 0;
    info.HintedBank.__bindgen_anon_1.Value = 0;
    info.PreferredSegment.__bindgen_anon_1.Value = 0;
    let preference = &mut info.PreferredSegment.__bindgen_anon_1.__bindgen_anon_1;
    preference.set_SegmentId0(preferred);
    if has_both {
        preference.set_SegmentId1(SEGMENT_LOCAL + SEGMENT_APERTURE - preferred);
    }
    info.__bindgen_anon_2.SupportedReadSegmentSet = set;
    info.SupportedWriteSegmentSet = set;
    info.EvictionSegmentSet = 0; // page lists serve
    info.__bindgen_anon_3.MaximumRenamingListLength = 0;
    info.pAllocationUsageHint = null_mut();
    info.AllocationPriority = PRIORITY_NORMAL;
    info.__bindgen_anon_4.Flags.__bindgen_anon_1.Value = 0;
    let flags = &mut info
        .__bindgen_anon_4
        .Flags
        .__bindgen_anon_1
        .__bindgen_anon_1;
    flags.set_CpuVisible(u32::from(data.flags & FLAG_CPU_VISIBLE != 0));
    flags.set_Cached(u32::from(data.flags & FLAG_CACHED != 0));
    info.hAllocation = allocation as HANDLE;
    kSTATUS_SUCCESS
}

/// All of them or none.
unsafe extern "C" fn CreateAllocation(
    _: IN_CONST_HANDLE,
    args: INOUT_PDXGKARG_CREATEALLOCATION,
) -> NTSTATUS {
    for i in 0..(*args).NumAllocations as usize {
        let status = create_one(&mut *(*args).pAllocationInfo.add(i));

        if !is_success(status) {
            for made in (0..i).rev() {
                give_back((*(*args).pAllocationInfo.add(made)).hAllocation);
            }
            return status;
        }
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn DestroyAllocation(
    _: IN_CONST_HANDLE,
    args: IN_CONST_PDXGKARG_DESTROYALLOCATION,
) -> NTSTATUS {
    for i in 0..(*args).NumAllocations as usize {
        give_back(*(*args).pAllocationList.add(i));
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn DescribeAllocation(
    _: IN_CONST_HANDLE,
    args: INOUT_PDXGKARG_DESCRIBEALLOCATION,
) -> NTSTATUS {
    let args = &mut *args;
    let allocation = args.hAllocation as *const Allocation;

    args.Width = (*allocation).size.min(u64::from(u32::MAX)) as u32;
    args.Height = 1;
    args.Format = D3DDDIFMT_UNKNOWN;
    args.MultisampleMethod.NumSamples = 0;
    args.MultisampleMethod.NumQualityLevels = 0;
    args.RefreshRate.Numerator = 0;
    args.RefreshRate.Denominator = 1;
    args.PrivateDriverFormatAttribute = 0;
    args.Rotation = D3DDDI_ROTATION_IDENTITY;
    kSTATUS_SUCCESS
}

unsafe fn open_one(adapter: *const Adapter, info: &mut DXGK_OPENALLOCATIONINFO) -> NTSTATUS {
    let mut query: DXGKARGCB_GETHANDLEDATA = zeroed();

    query.hObject = info.hAllocation;
    query.Type = DXGK_HANDLE_ALLOCATION;
    let allocation = (*adapter).dxgkrnl.DxgkCbGetHandleData.unwrap()(&query) as *mut Allocation;
    if allocation.is_null() {
        return kSTATUS_INVALID_HANDLE;
    }
    let opening: *mut Opening = take(1);
    if opening.is_null() {
        return kSTATUS_NO_MEMORY;
    }
    (*opening).allocation = allocation;
    info.hDeviceSpecificAllocation = opening as HANDLE;
    kSTATUS_SUCCESS
}

/// All of them or none.
unsafe extern "C" fn OpenAllocation(
    hDevice: IN_CONST_HANDLE,
    args: IN_CONST_PDXGKARG_OPENALLOCATION,
) -> NTSTATUS {
    let device = hDevice as *const Device;

    for i in 0..(*args).NumAllocations as usize {
        let status = open_one((*device).adapter, &mut *(*args).pOpenAllocation.add(i));

        if !is_success(status) {
            for opened in (0..i).rev() {
                give_back((*(*args).pOpenAllocation.add(opened)).hDeviceSpecificAllocation);
            }
            return status;
        }
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn CloseAllocation(
    _: IN_CONST_HANDLE,
    args: IN_CONST_PDXGKARG_CLOSEALLOCATION,
) -> NTSTATUS {
    for i in 0..(*args).NumAllocations as usize {
        give_back(*(*args).pOpenHandleList.add(i));
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn CreateDevice(
    hAdapter: IN_CONST_HANDLE,
    args: INOUT_PDXGKARG_CREATEDEVICE,
) -> NTSTATUS {
    let device: *mut Device = take(1);

    (*args).hDevice = device as HANDLE;
    if device.is_null() {
        return kSTATUS_NO_MEMORY;
    }
    (*device).adapter = hAdapter as *mut Adapter;
    kSTATUS_SUCCESS
}

unsafe extern "C" fn DestroyDevice(hDevice: IN_CONST_HANDLE) -> NTSTATUS {
    give_back(hDevice);
    kSTATUS_SUCCESS
}

unsafe extern "C" fn CreateContext(
    _: IN_CONST_HANDLE,
    args: INOUT_PDXGKARG_CREATECONTEXT,
) -> NTSTATUS {
    let args = &mut *args;

    args.hContext = null_mut();
    if args.NodeOrdinal as usize >= NODES {
        return kSTATUS_INVALID_PARAMETER;
    }
    let context: *mut Context = take(1);
    if context.is_null() {
        return kSTATUS_NO_MEMORY;
    }
    (*context).node = args.NodeOrdinal;
    args.hContext = context as HANDLE;
    args.ContextInfo.DmaBufferSize = DMA_BUFFER_BYTES;
    args.ContextInfo.DmaBufferSegmentSet = 0;
    args.ContextInfo.DmaBufferPrivateDataSize = 0;
    args.ContextInfo.AllocationListSize = LIST_ENTRIES;
    args.ContextInfo.PatchLocationListSize = LIST_ENTRIES;
    args.ContextInfo.Reserved = 0;
    kSTATUS_SUCCESS
}

unsafe extern "C" fn DestroyContext(hContext: IN_CONST_HANDLE) -> NTSTATUS {
    give_back(hContext);
    kSTATUS_SUCCESS
}

// ---- What the adapter says ----------------------------------------------------------------------

/// As much of an answer as the buffer of the query takes, and zeros behind it.
unsafe fn answer<T>(query: &DXGKARG_QUERYADAPTERINFO, value: &T) -> NTSTATUS {
    let size = query.OutputDataSize as usize;

    write_bytes(query.pOutputData as *mut u8, 0, size);
    copy_nonoverlapping(
        addr_of!(*value) as *const u8,
        query.pOutputData as *mut u8,
        size.min(size_of::<T>()),
    );
    kSTATUS_SUCCESS
}

unsafe fn query_caps(query: &DXGKARG_QUERYADAPTERINFO) -> NTSTATUS {
    let mut caps: DXGK_DRIVERCAPS = zeroed();
    let topology_end = addr_of!(caps.GpuEngineTopology).add(1) as usize - addr_of!(caps) as usize;

    if query.pOutputData.is_null() || (query.OutputDataSize as usize) < topology_end {
        return kSTATUS_BUFFER_TOO_SMALL;
    }
    caps.HighestAcceptableAddress.QuadPart = ((MOST_VIEWS as i64) << VIEW_BITS) - 1;
    caps.MaxAllocationListSlotId = 1;
    caps.ApertureSegmentCommitLimit = (APERTURE_PAGES * PAGE) as SIZE_T;
    let scheduling = &mut caps.SchedulingCaps.__bindgen_anon_1.__bindgen_anon_1;
    scheduling.set_MultiEngineAware(1);
    scheduling.set_PreemptionAware(1);
    caps.MemoryManagementCaps.PagingNode = NODE_COPY;
    caps.GpuEngineTopology.NbAsymetricProcessingNodes = NODES as u32;
    caps.WDDMVersion = DXGKDDI_WDDMv1_3;
    caps.PreemptionCaps.GraphicsPreemptionGranularity =
        D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.PreemptionCaps.ComputePreemptionGranularity =
        D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.SupportNonVGA = 1;
    answer(query, &caps)
}

/// Asked twice: how many segments there are, then for a descriptor of each.
unsafe fn query_segments(adapter: &Adapter, query: &DXGKARG_QUERYADAPTERINFO) -> NTSTATUS {
    let out = query.pOutputData as *mut DXGK_QUERYSEGMENTOUT3;

    if out.is_null() || (query.OutputDataSize as usize) < size_of::<DXGK_QUERYSEGMENTOUT3>() {
        return kSTATUS_BUFFER_TOO_SMALL;
    }
    (*out).NbSegment = 2;
    let local = (*out).pSegmentDescriptor;
    if local.is_null() {
        return kSTATUS_SUCCESS;
    }
    let aperture = local.add(1);
    write_bytes(local, 0, 2);
    (*local)
        .Flags
        .__bindgen_anon_1
        .__bindgen_anon_1
        .set_CpuVisible(1);
    (*local).CpuTranslatedAddress = adapter.window;
    (*local).Size = adapter.local_bytes as SIZE_T;
    (*local).CommitLimit = (*local).Size;
    (*aperture)
        .Flags
        .__bindgen_anon_1
        .__bindgen_anon_1
        .set_Aperture(1);
    (*aperture).BaseAddress.QuadPart = APERTURE_BASE as i64;
    (*aperture).Size = (APERTURE_PAGES * PAGE) as SIZE_T;
    (*aperture).CommitLimit = (*aperture).Size;
    (*out).PagingBufferSegmentId = 0;
    (*out).PagingBufferSize = PAGING_BUFFER_BYTES;
    (*out).PagingBufferPrivateDataSize = 0;
    kSTATUS_SUCCESS
}

unsafe extern "C" fn QueryAdapterInfo(
    hAdapter: IN_CONST_HANDLE,
    query: IN_CONST_PDXGKARG_QUERYADAPTERINFO,
) -> NTSTATUS {
    match (*query).Type {
        DXGKQAITYPE_DRIVERCAPS => query_caps(&*query),
        DXGKQAITYPE_QUERYSEGMENT3 => query_segments(&*(hAdapter as *const Adapter), &*query),
        _ => kSTATUS_NOT_SUPPORTED,
    }
}

unsafe extern "C" fn GetNodeMetadata(
    _: IN_CONST_HANDLE,
    NodeOrdinalAndAdapterIndex: UINT,
    metadata: OUT_PDXGKARG_GETNODEMETADATA,
) -> NTSTATUS {
    if NodeOrdinalAndAdapterIndex as usize >= NODES {
        return kSTATUS_INVALID_PARAMETER;
    }
    write_bytes(metadata, 0, 1);
    (*metadata).EngineType = if NodeOrdinalAndAdapterIndex == NODE_COPY {
        DXGK_ENGINE_TYPE_COPY
    } else {
        DXGK_ENGINE_TYPE_3D
    };
    kSTATUS_SUCCESS
}

// ---- The adapter's life -------------------------------------------------------------------------

unsafe extern "C" fn AddDevice(
    PhysicalDeviceObject: IN_CONST_PDEVICE_OBJECT,
    MiniportDeviceContext: OUT_PPVOID,
) -> NTSTATUS {
    *MiniportDeviceContext = null_mut();
    if PhysicalDeviceObject.is_null() {
        return kSTATUS_INVALID_PARAMETER;
    }
    *MiniportDeviceContext = take::<Adapter>(1) as PVOID;
    if (*MiniportDeviceContext).is_null() {
        kSTATUS_NO_MEMORY
    } else {
        kSTATUS_SUCCESS
    }
}

unsafe extern "C" fn RemoveDevice(MiniportDeviceContext: IN_CONST_PVOID) -> NTSTATUS {
    give_back(MiniportDeviceContext);
    kSTATUS_SUCCESS
}

/// One of 4 GiB or more has its length in other units than bytes.
unsafe fn length_of(range: &CM_PARTIAL_RESOURCE_DESCRIPTOR) -> u64 {
    let flags = u32::from(range.Flags);

    if u32::from(range.Type) == CmResourceTypeMemory {
        u64::from(range.u.Memory.Length)
    } else if flags & CM_RESOURCE_MEMORY_LARGE_40 != 0 {
        u64::from(range.u.Memory40.Length40) << 8
    } else if flags & CM_RESOURCE_MEMORY_LARGE_48 != 0 {
        u64::from(range.u.Memory48.Length48) << 16
    } else {
        u64::from(range.u.Memory64.Length64) << 32
    }
}

/// BAR 1 is the second memory range.
unsafe fn find_window(adapter: &mut Adapter, resources: *const CM_RESOURCE_LIST) -> NTSTATUS {
    if resources.is_null() || (*resources).Count == 0 {
        return kSTATUS_DEVICE_NOT_CONNECTED;
    }
    let list = addr_of!((*resources).List[0].PartialResourceList);
    let first = addr_of!((*list).PartialDescriptors) as *const CM_PARTIAL_RESOURCE_DESCRIPTOR;
    let mut found = 0;

    for i in 0..(*list).Count as usize {
        let range = first.add(i).read_unaligned();
        let kind = u32::from(range.Type);

        if kind != CmResourceTypeMemory && kind != CmResourceTypeMemoryLarge {
            continue;
        }
        found += 1;
        if found == 2 {
            adapter.window = range.u.Memory.Start;
            adapter.local_bytes = length_of(&range);
            return kSTATUS_SUCCESS;
        }
    }
    kSTATUS_NOT_SUPPORTED
}

unsafe fn map(adapter: *const Adapter, address: u64, bytes: u64, views: &mut Views) -> NTSTATUS {
    for offset in (0..bytes).step_by(1 << VIEW_BITS) {
        let piece = (bytes - offset).min(1 << VIEW_BITS);
        let mut physical: PHYSICAL_ADDRESS = zeroed();
        let mut view: PVOID = null_mut();

        if views.count == MOST_VIEWS {
            return kSTATUS_NOT_SUPPORTED;
        }
        physical.QuadPart = (address + offset) as i64;
        let status = kernel!(
            adapter,
            DxgkCbMapMemory,
            physical,
            piece as u32,
            0,
            0,
            MmNonCached,
            &mut view
        );
        if !is_success(status) {
            return status;
        }
        views.list[views.count] = view as *mut u8;
        views.count += 1;
    }
    kSTATUS_SUCCESS
}

unsafe fn unmap(adapter: *const Adapter, views: &mut Views) {
    while views.count > 0 {
        views.count -= 1;
        kernel!(adapter, DxgkCbUnmapMemory, views.list[views.count] as PVOID);
    }
}

unsafe fn unmap_all(adapter: *mut Adapter) {
    unmap(adapter, &mut *addr_of_mut!((*adapter).system));
    unmap(adapter, &mut *addr_of_mut!((*adapter).local));
    give_back((*adapter).slots);
    (*adapter).slots = null_mut();
}

unsafe fn map_all(adapter: *mut Adapter, system_bytes: u64) -> NTSTATUS {
    let window = (*adapter).window.QuadPart as u64;
    let mut status = map(
        adapter,
        window,
        (*adapter).local_bytes,
        &mut *addr_of_mut!((*adapter).local),
    );

    if is_success(status) {
        status = map(
            adapter,
            0,
            system_bytes,
            &mut *addr_of_mut!((*adapter).system),
        );
    }
    if !is_success(status) {
        return status;
    }
    (*adapter).slots = take(APERTURE_PAGES as usize);
    if (*adapter).slots.is_null() {
        kSTATUS_NO_MEMORY
    } else {
        kSTATUS_SUCCESS
    }
}

unsafe extern "C" fn StartDevice(
    MiniportDeviceContext: IN_CONST_PVOID,
    DxgkStartInfo: IN_PDXGK_START_INFO,
    DxgkInterface: IN_PDXGKRNL_INTERFACE,
    NumberOfVideoPresentSources: OUT_PULONG,
    NumberOfChildren: OUT_PULONG,
) -> NTSTATUS {
    let adapter = MiniportDeviceContext as *mut Adapter;
    let mut info: DXGK_DEVICE_INFO = zeroed();

    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    if (*DxgkStartInfo).RequiredDmaQueueEntry as usize > QUEUE_SLOTS {
        return kSTATUS_NOT_SUPPORTED;
    }
    write_bytes(adapter, 0, 1);
    copy_nonoverlapping(
        DxgkInterface as *const u8,
        addr_of_mut!((*adapter).dxgkrnl) as *mut u8,
        ((*DxgkInterface).Size as usize).min(size_of::<DXGKRNL_INTERFACE>()),
    );
    KeInitializeSpinLock(addr_of_mut!((*adapter).lock));
    let mut status = kernel!(adapter, DxgkCbGetDeviceInformation, &mut info);
    if is_success(status) {
        status = find_window(&mut *adapter, info.TranslatedResourceList);
    }
    if is_success(status) {
        status = map_all(adapter, info.SystemMemorySize.QuadPart as u64);
    }
    if !is_success(status) {
        unmap_all(adapter);
    }
    status
}

unsafe extern "C" fn StopDevice(MiniportDeviceContext: IN_CONST_PVOID) -> NTSTATUS {
    unmap_all(MiniportDeviceContext as *mut Adapter);
    kSTATUS_SUCCESS
}

/// Without power the aperture is empty: the kernel maps it anew (PWR-003).
unsafe extern "C" fn SetPowerState(
    MiniportDeviceContext: IN_CONST_PVOID,
    _DeviceUid: IN_ULONG,
    DevicePowerState: IN_DEVICE_POWER_STATE,
    _ActionType: IN_POWER_ACTION,
) -> NTSTATUS {
    let adapter = MiniportDeviceContext as *mut Adapter;

    if DevicePowerState != PowerDeviceD0 {
        write_bytes((*adapter).slots, 0, APERTURE_PAGES as usize);
    }
    kSTATUS_SUCCESS
}

unsafe extern "C" fn QueryChildRelations(
    _: IN_CONST_PVOID,
    _: PDXGK_CHILD_DESCRIPTOR,
    _: ULONG,
) -> NTSTATUS {
    kSTATUS_SUCCESS
}

unsafe extern "C" fn ResetDevice(_: IN_CONST_PVOID) {}

unsafe extern "C" fn Unload() {}

/// Where the image begins.
///
/// # Safety
/// The kernel calls it, with its driver object and the path of the service's key.
#[no_mangle]
pub unsafe extern "C" fn DriverEntry(
    DriverObject: PDRIVER_OBJECT,
    RegistryPath: PUNICODE_STRING,
) -> NTSTATUS {
    let mut table: DRIVER_INITIALIZATION_DATA = zeroed();

    table.Version = DXGKDDI_INTERFACE_VERSION_WDDM1_3;
    table.DxgkDdiAddDevice = Some(AddDevice);
    table.DxgkDdiStartDevice = Some(StartDevice);
    table.DxgkDdiStopDevice = Some(StopDevice);
    table.DxgkDdiRemoveDevice = Some(RemoveDevice);
    table.DxgkDdiSetPowerState = Some(SetPowerState);
    table.DxgkDdiQueryChildRelations = Some(QueryChildRelations);
    table.DxgkDdiResetDevice = Some(ResetDevice);
    table.DxgkDdiUnload = Some(Unload);
    table.DxgkDdiInterruptRoutine = Some(InterruptRoutine);
    table.DxgkDdiDpcRoutine = Some(DpcRoutine);
    table.DxgkDdiQueryAdapterInfo = Some(QueryAdapterInfo);
    table.DxgkDdiGetNodeMetadata = Some(GetNodeMetadata);
    table.DxgkDdiCreateAllocation = Some(CreateAllocation);
    table.DxgkDdiDestroyAllocation = Some(DestroyAllocation);
    table.DxgkDdiDescribeAllocation = Some(DescribeAllocation);
    table.DxgkDdiOpenAllocation = Some(OpenAllocation);
    table.DxgkDdiCloseAllocation = Some(CloseAllocation);
    table.DxgkDdiCreateDevice = Some(CreateDevice);
    table.DxgkDdiDestroyDevice = Some(DestroyDevice);
    table.DxgkDdiCreateContext = Some(CreateContext);
    table.DxgkDdiDestroyContext = Some(DestroyContext);
    table.DxgkDdiRender = Some(Render);
    table.DxgkDdiPatch = Some(Patch);
    table.DxgkDdiBuildPagingBuffer = Some(BuildPagingBuffer);
    table.DxgkDdiSubmitCommand = Some(SubmitCommand);
    table.DxgkDdiPreemptCommand = Some(PreemptCommand);
    table.DxgkDdiQueryCurrentFence = Some(QueryCurrentFence);
    table.DxgkDdiResetFromTimeout = Some(ResetFromTimeout);
    table.DxgkDdiRestartFromTimeout = Some(RestartFromTimeout);
    table.DxgkDdiCollectDbgInfo = Some(CollectDbgInfo);
    DxgkInitialize(DriverObject, RegistryPath, &mut table)
}

/// A panic is a bug check: "RUST", line, column.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let (line, column) = info
        .location()
        .map_or((0, 0), |place| (place.line(), place.column()));

    unsafe {
        KeBugCheckEx(
            u32::from_be_bytes(*b"RUST"),
            u64::from(line),
            u64::from(column),
            0,
            0,
        )
    }
    loop {}
}

/// Unwinding tables of the core library name it; nothing unwinds here.
#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

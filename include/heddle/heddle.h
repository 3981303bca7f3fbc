// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

/// The C API of heddle: a partitioned global address space for GPUs and host threads.
///
/// A *runtime* is one processing element (PE). Nothing here is process-global: a process holds one
/// runtime per PE it runs. Every communication names a *team*, and `pe` is an index in that team.
///
/// Every function returns a status; on failure `heddle_last_error()` tells what was asked, what was
/// found and what to do. Output parameters are written only on success. Functions are thread-safe
/// across runtimes; calls on one come from one thread at a time (heddle_team_abort: from any). A
/// handle of what was destroyed, if nothing new has its address, or of a forked process's parent is
/// HEDDLE_ERROR_INVALID_USAGE; undefined in one-sided operations, barriers and heddle_all_reduce.
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <heddle/heddle_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version and errors ------------------------------------------------------------------- */

/// Writes the library's version, which may be newer than the header's.
HEDDLE_API heddle_status_t heddle_get_version(int* major, int* minor, int* patch);
/// A constant name such as "HEDDLE_ERROR_TIMEOUT".
HEDDLE_API const char* heddle_status_name(heddle_status_t status);
/// The message of the last failed call of the calling thread ("" if none). Valid until the next.
HEDDLE_API const char* heddle_last_error(void);

/* ---- init and finalize -------------------------------------------------------------------- */

/// Joins the job that the environment tells of: a PMIx launcher (srun --mpi=pmix, mpirun,
/// heddle-run), else torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), else one PE
/// alone, with a warning. Collective over the job. HEDDLE_ERROR_INVALID_USAGE: a second init of the
/// same launcher rank, while the first lives; another launcher's variables tell of several PEs.
HEDDLE_API heddle_status_t heddle_init(heddle_runtime_t* runtime);

/// Makes an id whose address is this machine's (HEDDLE_SOCKET_IFNAME picks the interface). Called
/// by the PE that will be rank 0, which must be the one to init with it from this process.
HEDDLE_API heddle_status_t heddle_get_unique_id(heddle_unique_id_t* id);
/// Joins the job of `id` as `pe` of `n_pes`. Collective over the n_pes callers.
HEDDLE_API heddle_status_t heddle_init_unique_id(heddle_runtime_t* runtime,
                                                 const heddle_unique_id_t* id, int pe, int n_pes);

/// A job of 1 to 65536 threads of this process; each thread then calls heddle_init_thread once.
HEDDLE_API heddle_status_t heddle_thread_job_create(heddle_thread_job_t* job, int n_pes);
HEDDLE_API heddle_status_t heddle_init_thread(heddle_runtime_t* runtime, heddle_thread_job_t job,
                                              int pe);
/// The job may be destroyed as soon as every PE has returned from heddle_init_thread.
HEDDLE_API heddle_status_t heddle_thread_job_destroy(heddle_thread_job_t job);

/// Leaves the job: a barrier when all PEs are alive, then every resource is released, teams and
/// symmetric memory included. After a failure it still releases everything and returns success.
/// HEDDLE_ERROR_INVALID_USAGE, and nothing happens, with sends in a group or by its streams' work.
HEDDLE_API heddle_status_t heddle_finalize(heddle_runtime_t runtime);

/// Leaves the job at once, waits for nothing, releases everything; on the other PEs all pending and
/// later calls end with HEDDLE_ERROR_PEER_LOST, this PE's number and `reason`. The C++ runtime does
/// it when an exception destroys it. HEDDLE_ERROR_INVALID_USAGE by work on its streams.
HEDDLE_API heddle_status_t heddle_abort(heddle_runtime_t runtime, const char* reason);

HEDDLE_API heddle_status_t heddle_my_pe(heddle_runtime_t runtime, int* pe);
HEDDLE_API heddle_status_t heddle_n_pes(heddle_runtime_t runtime, int* n_pes);
/// What runs this PE's kernels: "host" or "cuda:N". Written to `name` (at most `bytes`,
/// terminated). Host threads load and store symmetric and device memory on "host" alone; what is
/// copied on streams, put and got works on every device.
HEDDLE_API heddle_status_t heddle_device_name(heddle_runtime_t runtime, char* name, size_t bytes);

/* ---- symmetric memory: collective over all PEs of the runtime, in the same order ----------- */

/// Allocates `bytes` at the same offset in every PE's heap, aligned to 64 bytes; ends when all PEs
/// have. bytes = 0 gives NULL. Memory is not touched, hence its content is unspecified.
HEDDLE_API heddle_status_t heddle_malloc(heddle_runtime_t runtime, size_t bytes, void** ptr);
/// As heddle_malloc of count * size, zeroed on every PE before the end.
HEDDLE_API heddle_status_t heddle_calloc(heddle_runtime_t runtime, size_t count, size_t size,
                                         void** ptr);
/// As heddle_malloc with an alignment: a power of two, at most 2 MiB.
HEDDLE_API heddle_status_t heddle_align(heddle_runtime_t runtime, size_t alignment, size_t bytes,
                                        void** ptr);
/// As heddle_malloc, in host memory whatever the device: host threads and kernels of all PEs of the
/// machine load and store it, by PCIe beside a GPU. For signals that the host waits for, and data
/// that it makes or reads. Kernels and the host take it as any symmetric memory (heddle_ptr gives
/// the others' copies); an atomic of a GPU and one of a processor on the same word need not be one
/// step to each other. Freed by heddle_free.
HEDDLE_API heddle_status_t heddle_malloc_host(heddle_runtime_t runtime, size_t bytes, void** ptr);
/// Resizes, keeping the first min(old, new) bytes. NULL allocates; bytes = 0 frees and gives NULL.
HEDDLE_API heddle_status_t heddle_realloc(heddle_runtime_t runtime, void* ptr, size_t bytes,
                                          void** result);
/// Begins with a barrier; what host calls and ended kernels have put is there. NULL is allowed.
HEDDLE_API heddle_status_t heddle_free(heddle_runtime_t runtime, void* ptr);

/// The address at which this PE can load and store the object that `symmetric` is on `pe` of the
/// world; NULL in *ptr if that PE is not mapped.
HEDDLE_API heddle_status_t heddle_ptr(heddle_runtime_t runtime, const void* symmetric, int pe,
                                      void** ptr);

/// Makes the caller's own memory [buffer, buffer + bytes) symmetric, in place: *symmetric is its
/// address in the heap, for use in kernels. Host calls take either address. Collective; every PE
/// gives the same size. A buffer that cannot be taken, or of which another PE of the process gives
/// a part too, is an error on all PEs, which names the PE.
///
/// On the host device: private memory (not MAP_SHARED), whose pages become the heap's. buffer and
/// bytes are multiples of the page size; no thread touches the pages during the call.
/// With a CUDA device: memory of that device made by cuMemCreate, of one allocation or several
/// mapped one behind the other (ncclMemAlloc, PyTorch's expandable segments and symmetric memory).
/// buffer is where the first of them begins: register all that is of use in it, and any part is
/// symmetric. With PEs in other processes they are made with requestedHandleTypes
/// CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR. CUDA maps no memory of cudaMalloc or of its pools a
/// second time, hence HEDDLE_ERROR_NOT_SUPPORTED; unregistered, it is a local buffer of puts, gets
/// and collectives as any other.
HEDDLE_API heddle_status_t heddle_register(heddle_runtime_t runtime, void* buffer, size_t bytes,
                                           void** symmetric);
/// Gives the memory back to the process, content kept. No work on any stream of any PE uses it any
/// more. Collective.
HEDDLE_API heddle_status_t heddle_unregister(heddle_runtime_t runtime, void* buffer);

/* ---- teams -------------------------------------------------------------------------------- */

/// The team of all PEs. Owned by the runtime.
HEDDLE_API heddle_status_t heddle_team_world(heddle_runtime_t runtime, heddle_team_t* team);
/// The PEs of this machine (same boot and namespaces), in world order. Owned by the runtime.
HEDDLE_API heddle_status_t heddle_team_node(heddle_runtime_t runtime, heddle_team_t* team);
/// The PEs start, start + stride, ... (size of them) of `parent`; stride may be negative, and 0 for
/// one PE. Collective over `parent`; PEs outside get NULL. An aborted parent's error on all PEs; an
/// abort during the call may leave some with a team, whose waits for the others time out.
HEDDLE_API heddle_status_t heddle_team_split_strided(heddle_team_t parent, int start, int stride,
                                                     int size, heddle_team_t* team);
/// One team per colour, ordered by (key, parent's PE). Colour -1: no team. Else as split_strided.
HEDDLE_API heddle_status_t heddle_team_split_color(heddle_team_t parent, int color, int key,
                                                   heddle_team_t* team);
HEDDLE_API heddle_status_t heddle_team_my_pe(heddle_team_t team, int* pe);
HEDDLE_API heddle_status_t heddle_team_n_pes(heddle_team_t team, int* n_pes);
/// The index in `to` of `pe` of `from`; -1 if it is not a member.
HEDDLE_API heddle_status_t heddle_team_translate(heddle_team_t from, int pe, heddle_team_t to,
                                                 int* translated);
/// Collective. Waits for the team's work on streams (HEDDLE_ERROR_INVALID_USAGE by that); kernels
/// with its team_ref must have ended. World and node stay, others at HEDDLE_ERROR_MISMATCH alone.
HEDDLE_API heddle_status_t heddle_team_destroy(heddle_team_t team);
/// The value that kernels take (`heddle::team_ref` of <heddle/device/team.hpp>), written to `ref`.
/// `bytes` and `layout_version` are what the caller was compiled with; a difference is an error.
HEDDLE_API heddle_status_t heddle_team_get_ref(heddle_team_t team, void* ref, size_t bytes,
                                               uint32_t layout_version);
/// Success, or the error that aborted the team (a lost PE, a wait past its deadline).
HEDDLE_API heddle_status_t heddle_team_status(heddle_team_t team);
/// Ends all waits of the team, pending and later (kernels' that would go on): HEDDLE_ERROR_ABORTED.
HEDDLE_API heddle_status_t heddle_team_abort(heddle_team_t team, const char* reason);

/* ---- one-sided operations from the host: `symmetric` objects, `pe` of the team -------------- */

/// Copies `bytes` from local `src` to `pe`'s copy of symmetric `dst`. On return src may be reused.
/// Visible at the target after a later fence + flag, quiet, signal or barrier (memory-model.md).
/// 4 or 8 bytes at an address that is a multiple of it are a word, put and got as a whole.
HEDDLE_API heddle_status_t heddle_put(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                      int pe);
/// Copies `bytes` from `pe`'s copy of symmetric `src` to local `dst`, complete on return.
HEDDLE_API heddle_status_t heddle_get(heddle_team_t team, void* dst, const void* src, size_t bytes,
                                      int pe);
/// As put and get; src or dst may be reused or read only after heddle_quiet. If that fails, the
/// network may be at work on them until heddle_finalize.
HEDDLE_API heddle_status_t heddle_put_nbi(heddle_team_t team, void* dst, const void* src,
                                          size_t bytes, int pe);
HEDDLE_API heddle_status_t heddle_get_nbi(heddle_team_t team, void* dst, const void* src,
                                          size_t bytes, int pe);
/// Puts, then updates `pe`'s copy of the 64-bit `signal`; whoever sees the signal sees the data.
HEDDLE_API heddle_status_t heddle_put_signal(heddle_team_t team, void* dst, const void* src,
                                             size_t bytes, uint64_t* signal, uint64_t value,
                                             heddle_signal_op_t op, int pe);
/// Updates the signal alone; earlier puts of this PE to `pe` are visible before it.
HEDDLE_API heddle_status_t heddle_signal(heddle_team_t team, uint64_t* signal, uint64_t value,
                                         heddle_signal_op_t op, int pe);
/// Waits until local `signal` compares true (acquire). HEDDLE_TIMEOUT past, the team is aborted.
HEDDLE_API heddle_status_t heddle_signal_wait(heddle_team_t team, const uint64_t* signal,
                                              heddle_cmp_t cmp, uint64_t value);
/// One look (acquire): *satisfied is 1 or 0.
HEDDLE_API heddle_status_t heddle_signal_test(heddle_team_t team, const uint64_t* signal,
                                              heddle_cmp_t cmp, uint64_t value, int* satisfied);
/// An atomic operation on `pe`'s copy of the naturally aligned symmetric word of `bytes` 4 or 8.
/// `fetched` (may be NULL) gets the old value; COMPARE_SWAP alone uses `compare`. Orders nothing.
HEDDLE_API heddle_status_t heddle_atomic(heddle_team_t team, void* word, size_t bytes,
                                         heddle_atomic_op_t op, uint64_t value, uint64_t compare,
                                         uint64_t* fetched, int pe);
/// Puts before it are delivered to each PE before later signals, atomics and words of 4 or 8 bytes.
HEDDLE_API heddle_status_t heddle_fence(heddle_team_t team);
/// All puts, gets and atomics of this PE's host calls are complete and visible.
HEDDLE_API heddle_status_t heddle_quiet(heddle_team_t team);
/// quiet, then all PEs of the team have arrived.
HEDDLE_API heddle_status_t heddle_barrier(heddle_team_t team);
/// All PEs of the team have arrived; remote updates may be pending.
HEDDLE_API heddle_status_t heddle_sync(heddle_team_t team);

/* ---- streams and events ------------------------------------------------------------------- */

/// An ordered queue with a thread of its own (host device).
HEDDLE_API heddle_status_t heddle_stream_create(heddle_runtime_t runtime, heddle_stream_t* stream);
/// A handle for a stream of the program's own, a CUstream or cudaStream_t of this PE's device,
/// which must outlive it (NULL: CUDA's default stream, which waits for all blocking streams of the
/// process and should not be used by PEs that are threads). Destroying the handle leaves it as it
/// is. While such a stream is captured into a CUDA graph, every call that takes a stream is
/// captured, and may be replayed as often as all PEs replay it alike; see docs/running.md.
/// HEDDLE_ERROR_NOT_SUPPORTED on the host device.
HEDDLE_API heddle_status_t heddle_stream_from_cuda(heddle_runtime_t runtime, void* cuda_stream,
                                                   heddle_stream_t* stream);
/// Waits for the work that is queued, if it is not captured, then destroys.
HEDDLE_API heddle_status_t heddle_stream_destroy(heddle_stream_t stream);
/// Waits for the work queued so far and returns its first error: the work's own, or, once for each
/// stream and team, that of an aborted team which has had work there. A kernel of heddle_launch may
/// use any: a stream that has had one returns the errors of all. heddle_event_synchronize none.
HEDDLE_API heddle_status_t heddle_stream_synchronize(heddle_runtime_t runtime,
                                                     heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_event_create(heddle_runtime_t runtime, heddle_event_t* event);
HEDDLE_API heddle_status_t heddle_event_destroy(heddle_event_t event);
/// The event completes when all work queued on `stream` before it has.
HEDDLE_API heddle_status_t heddle_event_record(heddle_event_t event, heddle_stream_t stream);
/// Work queued on `stream` after this waits for the event's last record. An event that was never
/// recorded is complete.
HEDDLE_API heddle_status_t heddle_stream_wait_event(heddle_stream_t stream, heddle_event_t event);
HEDDLE_API heddle_status_t heddle_event_synchronize(heddle_event_t event);
/// Milliseconds between two completed events.
HEDDLE_API heddle_status_t heddle_event_elapsed(heddle_event_t start, heddle_event_t stop,
                                                double* milliseconds);

/// Memory of the device, this PE's own: 64-byte aligned, content unspecified. bytes = 0 gives NULL.
/// (What other PEs reach comes from heddle_malloc.) Freed at the latest by heddle_finalize.
HEDDLE_API heddle_status_t heddle_device_malloc(heddle_runtime_t runtime, size_t bytes, void** ptr);
/// Work that uses the memory must have ended. NULL is allowed.
HEDDLE_API heddle_status_t heddle_device_free(heddle_runtime_t runtime, void* ptr);
/// Copies between any two places of host, device and this PE's symmetric memory, in the order of
/// `stream`; they do not overlap and must live until it has run.
HEDDLE_API heddle_status_t heddle_copy_on_stream(heddle_runtime_t runtime, void* dst,
                                                 const void* src, size_t bytes,
                                                 heddle_stream_t stream);

typedef void (*heddle_kernel_entry_t)(const void* arguments, const void* host_block);
/// A kernel, in the forms that it was compiled to; at least one.
typedef struct heddle_kernel {
  heddle_kernel_entry_t on_host;  ///< NULL: not compiled for the host device
  /// Gives a CUkernel whose one parameter is the arguments, by value; it is asked for when a CUDA
  /// device runs it. NULL, or giving NULL: not compiled for CUDA.
  void* (*on_cuda)(void);
} heddle_kernel_t;
/// The type-erased form of `heddle::launch`: runs the kernel for every thread of a grid of blocks
/// that are all resident. `arguments` (`bytes` of them, trivially copyable) are copied. See
/// <heddle/device/launch.hpp>.
HEDDLE_API heddle_status_t heddle_launch(heddle_runtime_t runtime, heddle_stream_t stream, int grid,
                                         int block, const heddle_kernel_t* kernel,
                                         const void* arguments, size_t bytes);

/// The same for a kernel that calls collectives of a team (<heddle/device/collectives.hpp>): it
/// runs in the order of the team's collectives, the same on all PEs, whatever their streams. On the
/// default stream it is complete on return and returns its own error.
HEDDLE_API heddle_status_t heddle_launch_collective(heddle_team_t team, heddle_stream_t stream,
                                                    int grid, int block,
                                                    const heddle_kernel_t* kernel,
                                                    const void* arguments, size_t bytes);
/// As many blocks and threads as are of use to a collective of so many bytes in such a kernel; the
/// same on every PE.
HEDDLE_API heddle_status_t heddle_launch_shape(heddle_team_t team, size_t bytes, int* grid,
                                               int* block);
/// Before a collective that is made of such a launch: with HEDDLE_CHECK=1 collective, and
/// HEDDLE_ERROR_MISMATCH on all PEs, with what two of them gave, unless all have called the same
/// `function` with the same `values` (`n` of them, 0 to 6). Else nothing. Names live as long as the
/// call.
HEDDLE_API heddle_status_t heddle_require_same(heddle_team_t team, const char* function,
                                               const heddle_named_value_t* values, int n);

/* ---- operations on a stream: enqueued, complete when the stream has run them ----------------
   Barriers and collectives of one team run in the order of their calls, whatever the streams; calls
   without a stream (heddle_barrier) are not in that order. When the stream has run a put or get,
   src may be reused, dst read; the target sees it after a later signal or barrier of the stream. */

HEDDLE_API heddle_status_t heddle_put_on_stream(heddle_team_t team, void* dst, const void* src,
                                                size_t bytes, int pe, heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_get_on_stream(heddle_team_t team, void* dst, const void* src,
                                                size_t bytes, int pe, heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_put_signal_on_stream(heddle_team_t team, void* dst,
                                                       const void* src, size_t bytes,
                                                       uint64_t* signal, uint64_t value,
                                                       heddle_signal_op_t op, int pe,
                                                       heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_signal_on_stream(heddle_team_t team, uint64_t* signal,
                                                   uint64_t value, heddle_signal_op_t op, int pe,
                                                   heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_signal_wait_on_stream(heddle_team_t team, const uint64_t* signal,
                                                        heddle_cmp_t cmp, uint64_t value,
                                                        heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_barrier_on_stream(heddle_team_t team, heddle_stream_t stream);

/* ---- collectives -------------------------------------------------------------------------- */

/// output[i] = op over all PEs of input[i], i < count, bitwise equal on every PE and every run of
/// the same plan. In place when output == input; any other overlap is an error. Buffers may be any
/// memory that the device's kernels reach (on a GPU, not the process's own); symmetric or
/// registered ones (on every PE alike) are used without a copy. Collective over the team, in the
/// same order on every PE; the collectives of a team run in that order, one after another, whatever
/// their streams. On the default stream it is complete on return and returns its own error; on
/// others see stream_synchronize.
HEDDLE_API heddle_status_t heddle_all_reduce(heddle_team_t team, const void* input, void* output,
                                             size_t count, heddle_type_t type, heddle_op_t op,
                                             heddle_stream_t stream);

/// output[i] = op over all PEs of their input[my_pe * count + i], i < count: each PE gets its piece
/// of the combination of all inputs, which have n_pes * count elements. In place: output is this
/// PE's piece of input. Otherwise as heddle_all_reduce.
HEDDLE_API heddle_status_t heddle_reduce_scatter(heddle_team_t team, const void* input,
                                                 void* output, size_t count, heddle_type_t type,
                                                 heddle_op_t op, heddle_stream_t stream);
/// As heddle_all_reduce for the root alone; on the other PEs `output` does not matter.
HEDDLE_API heddle_status_t heddle_reduce(heddle_team_t team, const void* input, void* output,
                                         size_t count, heddle_type_t type, heddle_op_t op, int root,
                                         heddle_stream_t stream);
/// output[i] = op over all PEs of their input[displacements[my_pe] + i], i < counts[my_pe]: as
/// heddle_reduce_scatter with a piece of its own size for each PE. `counts` (alike on all PEs) and
/// `displacements` (each PE's own) have n_pes elements, in elements, and are read before the call
/// returns. The pieces are combined one after another, PE by PE: for pieces of one size
/// heddle_reduce_scatter is faster. In place: output is this PE's piece of input.
HEDDLE_API heddle_status_t heddle_reduce_scatter_v(heddle_team_t team, const void* input,
                                                   void* output, const size_t* counts,
                                                   const size_t* displacements, heddle_type_t type,
                                                   heddle_op_t op, heddle_stream_t stream);
/// Makes an operation for this team's collectives that combine elements of `type`: their sum, times
/// `factor`, which is the same on every PE. The complete sum is multiplied, once, before it is
/// rounded; integers wrap. The factor is a float for floating-point types of up to 4 bytes, and an
/// element of `type` for others. One of HEDDLE_SCALAR_DEVICE is read when a collective's kernel
/// runs: work before it on the same stream may write it. PEs of a team make their operations in the
/// same order.
HEDDLE_API heddle_status_t heddle_op_create_scaled_sum(heddle_team_t team, heddle_type_t type,
                                                       const void* factor, heddle_scalar_t where,
                                                       heddle_op_t* op);
/// Calls made with it are not disturbed; a team's end ends its operations.
HEDDLE_API heddle_status_t heddle_op_destroy(heddle_team_t team, heddle_op_t op);
/// PE root's input[0, count) becomes output[0, count) of every PE. `input` matters on the root
/// alone, where it may be `output`. Buffers and order as for heddle_all_reduce: symmetric or
/// registered ones are used in place, each PE's own choice.
HEDDLE_API heddle_status_t heddle_broadcast(heddle_team_t team, const void* input, void* output,
                                            size_t count, heddle_type_t type, int root,
                                            heddle_stream_t stream);
/// output[pe * count, (pe + 1) * count) = input[0, count) of each PE. In place: input is this PE's
/// part of output.
HEDDLE_API heddle_status_t heddle_all_gather(heddle_team_t team, const void* input, void* output,
                                             size_t count, heddle_type_t type,
                                             heddle_stream_t stream);
/// output[pe * count, (pe + 1) * count) = `pe`'s input[my_pe * count, (my_pe + 1) * count). The
/// buffers are apart.
HEDDLE_API heddle_status_t heddle_all_to_all(heddle_team_t team, const void* input, void* output,
                                             size_t count, heddle_type_t type,
                                             heddle_stream_t stream);
/// As heddle_all_gather for the root alone; on the other PEs `output` does not matter.
HEDDLE_API heddle_status_t heddle_gather(heddle_team_t team, const void* input, void* output,
                                         size_t count, heddle_type_t type, int root,
                                         heddle_stream_t stream);
/// output[0, count) = the root's input[my_pe * count, (my_pe + 1) * count). `input` matters on the
/// root alone. In place: the root's output is its part of input.
HEDDLE_API heddle_status_t heddle_scatter(heddle_team_t team, const void* input, void* output,
                                          size_t count, heddle_type_t type, int root,
                                          heddle_stream_t stream);
/// output[displacements[pe], ... + counts[pe]) = the input of each PE, which has counts[pe]
/// elements. `counts` (alike on all PEs) and `displacements` (each PE's own) have n_pes elements
/// and are read before the call returns. In place: input is this PE's part of output.
HEDDLE_API heddle_status_t heddle_all_gather_v(heddle_team_t team, const void* input, void* output,
                                               const size_t* counts, const size_t* displacements,
                                               heddle_type_t type, heddle_stream_t stream);
/// output[output_displacements[pe], ... + output_counts[pe]) = what `pe` has in its input for this
/// PE: input_counts[my_pe] elements from its input_displacements[my_pe] on, as many as
/// output_counts[pe]. Each PE's lists are its own, of n_pes elements, in elements, and are read
/// before the call returns. The buffers are apart.
HEDDLE_API heddle_status_t heddle_all_to_all_v(heddle_team_t team, const void* input,
                                               const size_t* input_counts,
                                               const size_t* input_displacements, void* output,
                                               const size_t* output_counts,
                                               const size_t* output_displacements,
                                               heddle_type_t type, heddle_stream_t stream);

/// Sends count elements to `peer`, whose k-th receive from this PE on this team receives what its
/// k-th send sends; sizes are the same (of count 0 nothing is sent, and nothing is to be received).
/// Both buffers may be any memory that the device's kernels reach; what is symmetric or registered
/// on one side at least is copied once. Ordered with the collectives of the team, and complete, as
/// they are. A send may wait for its receive: two PEs that send to each other group each send with
/// the receive, and a send and its receive stand on the same side of every collective that both
/// call. One of few bytes need not wait: only HEDDLE_CHECK=1 tells that its receive never comes.
/// With that, and in teams of over 64 PEs, sizes that differ are HEDDLE_ERROR_MISMATCH on both.
HEDDLE_API heddle_status_t heddle_send(heddle_team_t team, const void* buffer, size_t count,
                                       heddle_type_t type, int peer, heddle_stream_t stream);
HEDDLE_API heddle_status_t heddle_recv(heddle_team_t team, void* buffer, size_t count,
                                       heddle_type_t type, int peer, heddle_stream_t stream);
/// What this thread sends and receives from here to the end of the group runs as one kernel for
/// each team, on one stream, started at the end: none of it waits for another. Up to 1024 sends and
/// receives of a team, to and from up to 128 PEs together; their buffers are apart. What a PE sends
/// to itself it receives in the same group. Groups may be nested: the outermost counts. Other calls
/// are not delayed, but while there is something in the group heddle_stream_synchronize,
/// heddle_team_destroy and heddle_finalize of that PE are HEDDLE_ERROR_INVALID_USAGE on this
/// thread; if another thread destroys the team, the end is. Errors of arguments are returned at
/// once, others at the end.
HEDDLE_API heddle_status_t heddle_group_begin(void);
HEDDLE_API heddle_status_t heddle_group_end(void);
/// Ends the innermost group of this thread and forgets what the outermost has: the end of that, if
/// it was another, is HEDDLE_ERROR_INVALID_USAGE. So are end and cancel where no group is open.
HEDDLE_API heddle_status_t heddle_group_cancel(void);

/* ---- plans: which way a collective goes ----------------------------------------------------- */

typedef enum heddle_collective HEDDLE_ENUM {
  HEDDLE_COLLECTIVE_ALL_REDUCE = 0,
  HEDDLE_COLLECTIVE_BROADCAST = 1,
  HEDDLE_COLLECTIVE_ALL_GATHER = 2,  ///< all_gather_v too
  HEDDLE_COLLECTIVE_ALL_TO_ALL = 3,  ///< all_to_all_v too, in teams of up to 64 PEs
  HEDDLE_COLLECTIVE_GATHER = 4,
  HEDDLE_COLLECTIVE_SCATTER = 5,
  HEDDLE_COLLECTIVE_REDUCE_SCATTER = 6,
  HEDDLE_COLLECTIVE_REDUCE = 7,
  HEDDLE_COLLECTIVE_TRANSFER = 8  ///< send and recv, and all_to_all_v in larger teams
} heddle_collective_t;

/// docs/architecture.md says what they are, and which collective has which.
typedef enum heddle_algorithm HEDDLE_ENUM {
  HEDDLE_ALGORITHM_AUTO = -1,
  HEDDLE_ALGORITHM_ONE_SHOT = 0,
  HEDDLE_ALGORITHM_TWO_SHOT = 1,
  HEDDLE_ALGORITHM_RING = 2,
  HEDDLE_ALGORITHM_TREE = 3,
  HEDDLE_ALGORITHM_MULTICAST = 4,
  HEDDLE_ALGORITHM_HIERARCHICAL = 5,
  HEDDLE_ALGORITHM_DIRECT = 6
} heddle_algorithm_t;

typedef enum heddle_protocol HEDDLE_ENUM {
  HEDDLE_PROTOCOL_AUTO = -1,
  HEDDLE_PROTOCOL_SIMPLE = 0,
  HEDDLE_PROTOCOL_LL = 1,
  HEDDLE_PROTOCOL_LL128 = 2
} heddle_protocol_t;

/// What a program may choose by itself; AUTO, and 0, is heddle's choice.
typedef struct heddle_choice {
  heddle_algorithm_t algorithm;
  heddle_protocol_t protocol;
  int channels;  ///< blocks; on a GPU each takes a multiprocessor
  int threads;   ///< of a block
} heddle_choice_t;

/// Fills in `choice`, all of which is AUTO and 0, for calls with up to `bytes` bytes, a power of
/// two: of the combination (all pieces of a reduce_scatter), or of a piece. It makes the same
/// choice on every PE of the team.
typedef void (*heddle_chooser_t)(void* user, heddle_collective_t what, size_t bytes, int n_pes,
                                 heddle_choice_t* choice);

/// From the next call on `chooser` is asked, at any time: its answer depends on its arguments. It
/// takes precedence over HEDDLE_ALGO and its kin, which stay where it says AUTO. NULL: none. Set on
/// every PE alike, between the same calls, while none of the team's is being made.
HEDDLE_API heddle_status_t heddle_team_set_chooser(heddle_team_t team, heddle_chooser_t chooser,
                                                   void* user);
/// The most channels (blocks; on a GPU each takes a multiprocessor) that the team's collectives
/// take from the next call on; 0: no limit but heddle's own. Cheap, since the ways of calls are
/// kept for each limit: it may be set for one call, and be set back after it. As
/// heddle_team_set_chooser. HEDDLE_CHANNELS and a chooser's channels are limited, too. Not those of
/// collectives that kernels call, whose blocks are the kernel's.
HEDDLE_API heddle_status_t heddle_team_set_max_channels(heddle_team_t team, int channels);
/// What was set last; 0 at first.
HEDDLE_API heddle_status_t heddle_team_max_channels(heddle_team_t team, int* channels);
/// Whether reductions of float16, bfloat16 and float8 elements are rounded once, whichever way they
/// go (HEDDLE_ACCUMULATE_F32 is what teams begin with). Those that go from PE to PE in a ring take
/// two or four times the bytes then; tree and hierarchical, which round between hops, are none of
/// their ways; others round once in any case. Those that kernels call go by what their
/// heddle::team_ref was taken with. As heddle_team_set_chooser.
HEDDLE_API heddle_status_t heddle_team_set_accumulate_f32(heddle_team_t team, int on);
/// The way of a call with these arguments: "two_shot simple, 1 channel of 1 thread: ...reason", and
/// which buffers are used in place. Written to `text` (at most `bytes`, terminated).
HEDDLE_API heddle_status_t heddle_plan(heddle_team_t team, heddle_collective_t what, size_t count,
                                       heddle_type_t type, char* text, size_t bytes);

/* ---- what the machine and the settings are (heddle-info) ------------------------------------ */

/// A JSON text: version, machine, devices, fabrics, peers with path and reason, variables with
/// value, default and meaning. `runtime` may be NULL: then no peers. Freed by heddle_string_free.
HEDDLE_API heddle_status_t heddle_info_json(heddle_runtime_t runtime, char** json);
HEDDLE_API void heddle_string_free(char* text);

typedef enum heddle_topology_form HEDDLE_ENUM {
  HEDDLE_TOPOLOGY_TEXT = 0,  ///< for people: a tree, the paths between devices, ring and rails
  HEDDLE_TOPOLOGY_JSON = 1,  ///< an object; docs/tools.md names its fields
  HEDDLE_TOPOLOGY_SVG = 2    ///< a picture
} heddle_topology_form_t;

/// The topology of a machine: packages, NUMA nodes, PCIe switches, GPUs, NVLinks and NICs, how they
/// reach each other, and the ring order and the NICs that heddle would take. Read anew, in tens of
/// milliseconds (hwloc, NVML); what cannot be read is named in the text, no error.
/// `runtime`: this host, with the PEs that run on it; collective, each PE gets its host's. NULL:
/// this host alone. `file`, with `runtime` NULL: the machine of that XML file, as hwloc's lstopo
/// writes it; HEDDLE_ERROR_INVALID_ARGUMENT if it is none, HEDDLE_ERROR_NOT_SUPPORTED if heddle was
/// built without hwloc. `text` is freed by heddle_string_free.
HEDDLE_API heddle_status_t heddle_topology(heddle_runtime_t runtime, const char* file,
                                           heddle_topology_form_t form, char** text);

#ifdef __cplusplus
}
#endif

#endif

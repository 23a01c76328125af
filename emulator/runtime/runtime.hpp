/// @file
/// What the calls of the runtime have in common: devices, streams, events, programs, and how a call ends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cuda_runtime_api.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "commands.hpp"
#include "machine/launch.hpp"
#include "machine/memory.hpp"
#include "options.hpp"
#include "ptx/module.hpp"

namespace cuda_emulator {

// --- errors ---

/// Ends a call with this code.
struct Failure {
    cudaError_t code;
};
[[noreturn]] inline void fail(cudaError_t code) { throw Failure{code}; }
inline void require(bool condition, cudaError_t otherwise = cudaErrorInvalidValue) {
    if (!condition) fail(otherwise);
}

/// One line on stderr: "CUDA emulator: ...".
void say(const std::string& line);
/// The same about what the emulator cannot run: with CUDA_EMULATOR_CHECK=fail the program fails.
void refuse(const std::string& line);

/// The first fault of a kernel ends all work, and every later call returns its code.
void note_fault(cudaError_t code);
cudaError_t sticky_error();
void clear_fault();
/// Keeps a code for cudaGetLastError(). @return the code
cudaError_t set_last(cudaError_t code);

/// Runs the body of a call of the runtime; what it throws becomes the code that the call returns.
template <class Body> cudaError_t call(Body&& body) {
    if (sticky_error() != cudaSuccess) return set_last(sticky_error());
    try {
        body();
        return set_last(sticky_error());
    } catch (const Failure& failure) {
        return set_last(failure.code);
    } catch (const PtxError& error) {
        refuse(error.what());
        return set_last(cudaErrorNotSupported);
    } catch (const std::bad_alloc&) {
        return set_last(cudaErrorMemoryAllocation);
    }
}

// --- devices and their memory ---

struct Stream;

struct Device {
    explicit Device(int number);

    int index;
    cudaDeviceProp properties{};
    std::unique_ptr<Stream> legacy;    ///< the default stream, for which all others wait but those that say they do not
    std::set<Stream*> streams;         ///< all but the legacy one
    std::vector<CommandPtr> left;      ///< last commands of streams that were destroyed
    std::atomic<std::size_t> used = 0; ///< bytes
    std::set<int> peers;               ///< whose memory it may reach
    unsigned flags = cudaDeviceScheduleAuto;
};

std::vector<std::unique_ptr<Device>>& devices();
/// The device of this thread. @throws Failure where there is none
Device& current_device();
Device& device_at(int index);
/// Carries out all that was given to a device.
void synchronize(Device& device);

/// The memory of all devices, and page-locked memory of the host.
Memory& memory();
/// @throws Failure when there is not so much
void* allocate(Device& device, std::size_t bytes, MemoryKind kind, unsigned flags = 0);
/// @throws Failure when it is not the beginning of an allocation of one of these kinds
void release(void* address, bool on_host);
/// The bytes at an address that a device may use: the rest of the allocation; 0 where there is none.
std::size_t bytes_behind(const void* address);

// --- streams and events ---

struct Graph;
struct Node;

/// The graph that streams put their commands into instead of carrying them out.
struct Capture {
    std::unique_ptr<Graph> graph;
    Stream* origin = nullptr;
    std::set<Stream*> streams;
    bool failed = false;
};

struct Stream {
    Stream(Device& on, unsigned with_flags, int with_priority);

    Device& device;
    unsigned flags;
    int priority;
    unsigned long long id;
    CommandPtr tail; ///< its latest command
    std::shared_ptr<Capture> capture;
    std::vector<Node*> latest; ///< of the graph: what the next command comes after
    bool blocking() const { return !(flags & cudaStreamNonBlocking); }
};

/// Guards streams, events, graphs, programs and devices. Never held while a command is carried out.
std::recursive_mutex& state();

/// @throws Failure when there is no such stream
Stream& stream_of(cudaStream_t handle);
/// What a new command of a stream comes after.
std::vector<CommandPtr> predecessors(Stream& stream);
void synchronize(Stream& stream);

struct Record {
    double ms = 0; ///< when the stream reached the event
};

struct Event {
    unsigned flags = 0;
    CommandPtr point; ///< nullptr before the first record
    std::shared_ptr<Record> record;
    std::shared_ptr<Capture> capture; ///< it was recorded in a stream that captures
    std::vector<Node*> nodes;
};

// --- programs ---

/// A fat binary that a program registered.
struct Program;

struct Function {
    Program* program;
    std::string name;             ///< in the PTX
    int most_dynamic_shared = -1; ///< cudaFuncAttributeMaxDynamicSharedMemorySize; -1: as much as is left of 48 KiB
    int carveout = -1;
    bool large_clusters = false;
    unsigned cluster[3] = {0, 0, 0}; ///< cudaFuncAttributeRequiredClusterWidth and so on
};

/// @param symbol the address of the host function, or a handle @throws Failure when there is no such kernel
Function& function_of(const void* symbol);
/// The kernel, decoded. @throws Failure, PtxError
const Kernel& kernel_of(const Function& function, Device& device);
int ptx_target(const Function& function, Device& device);
/// The newest PTX up to a capability that the process holds; 0 when it holds none.
int newest_ptx(int most);
/// Whether the program has __managed__ variables. They lie among the others, and the host reads and writes them.
bool has_managed_variables();
struct SymbolView {
    void* address;
    std::size_t size;
};
SymbolView symbol_of(const void* symbol, Device& device);

// --- commands ---

struct KernelAction {
    Function* function = nullptr;
    Dim3 grid, block, cluster;
    std::size_t shared = 0;
    bool cooperative = false;
    std::vector<std::byte> arguments;
};
/// Rows of bytes in slices.
struct CopyAction {
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t width = 0, height = 1, depth = 1;
    std::size_t to_pitch = 0, from_pitch = 0, to_slice = 0, from_slice = 0;
    cudaMemcpyKind kind = cudaMemcpyDefault;
    std::shared_ptr<std::vector<std::byte>> staged; ///< what pageable memory held when the copy was asked for
};
struct FillAction {
    void* to = nullptr;
    std::size_t width = 0, height = 1, depth = 1, pitch = 0, slice = 0; ///< width in elements
    unsigned value = 0, element = 1;
};
struct HostAction {
    cudaHostFn_t function = nullptr;
    void* data = nullptr;
};
struct RecordAction {
    std::shared_ptr<Record> record;
};
struct FreeAction {
    void* address = nullptr;
};
struct EmptyAction {};
struct ChildAction {
    std::shared_ptr<Graph> graph;
};
using Action =
    std::variant<EmptyAction, KernelAction, CopyAction, FillAction, HostAction, RecordAction, FreeAction, ChildAction>;

/// Does it now.
void carry_out(const Action& action, Device& device);
/// Does it when its turn has come.
CommandPtr schedule(Action action, Device& device, std::vector<CommandPtr> after);
/// Puts it into a stream. @return the command; nullptr where the stream captures, and the graph got it
CommandPtr submit(Stream& stream, Action action);
/// @throws Failure when such a launch is impossible
void check_launch(const KernelAction& action, Device& device);
/// The arguments of a kernel, from pointers to each.
std::vector<std::byte> pack(const Kernel& kernel, void** arguments);
/// From the runtime's own description. @throws Failure for arrays, which there are none of
CopyAction copy_of(const cudaMemcpy3DParms& box);
CopyAction flat_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
/// @throws Failure when memory outside allocations would be touched
void check_copy(const CopyAction& copy);
void check_fill(const FillAction& fill);
void note_time(Record& record);
void carry_out_copy(const CopyAction& copy);
void carry_out_fill(const FillAction& fill);
/// Puts a copy into a stream as cudaMemcpyAsync() or cudaMemcpy() does.
void submit_copy(Stream& stream, CopyAction copy, bool waits);

/// Blocks of a kernel that a multiprocessor holds at once.
int blocks_per_multiprocessor(const Function& function, Device& device, unsigned threads, std::size_t dynamic_shared);
/// Registers of a thread. PTX does not tell; see README.md.
int registers_of(const Kernel& kernel);

// --- graphs ---

struct Node {
    Graph* graph = nullptr;
    Action action;
    std::vector<Node*> after;
    bool enabled = true;
    std::vector<void*> argument_pointers; ///< for cudaGraphKernelNodeGetParams()
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes; ///< each behind those that it comes after, unless edges came later

    Node* add(Action action, std::vector<Node*> after);
    std::shared_ptr<Graph> clone(std::map<const Node*, Node*>* counterparts = nullptr) const;
    std::vector<Node*> in_order() const; ///< @throws Failure when there is a cycle
};

} // namespace cuda_emulator

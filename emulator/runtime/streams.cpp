// Streams, events, and what the host waits for. (CUDA C++ Programming Guide: Asynchronous Concurrent Execution)
#include <chrono>

#include "runtime.hpp"

namespace cuda_emulator {

namespace {

std::set<Stream*>& all_streams() {
    static auto* const all = new std::set<Stream*>;
    return *all;
}

std::set<Event*>& all_events() {
    static auto* const all = new std::set<Event*>;
    return *all;
}

Event& event_of(cudaEvent_t handle) {
    const std::lock_guard lock(state());
    auto* const event = reinterpret_cast<Event*>(handle);
    require(all_events().contains(event), cudaErrorInvalidResourceHandle);
    return *event;
}

/// cudaStreamPerThread: a stream of each thread on each device.
Stream& stream_of_thread(Device& device) {
    thread_local std::map<int, Stream*> own;
    Stream*& stream = own[device.index];
    if (!stream) {
        stream = new Stream(device, cudaStreamDefault, 0);
        device.streams.insert(stream);
    }
    return *stream;
}

void create_stream(cudaStream_t* handle, unsigned flags, int priority) {
    require(handle && !(flags & ~static_cast<unsigned>(cudaStreamNonBlocking)));
    Device& device = current_device();
    const std::lock_guard lock(state());
    auto* const stream = new Stream(device, flags, std::clamp(priority, -5, 0));
    device.streams.insert(stream);
    all_streams().insert(stream);
    *handle = reinterpret_cast<cudaStream_t>(stream);
}

void create_event(cudaEvent_t* handle, unsigned flags) {
    require(handle && !(flags & ~7u));
    current_device();
    const std::lock_guard lock(state());
    auto* const event = new Event;
    event->flags = flags;
    all_events().insert(event);
    *handle = reinterpret_cast<cudaEvent_t>(event);
}

/// What an event waits for. @pre it was not recorded in a stream that is being captured
CommandPtr point_of(cudaEvent_t handle) {
    const std::lock_guard lock(state());
    const Event& event = event_of(handle);
    require(!event.capture, cudaErrorCapturedEvent);
    return event.point;
}

void record(cudaEvent_t handle, cudaStream_t stream_handle) {
    Event& event = event_of(handle);
    Stream& stream = stream_of(stream_handle);
    const auto made = std::make_shared<Record>();
    {
        const std::lock_guard lock(state());
        event.capture = stream.capture;
        event.nodes = stream.latest;
        if (stream.capture) return;
    }
    const CommandPtr point = submit(stream, RecordAction{made});
    const std::lock_guard lock(state());
    event.record = made;
    event.point = point;
}

} // namespace

std::recursive_mutex& state() {
    static auto* const mutex = new std::recursive_mutex;
    return *mutex;
}

Stream::Stream(Device& on, unsigned with_flags, int with_priority)
    : device(on), flags(with_flags), priority(with_priority) {
    static std::atomic<unsigned long long> made = 0;
    id = ++made;
}

Stream& stream_of(cudaStream_t handle) {
    const std::lock_guard lock(state());
    if (!handle || handle == cudaStreamLegacy) return *current_device().legacy;
    if (handle == cudaStreamPerThread) return stream_of_thread(current_device());
    auto* const stream = reinterpret_cast<Stream*>(handle);
    require(all_streams().contains(stream), cudaErrorInvalidResourceHandle);
    return *stream;
}

std::vector<CommandPtr> predecessors(Stream& stream) {
    std::vector<CommandPtr> before{stream.tail};
    Device& device = stream.device;
    if (&stream == device.legacy.get()) {
        for (const Stream* const other : device.streams)
            if (other->blocking()) before.push_back(other->tail);
    } else if (stream.blocking()) {
        before.push_back(device.legacy->tail);
    }
    return before;
}

CommandPtr submit(Stream& stream, Action action) {
    CommandPtr added;
    {
        const std::lock_guard lock(state());
        if (stream.capture) {
            stream.latest = {stream.capture->graph->add(std::move(action), stream.latest)};
            return nullptr;
        }
        // A blocking stream that captures cannot be waited for.
        if (&stream == stream.device.legacy.get())
            for (const Stream* const other : stream.device.streams)
                require(!other->capture || !other->blocking(), cudaErrorStreamCaptureImplicit);
        added = schedule(std::move(action), stream.device, predecessors(stream));
        stream.tail = added;
    }
    Schedule::after_add(added);
    return added;
}

void synchronize(Stream& stream) {
    std::vector<CommandPtr> before;
    {
        const std::lock_guard lock(state());
        require(!stream.capture, cudaErrorStreamCaptureUnsupported);
        before = predecessors(stream);
        if (&stream != stream.device.legacy.get()) before.resize(1); // its own
    }
    for (const CommandPtr& command : before) Schedule::finish(command);
}

void note_time(Record& record) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    record.ms = std::chrono::duration<double, std::milli>(now).count();
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return call([&] { create_stream(stream, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return call([&] { create_stream(stream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return call([&] { create_stream(stream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return call([&] {
        const std::lock_guard lock(state());
        Stream& stream = stream_of(handle);
        require(handle && handle != cudaStreamLegacy && handle != cudaStreamPerThread, cudaErrorInvalidResourceHandle);
        stream.device.left.push_back(stream.tail); // it is carried out nevertheless
        stream.device.streams.erase(&stream);
        all_streams().erase(&stream);
        delete &stream;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call([&] { synchronize(stream_of(stream)); });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return call([&] {
        Stream& stream = stream_of(handle);
        CommandPtr tail;
        {
            const std::lock_guard lock(state());
            require(!stream.capture, cudaErrorStreamCaptureUnsupported);
            tail = stream.tail;
        }
        if (Schedule::is_done(tail)) return;
        Schedule::help(); // who asks again and again gets there
        fail(cudaErrorNotReady);
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned) {
    return call([&] {
        Event& event = event_of(handle);
        Stream& stream = stream_of(stream_handle);
        const std::lock_guard lock(state());
        if (event.capture) {
            require(!event.capture->failed, cudaErrorStreamCaptureInvalidated);
            require(!stream.capture || stream.capture == event.capture, cudaErrorStreamCaptureMerge);
            if (!stream.capture) {
                stream.capture = event.capture;
                stream.latest.clear();
                event.capture->streams.insert(&stream);
            }
            for (Node* const node : event.nodes)
                if (!std::ranges::count(stream.latest, node)) stream.latest.push_back(node);
            return;
        }
        require(!stream.capture, cudaErrorStreamCaptureIsolation);
        if (!event.point) return; // never recorded: nothing to wait for
        std::vector<CommandPtr> before = predecessors(stream);
        before.push_back(event.point);
        stream.tail = Schedule::add([] {}, std::move(before));
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return call([&] { *flags = stream_of(stream).flags; });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return call([&] { *priority = stream_of(stream).priority; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return call([&] { *id = stream_of(stream).id; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* index) {
    return call([&] { *index = stream_of(stream).device.index; });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, std::size_t, unsigned) {
    return call([&] { stream_of(stream); });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
    return call([] {});
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return call([&] {
        require(function != nullptr);
        submit(stream_of(stream), HostAction{function, data});
    });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
    struct Given {
        cudaStream_t stream;
        cudaStreamCallback_t function;
        void* data;
    };
    return call([&] {
        const auto forward = [](void* p) {
            const std::unique_ptr<Given> given(static_cast<Given*>(p));
            given->function(given->stream, cudaSuccess, given->data);
        };
        submit(stream_of(stream), HostAction{forward, new Given{stream, function, data}});
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return call([&] { create_event(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&] { create_event(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    return call([&] {
        const std::lock_guard lock(state());
        Event& event = event_of(handle);
        all_events().erase(&event);
        delete &event;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return call([&] { record(event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return call([&] { record(event, stream); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return call([&] { Schedule::finish(point_of(handle)); });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return call([&] {
        const CommandPtr point = point_of(handle);
        if (Schedule::is_done(point)) return;
        Schedule::help();
        fail(cudaErrorNotReady);
    });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
    return call([&] {
        const std::lock_guard lock(state());
        const Event &begin = event_of(begin_handle), &end = event_of(end_handle);
        for (const Event* const event : {&begin, &end}) {
            require(event->record && !(event->flags & cudaEventDisableTiming), cudaErrorInvalidResourceHandle);
            require(Schedule::is_done(event->point), cudaErrorNotReady);
        }
        *ms = static_cast<float>(end.record->ms - begin.record->ms);
    });
}

} // extern "C"

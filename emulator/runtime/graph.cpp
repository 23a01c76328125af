// Graphs: made by hand or by capturing streams, and launched as often as wanted. (CUDA Runtime API: Graph Management)
#include <cstring>

#include "runtime.hpp"

namespace cuda_emulator {

namespace {

/// What cudaGraphInstantiate() makes: a copy of the graph, and which of its nodes stands for which.
struct Executable {
    std::shared_ptr<Graph> graph;
    std::map<const Node*, Node*> counterparts; // by the node of the graph that it was made of
};

Graph& graph_of(cudaGraph_t handle) {
    require(handle != nullptr);
    return *reinterpret_cast<Graph*>(handle);
}
Node& node_of(cudaGraphNode_t handle) {
    require(handle != nullptr);
    return *reinterpret_cast<Node*>(handle);
}
Executable& executable_of(cudaGraphExec_t handle) {
    require(handle != nullptr);
    return *reinterpret_cast<Executable*>(handle);
}
cudaGraphNode_t handle_of(Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

Node& counterpart(cudaGraphExec_t executable, cudaGraphNode_t node) {
    const auto& known = executable_of(executable).counterparts;
    const auto found = known.find(&node_of(node));
    require(found != known.end());
    return *found->second;
}

void add(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count, Action action) {
    std::vector<Node*> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(&node_of(after[i]));
    Node* const node = graph_of(graph).add(std::move(action), std::move(nodes));
    if (made) *made = handle_of(node);
}

KernelAction action_of(const cudaKernelNodeParams& params) {
    Device& device = current_device();
    KernelAction action;
    action.function = &function_of(params.func);
    action.grid = {params.gridDim.x, params.gridDim.y, params.gridDim.z};
    action.block = {params.blockDim.x, params.blockDim.y, params.blockDim.z};
    action.shared = params.sharedMemBytes;
    check_launch(action, device);
    action.arguments = pack(kernel_of(*action.function, device), params.kernelParams);
    return action;
}

FillAction action_of(const cudaMemsetParams& params) {
    require(params.elementSize == 1 || params.elementSize == 2 || params.elementSize == 4);
    FillAction fill;
    fill.to = params.dst;
    fill.element = params.elementSize;
    fill.value = params.value;
    fill.width = params.width;
    fill.height = std::max<std::size_t>(params.height, 1);
    fill.pitch = params.pitch;
    check_fill(fill);
    return fill;
}

CopyAction action_of(const cudaMemcpy3DParms& params) {
    const CopyAction copy = copy_of(params);
    check_copy(copy);
    return copy;
}

CopyAction flat(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const CopyAction copy = flat_copy(to, from, bytes, kind);
    check_copy(copy);
    return copy;
}

template <class T> T& action_in(Node& node) {
    T* const action = std::get_if<T>(&node.action);
    require(action != nullptr);
    return *action;
}

cudaGraphNodeType type_of(const Action& action) {
    if (std::holds_alternative<KernelAction>(action)) return cudaGraphNodeTypeKernel;
    if (std::holds_alternative<CopyAction>(action)) return cudaGraphNodeTypeMemcpy;
    if (std::holds_alternative<FillAction>(action)) return cudaGraphNodeTypeMemset;
    if (std::holds_alternative<HostAction>(action)) return cudaGraphNodeTypeHost;
    if (std::holds_alternative<ChildAction>(action)) return cudaGraphNodeTypeGraph;
    if (std::holds_alternative<RecordAction>(action)) return cudaGraphNodeTypeEventRecord;
    if (std::holds_alternative<FreeAction>(action)) return cudaGraphNodeTypeMemFree;
    return cudaGraphNodeTypeEmpty;
}

/// All that a node comes after, however far behind.
std::set<const Node*> ancestors(const std::vector<Node*>& nodes) {
    std::set<const Node*> seen;
    std::vector<const Node*> open(nodes.begin(), nodes.end());
    while (!open.empty()) {
        const Node* const node = open.back();
        open.pop_back();
        if (!seen.insert(node).second) continue;
        open.insert(open.end(), node->after.begin(), node->after.end());
    }
    return seen;
}

void instantiate(cudaGraphExec_t* made, cudaGraph_t graph) {
    const std::lock_guard lock(state());
    require(made != nullptr);
    graph_of(graph).in_order();
    auto* const executable = new Executable;
    executable->graph = graph_of(graph).clone(&executable->counterparts);
    *made = reinterpret_cast<cudaGraphExec_t>(executable);
}

void launch(Executable& executable, Stream& stream) {
    std::vector<CommandPtr> added;
    {
        const std::lock_guard lock(state());
        if (stream.capture) {
            submit(stream, ChildAction{executable.graph->clone()});
            return;
        }
        const std::vector<CommandPtr> before = predecessors(stream);
        std::map<const Node*, CommandPtr> command_of;
        for (const Node* const node : executable.graph->in_order()) {
            std::vector<CommandPtr> after = before;
            for (const Node* const earlier : node->after) after.push_back(command_of[earlier]);
            command_of[node] = schedule(node->enabled ? node->action : EmptyAction{}, stream.device, std::move(after));
            added.push_back(command_of[node]);
        }
        std::vector<CommandPtr> all = before;
        all.insert(all.end(), added.begin(), added.end());
        stream.tail = Schedule::add([] {}, std::move(all));
    }
    for (const CommandPtr& command : added) Schedule::after_add(command);
}

void end_capture(cudaStream_t handle, cudaGraph_t* graph) {
    const std::lock_guard lock(state());
    Stream& stream = stream_of(handle);
    const std::shared_ptr<Capture> capture = stream.capture;
    require(capture != nullptr, cudaErrorIllegalState);
    require(capture->origin == &stream, cudaErrorStreamCaptureUnmatched);
    const std::set<const Node*> reached = ancestors(stream.latest);
    bool joined = true; // every stream that took part must have come back
    for (Stream* const other : capture->streams) {
        for (Node* const node : other->latest) joined = joined && reached.contains(node);
        other->capture = nullptr;
        other->latest.clear();
    }
    *graph = nullptr;
    require(joined, cudaErrorStreamCaptureUnjoined);
    require(!capture->failed, cudaErrorStreamCaptureInvalidated);
    *graph = reinterpret_cast<cudaGraph_t>(capture->graph.release());
}

void list(const std::vector<Node*>& nodes, cudaGraphNode_t* handles, std::size_t* count) {
    if (handles)
        for (std::size_t i = 0; i < *count; ++i) handles[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
    *count = handles ? std::min(*count, nodes.size()) : nodes.size();
}

} // namespace

Node* Graph::add(Action action, std::vector<Node*> after) {
    nodes.push_back(std::make_unique<Node>());
    Node* const node = nodes.back().get();
    node->graph = this;
    node->action = std::move(action);
    node->after = std::move(after);
    return node;
}

std::shared_ptr<Graph> Graph::clone(std::map<const Node*, Node*>* counterparts) const {
    const auto copy = std::make_shared<Graph>();
    std::map<const Node*, Node*> made;
    for (const auto& node : nodes) {
        Node* const twin = copy->add(node->action, {});
        twin->enabled = node->enabled;
        made[node.get()] = twin;
    }
    for (const auto& node : nodes)
        for (const Node* const earlier : node->after) made.at(node.get())->after.push_back(made.at(earlier));
    if (counterparts) *counterparts = std::move(made);
    return copy;
}

std::vector<Node*> Graph::in_order() const {
    std::vector<Node*> order;
    std::set<const Node*> placed;
    while (order.size() < nodes.size()) {
        const std::size_t before = order.size();
        for (const auto& node : nodes) {
            if (placed.contains(node.get())) continue;
            if (!std::ranges::all_of(node->after, [&](const Node* n) { return placed.contains(n); })) continue;
            placed.insert(node.get());
            order.push_back(node.get());
        }
        require(order.size() > before); // else there is a cycle
    }
    return order;
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    return call([&] {
        const std::lock_guard lock(state());
        Stream& stream = stream_of(handle);
        require(&stream != stream.device.legacy.get(), cudaErrorStreamCaptureUnsupported);
        require(!stream.capture, cudaErrorIllegalState);
        stream.capture = std::make_shared<Capture>();
        stream.capture->graph = std::make_unique<Graph>();
        stream.capture->origin = &stream;
        stream.capture->streams = {&stream};
        stream.latest.clear();
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return call([&] { end_capture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return call([&] {
        const std::lock_guard lock(state());
        *status = stream_of(stream).capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
    return call([] {});
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    return call([&] { *graph = reinterpret_cast<cudaGraph_t>(new Graph); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call([&] { delete &graph_of(graph); });
}

cudaError_t cudaGraphClone(cudaGraph_t* made, cudaGraph_t graph) {
    return call([&] {
        std::map<const Node*, Node*> counterparts;
        const std::shared_ptr<Graph> copy = graph_of(graph).clone(&counterparts);
        auto* const own = new Graph(std::move(*copy));
        for (const auto& node : own->nodes) node->graph = own;
        *made = reinterpret_cast<cudaGraph_t>(own);
    });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   std::size_t count, const cudaKernelNodeParams* params) {
    return call([&] { add(made, graph, after, count, action_of(*params)); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   std::size_t count, const cudaMemcpy3DParms* params) {
    return call([&] { add(made, graph, after, count, action_of(*params)); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     std::size_t count, void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
    return call([&] { add(made, graph, after, count, flat(to, from, bytes, kind)); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   std::size_t count, const cudaMemsetParams* params) {
    return call([&] { add(made, graph, after, count, action_of(*params)); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 std::size_t count, const cudaHostNodeParams* params) {
    return call([&] { add(made, graph, after, count, HostAction{params->fn, params->userData}); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  std::size_t count) {
    return call([&] { add(made, graph, after, count, EmptyAction{}); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       std::size_t count, cudaGraph_t child) {
    return call([&] { add(made, graph, after, count, ChildAction{graph_of(child).clone()}); });
}

#if CUDART_VERSION < 13000
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     std::size_t count) {
#else
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, std::size_t count) {
#endif
    return call([&] {
        for (std::size_t i = 0; i < count; ++i) node_of(to[i]).after.push_back(&node_of(from[i]));
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* handles, std::size_t* count) {
    return call([&] {
        std::vector<Node*> nodes;
        for (const auto& node : graph_of(graph).nodes) nodes.push_back(node.get());
        list(nodes, handles, count);
    });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* handles, std::size_t* count) {
    return call([&] {
        std::vector<Node*> nodes;
        for (const auto& node : graph_of(graph).nodes)
            if (node->after.empty()) nodes.push_back(node.get());
        list(nodes, handles, count);
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return call([&] { *type = type_of(node_of(node).action); });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* params) {
    return call([&] {
        Node& node = node_of(handle);
        KernelAction& action = action_in<KernelAction>(node);
        const Kernel& kernel = kernel_of(*action.function, current_device());
        node.argument_pointers.clear();
        for (const Parameter& parameter : kernel.parameters)
            node.argument_pointers.push_back(action.arguments.data() + parameter.offset);
        *params = {};
        params->func = action.function;
        params->gridDim = dim3(action.grid.x, action.grid.y, action.grid.z);
        params->blockDim = dim3(action.block.x, action.block.y, action.block.z);
        params->sharedMemBytes = static_cast<unsigned>(action.shared);
        params->kernelParams = node.argument_pointers.data();
    });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
    return call([&] { action_in<KernelAction>(node_of(node)) = action_of(*params); });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* params) {
    return call([&] {
        const FillAction& fill = action_in<FillAction>(node_of(node));
        *params = {};
        params->dst = fill.to;
        params->pitch = fill.pitch;
        params->value = fill.value;
        params->elementSize = fill.element;
        params->width = fill.width;
        params->height = fill.height;
    });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
    return call([&] { action_in<FillAction>(node_of(node)) = action_of(*params); });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
    return call([&] { action_in<CopyAction>(node_of(node)) = action_of(*params); });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, std::size_t bytes,
                                           cudaMemcpyKind kind) {
    return call([&] { action_in<CopyAction>(node_of(node)) = flat(to, from, bytes, kind); });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params) {
    return call([&] { action_in<HostAction>(node_of(node)) = {params->fn, params->userData}; });
}

#if CUDART_VERSION < 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, cudaGraphNode_t*, char*, std::size_t) {
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
#endif
    return call([&] { instantiate(made, graph); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
    return call([&] { instantiate(made, graph); });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* made, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
    return call([&] {
        instantiate(made, graph);
        params->result_out = cudaGraphInstantiateSuccess;
        params->errNode_out = nullptr;
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return call([&] { executable_of(executable), stream_of(stream); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return call([&] { launch(executable_of(executable), stream_of(stream)); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return call([&] { delete &executable_of(executable); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
    return call([&] { action_in<KernelAction>(counterpart(executable, node)) = action_of(*params); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
    return call([&] { action_in<FillAction>(counterpart(executable, node)) = action_of(*params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
    return call([&] { action_in<CopyAction>(counterpart(executable, node)) = action_of(*params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { action_in<CopyAction>(counterpart(executable, node)) = flat(to, from, bytes, kind); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
    return call([&] { action_in<HostAction>(counterpart(executable, node)) = {params->fn, params->userData}; });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned enabled) {
    return call([&] { counterpart(executable, node).enabled = enabled != 0; });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned* enabled) {
    return call([&] { *enabled = counterpart(executable, node).enabled; });
}

/// A graph of the same shape takes the place of the old one.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
    return call([&] {
        const std::lock_guard lock(state());
        Executable& executable = executable_of(handle);
        std::map<const Node*, Node*> counterparts;
        const std::shared_ptr<Graph> next = graph_of(graph).clone(&counterparts);
        bool same = next->nodes.size() == executable.graph->nodes.size();
        for (std::size_t i = 0; same && i < next->nodes.size(); ++i) {
            const Node &old = *executable.graph->nodes[i], &now = *next->nodes[i];
            same = type_of(old.action) == type_of(now.action) && old.after.size() == now.after.size();
        }
        if (info) {
            *info = {};
            info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
        }
        require(same, cudaErrorGraphExecUpdateFailure);
        executable.graph = next;
        executable.counterparts = std::move(counterparts);
    });
}

} // extern "C"

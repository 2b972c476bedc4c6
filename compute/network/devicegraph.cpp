#include "compute/network/devicegraph.h"

#if COUNTERPOINT_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace counterpoint::network {

DeviceGraph::DeviceGraph() = default;
DeviceGraph::~DeviceGraph() = default;

bool DeviceGraph::recorded() const { return m_recording != nullptr; }
void DeviceGraph::reset() { m_recording.reset(); }

#if COUNTERPOINT_CUDA

struct DeviceGraph::Recording {
    at::cuda::CUDAGraph graph;
};

namespace {

/// Other threads may ask the device for memory meanwhile; older libtorch cannot say that it is no part of this.
template <class Graph>
void begin(Graph& graph) {
    if constexpr (requires { graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal); })
        graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    else
        graph.capture_begin();
}

}  // namespace

bool DeviceGraph::record(at::Device device, const std::function<void()>& work) {
    reset();
    if (!device.is_cuda()) return false;
    c10::cuda::getCurrentCUDAStream(device.index()).synchronize();  // what the work reads has been written
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(false, device.index());
    const c10::cuda::CUDAStreamGuard onStream(stream);  // the default stream cannot be recorded
    work();
    stream.synchronize();
    auto recording = std::make_unique<Recording>();
    try {
        begin(recording->graph);
        work();
        recording->graph.capture_end();
    } catch (const std::exception&) {  // an operation that this libtorch cannot record: end it, and do without
        try {
            recording->graph.capture_end();
        } catch (const std::exception&) {
        }
        return false;
    }
    m_recording = std::move(recording);
    return true;
}

void DeviceGraph::play() { m_recording->graph.replay(); }

#else

struct DeviceGraph::Recording {};
bool DeviceGraph::record(at::Device, const std::function<void()>&) { return false; }
void DeviceGraph::play() {}

#endif

}  // namespace counterpoint::network

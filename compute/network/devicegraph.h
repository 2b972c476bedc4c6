#pragma once
// DeviceGraph: operations of a device recorded once and played again with the same memory, so that a step of many small
// kernels costs one launch (CUDA graphs). A libtorch without CUDA and the processor record nothing. Thread: one owner.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace counterpoint::network {

class DeviceGraph {
  public:
    DeviceGraph();
    ~DeviceGraph();
    DeviceGraph(const DeviceGraph&) = delete;
    DeviceGraph& operator=(const DeviceGraph&) = delete;

    /// Runs `work` once for what libraries set up at their first call, then records it. `work` must not wait for the
    /// device. False: it cannot be recorded here. Tensors that `work` stores outside lie in the graph's memory.
    bool record(at::Device device, const std::function<void()>& work);
    bool recorded() const;
    /// On the current stream, without waiting. Only where something is recorded.
    void play();
    void reset();

  private:
    struct Recording;
    std::unique_ptr<Recording> m_recording;
};

}  // namespace counterpoint::network

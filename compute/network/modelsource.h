#pragma once
// The Source of a model directory, a GGUF or a TorchScript file: counts positions, checks what comes in, and lets an
// Engine (one decoding state) compute. cache = false recomputes the whole sequence at every call, through the engine's
// prefill. Errors: Error naming the model, and the token, position or limit. Thread: one owner; forks are independent.

#include <functional>
#include <memory>

#include "compute/network/checkpoint.h"
#include "compute/network/engine.h"
#include "compute/sources/source.h"

namespace counterpoint::network {

/// What every decoding state of an open model shares.
struct OpenedModel {
    compute::SourceInfo info;
    std::shared_ptr<const compute::Tokenizer> tokenizer;
    std::shared_ptr<const Weights> weights;  ///< null: a script
    bool cache = true;
    std::function<std::unique_ptr<Engine>()> newEngine;
};

/// Reads the configuration and the weights and fills in info; the engine is the caller's. Cancelled: nullptr.
std::unique_ptr<OpenedModel> openWeights(const std::filesystem::path& path,
                                         std::shared_ptr<const compute::Tokenizer> tokenizer,
                                         const compute::OpenOptions& options, const std::stop_token& stop);

std::unique_ptr<compute::Source> makeSource(std::shared_ptr<const OpenedModel> model);

/// The model on this processor: openWeights with a Decoder. Cancelled: nullptr.
std::unique_ptr<compute::Source> openOnCpu(const std::filesystem::path& path,
                                           std::shared_ptr<const compute::Tokenizer> tokenizer,
                                           const compute::OpenOptions& options, const std::stop_token& stop);

/// Threads for `asked` (0: all cores but one, at least one).
int threadCount(int asked);

}  // namespace counterpoint::network

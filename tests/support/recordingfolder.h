#pragma once
// A folder with one recording of a five-token text, and its sources.

#include "compute/sources/recording.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyrecording.h"

namespace counterpoint::tests {

const std::vector<std::int64_t> kTokens{1, 5, 3, 7, 2};
constexpr std::int64_t kWidth = 9;

class RecordingFolder : protected Scratch {
  protected:
    void begin() {
        failOnAnyWarning();
        renew();
    }
    std::filesystem::path file() const { return folder() / "r.safetensors"; }
    ToyRecording written() const {
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        recording.write(file());
        return recording;
    }
    std::unique_ptr<compute::Source> source(const std::string& name = {}, const std::string& tokenizer = {}) const {
        compute::OpenOptions options;
        options.sourceInFile = name;
        options.tokenizer = tokenizer;
        return compute::openSource(file(), options, {});
    }
    static std::vector<compute::TokenId> tokens() { return {kTokens.begin(), kTokens.end()}; }
};

}  // namespace counterpoint::tests

#pragma once
// A source that only has a tokenizer and a width: for what looks at those alone.

#include "compute/sources/source.h"

namespace counterpoint::tests {

class TokenizerSource final : public compute::Source {
  public:
    TokenizerSource(std::shared_ptr<const compute::Tokenizer> tokenizer, std::int64_t logitWidth)
        : m_tokenizer(std::move(tokenizer)) {
        m_info.logitWidth = logitWidth;
    }
    const compute::SourceInfo& info() const override { return m_info; }
    std::shared_ptr<const compute::Tokenizer> tokenizer() const override { return m_tokenizer; }
    compute::Outcome forward(std::span<const compute::TokenId>, std::int64_t, std::span<float>,
                             std::stop_token) override {
        return compute::Outcome::Cancelled;
    }
    compute::Position length() const override { return 0; }
    void rewind(compute::Position) override {}
    std::unique_ptr<Source> fork() const override {
        return std::make_unique<TokenizerSource>(m_tokenizer, m_info.logitWidth);
    }

  private:
    std::shared_ptr<const compute::Tokenizer> m_tokenizer;
    compute::SourceInfo m_info;
};

}  // namespace counterpoint::tests

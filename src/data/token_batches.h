#pragma once

#include "base/philox.h"
#include "data/batch_maker.h"

namespace trainyard::data {

struct TokenOptions {
  std::int64_t length = 50;  // steps of a sequence; it has one token more, which the last step is to predict
  std::int64_t vocabulary = 1024;
};

// Batches of made up sequences, without end: i32 (length + 1, N), token by token, and how many steps of each
// count.
class TokenBatches final : public BatchMaker {
 public:
  TokenBatches(const TokenOptions& tokens, const BatchStreamOptions& options);

  Shape input_shape() const override { return {tokens_.length + 1, options().batch}; }
  DType input_type() const override { return DType::i32; }
  std::int64_t steps() const override;

 private:
  std::int64_t fill(std::int64_t step, std::byte* inputs, std::int32_t* lengths,
                    Scratch& scratch) const override;

  const TokenOptions tokens_;
  const Philox random_;
};

}  // namespace trainyard::data

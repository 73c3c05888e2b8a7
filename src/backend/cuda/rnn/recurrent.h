#pragma once

#include "backend/cuda/dense/matmul.h"

namespace trainyard::backend::cuda {

// A RecurrentProduct is a matrix product that runs on other memory each time: cuBLASLt's fastest, or simple
// loops where it has none or the memory does not lie as it wants.
class RecurrentProduct {
 public:
  // `aligned`: whether a, b and dst always lie at multiples of 64 bytes.
  RecurrentProduct(Context& context, const MatmulProblem& problem, bool aligned);

  std::size_t workspace_bytes() const { return matmul_ == nullptr ? 0 : matmul_->workspace_bytes(); }
  std::string choice() const { return matmul_ == nullptr ? "simple loops" : matmul_->tuned().to_string(); }
  void run(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* workspace);

 private:
  Context& context_;
  MatmulProblem problem_;
  std::unique_ptr<Matmul> matmul_;  // null: simple loops
};

}  // namespace trainyard::backend::cuda

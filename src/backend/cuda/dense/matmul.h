#pragma once

#include <cublasLt.h>

#include "backend/backend.h"
#include "backend/cuda/runtime/context.h"
#include "backend/cuda/runtime/tuning.h"

namespace trainyard::backend::cuda {

// Epilogue is the work of a product besides multiplying: to each row of dst it adds `bias` (n), then applies
// ReLU; or it also makes `bias` (m), the sums over k of a.
enum class Epilogue : std::uint8_t { none, relu, bias, relu_bias, sum_of_a };

// dst (m, n) = a (m, k) * b (k, n), all row by row. A transposed operand is stored as (k, m) or (n, k). The
// matrices of a batch lie one behind the other.
struct MatmulProblem {
  std::int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  DType dtype = DType::f32;              // of a, b and dst
  Precision precision = Precision::f32;  // tf32: f32 may be rounded before it is multiplied
  Epilogue epilogue = Epilogue::none;
  DType bias_type = DType::f32;
  std::int64_t batch = 1;  // without an epilogue where it is more
  // Numbers from one row, as stored, to the next where rows are padded; 0: they are not. Not for a batch.
  std::int64_t a_stride = 0, dst_stride = 0;

  // From the first to the last, padding included.
  std::int64_t a_elements() const;
  std::int64_t dst_elements() const;
  std::string to_string() const;
};

// Holds the fastest algorithm of cuBLASLt for a problem.
struct PlannedMatmul {
  MatmulProblem problem;
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes = 0;
  Tuned tuned;
};

// Matmuls holds the products planned so far; nodes of one shape share a plan.
class Matmuls {
 public:
  // Null when cuBLASLt has no algorithm for it.
  std::shared_ptr<const PlannedMatmul> find(Context& context, const MatmulProblem& problem);

 private:
  std::map<std::string, std::shared_ptr<const PlannedMatmul>> planned_;
};

// Owns cuBLASLt's description of a problem.
class MatmulDescription {
 public:
  explicit MatmulDescription(const MatmulProblem& problem);
  ~MatmulDescription();
  MatmulDescription(const MatmulDescription&) = delete;
  MatmulDescription& operator=(const MatmulDescription&) = delete;

  void set_bias(const void* bias);

  cublasLtMatmulDesc_t operation = nullptr;
  // In cuBLASLt's order: by columns our rows are transposed, so its first operand is our second.
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, dst = nullptr;
};

// A Matmul is a planned product that is bound to memory.
class Matmul {
 public:
  // REQUIRES: `planned` is not null.
  Matmul(Context& context, std::shared_ptr<const PlannedMatmul> planned);

  const Tuned& tuned() const { return planned_->tuned; }
  std::size_t workspace_bytes() const;
  void bind(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* bias, std::byte* workspace);
  void run() const;

 private:
  Context& context_;
  std::shared_ptr<const PlannedMatmul> planned_;
  MatmulDescription description_;
  const std::byte *a_ = nullptr, *b_ = nullptr;
  std::byte *dst_ = nullptr, *workspace_ = nullptr;
};

// Does the work of Backend::gemm_peaks; it knows "f32", "tf32" and "bf16". cuda/peaks.cpp defines it.
std::vector<GemmPeak> measure_gemm_peaks(Context& context, const std::vector<std::string>& precisions,
                                         double seconds);

}  // namespace trainyard::backend::cuda

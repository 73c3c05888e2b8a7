#include "backend/cuda/recurrent_product.h"

#include <cuda_bf16.h>

#include "backend/cuda/device/dense_plain.h"
#include "backend/cuda/launch_kernel.h"

namespace trainyard::backend::cuda {

RecurrentProduct::RecurrentProduct(Context& context, const MatmulProblem& problem, bool aligned)
    : context_(context), problem_(problem) {
  if (!aligned) return;
  if (auto planned = context.matmuls().find(context, problem))
    matmul_ = std::make_unique<Matmul>(context, std::move(planned));
}

void RecurrentProduct::run(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* workspace) {
  if (matmul_ != nullptr) {
    matmul_->bind(a, b, dst, nullptr, workspace);
    return matmul_->run();
  }
  const auto& [m, n, k, a_transposed, b_transposed, dtype, precision, epilogue, bias_type] = problem_;
  const device::PlainProduct loops{
      m, n, k, a_transposed ? 1 : k, a_transposed ? m : 1, b_transposed ? 1 : n, b_transposed ? k : 1};
  with_float_type(dtype, [&]<typename T>() {
    device::plain_product<T>(context_.stream(), loops, reinterpret_cast<const T*>(a),
                             reinterpret_cast<const T*>(b), reinterpret_cast<T*>(dst));
  });
}

}  // namespace trainyard::backend::cuda

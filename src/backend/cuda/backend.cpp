#include "backend/backend.h"

#include "backend/cuda/context.h"
#include "backend/cuda/input_batch.h"
#include "backend/cuda/list.h"
#include "backend/cuda/matmul.h"
#include "backend/cuda/peaks.h"
#include "backend/cuda/reorder.h"

namespace trainyard::backend {
namespace cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(int ordinal, Precision precision)
      : context_(std::make_shared<Context>(ordinal, precision)), candidates_(all_candidates()) {}

  std::string name() const override { return "cuda"; }
  std::shared_ptr<Device> device() const override { return context_; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  bool measures() const override { return true; }
  std::vector<GemmPeak> gemm_peaks(const std::vector<std::string>& precisions,
                                   double seconds) const override {
    return measure_gemm_peaks(*context_, precisions, seconds);
  }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                       const Layout& to) const override {
    return cuda::make_reorder(*context_, type, from, to);
  }
  std::unique_ptr<Kernel> make_input_batch(const InputBatch& batch) const override {
    return cuda::make_input_batch(*context_, batch);
  }
  std::vector<DevicePeak> device_peaks(double seconds) const override {
    return measure_device_peaks(context_, seconds);
  }

 private:
  std::shared_ptr<Context> context_;
  std::vector<Candidate> candidates_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(int ordinal, Precision precision) {
  return std::make_unique<cuda::CudaBackend>(ordinal, precision);
}

}  // namespace trainyard::backend

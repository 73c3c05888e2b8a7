#include <iterator>
#include <sstream>

#include "backend/backend.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/elementwise/shape.h"
#include "backend/cuda/input/input.h"
#include "backend/cuda/peaks.h"
#include "backend/cuda/runtime/context.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/tuning.h"
#include "base/text.h"

namespace trainyard::backend::cuda {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto candidates_of : {cudnn_attention_candidates,
                                   attention_candidates,
                                   batch_matmul_candidates,
                                   cached_attention_candidates,
                                   conv2d_few_channels_candidates,
                                   conv2d_candidates,
                                   conv2d_padded_candidates,
                                   conv2d_small_images_candidates,
                                   dense_padded_candidates,
                                   dense_candidates,
                                   dense_whole_rows_candidates,
                                   dense_chain_candidates,
                                   detection_candidates,
                                   elementwise_candidates,
                                   smooth_unit_candidates,
                                   shape_candidates,
                                   broadcast_candidates,
                                   embedding_candidates,
                                   experts_candidates,
                                   grouped_dense_candidates,
                                   layer_norm_candidates,
                                   loss_candidates,
                                   norm_candidates,
                                   pool_candidates,
                                   position_candidates,
                                   recurrent_candidates,
                                   update_candidates})
    for (const Candidate& candidate : candidates_of()) all.push_back(candidate);
  return all;
}

}  // namespace trainyard::backend::cuda

namespace trainyard::backend {

namespace cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  CudaBackend(int ordinal, Precision precision, Effort tuning)
      : context_(std::make_shared<Context>(ordinal, precision, tuning)), candidates_(all_candidates()) {}

  std::string name() const override { return "cuda"; }
  std::shared_ptr<Device> device() const override { return context_; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  bool measures() const override { return true; }
  std::vector<double> kept_seconds(const std::string& what) const override {
    const Tuned* known = context_->tuning().find(key_of(what));
    return known == nullptr ? std::vector<double>{} : parse_seconds(known->choice);
  }
  void keep_seconds(const std::string& what, const std::vector<double>& seconds) const override {
    const double best = *std::min_element(seconds.begin(), seconds.end());
    context_->tuning().put(key_of(what), {"candidates", joined(seconds, " "), best, {}});
  }
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
  std::unique_ptr<Kernel> make_input_ring(const InputRing& ring) const override {
    return cuda::make_input_ring(*context_, ring);
  }
  std::unique_ptr<Kernel> make_sample_gather(const SampleGather& gather,
                                             const InputRing& ring) const override {
    return cuda::make_sample_gather(*context_, gather, ring);
  }
  std::vector<DevicePeak> device_peaks(double seconds) const override {
    return measure_device_peaks(context_, seconds);
  }

 private:
  // The key includes the identity of the program, because our own kernels change with it.
  std::string key_of(const std::string& what) const {
    static const std::string program = program_identity();
    return fmt::format("candidates {} program {} {}", backend::name(context_->precision()), program, what);
  }

  static std::vector<double> parse_seconds(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<double>(stream), {}};
  }

  std::shared_ptr<Context> context_;
  std::vector<Candidate> candidates_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(int ordinal, Precision precision, Effort tuning) {
  return std::make_unique<cuda::CudaBackend>(ordinal, precision, tuning);
}

}  // namespace trainyard::backend

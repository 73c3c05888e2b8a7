#include "backend/backend.h"

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/list.h"
#include "backend/reference/list.h"

namespace trainyard::backend {
namespace onednn {
namespace {

std::unique_ptr<Kernel> make_dnnl_reorder(const graph::TensorType& type, const Layout& from,
                                          const Layout& to) {
  using Place = DnnlKernel::Place;
  const dnnl::memory::desc src = to_desc(type.shape, from), dst = to_desc(type.shape, to);
  const dnnl::reorder::primitive_desc pd(cpu_engine(), src, cpu_engine(), dst, planned_attr());
  KernelIo io{{from}, {to}, pd.scratchpad_desc().get_size(), {}};
  std::vector<DnnlKernel::Argument> arguments{{DNNL_ARG_FROM, Place::input, 0, src},
                                              {DNNL_ARG_TO, Place::output, 0, dst}};
  if (io.workspace_bytes > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, Place::workspace, 0, pd.scratchpad_desc()});
  return std::make_unique<DnnlKernel>(std::move(io), dnnl::reorder(pd), std::move(arguments));
}

class OnednnBackend final : public Backend {
 public:
  OnednnBackend() : candidates_(all_candidates()) {
    // What has no fast kernel yet runs as the reference does.
    const auto& plain = reference::candidates();
    candidates_.insert(candidates_.end(), plain.begin(), plain.end());
  }
  std::string name() const override { return "onednn"; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                       const Layout& to) const override {
    if (type.dtype != DType::f32 || type.shape.rank() == 0) return reference::make_reorder(type, from, to);
    return make_dnnl_reorder(type, from, to);
  }
  std::vector<GemmPeak> gemm_peaks(const std::vector<std::string>& precisions,
                                   double seconds) const override {
    return measure_gemm_peaks(precisions, seconds);
  }

 private:
  std::vector<Candidate> candidates_;
};

}  // namespace
}  // namespace onednn

std::unique_ptr<Backend> make_onednn_backend() {
  onednn::cpu_engine();  // finds out first what instructions can be used
  return std::make_unique<onednn::OnednnBackend>();
}

}  // namespace trainyard::backend

#include "backend/onednn/backend.h"

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/reference/backend.h"
#include "base/clock.h"

namespace trainyard::backend::onednn {

std::vector<Candidate> all_candidates() {
  std::vector<Candidate> all;
  for (const auto candidates_of : {conv2d_few_channels_candidates,
                                   conv2d_candidates,
                                   dense_candidates,
                                   pool_candidates,
                                   resize_candidates,
                                   matmul_candidates,
                                   batch_norm_candidates,
                                   norm_candidates,
                                   layer_norm_candidates,
                                   elementwise_candidates,
                                   smooth_unit_candidates,
                                   pointwise_candidates,
                                   shape_candidates,
                                   broadcast_candidates,
                                   loss_candidates,
                                   detection_candidates,
                                   recurrent_candidates,
                                   attention_candidates,
                                   attention_grad_candidates,
                                   cached_attention_candidates,
                                   position_candidates,
                                   experts_candidates,
                                   grouped_dense_candidates,
                                   gated_graph_conv_candidates,
                                   set2set_candidates,
                                   update_candidates})
    for (const Candidate& candidate : candidates_of()) all.push_back(candidate);
  return all;
}

}  // namespace trainyard::backend::onednn

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
    // The reference kernels come last and run the ops that have no fast kernel yet.
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

std::unique_ptr<Backend> make_backend_of_level() {
  cpu_engine();  // finds out first what instructions can be used
  return std::make_unique<OnednnBackend>();
}

}  // namespace onednn

}  // namespace trainyard::backend

namespace trainyard::backend::onednn {

// measure_gemm_peaks() finds the measured peak of this machine: the best matrix product that oneDNN runs, per
// type.

namespace {

using dnnl::memory;

double matmul_rate(memory::data_type a, memory::data_type b, memory::data_type c, std::int64_t size,
                   double seconds) {
  // Weights in the layout the kernel prefers, as a plan would keep them.
  const memory::desc src({size, size}, a, memory::format_tag::ab),
      dst({size, size}, c, memory::format_tag::ab);
  const memory::desc any({size, size}, b, memory::format_tag::any);
  try {
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(src, any, dst), cpu_engine());
    if (std::string(pd.impl_info_str()).find("ref") != std::string::npos) return 0;
    memory x(pd.src_desc(), cpu_engine()), w(pd.weights_desc(), cpu_engine()), y(pd.dst_desc(), cpu_engine());
    std::fill_n(static_cast<char*>(x.get_data_handle()), pd.src_desc().get_size(), 0);
    std::fill_n(static_cast<char*>(w.get_data_handle()), pd.weights_desc().get_size(), 0);
    const dnnl::matmul primitive(pd);
    dnnl::stream stream(cpu_engine());
    double best = 0;
    const double end = now_seconds() + seconds;
    for (int i = 0; i < 2 || now_seconds() < end; ++i) {
      const double start = now_seconds();
      primitive.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
      const auto n = static_cast<double>(size);
      best = std::max(best, 2 * n * n * n / (now_seconds() - start));
    }
    return best;
  } catch (const dnnl::error&) {
    return 0;  // this machine has no kernel for the type
  }
}

}  // namespace

std::vector<GemmPeak> measure_gemm_peaks(const std::vector<std::string>& precisions, double seconds) {
  struct Kind {
    const char* precision;
    memory::data_type a, b, c;
  };
  using Type = memory::data_type;
  const std::array<Kind, 3> kinds{{{"f32", Type::f32, Type::f32, Type::f32},
                                   {"bf16", Type::bf16, Type::bf16, Type::f32},
                                   {"int8", Type::u8, Type::s8, Type::s32}}};
  std::vector<GemmPeak> peaks;
  for (const Kind& kind : kinds) {
    if (std::find(precisions.begin(), precisions.end(), kind.precision) == precisions.end()) continue;
    GemmPeak peak{kind.precision, 0, 0};
    for (const std::int64_t size : {1024, 1536, 2048}) {
      const double rate = matmul_rate(kind.a, kind.b, kind.c, size, seconds / 3);
      if (rate > peak.flops_per_second) peak = {kind.precision, size, rate};
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace trainyard::backend::onednn

#include "backend/reference/backend.h"

#include "backend/backend.h"

namespace trainyard::backend::reference {

namespace {

class Reorder final : public Kernel {
 public:
  Reorder(const graph::TensorType& type, const Layout& from, const Layout& to)
      : Kernel({.inputs = {from}, .outputs = {to}, .workspace_bytes = 0, .in_place = {}}),
        elements_(type.shape.elements()),
        element_bytes_(size_of(type.dtype)),
        padded_bytes_(static_cast<std::size_t>(to.elements(type.shape)) * element_bytes_),
        from_(from, type.shape),
        to_(to, type.shape) {}

  void bind(const Binding& binding) override {
    src_ = binding.inputs[0];
    dst_ = binding.outputs[0];
  }

  void run(const StepContext&) override {
    std::memset(dst_, 0, padded_bytes_);
    for (std::int64_t i = 0; i < elements_; ++i)
      std::memcpy(dst_ + static_cast<std::size_t>(to_.offset_of(i)) * element_bytes_,
                  src_ + static_cast<std::size_t>(from_.offset_of(i)) * element_bytes_, element_bytes_);
  }

 private:
  std::int64_t elements_;
  std::size_t element_bytes_, padded_bytes_;
  LayoutIndex from_, to_;
  const std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
};

}  // namespace

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = [] {
    std::vector<Candidate> joined;
    for (const auto candidates_of : {attention_candidates,     cached_attention_candidates,
                                     conv2d_candidates,        dense_candidates,
                                     detection_candidates,     elementwise_candidates,
                                     experts_candidates,       gated_graph_conv_candidates,
                                     grouped_dense_candidates, layer_norm_candidates,
                                     loss_candidates,          matmul_candidates,
                                     norm_candidates,          pool_candidates,
                                     position_candidates,      recurrent_candidates,
                                     set2set_candidates,       shape_candidates,
                                     smooth_unit_candidates,   update_candidates,
                                     broadcast_candidates,     pointwise_candidates,
                                     resize_candidates})
      for (const Candidate& candidate : candidates_of()) joined.push_back(candidate);
    return joined;
  }();
  return all;
}

std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from, const Layout& to) {
  return std::make_unique<Reorder>(type, from, to);
}

}  // namespace trainyard::backend::reference

namespace trainyard::backend {

namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  const std::vector<Candidate>& candidates() const override { return reference::candidates(); }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                       const Layout& to) const override {
    return reference::make_reorder(type, from, to);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace trainyard::backend

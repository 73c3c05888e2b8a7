#include "backend/reference/backend.h"

#include <cstring>

#include "backend/backend.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/graph_layers.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/recurrent.h"
#include "ops/shape.h"
#include "ops/update.h"

namespace trainyard::backend::reference {

namespace {

Decision always(const KernelRequest&) { return Decision::yes(); }

// `in_place`: the inputs in whose memory output 0 may lie.
template <KernelFunction function, int... in_place>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {std::pair<int, int>{0, in_place}...};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), function);
}

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
  static const std::vector<Candidate> rows{
      {&ops::conv2d_op, "reference:conv2d", always, make<conv2d>},
      {&ops::conv2d_d_src_op, "reference:conv2d_d_src", always, make<conv2d_d_src>},
      {&ops::conv2d_d_weight_op, "reference:conv2d_d_weight", always, make<conv2d_d_weight>},
      {&ops::conv2d_max_pool_op, "reference:conv2d_max_pool", always, make<conv2d_max_pool>},
      {&ops::conv2d_max_pool_d_weight_op, "reference:conv2d_max_pool_d_weight", always,
       make<conv2d_max_pool_d_weight>},
      {&ops::dense_op, "reference:dense", always, make<dense>},
      {&ops::dense_d_src_op, "reference:dense_d_src", always, make<dense_d_src>},
      {&ops::dense_d_weight_op, "reference:dense_d_weight", always, make<dense_d_weight>},
      {&ops::max_pool_op, "reference:max_pool", always, make<max_pool>},
      {&ops::max_pool_d_src_op, "reference:max_pool_d_src", always, make<max_pool_d_src>},
      {&ops::average_pool_op, "reference:average_pool", always, make<average_pool>},
      {&ops::average_pool_d_src_op, "reference:average_pool_d_src", always, make<average_pool_d_src>},
      {&ops::batch_norm_op, "reference:batch_norm", always, make<batch_norm>},
      {&ops::batch_norm_grad_op, "reference:batch_norm_grad", always, make<batch_norm_grad>},
      {&ops::local_response_norm_op, "reference:local_response_norm", always, make<local_response_norm>},
      {&ops::local_response_norm_grad_op, "reference:local_response_norm_grad", always,
       make<local_response_norm_grad>},
      {&ops::activation_op, "reference:activation", always, make<activation, 0>},
      {&ops::activation_grad_op, "reference:activation_grad", always, make<activation_grad, 0>},
      {&ops::add_op, "reference:add", always, make<add, 0>},
      {&ops::multiply_op, "reference:multiply", always, make<multiply, 0, 1>},
      {&ops::scale_op, "reference:scale", always, make<scale, 0>},
      {&ops::cast_op, "reference:cast", always, make<cast>},
      {&ops::classify_op, "reference:classify", always, make<classify>},
      {&ops::concat_op, "reference:concat", always, make<concat>},
      {&ops::slice_op, "reference:slice", always, make<slice>},
      {&ops::pad_op, "reference:pad", always, make<pad>},
      {&ops::reshape_op, "reference:reshape", always, make<reshape, 0>},
      {&ops::dropout_op, "reference:dropout", always, make<dropout, 0>},
      {&ops::softmax_op, "reference:softmax", always, make<softmax>},
      {&ops::softmax_grad_op, "reference:softmax_grad", always, make<softmax_grad>},
      {&ops::softmax_cross_entropy_op, "reference:softmax_cross_entropy", always,
       make<softmax_cross_entropy>},
      {&ops::softmax_cross_entropy_grad_op, "reference:softmax_cross_entropy_grad", always,
       make<softmax_cross_entropy_grad>},
      {&ops::embedding_op, "reference:embedding", always, make<embedding>},
      {&ops::embedding_d_table_op, "reference:embedding_d_table", always, make<embedding_d_table>},
      {&ops::recurrent_op, "reference:recurrent", always, make<recurrent>},
      {&ops::recurrent_grad_op, "reference:recurrent_grad", always, make<recurrent_grad>},
      {&ops::gated_graph_conv_op, "reference:gated_graph_conv", always, make<gated_graph_conv>},
      {&ops::gated_graph_conv_grad_op, "reference:gated_graph_conv_grad", always,
       make<gated_graph_conv_grad>},
      {&ops::set2set_op, "reference:set2set", always, make<set2set>},
      {&ops::set2set_grad_op, "reference:set2set_grad", always, make<set2set_grad>},
      {&ops::sequence_cross_entropy_op, "reference:sequence_cross_entropy", always,
       make<sequence_cross_entropy>},
      {&ops::sequence_cross_entropy_grad_op, "reference:sequence_cross_entropy_grad", always,
       make<sequence_cross_entropy_grad>},
      {&ops::l2_penalty_op, "reference:l2_penalty", always, make<l2_penalty>},
      {&ops::l2_penalty_grad_op, "reference:l2_penalty_grad", always, make<l2_penalty_grad>},
      {&ops::fill_op, "reference:fill", always, make<fill>},
      {&ops::dense_chain_op, "reference:dense_chain", always, make<dense_chain>},
      {&ops::dense_chain_d_src_op, "reference:dense_chain_d_src", always, make<dense_chain_d_src>},
      {&ops::dense_chain_d_weight_op, "reference:dense_chain_d_weight", always, make<dense_chain_d_weight>},
      {&ops::dense_update_op, "reference:dense_update", always, make<dense_update>},
      {&ops::update_op, "reference:update", always, make<update>},
  };
  return rows;
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

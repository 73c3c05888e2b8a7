#include "backend/onednn/recurrent_product.h"

#include "backend/onednn/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;

memory::desc plain(const Shape& shape) { return to_desc(shape, Layout{}); }

memory::desc weight_desc(const Product::Sizes& sizes, const std::optional<Layout>& layout) {
  return layout ? to_desc(sizes.weight(), *layout) : any_desc(sizes.weight());
}

dnnl::inner_product_forward::primitive_desc forward_desc(const Product::Sizes& sizes,
                                                         const memory::desc& weight, Product::After after) {
  dnnl::primitive_attr attr = planned_attr();
  if (after == Product::After::add_to_dst) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attr.set_post_ops(sum);
  }
  const bool bias = after == Product::After::add_bias;
  const dnnl::inner_product_forward::desc desc(
      dnnl::prop_kind::forward_training, plain({sizes.rows, sizes.inputs}), weight,
      bias ? plain({sizes.outputs}) : memory::desc(), plain({sizes.rows, sizes.outputs}));
  return {desc, attr, cpu_engine()};
}

}  // namespace

Product::Product(dnnl::primitive primitive, memory::desc weight, memory::desc scratch,
                 std::vector<Argument> arguments)
    : primitive_(std::move(primitive)),
      weight_(std::move(weight)),
      scratch_(std::move(scratch)),
      arguments_(std::move(arguments)) {}

Product Product::forward(const Sizes& sizes, const std::optional<Layout>& weight, After after) {
  const auto pd = forward_desc(sizes, weight_desc(sizes, weight), after);
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, pd.dst_desc()}};
  if (after == After::add_bias) arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  return {dnnl::inner_product_forward(pd), pd.weights_desc(), pd.scratchpad_desc(), std::move(arguments)};
}

Product Product::d_src(const Sizes& sizes, const std::optional<Layout>& weight) {
  const memory::desc weights = weight_desc(sizes, weight);
  const dnnl::inner_product_backward_data::desc desc(plain({sizes.rows, sizes.inputs}), weights,
                                                     plain({sizes.rows, sizes.outputs}));
  const dnnl::inner_product_backward_data::primitive_desc pd(desc, planned_attr(), cpu_engine(),
                                                             forward_desc(sizes, weights, After::nothing));
  return {dnnl::inner_product_backward_data(pd),
          pd.weights_desc(),
          pd.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
           {DNNL_ARG_WEIGHTS, pd.weights_desc()},
           {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}}};
}

Product Product::d_weight(const Sizes& sizes, const std::optional<Layout>& weight, bool bias) {
  const memory::desc weights = weight_desc(sizes, weight);
  const dnnl::inner_product_backward_weights::desc desc(plain({sizes.rows, sizes.inputs}), weights,
                                                        bias ? plain({sizes.outputs}) : memory::desc(),
                                                        plain({sizes.rows, sizes.outputs}));
  const dnnl::inner_product_backward_weights::primitive_desc pd(
      desc, planned_attr(), cpu_engine(),
      forward_desc(sizes, weights, bias ? After::add_bias : After::nothing));
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  return {dnnl::inner_product_backward_weights(pd), pd.diff_weights_desc(), pd.scratchpad_desc(),
          std::move(arguments)};
}

Layout Product::weight_layout() const { return to_layout(weight_); }

void Product::unbind() {
  memories_.clear();
  sets_.clear();
}

void Product::bind(const std::vector<const float*>& data, std::byte* scratch) {
  TRAINYARD_CHECK(data.size() == arguments_.size());
  std::vector<memory>& memories = memories_.emplace_back();
  std::vector<dnnl_exec_arg_t>& set = sets_.emplace_back();
  for (std::size_t i = 0; i < data.size(); ++i) {
    // oneDNN takes what it reads and what it writes alike.
    memories.emplace_back(arguments_[i].desc, cpu_engine(), const_cast<float*>(data[i]));
    set.push_back({arguments_[i].id, memories.back().get()});
  }
  if (scratch_bytes() == 0) return;
  memories.emplace_back(scratch_, cpu_engine(), scratch);
  set.push_back({DNNL_ARG_SCRATCHPAD, memories.back().get()});
}

void Product::run(std::size_t set) const { execute(primitive_, sets_[set]); }

}  // namespace trainyard::backend::onednn

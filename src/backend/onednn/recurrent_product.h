#pragma once

#include <optional>
#include <vector>

#include <dnnl.hpp>

#include "tensor/layout.h"

// Matrix products of a recurrent layer: one primitive that runs on the numbers of several steps.
namespace trainyard::backend::onednn {

class Product {
 public:
  // Multiplies `rows` rows of `inputs` numbers with a weight (outputs, inputs).
  struct Sizes {
    std::int64_t rows, inputs, outputs;
    Shape weight() const { return {outputs, inputs}; }
  };
  enum class After : std::uint8_t { nothing, add_bias, add_to_dst };

  // dst = src * weight^T, and what comes after; arguments: src, weight, dst [, bias]
  static Product forward(const Sizes& sizes, const std::optional<Layout>& weight, After after);
  // d_src = d_dst * weight; arguments: d_dst, weight, d_src
  static Product d_src(const Sizes& sizes, const std::optional<Layout>& weight);
  // d_weight = d_dst^T * src, and its sum over rows; arguments: d_dst, src, d_weight [, d_bias]
  static Product d_weight(const Sizes& sizes, const std::optional<Layout>& weight, bool bias);

  // How the weight, or its gradient, has to lie: as asked for, or as oneDNN likes it best.
  Layout weight_layout() const;
  std::size_t scratch_bytes() const { return scratch_.get_size(); }

  void unbind();
  // One more set of arguments. Allocates; run() does not.
  void bind(const std::vector<const float*>& data, std::byte* scratch);
  void run(std::size_t set) const;

 private:
  struct Argument {
    int id;  // DNNL_ARG_...
    dnnl::memory::desc desc;
  };
  Product(dnnl::primitive primitive, dnnl::memory::desc weight, dnnl::memory::desc scratch,
          std::vector<Argument> arguments);

  dnnl::primitive primitive_;
  dnnl::memory::desc weight_, scratch_;
  std::vector<Argument> arguments_;
  std::vector<std::vector<dnnl::memory>> memories_;
  std::vector<std::vector<dnnl_exec_arg_t>> sets_;
};

}  // namespace trainyard::backend::onednn

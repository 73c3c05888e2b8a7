#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/sequence/attention.h"
#include "ops/smooth_unit.h"
#include "plan/passes.h"
#include "plan/rewriter.h"

namespace trainyard::plan {
namespace {

using graph::Phase;

class StreamFuser : Rewriter {
 public:
  StreamFuser(const graph::Graph& graph, const backend::Backend& backend, std::vector<std::string>& notes)
      : Rewriter(graph, backend, notes) {}

  graph::Graph run(bool with_forward) {
    if (with_forward) each(ops::add_op, [this](NodeId id) { join_sum(id); });
    each(ops::add_op, [this](NodeId id) { join_gradients(id); });
    each(ops::dense_d_weight_op, [this](NodeId id) { join_bias(id); });
    return result();
  }

 private:
  static bool adds_two(const Node& sum, Phase phase) {
    const auto& attrs = sum.attrs<ops::AddAttrs>();
    return sum.phase == phase && sum.inputs.size() == 2 && !attrs.mask_by_last &&
           attrs.activation.kind == ops::Activation::none;
  }

  // The norm that reads a sum makes it while it reads the terms.
  void join_sum(NodeId id) {
    const Node& sum = nodes_[index(id)];
    if (!adds_two(sum, Phase::forward)) return;
    for (const NodeId reader : read_by_[index(sum.outputs[0])]) {
      if (reader == graph::kNone || nodes_[index(reader)].op != &ops::layer_norm_op ||
          nodes_[index(reader)].inputs[0] != sum.outputs[0] || !made_before(nodes_[index(reader)], id))
        continue;
      Node& norm = nodes_[index(reader)];
      Node fused = norm;
      std::any_cast<ops::LayerNormAttrs&>(fused.attributes).adds = true;
      // The norm's output may lie where input 0 did, so this is the term that nobody else reads.
      const std::size_t first = read_once(sum.inputs[0]) || !read_once(sum.inputs[1]) ? 0 : 1;
      fused.inputs[0] = sum.inputs[first];
      fused.inputs.push_back(sum.inputs[1 - first]);
      fused.outputs.push_back(sum.outputs[0]);
      if (const std::string reason = declined(fused); !reason.empty())
        return note("add '{}' stays apart from layer_norm '{}': {}", sum.name, norm.name, reason);
      note("add '{}' joins layer_norm '{}'", sum.name, norm.name);
      norm = {};
      nodes_[index(id)] = std::move(fused);  // here, because others may read the sum before the norm did
      return;
    }
  }

  // Are gamma and beta there where the sum of the norm's input is made?
  bool made_before(const Node& norm, NodeId sum) const {
    return std::all_of(norm.inputs.begin() + 1, norm.inputs.end(),
                       [&](ValueId input) { return producer_[index(input)] < sum; });
  }

  // Where a stream branches off to a norm, the gradient of the norm adds that of the rest of the stream.
  void join_gradients(NodeId id) {
    const Node& sum = nodes_[index(id)];
    if (!adds_two(sum, Phase::backward)) return;
    for (const std::size_t main : {std::size_t{0}, std::size_t{1}}) {
      Node* gradient = producer(sum.inputs[main]);
      if (gradient == nullptr || gradient->op != &ops::layer_norm_grad_op ||
          gradient->outputs[0] != sum.inputs[main] || !read_once(sum.inputs[main]) ||
          gradient->attrs<ops::LayerNormAttrs>().adds || !read_behind(*gradient, id))
        continue;
      Node fused = *gradient;
      std::any_cast<ops::LayerNormAttrs&>(fused.attributes).adds = true;
      fused.inputs.push_back(sum.inputs[1 - main]);
      fused.outputs[0] = sum.outputs[0];
      if (const std::string reason = declined(fused); !reason.empty())
        return note("add '{}' stays apart from layer_norm_grad '{}': {}", sum.name, gradient->name, reason);
      note("add '{}' joins layer_norm_grad '{}'", sum.name, gradient->name);
      *gradient = {};
      for (const ValueId made : fused.outputs) producer_[index(made)] = id;
      nodes_[index(id)] = std::move(fused);  // here, because the other gradient may be made after the norm's
      return;
    }
  }

  // Does nobody read the gradients of gamma and beta before `sum` is made?
  bool read_behind(const Node& gradient, NodeId sum) const {
    return std::all_of(gradient.outputs.begin() + 1, gradient.outputs.end(), [&](ValueId made) {
      const std::vector<NodeId>& readers = read_by_[index(made)];
      return std::all_of(readers.begin(), readers.end(),
                         [&](NodeId reader) { return reader == graph::kNone || reader > sum; });
    });
  }

  // The gradient of a bias is the sum of the columns of d_dst, which its producer has at hand.
  void join_bias(NodeId id) {
    Node& d_weight = nodes_[index(id)];
    if (!d_weight.attrs<ops::DenseGradAttrs>().bias) return;
    Node* before = producer(d_weight.inputs[0]);
    if (before == nullptr || before->outputs[0] != d_weight.inputs[0]) return;
    Node fused = *before;
    bool* sums = column_sums(fused);
    if (sums == nullptr) return;
    if (*sums)
      return note("the bias of '{}' stays: '{}' sums that of another layer", d_weight.name, before->name);
    *sums = true;
    fused.outputs.push_back(d_weight.outputs[1]);
    Node apart = d_weight;
    std::any_cast<ops::DenseGradAttrs&>(apart.attributes).bias = false;
    apart.outputs.pop_back();
    for (const Node* node : {&fused, &apart})
      if (const std::string reason = declined(*node); !reason.empty())
        return note("the bias of '{}' stays apart from '{}': {}", d_weight.name, before->name, reason);
    note("the bias of '{}' joins {} '{}'", d_weight.name, before->op->name, before->name);
    *before = std::move(fused);
    d_weight = std::move(apart);
  }

  // Returns where the node says that it sums the columns of its output 0; nullptr where it cannot.
  bool* column_sums(Node& node) const {
    if (node.op == &ops::layer_norm_grad_op)
      return &std::any_cast<ops::LayerNormAttrs&>(node.attributes).column_sums;
    if (node.op == &ops::attention_grad_op)
      return &std::any_cast<ops::AttentionAttrs&>(node.attributes).column_sums;
    if (node.op != &ops::smooth_unit_grad_op || graph_.shape(node.outputs[0]).rank() != 2) return nullptr;
    auto& attrs = std::any_cast<ops::SmoothUnitAttrs&>(node.attributes);
    return attrs.gated ? nullptr : &attrs.column_sums;
  }
};

}  // namespace

graph::Graph fuse_streams(const graph::Graph& graph, const backend::Backend& backend, bool with_forward,
                          std::vector<std::string>& notes) {
  return StreamFuser(graph, backend, notes).run(with_forward);
}

}  // namespace trainyard::plan

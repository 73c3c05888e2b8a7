#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "plan/passes.h"
#include "plan/rewriter.h"

namespace trainyard::plan {
namespace {

using ops::Activation;

class Fuser : Rewriter {
 public:
  Fuser(const graph::Graph& graph, const backend::Backend& backend, std::vector<std::string>& notes)
      : Rewriter(graph, backend, notes) {}

  graph::Graph run() {
    each(ops::activation_op, [this](NodeId id) { join_producer(id); });
    each(ops::add_op, [this](NodeId id) { join_residual(id); });
    each(ops::activation_grad_op, [this](NodeId id) { join_mask(id); });
    each(ops::cast_op, [this](NodeId id) { join_cast(id); });
    each(ops::softmax_cross_entropy_grad_op, [this](NodeId id) { join_loss(id); });
    each(ops::dense_d_src_op, [this](NodeId id) { join_classifier(id); });
    each(ops::max_pool_op, [this](NodeId id) { join_convolution(id); });
    each(ops::conv2d_d_weight_op, [this](NodeId id) { join_unpool(id); });
    return result();
  }

 private:
  // `keeper` makes the value that `gone` made, in place of its own output 0.
  void take_over(Node& keeper, Node& gone) {
    keeper.outputs[0] = gone.outputs[0];
    producer_[index(keeper.outputs[0])] = static_cast<NodeId>(&keeper - nodes_.data());
    gone = {};
  }

  // conv, dense, batch norm or add, then an activation: the producer applies it while it writes.
  void join_producer(NodeId id) {
    Node& node = nodes_[index(id)];
    const auto& attrs = node.attrs<ops::ActivationAttrs>();
    Node* before = producer(node.inputs[0]);
    if (before == nullptr) return;
    if (!read_once(node.inputs[0]))
      return note("{} '{}' stays: its input is read by {} nodes", name(attrs.kind), node.name,
                  read_by_[index(node.inputs[0])].size());
    ops::ActivationAttrs* slot = nullptr;
    if (before->op == &ops::conv2d_op)
      slot = &std::any_cast<ops::Conv2dAttrs&>(before->attributes).activation;
    if (before->op == &ops::dense_op) slot = &std::any_cast<ops::DenseAttrs&>(before->attributes).activation;
    const bool relu = attrs.kind == Activation::relu;
    if (before->op == &ops::batch_norm_op && relu)
      slot = &std::any_cast<ops::BatchNormAttrs&>(before->attributes).activation;
    if (before->op == &ops::add_op && relu)
      slot = &std::any_cast<ops::AddAttrs&>(before->attributes).activation;
    if (slot == nullptr)
      return note("{} '{}' stays: {} '{}' cannot apply it", name(attrs.kind), node.name, before->op->name,
                  before->name);
    if (slot->kind != Activation::none)
      return note("{} '{}' stays: '{}' already applies one", name(attrs.kind), node.name, before->name);
    *slot = attrs;
    note("{} '{}' joins {} '{}'", name(attrs.kind), node.name, before->op->name, before->name);
    take_over(*before, node);
  }

  // The gradient of the loss is made in f32 and wanted in bf16.
  void join_cast(NodeId id) {
    Node& node = nodes_[index(id)];
    Node* before = producer(node.inputs[0]);
    if (node.inputs.size() != 1 || before == nullptr || before->op != &ops::softmax_cross_entropy_grad_op ||
        !read_once(node.inputs[0]) || node.attrs<ops::CastAttrs>().to != DType::bf16)
      return;
    note("cast '{}' joins softmax_cross_entropy_grad '{}'", node.name, before->name);
    std::any_cast<ops::SoftmaxCrossEntropyAttrs&>(before->attributes).d_logits_bf16 = true;
    take_over(*before, node);
  }

  // The gradient of the loss by itself is one, so the loss can make that of its logits at once.
  void join_loss(NodeId id) {
    Node& node = nodes_[index(id)];
    const Node* one = producer(node.inputs[0]);
    Node* loss = producer(node.inputs[1]);
    if (one == nullptr || one->op != &ops::fill_op || one->attrs<ops::FillAttrs>().value != 1) return;
    if (loss == nullptr || loss->op != &ops::softmax_cross_entropy_op || loss->outputs.size() != 2 ||
        graph_.dtype(node.outputs[0]) != graph_.dtype(loss->inputs[0]))
      return;
    Node fused = *loss;
    fused.outputs.push_back(node.outputs[0]);
    std::any_cast<ops::SoftmaxCrossEntropyAttrs&>(fused.attributes).with_gradient = true;
    if (const std::string reason = declined(fused); !reason.empty())
      return note("gradient '{}' stays apart from '{}': {}", node.name, loss->name, reason);
    note("gradient '{}' joins softmax_cross_entropy '{}'", node.name, loss->name);
    *loss = std::move(fused);
    node = {};
  }

  // Joins the last layer with its loss, forward and back; the parts are small, so their cost is the start of
  // each kernel.
  void join_classifier(NodeId id) {
    Node& d_src = nodes_[index(id)];
    Node* loss = producer(d_src.inputs[0]);
    if (loss == nullptr || loss->op != &ops::softmax_cross_entropy_op || loss->outputs.size() != 3 ||
        loss->outputs[2] != d_src.inputs[0])
      return;
    Node* dense = producer(loss->inputs[0]);
    if (dense == nullptr || dense->op != &ops::dense_op || dense->inputs.size() != 3 ||
        dense->inputs[1] != d_src.inputs[1] || graph_.shape(dense->inputs[0]).rank() != 2 ||
        dense->attrs<ops::DenseAttrs>().activation.kind != Activation::none ||
        graph_.dtype(loss->inputs[1]) != DType::i32)
      return;
    const auto loss_id = static_cast<NodeId>(loss - nodes_.data());
    const std::vector<NodeId>& readers = read_by_[index(loss->inputs[0])];
    if (std::any_of(readers.begin(), readers.end(),
                    [&](NodeId reader) { return reader != loss_id && reader != graph::kNone; }))
      return;
    Node fused = *loss;
    fused.op = &ops::classify_op;
    fused.inputs = {dense->inputs[0], dense->inputs[1], dense->inputs[2], loss->inputs[1]};
    fused.outputs = {loss->inputs[0], loss->outputs[0], loss->outputs[1], loss->outputs[2], d_src.outputs[0]};
    ops::ClassifyAttrs attrs{.label_smoothing = loss->attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing};
    Node* mask = mask_behind(d_src.outputs[0], dense->inputs[0]);
    if (mask != nullptr) {
      attrs.mask_scale = mask->attrs<ops::ActivationAttrs>().gradient_scale;
      fused.outputs.back() = mask->outputs[0];
    }
    Node* dropout = producer(dense->inputs[0]);
    const auto dense_id = static_cast<NodeId>(dense - nodes_.data());
    const std::vector<NodeId>& seen_by = read_by_[index(dense->inputs[0])];
    if (dropout != nullptr && dropout->op == &ops::dropout_op && dropout->phase == graph::Phase::forward &&
        std::all_of(seen_by.begin(), seen_by.end(), [&](NodeId reader) {
          return reader == dense_id || reader == graph::kNone || reader > loss_id;
        })) {
      attrs.dropout = dropout->attrs<ops::DropoutAttrs>();
      fused.inputs[0] = dropout->inputs[0];
      fused.outputs.push_back(dropout->outputs[0]);
    } else {
      dropout = nullptr;
    }
    fused.attributes = attrs;
    if (const std::string reason = declined(fused); !reason.empty())
      return note("dense '{}' stays apart from '{}': {}", dense->name, loss->name, reason);
    note("dense '{}' and its gradient join '{}'{}", dense->name, loss->name,
         mask != nullptr ? ", the mask of '" + mask->name + "', too" : "");
    *loss = std::move(fused);
    *dense = {};
    if (dropout != nullptr) *dropout = {};
    d_src = {};
    if (mask != nullptr) *mask = {};
  }

  // Returns the gradient of a ReLU that alone reads `gradient` and whose output is `dst`.
  Node* mask_behind(ValueId gradient, ValueId dst) {
    if (!read_once(gradient) || read_by_[index(gradient)].front() == graph::kNone) return nullptr;
    Node& reader = nodes_[index(read_by_[index(gradient)].front())];
    const bool masks = reader.op == &ops::activation_grad_op && reader.inputs[1] == dst &&
                       reader.attrs<ops::ActivationAttrs>().kind == Activation::relu;
    return masks ? &reader : nullptr;
  }

  // Behind a ReLU and a dropout an element is positive where both let it pass, so one mask stands for both.
  bool join_dropout_gradient(Node& mask) {
    const Node* dropped = producer(mask.inputs[0]);
    if (dropped == nullptr || dropped->op != &ops::dropout_op || !read_once(mask.inputs[0])) return false;
    const auto& attrs = dropped->attrs<ops::DropoutAttrs>();
    const auto forward = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      return node.op == &ops::dropout_op && node.inputs[0] == mask.inputs[1] &&
             node.attrs<ops::DropoutAttrs>().stream == attrs.stream;
    });
    if (forward == nodes_.end()) return false;
    Node fused = mask;
    fused.inputs = {dropped->inputs[0], forward->outputs[0]};
    std::any_cast<ops::ActivationAttrs&>(fused.attributes).gradient_scale = 1 / (1 - attrs.rate);
    if (!declined(fused).empty()) return false;
    note("gradient of dropout '{}' joins the mask of '{}'", dropped->name, mask.name);
    nodes_[index(producer_[index(mask.inputs[0])])] = {};
    mask = std::move(fused);
    return true;
  }

  // The gradient of a ReLU is a mask by its output; a neighbour can apply it while it reads or writes.
  void join_mask(NodeId id) {
    Node& node = nodes_[index(id)];
    if (node.attrs<ops::ActivationAttrs>().kind != Activation::relu) return;
    const ValueId d_dst = node.inputs[0], dst = node.inputs[1];
    Node* before = producer(d_dst);
    if (before != nullptr && read_once(d_dst) && before->op == &ops::max_pool_d_src_op)
      if (join_pool_gradient(*before, node)) return;
    if (join_dropout_gradient(node)) return;
    if (read_once(node.outputs[0]) && join_norm_gradient(id)) return;
    if (before != nullptr && read_once(d_dst) && before->op == &ops::add_op &&
        !before->attrs<ops::AddAttrs>().mask_by_last) {
      note("mask of '{}' joins add '{}'", node.name, before->name);
      std::any_cast<ops::AddAttrs&>(before->attributes).mask_by_last = true;
      before->inputs.push_back(dst);
      // The sum moves here: the mask may be made after the first terms.
      Node moved = *before;
      *before = {};
      moved.outputs[0] = node.outputs[0];
      moved.name = node.name;
      node = std::move(moved);
      return;
    }
    note("mask of '{}' stays: no neighbour can apply it", node.name);
  }

  // A ReLU before a pool equals a ReLU after it, so the mask can be the pool's output, which is smaller.
  bool join_pool_gradient(Node& pool_gradient, Node& mask) {
    auto& attrs = std::any_cast<ops::MaxPoolGradAttrs&>(pool_gradient.attributes);
    const Node* pool = producer(pool_gradient.inputs[1]);
    if (attrs.mask_by_dst || pool == nullptr || pool->inputs[0] != mask.inputs[1]) return false;
    note("mask of '{}' joins max_pool_d_src '{}'", mask.name, pool_gradient.name);
    attrs.mask_by_dst = true;
    pool_gradient.inputs.push_back(pool->outputs[0]);
    take_over(pool_gradient, mask);
    return true;
  }

  bool join_norm_gradient(NodeId id) {
    Node& mask = nodes_[index(id)];
    const NodeId reader = read_by_[index(mask.outputs[0])].front();
    if (reader == graph::kNone) return false;
    Node& after = nodes_[index(reader)];
    if (after.op != &ops::batch_norm_grad_op || after.inputs[0] != mask.outputs[0]) return false;
    Node fused = after;
    fused.inputs[0] = mask.inputs[0];
    fused.inputs.push_back(mask.inputs[1]);
    std::any_cast<ops::BatchNormGradAttrs&>(fused.attributes).mask_by_dst = true;
    if (const Node* norm = producer(mask.inputs[1]); norm != nullptr && follows_from_src(*norm, after)) {
      Node by_beta = fused;
      by_beta.inputs.back() = norm->inputs[2];
      by_beta.attributes = ops::BatchNormGradAttrs{.mask_by_beta = true};
      if (declined(by_beta).empty()) fused = std::move(by_beta);
    }
    note("mask of '{}' joins batch_norm_grad '{}'", mask.name, after.name);
    after = std::move(fused);
    mask = {};
    return true;
  }

  // Is the masked value the ReLU of what `gradient`'s own norm made, and nothing else?
  static bool follows_from_src(const Node& norm, const Node& gradient) {
    if (norm.op != &ops::batch_norm_op || norm.outputs[1] != gradient.inputs[3]) return false;
    const auto& attrs = norm.attrs<ops::BatchNormAttrs>();
    return attrs.activation.kind == Activation::relu && !attrs.residual;
  }

  // The sum at the end of a residual block: the norm before it adds the shortcut while it writes.
  void join_residual(NodeId id) {
    Node& sum = nodes_[index(id)];
    const auto& attrs = sum.attrs<ops::AddAttrs>();
    if (sum.inputs.size() != 2 || attrs.mask_by_last || sum.phase != graph::Phase::forward) return;
    for (const std::size_t main : {std::size_t{0}, std::size_t{1}}) {
      Node* norm = producer(sum.inputs[main]);
      if (norm == nullptr || norm->op != &ops::batch_norm_op || !read_once(sum.inputs[main])) continue;
      const auto& norm_attrs = norm->attrs<ops::BatchNormAttrs>();
      if (norm_attrs.residual || norm_attrs.activation.kind != Activation::none) continue;
      Node fused = *norm;
      fused.inputs.push_back(sum.inputs[1 - main]);
      auto& fused_attrs = std::any_cast<ops::BatchNormAttrs&>(fused.attributes);
      fused_attrs.residual = true;
      fused_attrs.activation = attrs.activation;
      fused.outputs[0] = sum.outputs[0];
      const std::string reason = declined(fused);
      if (!reason.empty())
        return note("add '{}' stays apart from batch_norm '{}': {}", sum.name, norm->name, reason);
      note("add '{}' joins batch_norm '{}'", sum.name, norm->name);
      *norm = {};
      sum = std::move(fused);  // here, because the shortcut may be made after the norm
      producer_[index(sum.outputs[0])] = id;
      return;
    }
  }

  // A convolution whose output only a max pool reads.
  void join_convolution(NodeId id) {
    Node& pool = nodes_[index(id)];
    Node* conv = producer(pool.inputs[0]);
    if (conv == nullptr || conv->op != &ops::conv2d_op || !read_once(pool.inputs[0])) return;
    Node fused = *conv;
    fused.op = &ops::conv2d_max_pool_op;
    fused.outputs = pool.outputs;
    fused.attributes =
        ops::Conv2dMaxPoolAttrs{conv->attrs<ops::Conv2dAttrs>(), pool.attrs<ops::MaxPoolAttrs>().window};
    const std::string reason = declined(fused);
    if (!reason.empty())
      return note("max_pool '{}' stays apart from conv2d '{}': {}", pool.name, conv->name, reason);
    note("max_pool '{}' joins conv2d '{}'", pool.name, conv->name);
    take_images_as_they_are(fused);
    *conv = std::move(fused);
    pool = {};
  }

  // A first layer that reads f32 images need not wait until they are rounded.
  void take_images_as_they_are(Node& first_layer) {
    const Node* cast = producer(first_layer.inputs[0]);
    if (cast == nullptr || cast->op != &ops::cast_op || cast->inputs.size() != 1) return;
    Node direct = first_layer;
    direct.inputs[0] = cast->inputs[0];
    if (!declined(direct).empty()) return;
    note("'{}' reads what '{}' would round", first_layer.name, cast->name);
    first_layer = std::move(direct);
  }

  // The gradient of such a pair, where only the weights need one.
  void join_unpool(NodeId id) {
    Node& d_weight = nodes_[index(id)];
    Node* unpool = producer(d_weight.inputs[0]);
    if (unpool == nullptr || unpool->op != &ops::max_pool_d_src_op || !read_once(d_weight.inputs[0])) return;
    const auto& conv = d_weight.attrs<ops::Conv2dGradAttrs>();
    const auto& pool = unpool->attrs<ops::MaxPoolGradAttrs>();
    Node fused = d_weight;
    fused.op = &ops::conv2d_max_pool_d_weight_op;
    fused.inputs = {unpool->inputs[0], unpool->inputs[1], d_weight.inputs[1]};
    if (pool.mask_by_dst) fused.inputs.push_back(unpool->inputs[2]);
    fused.attributes =
        ops::Conv2dMaxPoolGradAttrs{{conv.conv, pool.window}, conv.shape, conv.bias, pool.mask_by_dst};
    const std::string reason = declined(fused);
    if (!reason.empty())
      return note("max_pool_d_src '{}' stays apart from '{}': {}", unpool->name, d_weight.name, reason);
    note("max_pool_d_src '{}' joins conv2d_d_weight '{}'", unpool->name, d_weight.name);
    d_weight = std::move(fused);
    *unpool = {};
  }
};

}  // namespace

graph::Graph fuse(const graph::Graph& graph, const backend::Backend& backend,
                  std::vector<std::string>& notes) {
  return Fuser(graph, backend, notes).run();
}

}  // namespace trainyard::plan

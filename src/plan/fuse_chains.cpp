#include "ops/dense.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr std::size_t kLeastLayers = 3, kMostLayers = 128;

// A Link is a layer with the nodes of its gradient, where there are any.
struct Link {
  NodeId dense = kNone;
  NodeId d_weight = kNone, d_src = kNone;
  NodeId d_activation = kNone;  // makes the d_sum that the other two read
};

class ChainFuser {
 public:
  ChainFuser(const graph::Graph& graph, const backend::Backend& backend, std::vector<std::string>& notes)
      : graph_(graph), backend_(backend), nodes_(graph.nodes()), notes_(notes) {
    readers_.resize(graph.values().size());
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (const ValueId input : nodes_[n].inputs)
        readers_[static_cast<std::size_t>(input)].push_back(static_cast<NodeId>(n));
    for (const ValueId output : graph.outputs()) readers_[static_cast<std::size_t>(output)].push_back(kNone);
  }

  graph::Graph run() {
    std::vector<bool> seen(nodes_.size());
    bool changed = false;
    for (std::size_t n = 0; n < seen.size(); ++n) {
      if (seen[n] || !is_layer(nodes_[n])) continue;
      const std::vector<Link> chain = chain_from(static_cast<NodeId>(n));
      for (const Link& link : chain) seen[static_cast<std::size_t>(link.dense)] = true;
      if (chain.size() >= kLeastLayers) changed = join(chain) || changed;
    }
    if (!changed) return graph_;
    std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
    graph::Graph result = graph_;
    result.replace_nodes(std::move(nodes_));
    return result;
  }

 private:
  Node& at(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Node& at(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const std::vector<NodeId>& readers(ValueId value) const {
    return readers_[static_cast<std::size_t>(value)];
  }

  bool is_layer(const Node& node) const {
    if (node.op != &ops::dense_op || node.inputs.size() != 3) return false;
    const Shape& weight = graph_.shape(node.inputs[1]);
    return weight.rank() == 2 && weight[0] == weight[1];
  }
  static const ops::ActivationAttrs& activation(const Node& layer) {
    return layer.attrs<ops::DenseAttrs>().activation;
  }

  // Returns the only reader of `value` that is `op` and takes it as input `place`.
  NodeId reader(ValueId value, const graph::OpDef& op, std::size_t place) const {
    NodeId found = kNone;
    for (const NodeId id : readers(value))
      if (id != kNone && at(id).op == &op && at(id).inputs[place] == value) {
        if (found != kNone) return kNone;
        found = id;
      }
    return found;
  }

  bool read_by_no_other(ValueId value, std::initializer_list<NodeId> allowed) const {
    return std::all_of(readers(value).begin(), readers(value).end(), [&](NodeId id) {
      return id != kNone && std::find(allowed.begin(), allowed.end(), id) != allowed.end();
    });
  }

  Link link_of(NodeId dense) const {
    const Node& layer = at(dense);
    Link link{.dense = dense};
    link.d_weight = reader(layer.inputs[0], ops::dense_d_weight_op, 1);
    if (link.d_weight == kNone || at(link.d_weight).outputs.size() != 2) return {.dense = dense};
    const ValueId d_sum = at(link.d_weight).inputs[0];
    if (const NodeId d_src = reader(d_sum, ops::dense_d_src_op, 0);
        d_src != kNone && at(d_src).inputs[1] == layer.inputs[1])
      link.d_src = d_src;
    if (const NodeId mask = reader(layer.outputs[0], ops::activation_grad_op, 1);
        mask != kNone && at(mask).outputs[0] == d_sum)
      link.d_activation = mask;
    return link;
  }

  // Returns the layers behind `first` whose values nobody outside of the chain reads.
  std::vector<Link> chain_from(NodeId first) const {
    std::vector<Link> chain{link_of(first)};
    while (chain.size() < kMostLayers) {
      const Link& last = chain.back();
      const ValueId between = at(last.dense).outputs[0];
      const NodeId dense = reader(between, ops::dense_op, 0);
      if (dense == kNone || !is_layer(at(dense)) ||
          !(activation(at(dense)).kind == activation(at(last.dense)).kind &&
            activation(at(dense)).slope == activation(at(last.dense)).slope))
        break;
      const Link next = link_of(dense);
      const bool trains = last.d_weight != kNone;
      if (trains ? !belong_together(last, next) : !read_by_no_other(between, {dense})) break;
      chain.push_back(next);
    }
    return chain;
  }

  // Does the gradient run from `next` to `last` and nowhere else?
  bool belong_together(const Link& last, const Link& next) const {
    if (next.d_weight == kNone || next.d_src == kNone) return false;
    const ValueId between = at(last.dense).outputs[0], d_between = at(next.d_src).outputs[0];
    const bool linear = activation(at(last.dense)).kind == ops::Activation::none;
    if (linear ? at(last.d_weight).inputs[0] != d_between
               : last.d_activation == kNone || at(last.d_activation).inputs[0] != d_between ||
                     at(last.d_activation).attrs<ops::ActivationAttrs>().gradient_scale != 1)
      return false;
    const ValueId d_sum = at(last.d_weight).inputs[0];
    return read_by_no_other(between, {next.dense, next.d_weight, last.d_activation}) &&
           (linear || read_by_no_other(d_between, {last.d_activation})) &&
           read_by_no_other(d_sum, {last.d_weight, last.d_src}) &&
           read_by_no_other(at(next.d_weight).inputs[0], {next.d_weight, next.d_src});
  }

  bool join(const std::vector<Link>& chain) {
    const bool trains = chain.front().d_weight != kNone;
    const Node& first = at(chain.front().dense);
    Node forward = first;
    forward.op = &ops::dense_chain_op;
    forward.attributes = ops::DenseChainAttrs{activation(first), trains};
    forward.inputs = {first.inputs[0]};
    forward.outputs.clear();
    for (const Link& link : chain) {
      const Node& layer = at(link.dense);
      forward.inputs.insert(forward.inputs.end(), {layer.inputs[1], layer.inputs[2]});
      if (trains || &link == &chain.back()) forward.outputs.push_back(layer.outputs[0]);
    }
    const auto accepted = [&](const Node& node) {
      const std::string reason = declined(graph_, node, backend_);
      if (!reason.empty())
        notes_.push_back(fmt::format("{} layers from '{}' stay apart: {}", chain.size(), first.name, reason));
      return reason.empty();
    };
    if (!accepted(forward)) return false;
    if (trains) {
      Node d_src = d_src_node(chain), d_weight = d_weight_node(chain);
      if (!accepted(d_src) || !accepted(d_weight) || !gradients_wait(chain)) return false;
      for (const Link& link : chain) {
        if (&link != &chain.back()) remove(link.d_activation);
        remove(link.d_weight);
        remove(link.d_src);
      }
      at(chain.back().d_src) = std::move(d_src);
      at(chain.front().d_weight) = std::move(d_weight);
    }
    notes_.push_back(fmt::format("{} layers from '{}' run as one", chain.size(), first.name));
    for (const Link& link : chain) remove(link.dense);
    at(chain.front().dense) = std::move(forward);
    return true;
  }

  void remove(NodeId id) {
    if (id != kNone) at(id) = {};
  }

  Node d_src_node(const std::vector<Link>& chain) const {
    const Link &first = chain.front(), &last = chain.back();
    Node node = at(last.d_src);
    node.op = &ops::dense_chain_d_src_op;
    node.attributes = gradient_attrs(chain);
    node.inputs = {at(last.d_weight).inputs[0]};
    node.outputs.clear();
    for (const Link& link : chain) node.inputs.push_back(at(link.dense).inputs[1]);
    for (const Link& link : chain) {
      if (&link == &last) break;
      node.inputs.push_back(at(link.dense).outputs[0]);
      node.outputs.push_back(at(link.d_weight).inputs[0]);
    }
    if (first.d_src != kNone) node.outputs.push_back(at(first.d_src).outputs[0]);
    return node;
  }

  // The node takes the place of the first layer's node, behind all the others.
  Node d_weight_node(const std::vector<Link>& chain) const {
    Node node = at(chain.front().d_weight);
    node.op = &ops::dense_chain_d_weight_op;
    node.attributes = gradient_attrs(chain);
    node.inputs.clear();
    node.outputs.clear();
    for (const Link& link : chain) node.inputs.push_back(at(link.d_weight).inputs[0]);
    for (const Link& link : chain) node.inputs.push_back(at(link.dense).inputs[0]);
    for (const Link& link : chain)
      node.outputs.insert(node.outputs.end(), at(link.d_weight).outputs.begin(),
                          at(link.d_weight).outputs.end());
    return node;
  }

  ops::DenseChainGradAttrs gradient_attrs(const std::vector<Link>& chain) const {
    return {activation(at(chain.front().dense)), static_cast<int>(chain.size()),
            chain.front().d_src != kNone};
  }

  // Does nobody read a gradient of the weights before all of them are made?
  bool gradients_wait(const std::vector<Link>& chain) const {
    return std::all_of(chain.begin(), chain.end(), [&](const Link& link) {
      const std::vector<ValueId>& made = at(link.d_weight).outputs;
      return std::all_of(made.begin(), made.end(), [&](ValueId value) {
        return std::all_of(readers(value).begin(), readers(value).end(),
                           [&](NodeId id) { return id == kNone || id > chain.front().d_weight; });
      });
    });
  }

  const graph::Graph& graph_;
  const backend::Backend& backend_;
  std::vector<Node> nodes_;
  std::vector<std::string>& notes_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

graph::Graph fuse_chains(const graph::Graph& graph, const backend::Backend& backend,
                         std::vector<std::string>& notes) {
  return ChainFuser(graph, backend, notes).run();
}

}  // namespace trainyard::plan

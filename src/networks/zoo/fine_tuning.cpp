#include "networks/zoo/fine_tuning.h"

#include "base/text.h"
#include "ops/norm.h"

namespace trainyard::networks {
namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::ValueId;

bool contains(const std::vector<ValueId>& values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<ValueId> parameters_of(const Graph& graph, const Node& node) {
  std::vector<ValueId> parameters;
  for (const ValueId input : node.inputs)
    if (graph.value(input).role == Role::parameter) parameters.push_back(input);
  return parameters;
}

// The classic way with one memory of the last star: no pattern costs more than the product of both lengths.
bool matches_whole(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, behind_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++behind_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

[[noreturn]] void refuse_pattern(const Graph& graph, const std::string& pattern) {
  std::vector<std::string> names{kAllButHead};
  for (const ValueId parameter : graph.values_with(Role::parameter)) {
    const std::string& name = graph.value(parameter).name;
    names.push_back(name);
    if (const std::size_t layer = name.find_last_of("/."); layer != std::string::npos)
      names.push_back(name.substr(0, layer));
  }
  fail(ErrorKind::usage, "{} '{}'{}: no parameter of the network has such a name; one is '{}'",
       Setting{"freeze"}, pattern, did_you_mean(pattern, names), names.back());
}

}  // namespace

std::vector<ValueId> head_of(const Graph& graph, ValueId logits) {
  std::vector<ValueId> head, waiting{logits};
  std::vector<bool> seen(graph.values().size(), false);
  while (!waiting.empty()) {
    const ValueId value = waiting.back();
    waiting.pop_back();
    if (seen[static_cast<std::size_t>(value)]) continue;
    seen[static_cast<std::size_t>(value)] = true;
    const graph::NodeId producer = graph.value(value).producer;
    if (producer == graph::kNone) continue;
    const Node& node = graph.node(producer);
    const std::vector<ValueId> parameters = parameters_of(graph, node);
    for (const ValueId parameter : parameters)
      if (!contains(head, parameter)) head.push_back(parameter);
    // A bias may be added by a node of its own, behind the one that has the weight.
    const bool has_weight = std::any_of(parameters.begin(), parameters.end(),
                                        [&](ValueId id) { return graph.shape(id).rank() >= 2; });
    if (!has_weight) waiting.insert(waiting.end(), node.inputs.begin(), node.inputs.end());
  }
  std::sort(head.begin(), head.end());
  return head;
}

bool matches(std::string_view pattern, std::string_view name) {
  for (std::size_t end = 0; end <= name.size(); ++end)
    if ((end == name.size() || name[end] == '/' || name[end] == '.') &&
        matches_whole(pattern, name.substr(0, end)))
      return true;
  return false;
}

std::vector<ValueId> frozen_parameters(const Graph& graph, const std::vector<ValueId>& results,
                                       const std::vector<std::string>& patterns) {
  const std::vector<ValueId> parameters = graph.values_with(Role::parameter);
  std::vector<ValueId> head;
  for (const ValueId result : results)
    for (const ValueId parameter : head_of(graph, result)) head.push_back(parameter);
  std::vector<bool> is_frozen(parameters.size(), false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (pattern == kAllButHead ? contains(head, parameters[p])
                                 : !matches(pattern, graph.value(parameters[p]).name))
        continue;
      is_frozen[p] = any = true;
    }
    if (!any) refuse_pattern(graph, pattern);
  }
  std::vector<ValueId> frozen;
  for (std::size_t p = 0; p < parameters.size(); ++p)
    if (is_frozen[p]) frozen.push_back(parameters[p]);
  if (frozen.size() == parameters.size())
    fail(ErrorKind::usage, "{}: nothing is left to train: all {} parameters are frozen", Setting{"freeze"},
         parameters.size());
  return frozen;
}

void freeze_batch_norms(Graph& graph, const std::vector<ValueId>& frozen) {
  std::vector<Node> nodes = graph.nodes();
  for (Node& node : nodes) {
    if (node.op != &ops::batch_norm_op) continue;
    const std::vector<ValueId> parameters = parameters_of(graph, node);
    const bool whole = std::all_of(parameters.begin(), parameters.end(),
                                   [&](ValueId parameter) { return contains(frozen, parameter); });
    if (whole && !parameters.empty()) std::any_cast<ops::BatchNormAttrs&>(node.attributes).training = false;
  }
  graph.replace_nodes(std::move(nodes));
}

void start_from(Graph& graph, const StartWeights& start) {
  for (const Role role : {Role::parameter, Role::statistic})
    for (const ValueId value : graph.values_with(role))
      if (const auto found = start.content.find(graph.value(value).name); found != start.content.end())
        graph.set_initializer(value, found->second);
}

}  // namespace trainyard::networks

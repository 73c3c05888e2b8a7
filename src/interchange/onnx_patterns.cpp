#include "interchange/onnx_patterns.h"

namespace trainyard::interchange {

namespace {

// Returns whether a node has the inputs and outputs that patterns read without a look.
bool is_whole(const onnx::Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || node.inputs[0].empty() || node.outputs[0].empty())
    return false;
  for (const char* type : {"Add", "Sub", "Mul", "Div", "Pow", "MatMul"})
    if (node.type == type) return node.inputs.size() == 2 && !node.inputs[1].empty();
  return true;
}

}  // namespace

PatternGraph::PatternGraph(onnx::Model& model, const KnownValues& known) : model_(model), known_(known) {
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    for (const std::string& output : model_.nodes[i].outputs)
      if (!output.empty()) makers_[output] = i;
    if (known_.makes_constants(model_.nodes[i])) continue;  // it reads no more than a shape
    for (const std::string& input : model_.nodes[i].inputs)
      if (!input.empty()) readers_[input].push_back(i);
  }
  for (const onnx::ValueInfo& output : model_.outputs) outputs_.insert(output.name);
  read_before_ = read_nodes(true);
}

const onnx::Node* PatternGraph::maker(const std::string& value, std::string_view type) const {
  const auto found = makers_.find(value);
  if (found == makers_.end()) return nullptr;
  const onnx::Node& node = model_.nodes[found->second];
  if (!is_whole(node)) return nullptr;
  return type.empty() || (node.type == type && node.domain.empty()) ? &node : nullptr;
}

const onnx::Node* PatternGraph::sole_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  return found != readers_.end() && found->second.size() == 1 && !outputs_.contains(value)
             ? &model_.nodes[found->second.front()]
             : nullptr;
}

void PatternGraph::replace(std::size_t place, onnx::Node node) {
  onnx::Node& old = model_.nodes[place];
  for (const std::string& input : old.inputs)
    if (const auto found = readers_.find(input); found != readers_.end()) std::erase(found->second, place);
  for (const std::string& input : node.inputs) readers_[input].push_back(place);
  last_replaced_ = node.outputs.at(0);
  old = std::move(node);
}

std::optional<std::string> PatternGraph::other(const onnx::Node& node, const std::string& value) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.inputs[0] == value) return node.inputs[1];
  return node.inputs[1] == value ? std::optional(node.inputs[0]) : std::nullopt;
}

std::optional<PatternGraph::WithNumber> PatternGraph::with_number(const onnx::Node* node) const {
  if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t i : {1, 0})
    if (const std::optional<double> number = known_.number(node->inputs[i]))
      return WithNumber{*number, node->inputs[1 - i], i};
  return std::nullopt;
}

// Returns the nodes on which an output of the graph depends; or on which it depends once constants are known,
// of which the nodes need not be.
std::vector<bool> PatternGraph::read_nodes(bool by_constants) const {
  std::vector<bool> read(model_.nodes.size(), false);
  std::vector<std::string> todo(outputs_.begin(), outputs_.end());
  while (!todo.empty()) {
    const auto found = makers_.find(todo.back());
    todo.pop_back();
    if (found == makers_.end() || read[found->second]) continue;
    read[found->second] = true;
    if (!by_constants && known_.makes_constants(model_.nodes[found->second])) continue;
    for (const std::string& input : model_.nodes[found->second].inputs)
      if (!input.empty()) todo.push_back(input);
  }
  return read;
}

std::size_t PatternGraph::drop_unread() {
  const std::vector<bool> read = read_nodes(false);
  std::vector<onnx::Node> kept;
  for (std::size_t i = 0; i < read.size(); ++i)
    if (read[i] || !read_before_[i]) kept.push_back(std::move(model_.nodes[i]));
  const std::size_t dropped = model_.nodes.size() - kept.size();
  model_.nodes = std::move(kept);
  return dropped;
}

onnx::Node fused_node(const onnx::Node& last, const char* type, const char* domain,
                      std::vector<std::string> inputs, std::vector<onnx::Attribute> attributes) {
  return {.name = last.name,
          .type = type,
          .domain = domain,
          .inputs = std::move(inputs),
          .outputs = {last.outputs.at(0)},
          .attributes = std::move(attributes)};
}

Recognised fuse_patterns(onnx::Model& model, const KnownValues& known) {
  Recognised found;
  for (const auto& patterns : {unit_patterns(), recurrent_patterns(), rotary_patterns(), attention_patterns(),
                               position_patterns()}) {
    PatternGraph graph(model, known);
    for (std::size_t place = 0; place < graph.size(); ++place)
      for (const PatternRow& pattern : patterns)
        if (is_whole(graph.node(place)) && pattern.match(graph, place)) {
          if (pattern.name != nullptr) ++found.counts[pattern.name];
          if (pattern.name != nullptr) found.by_output[graph.last_replaced()] = pattern.name;
          break;
        }
    graph.drop_unread();
  }
  return found;
}

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

std::array<std::int64_t, 3> tested_places(std::int64_t count) {
  return {0, std::min<std::int64_t>(1, count - 1), count - 1};
}

Place Tracer::trace(std::string value, std::int64_t index, const std::string& end) {
  Place place{.source = std::move(value), .index = index};
  for (int step = 0; step < kLongestWay && place.source != end; ++step) {
    const Step& back = step_of(place.source);
    std::size_t input = 0;
    if (back.rotary != nullptr && place.rotary == nullptr) {
      place.rotary = back.rotary;
      place.rotary_step = place.index / back.rotary_stride % back.rotary_steps;
    } else if (back.move) {
      const Origin origin = (*back.move)(place.index);
      place.index = origin.index;
      input = origin.input;
    } else {
      break;
    }
    place.source = back.inputs.at(input);
  }
  return place;
}

const Tracer::Step& Tracer::step_of(const std::string& value) {
  const auto [found, is_new] = steps_.try_emplace(value);
  const onnx::Node* node = graph_.maker(value);
  if (!is_new || node == nullptr) return found->second;
  Step& step = found->second;
  step.inputs = node->inputs;
  if (node->domain == kOwnDomain) {
    if (node->type != "Rotary") return step;
    const std::vector<std::int64_t>& dims = graph_.known().spec(value).dims;
    const auto axis = static_cast<std::size_t>(node->integer("axis", 0));
    step.rotary = node;
    step.rotary_stride = product(dims, axis + 1, dims.size());
    step.rotary_steps = dims[axis];
    return step;
  }
  const auto output = std::find(node->outputs.begin(), node->outputs.end(), value) - node->outputs.begin();
  step.move = graph_.known().movement(*node, static_cast<std::size_t>(output));
  return step;
}

}  // namespace trainyard::interchange

#include "interchange/onnx_trace.h"

namespace trainyard::interchange {

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < end; ++i) count *= dims[i];
  return count;
}

std::array<std::int64_t, 3> samples_of(std::int64_t count) {
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

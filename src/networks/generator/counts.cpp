#include "networks/generator/counts.h"

#include "graph/autodiff.h"

namespace trainyard::networks::generator {

namespace {

using Wide = LayerCounts::Wide;

constexpr Wide kFloat = 4, kLabel = 4;  // bytes

std::int64_t narrow(Wide count) {
  return count > static_cast<Wide>(kUncountable) ? kUncountable : static_cast<std::int64_t>(count);
}

}  // namespace

Wide LayerCounts::floats(Wide elements) const { return kFloat * batch_ * elements; }

void LayerCounts::input(Wide elements) {
  kept_ += batch_ * (kFloat * elements + (options_.training ? kLabel : 0));
}

void LayerCounts::linear(Wide rows, Wide inputs, Wide outputs, bool first) {
  const Wide m = batch_ * rows, in = kFloat * m * inputs, out = kFloat * m * outputs,
             weight = kFloat * inputs * outputs, bias = kFloat * outputs, flops = 2 * m * inputs * outputs;
  parameter(inputs * outputs + outputs);
  forward_flops_ += flops;
  forward(in + weight + bias + out);
  backward_flops_ += first ? flops : 2 * flops;
  backward(out + in + weight + bias);       // of the weights
  if (!first) backward(out + weight + in);  // of the input
}

void LayerCounts::dense(Wide inputs, Wide outputs, bool first) {
  const Wide in = first ? 0 : kFloat * batch_ * inputs, out = kFloat * batch_ * outputs;
  linear(1, inputs, outputs, first);
  forward_needs(out, out + in);
  backward_needs(out + in);
}

// The logits are an output, and so is the loss of training.
void LayerCounts::logits(Wide inputs, Wide outputs, Wide rows, const LastWeight& weight) {
  const Wide in = kFloat * batch_ * rows * inputs, out = kFloat * batch_ * rows * outputs;
  linear(rows, inputs, outputs, false);
  kept_ += out + (options_.training ? kFloat : 0);
  forward_needs(0, in);
  backward_needs(out + in);
  if (!weight.bias) {  // which the forward pass reads, and the backward pass makes
    parameters_ -= outputs;
    forward(-kFloat * outputs);
    backward(-kFloat * outputs);
  }
  if (weight.shared) {
    parameters_ -= inputs * outputs;
    backward_needs(out + in + kFloat * inputs * outputs);
  }
}

void LayerCounts::conv(Wide kernel, Wide channels, Wide filters, Wide in_side, Wide out_side, bool first) {
  const Wide in = kFloat * batch_ * channels * in_side * in_side,
             out = kFloat * batch_ * filters * out_side * out_side,
             weights = kernel * kernel * channels * filters,
             flops = 2 * batch_ * weights * out_side * out_side;
  parameter(weights);
  forward_flops_ += flops;
  forward(in + kFloat * weights + out);
  backward_flops_ += first ? flops : 2 * flops;
  backward(out + in + kFloat * weights);
  if (!first) backward(out + kFloat * weights + in);
  save(out);  // the norm behind it reads it again
  forward_needs(0, out + (first ? 0 : in));
  backward_needs(out + (first ? 0 : in));
}

// The node also writes the statistics of the batch and changes the running ones in place.
void LayerCounts::batch_norm(Wide channels, Wide elements) {
  const Wide image = floats(elements), channel = kFloat * channels;
  parameter(2 * channels);
  kept_ += 2 * channel;
  forward(2 * image + 6 * channel);
  backward(3 * image + 5 * channel);
  save(2 * channel);
  forward_needs(image, 2 * image + 2 * channel);
  backward_needs(2 * image);
}

void LayerCounts::relu(Wide elements) {
  const Wide bytes = floats(elements);
  forward(2 * bytes);
  backward(3 * bytes);
  save(bytes);
  forward_needs(bytes, 2 * bytes);
  backward_needs(2 * bytes);
}

void LayerCounts::add(Wide elements, bool one_is_saved) {
  const Wide bytes = floats(elements);
  forward(3 * bytes);
  forward_needs(one_is_saved ? 2 * bytes : 3 * bytes, 3 * bytes);
}

void LayerCounts::sum_of_gradients(Wide elements) {
  const Wide bytes = floats(elements);
  backward(3 * bytes);
  backward_needs(3 * bytes);
}

// One byte says which place of the window was the largest.
void LayerCounts::max_pool(Wide in, Wide out) {
  const Wide from = floats(in), to = floats(out), places = batch_ * out;
  forward(from + to + places);
  backward(to + places + from);
  save(to + places);
  forward_needs(0, from + to + places);
  backward_needs(to + from);
}

void LayerCounts::average_pool(Wide in, Wide out) {
  const Wide from = floats(in), to = floats(out);
  forward(from + to);
  backward(to + from);
  save(to);
  forward_needs(0, from + to);
  backward_needs(to + from);
}

// The mean loss is one number, and so is its gradient, which a node makes.
void LayerCounts::softmax_cross_entropy(Wide classes) {
  if (!options_.training) return;
  const Wide logits = kFloat * batch_ * classes, labels = kLabel * batch_;
  forward(2 * logits + labels + kFloat);
  backward(kFloat);
  backward(2 * logits + labels + kFloat);
  save(logits);
  backward_needs(logits + kFloat);
}

// The step takes slices of the tokens: the inputs, and in training the targets.
void LayerCounts::tokens(Wide length, Wide rows) {
  const Wide slice = kLabel * batch_ * length, slices = options_.training ? 2 : 1;
  kept_ += kLabel * batch_ * (rows + (options_.training ? 1 : 0));
  forward(slices * 2 * slice);
  save(2 * slice);
  forward_needs(0, slice);
}

// The forward pass reads only the rows that ids name, but the gradient has all rows.
void LayerCounts::embedding(Wide vocabulary, Wide width, Wide length) {
  const Wide ids = kLabel * batch_ * length, out = kFloat * batch_ * length * width,
             table = kFloat * vocabulary * width;
  parameter(vocabulary * width);
  forward(ids + 2 * out);
  backward(out + ids + table);
  save(out);
  forward_needs(0, ids + out);
  backward_needs(out);
}

void LayerCounts::recurrent(const Cell& cell, Wide inputs, Wide hidden, Wide length) {
  const Wide steps = batch_ * length, in = kFloat * steps * inputs, out = kFloat * steps * hidden,
             rows = cell.gates * hidden, bias = kFloat * rows, weights = kFloat * rows * (inputs + hidden),
             kept = options_.training && cell.keeps_gates ? kFloat * steps * rows + out : 0,
             flops = 2 * steps * rows * (inputs + hidden);
  parameter(rows * (inputs + hidden) + rows);
  forward_flops_ += flops;
  backward_flops_ += 2 * flops;
  forward(in + weights + bias + out + kept);
  backward(out + in + weights + out + kept + weights + bias + in);
  save(out + kept);
  forward_needs(0, in + out);
  backward_needs(out + in);
}

// A reshape moves nothing, yet its output is a value of its own.
void LayerCounts::reshape(Wide elements) {
  const Wide bytes = floats(elements);
  save(bytes);
  forward_needs(0, 2 * bytes);
  backward_needs(2 * bytes);
}

void LayerCounts::sequence_cross_entropy(Wide vocabulary, Wide length) {
  if (!options_.training) return;
  const Wide logits = kFloat * batch_ * length * vocabulary, labels = kLabel * batch_ * length,
             lengths = kLabel * batch_, sums = kFloat * batch_ * length;
  kept_ -= logits;  // read again, and no output of training: kept once
  forward(logits + sums + labels + lengths + kFloat);
  backward(kFloat);
  backward(2 * logits + sums + labels + lengths + kFloat);
  save(logits + sums);
  backward_needs(logits + kFloat);
}

void LayerCounts::forward_node(Wide flops, Wide moved, Wide alone_in_training, Wide alone_in_inference) {
  forward_flops_ += flops;
  forward(moved);
  forward_needs(alone_in_training, alone_in_inference);
}

void LayerCounts::backward_node(Wide flops, Wide moved, Wide alone) {
  backward_flops_ += flops;
  backward(moved);
  backward_needs(alone);
}

void LayerCounts::statistic(Wide elements) { kept_ += kFloat * elements; }

Counts LayerCounts::finish() const {
  const Wide parameters = kFloat * parameters_, slots = options_.slots;
  const Wide state = options_.training ? parameters * (2 + slots) : parameters;
  const Wide update = options_.training ? parameters * (3 + 2 * slots) : 0;
  return {.parameters = narrow(parameters_),
          .forward_flops = narrow(forward_flops_),
          .backward_flops = options_.training ? narrow(backward_flops_) : 0,
          .compulsory_bytes = narrow(bytes_ + update),
          .saved_bytes = narrow(saved_),
          .peak_bytes = narrow(state + kept_ + saved_ + transient_)};
}

namespace {

using graph::Graph;
using graph::Role;
using graph::Value;
using graph::ValueId;

bool is_persistent(const Graph& graph, const Value& value) {
  if (value.role != Role::intermediate) return true;
  return value.gradient_of != graph::kNone && graph.value(value.gradient_of).role == Role::parameter;
}

std::vector<bool> saved_values(const Graph& graph) {
  std::vector<bool> saved(graph.values().size(), false);
  for (const graph::Node& reader : graph.nodes()) {
    if (reader.phase != graph::Phase::backward) continue;
    for (const ValueId input : reader.inputs) {
      const graph::NodeId producer = graph.value(input).producer;
      if (producer != graph::kNone && graph.node(producer).phase == graph::Phase::forward)
        saved[static_cast<std::size_t>(input)] = true;
    }
  }
  return saved;
}

std::int64_t peak_bytes(const Graph& graph) {
  std::vector<bool> apart = saved_values(graph);  // kept for the whole step, whichever node runs
  for (const ValueId value : graph.outputs()) apart[static_cast<std::size_t>(value)] = true;
  std::vector<std::size_t> last_use(apart.size(), 0);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const auto& values : {graph.nodes()[n].inputs, graph.nodes()[n].outputs})
      for (const ValueId value : values) last_use[static_cast<std::size_t>(value)] = n;
  std::int64_t kept = 0;
  std::vector<std::int64_t> begins(graph.nodes().size(), 0), ends(graph.nodes().size(), 0);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const Value& value = graph.values()[i];
    const std::int64_t bytes = value.type.bytes();
    if (apart[i] || is_persistent(graph, value)) {
      kept += bytes;
      continue;
    }
    if (value.producer == graph::kNone) continue;  // no node makes it any more
    begins[static_cast<std::size_t>(value.producer)] += bytes;
    ends[last_use[i]] += bytes;
  }
  std::int64_t living = 0, most = 0;
  for (std::size_t n = 0; n < begins.size(); ++n) {
    most = std::max(most, living += begins[n]);
    living -= ends[n];
  }
  return kept + most;
}

}  // namespace

Counts count_graph(const Graph& graph) {
  const graph::Cost forward = graph::total_cost(graph, graph::Phase::forward),
                    backward = graph::total_cost(graph, graph::Phase::backward);
  return {.parameters = graph::parameter_count(graph),
          .forward_flops = forward.flops,
          .backward_flops = backward.flops,
          .compulsory_bytes = graph::total_cost(graph).bytes_moved,
          .saved_bytes = graph::total_bytes_saved(graph),
          .peak_bytes = peak_bytes(graph)};
}

}  // namespace trainyard::networks::generator

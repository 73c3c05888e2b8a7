#include "backend/onednn/elementwise.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "ops/elementwise.h"

namespace trainyard::backend::onednn {

KernelIo follow_io(const KernelRequest& request, int leader, std::vector<std::pair<int, int>> in_place) {
  KernelIo io = plain_io(request.node);
  for (Layout& layout : io.inputs) layout = request.input_or_plain(leader);
  for (Layout& layout : io.outputs) layout = request.input_or_plain(leader);
  io.in_place = std::move(in_place);
  return io;
}

namespace {

using ops::Activation;

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::ActivationAttrs>();
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  const auto slope = static_cast<float>(attrs.slope);
  switch (attrs.kind) {
    case Activation::none:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i]; });
    case Activation::relu:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i] > 0 ? x[i] : 0; });
    case Activation::relu6:
      return for_each_element(count, [=](std::int64_t i) { y[i] = std::min(x[i] > 0 ? x[i] : 0, 6.0f); });
    case Activation::leaky_relu:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i] > 0 ? x[i] : slope * x[i]; });
    case Activation::sigmoid:
      return for_each_element(count, [=](std::int64_t i) { y[i] = 1 / (1 + std::exp(-x[i])); });
    case Activation::tanh:
      return for_each_element(count, [=](std::int64_t i) { y[i] = std::tanh(x[i]); });
  }
}

void run_grad(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::ActivationAttrs>();
  const float *d = arguments.input<float>(0), *y = arguments.input<float>(1);
  float* out = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  const auto slope = static_cast<float>(attrs.slope);
  switch (attrs.kind) {
    case Activation::none:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i]; });
    case Activation::relu:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 ? d[i] : 0; });
    case Activation::relu6:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 && y[i] < 6 ? d[i] : 0; });
    case Activation::leaky_relu:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 ? d[i] : slope * d[i]; });
    case Activation::sigmoid:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i] * y[i] * (1 - y[i]); });
    case Activation::tanh:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i] * (1 - y[i] * y[i]); });
  }
}

// sigmoid(0) is not 0: a padded layout would get garbage in its padding.
bool keeps_zeros(const graph::NodeView& node) {
  return node.attrs<ops::ActivationAttrs>().kind != Activation::sigmoid;
}

Decision accept_activation(const KernelRequest& request) {
  // A dropout's gradient stays apart: dst is not read for it, and what is not read costs nothing.
  if (request.node.attrs<ops::ActivationAttrs>().gradient_scale != 1) return Decision::no("scales nothing");
  return wants_f32(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  KernelIo io = follow_io(request, 0, {{0, 0}});
  if (!keeps_zeros(request.node) && io.inputs[0].pads(request.node.input_shape(0))) {
    io = plain_io(request.node);
    io.in_place = {{0, 0}};
  }
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

// The gradient follows the output it belongs to: that one is blocked, while a first gradient may still be
// plain.
std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, 1, {{0, 0}}), run_grad);
}

// Sums two, three or more rows; `finish(sum, i)` is a ReLU, a mask, or nothing.
template <typename Finish>
void sum_terms(const Arguments& arguments, int terms, const Finish& finish) {
  const float *a = arguments.input<float>(0), *b = terms > 1 ? arguments.input<float>(1) : nullptr;
  float* y = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  if (terms == 1) return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i], i); });
  if (terms == 2) return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i] + b[i], i); });
  const float* c = arguments.input<float>(2);
  if (terms == 3)
    return for_each_element(count, [=](std::int64_t i) { y[i] = finish(a[i] + b[i] + c[i], i); });
  for_each_element(count, [&arguments, &finish, y, terms](std::int64_t i) {
    float sum = 0;
    for (int t = 0; t < terms; ++t) sum += arguments.input<float>(t)[i];
    y[i] = finish(sum, i);
  });
}

void run_add(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::AddAttrs>();
  const int inputs = arguments.node.inputs();
  if (attrs.mask_by_last) {
    const float* mask = arguments.input<float>(inputs - 1);
    return sum_terms(arguments, inputs - 1,
                     [mask](float sum, std::int64_t i) { return mask[i] > 0 ? sum : 0; });
  }
  if (attrs.activation.kind == ops::Activation::relu)
    return sum_terms(arguments, inputs, [](float sum, std::int64_t) { return sum > 0 ? sum : 0; });
  sum_terms(arguments, inputs, [](float sum, std::int64_t) { return sum; });
}

Decision accept_add(const KernelRequest& request) {
  const ops::Activation kind = request.node.attrs<ops::AddAttrs>().activation.kind;
  if (kind != ops::Activation::none && kind != ops::Activation::relu) return Decision::no("fuses ReLU only");
  return wants_f32(request.node);
}

// Follows the first operand that is not plain: the others are then the fewer to reorder.
std::unique_ptr<Kernel> make_add(const KernelRequest& request) {
  int leader = 0;
  for (int i = request.node.inputs() - 1; i >= 0; --i)
    if (!request.input_or_plain(i).is_plain()) leader = i;
  // A residual is kept for the backward pass, what is added to it is not.
  std::vector<std::pair<int, int>> in_place;
  for (int i = 0; i < request.node.inputs(); ++i) in_place.emplace_back(0, i);
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, leader, std::move(in_place)),
                                          run_add);
}

void run_multiply(const Arguments& arguments) {
  const float *a = arguments.input<float>(0), *b = arguments.input<float>(1);
  float* y = arguments.output<float>(0);
  for_each_element(padded_elements(arguments), [=](std::int64_t i) { y[i] = a[i] * b[i]; });
}

Decision accept_multiply(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_multiply(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, 0, {{0, 0}}), run_multiply);
}

void run_scale(const Arguments& arguments) {
  const auto factor = static_cast<float>(arguments.node.attrs<ops::ScaleAttrs>().factor);
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  for_each_element(padded_elements(arguments), [=](std::int64_t i) { y[i] = factor * x[i]; });
}

Decision accept_scale(const KernelRequest& request) { return wants_f32(request.node); }

std::unique_ptr<Kernel> make_scale(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, 0, {{0, 0}}), run_scale);
}

// Philox4x32-10 on kLanes counters at once, one 64-bit lane each, so that the products need no shuffling.
// Writes the 4 * kLanes words in the order of Philox::word().
constexpr int kLanes = 8;
typedef std::uint64_t Lanes __attribute__((vector_size(kLanes * 8)));

void philox_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, std::uint32_t* words) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  const Lanes index = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + first_block;
  Lanes c0 = index & kLow, c1 = index >> 32, c2 = Lanes{} + (stream & kLow), c3 = Lanes{} + (stream >> 32);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Lanes p0 = c0 * std::uint64_t{0xD2511F53}, p1 = c2 * std::uint64_t{0xCD9E8D57};
    c0 = (p1 >> 32) ^ c1 ^ key0;
    c2 = (p0 >> 32) ^ c3 ^ key1;
    c1 = p1 & kLow;
    c3 = p0 & kLow;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  // Two words lie side by side in each lane, then the lanes of both halves interleave.
  const Lanes low = c0 | (c1 << 32), high = c2 | (c3 << 32);
  const Lanes first = __builtin_shuffle(low, high, Lanes{0, 8, 1, 9, 2, 10, 3, 11});
  const Lanes second = __builtin_shuffle(low, high, Lanes{4, 12, 5, 13, 6, 14, 7, 15});
  std::memcpy(words, &first, sizeof first);
  std::memcpy(words + 2 * kLanes, &second, sizeof second);
}

constexpr std::int64_t kChunk = 4 * kLanes;

void drop_chunk(const std::uint32_t* words, std::int64_t count, float rate, float scale, const float* x,
                float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = to_unit_float(words[i]) >= rate ? x[i] * scale : 0;
}

void run_dropout(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::DropoutAttrs>();
  const std::uint64_t stream = mix_streams(static_cast<std::uint64_t>(arguments.context.step), attrs.stream);
  const auto rate = static_cast<float>(attrs.rate);
  const std::int64_t count = arguments.node.output_shape(0).elements();
  parallel_chunks((count + kChunk - 1) / kChunk, 64, [&](std::int64_t begin, std::int64_t end, int) {
    std::uint32_t words[kChunk];
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      philox_words(arguments.context.seed, stream, static_cast<std::uint64_t>(chunk) * kLanes, words);
      const std::int64_t at = chunk * kChunk;
      drop_chunk(words, std::min(kChunk, count - at), rate, 1 / (1 - rate), arguments.input<float>(0) + at,
                 arguments.output<float>(0) + at);
    }
  });
}

Decision accept_dropout(const KernelRequest& request) { return wants_f32(request.node); }

// The mask belongs to logical elements, hence plain layout.
std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{Layout{}}, {Layout{}}, 0, {{0, 0}}},
                                          run_dropout);
}

}  // namespace

std::vector<Candidate> elementwise_candidates() {
  return {{&ops::activation_op, "own:activation", accept_activation, make_forward},
          {&ops::activation_grad_op, "own:activation_grad", accept_activation, make_grad},
          {&ops::add_op, "own:add", accept_add, make_add},
          {&ops::multiply_op, "own:multiply", accept_multiply, make_multiply},
          {&ops::scale_op, "own:scale", accept_scale, make_scale},
          {&ops::dropout_op, "own:dropout", accept_dropout, make_dropout}};
}

}  // namespace trainyard::backend::onednn

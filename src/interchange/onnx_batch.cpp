#include "interchange/onnx_batch.h"

#include "interchange/onnx_known.h"

namespace trainyard::interchange {
namespace {

constexpr std::int64_t kAsSource = 0, kFollows = -1;  // in ONNX's shapes of reshapes

// Returns what the first dimension becomes; nothing where it stays.
std::optional<std::int64_t> opened(const std::vector<double>& wanted, const TensorSpec& src,
                                   std::int64_t batch) {
  const auto first = static_cast<std::int64_t>(wanted[0]);
  if (first == batch && src.has_shape && !src.dims.empty() && src.dims[0] == batch) return kAsSource;
  // Rows of all samples. Another dimension of the batch's size might be the one that grows with it.
  const bool is_whole = std::all_of(wanted.begin(), wanted.end(), [](double dim) { return dim > 0; });
  const bool is_alone = std::none_of(wanted.begin() + 1, wanted.end(),
                                     [&](double dim) { return static_cast<std::int64_t>(dim) == batch; });
  return batch > 1 && first % batch == 0 && is_whole && is_alone ? std::optional(kFollows) : std::nullopt;
}

}  // namespace

void open_reshapes(onnx::Model& model, std::int64_t batch) {
  if (batch < 1) return;
  std::vector<onnx::Tensor> shapes;
  const KnownValues known(model, batch);
  for (onnx::Node& node : model.nodes) {
    if (node.type != "Reshape" || node.inputs.size() != 2 || node.outputs.empty()) continue;
    const onnx::Tensor* shape = known.constant(node.inputs[1]);
    if (shape == nullptr || shape->numbers.empty() || known.constant(node.inputs[0]) != nullptr ||
        node.integer("allowzero", 0) != 0)
      continue;
    const std::optional<std::int64_t> first = opened(shape->numbers, known.spec(node.inputs[0]), batch);
    if (!first) continue;
    // Other reshapes may have the same shape.
    shapes.push_back(
        {.name = node.outputs[0] + "_shape", .doc = "", .dtype = shape->dtype, .dims = shape->dims});
    shapes.back().numbers = shape->numbers;
    shapes.back().numbers[0] = static_cast<double>(*first);
    node.inputs[1] = shapes.back().name;
  }
  model.initializers.insert(model.initializers.end(), shapes.begin(), shapes.end());
}

}  // namespace trainyard::interchange

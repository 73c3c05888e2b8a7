// The shapes that follow from an op and the shapes of its inputs.

#include "interchange/onnx_facts.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

using Dims = std::vector<std::int64_t>;

std::optional<TensorSpec> broadcast(const NodeFacts& facts, std::size_t first) {
  TensorSpec joined = of_dims(facts.input(first), {});
  for (std::size_t n = 0; n < facts.inputs(); ++n) {
    const TensorSpec& input = facts.input(n);
    if (!input.has_shape) return std::nullopt;
    if (input.dims.size() > joined.dims.size())
      joined.dims.insert(joined.dims.begin(), input.dims.size() - joined.dims.size(), 1);
    const std::size_t shift = joined.dims.size() - input.dims.size();
    for (std::size_t i = 0; i < input.dims.size(); ++i) {
      std::int64_t& dim = joined.dims[i + shift];
      const std::int64_t other = input.dims[i];
      if (dim > 1 && other > 1 && dim != other) return std::nullopt;
      if (dim == 1) dim = other;
      if (other == kUnknown) dim = kUnknown;
    }
  }
  return joined;
}

std::optional<TensorSpec> product(const NodeFacts& facts) {
  const TensorSpec &a = facts.input(0), &b = facts.input(1);
  if (rank_of(a) < 2 || rank_of(b) < 2) return std::nullopt;
  TensorSpec made = rank_of(a) >= rank_of(b) ? a : b;
  for (std::size_t i = 0; i + 2 < made.dims.size(); ++i)
    for (const TensorSpec* one : {&a, &b})
      if (const std::size_t shift = made.dims.size() - one->dims.size();
          i >= shift && one->dims[i - shift] != 1)
        made.dims[i] = one->dims[i - shift];
  made.dims[made.dims.size() - 2] = a.dims[a.dims.size() - 2];
  made.dims.back() = b.dims.back();
  return made;
}

std::optional<TensorSpec> reshaped(const NodeFacts& facts) {
  const std::optional<Dims> wanted = facts.integers(1, "shape");
  const TensorSpec& src = facts.input(0);
  if (!wanted || !src.elements()) return std::nullopt;
  Dims dims = *wanted;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && i < src.dims.size()) dims[i] = src.dims[i];
    if (dims[i] == -1 && !open)
      open = i;
    else if (dims[i] < 1 || dims[i] > kMaxElements / known)
      return std::nullopt;
    else
      known *= dims[i];
  }
  if (open) dims[*open] = *src.elements() / known;
  return of_dims(src, dims);
}

std::optional<TensorSpec> sliced(const NodeFacts& facts) {
  const TensorSpec& src = facts.input(0);
  const std::optional<Dims> starts = facts.integers(1, "starts"), ends = facts.integers(2, "ends");
  std::optional<Dims> axes = facts.integers(3, "axes"), steps = facts.integers(4);
  if (!src.has_shape || !starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes->size() != starts->size()) return std::nullopt;
  TensorSpec made = src;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank_of(src) : (*axes)[i];
    if (axis < 0 || axis >= rank_of(src) || (steps && (i >= steps->size() || (*steps)[i] == 0)))
      return std::nullopt;
    const std::int64_t dim = src.dims[static_cast<std::size_t>(axis)];
    if (dim == kUnknown) return std::nullopt;
    made.dims[static_cast<std::size_t>(axis)] =
        section_of(dim, (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1).count;
  }
  return made;
}

std::optional<TensorSpec> squeezed(const NodeFacts& facts, bool add) {
  const TensorSpec& src = facts.input(0);
  const Dims axes = facts.integers(1, "axes").value_or(Dims{});
  if (!src.has_shape) return std::nullopt;
  const std::int64_t rank = rank_of(src) + (add ? static_cast<std::int64_t>(axes.size()) : 0);
  if (rank > kMaxRank) return std::nullopt;
  std::vector<bool> named(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    named[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  TensorSpec made = of_dims(src, {});
  std::size_t next = 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (add)
      made.dims.push_back(named[i] || next >= src.dims.size() ? 1 : src.dims[next++]);
    else if (axes.empty() ? src.dims[i] != 1 : !named[i])
      made.dims.push_back(src.dims[i]);
  }
  return made;
}

std::optional<TensorSpec> joined(const NodeFacts& facts) {
  TensorSpec made = facts.input(0);
  const std::int64_t axis = facts.axis("axis", 0, rank_of(made));
  if (!made.has_shape || axis < 0 || axis >= rank_of(made)) return std::nullopt;
  for (std::size_t i = 1; i < facts.inputs(); ++i) {
    const TensorSpec& part = facts.input(i);
    if (part.dims.size() != made.dims.size()) return std::nullopt;
    const auto at = static_cast<std::size_t>(axis);
    if (made.dims[at] == kUnknown || part.dims[at] == kUnknown) return std::nullopt;
    for (std::size_t other = 0; other < made.dims.size(); ++other)
      if (other != at && made.dims[other] != part.dims[other]) return std::nullopt;
    made.dims[at] += part.dims[at];
  }
  return made;
}

std::optional<TensorSpec> gathered(const NodeFacts& facts) {
  const TensorSpec &src = facts.input(0), &indices = facts.input(1);
  const std::int64_t axis = facts.axis("axis", 0, rank_of(src));
  if (!src.has_shape || !indices.has_shape || axis < 0 || axis >= rank_of(src)) return std::nullopt;
  Dims dims(src.dims.begin(), src.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), src.dims.begin() + axis + 1, src.dims.end());
  if (dims.size() > kMaxRank) return std::nullopt;
  return of_dims(src, dims);
}

std::optional<TensorSpec> expanded(const NodeFacts& facts) {
  const std::optional<Dims> wanted = facts.integers(1);
  const TensorSpec& src = facts.input(0);
  if (!src.has_shape || !wanted || wanted->size() > kMaxRank) return std::nullopt;
  Dims dims = *wanted;
  if (dims.size() < src.dims.size()) dims.insert(dims.begin(), src.dims.size() - dims.size(), 1);
  const std::size_t shift = dims.size() - src.dims.size();
  for (std::size_t i = 0; i < src.dims.size(); ++i)
    if (dims[i + shift] == 1)
      dims[i + shift] = src.dims[i];
    else if (src.dims[i] != 1 && src.dims[i] != dims[i + shift])
      return std::nullopt;
  return of_dims(src, dims);
}

std::optional<TensorSpec> transposed(const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec& src = facts.input(0);
  Dims order = node.integers("perm"), dims;
  if (order.empty())
    for (std::int64_t i = rank_of(src); i > 0; --i) order.push_back(i - 1);
  if (!src.has_shape || order.size() != src.dims.size()) return std::nullopt;
  for (const std::int64_t axis : order) {
    if (axis < 0 || axis >= rank_of(src)) return std::nullopt;
    dims.push_back(src.dims[static_cast<std::size_t>(axis)]);
  }
  return of_dims(src, dims);
}

std::optional<TensorSpec> reduced(const NodeFacts& facts, const onnx::Node& node) {
  TensorSpec made = facts.input(0);
  const std::optional<Dims> axes = facts.integers(1, "axes");
  if (!made.has_shape || !axes) return std::nullopt;
  std::vector<bool> gone(made.dims.size(), false);
  for (const std::int64_t axis : *axes) {
    const std::int64_t at = axis < 0 ? axis + rank_of(made) : axis;
    if (at < 0 || at >= rank_of(made)) return std::nullopt;
    gone[static_cast<std::size_t>(at)] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i] && node.integer("keepdims", 1) == 0) continue;
    dims.push_back(gone[i] ? 1 : made.dims[i]);
  }
  return of_dims(made, dims);
}

std::optional<TensorSpec> flattened(const NodeFacts& facts, const onnx::Node&) {
  const TensorSpec& src = facts.input(0);
  const std::int64_t axis = facts.axis("axis", 1, rank_of(src));
  if (!src.elements() || *src.elements() == 0 || axis < 0 || axis > rank_of(src)) return std::nullopt;
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= src.dims[static_cast<std::size_t>(i)];
  return of_dims(src, {rows, *src.elements() / rows});
}

std::optional<TensorSpec> multiplied(const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec &src = facts.input(0), &weight = facts.input(1);
  if (rank_of(src) != 2 || rank_of(weight) != 2) return std::nullopt;
  return of_dims(src, {src.dims[node.integer("transA", 0) != 0 ? 1 : 0],
                       weight.dims[node.integer("transB", 0) != 0 ? 0 : 1]});
}

std::optional<TensorSpec> filled(const NodeFacts& facts, const onnx::Node& node) {
  const onnx::Attribute* value = node.find("value");
  const std::optional<Dims> dims = facts.integers(0);
  if (!dims || dims->size() > kMaxRank) return std::nullopt;
  return TensorSpec{true, *dims, value != nullptr && !value->tensor.empty() ? value->tensor[0].dtype : "f32"};
}

std::optional<TensorSpec> converted(const NodeFacts& facts, const onnx::Node& node) {
  const TensorSpec& src = facts.input(0);
  return TensorSpec{src.has_shape, src.dims, onnx::type_of_number(node.integer("to", 0))};
}

std::optional<TensorSpec> compared(const NodeFacts& facts, const onnx::Node&) {
  std::optional<TensorSpec> made = broadcast(facts, 0);
  if (made) made->dtype = "bool";
  return made;
}

// The first output is as the first input.
constexpr const char* kSameShape[] = {"Abs",
                                      "BatchNormalization",
                                      "Ceil",
                                      "Clip",
                                      "Cos",
                                      "Dropout",
                                      "Elu",
                                      "Erf",
                                      "Exp",
                                      "Floor",
                                      "Gelu",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "Identity",
                                      "InstanceNormalization",
                                      "LayerNormalization",
                                      "LeakyRelu",
                                      "Log",
                                      "LogSoftmax",
                                      "Neg",
                                      "Not",
                                      "PRelu",
                                      "Reciprocal",
                                      "Relu",
                                      "Selu",
                                      "Sigmoid",
                                      "Sin",
                                      "Softmax",
                                      "Softplus",
                                      "Sqrt",
                                      "Tanh",
                                      "Trilu"};

std::optional<TensorSpec> first_spec(const NodeFacts& facts, const onnx::Node& node) {
  using Rule = std::optional<TensorSpec> (*)(const NodeFacts&, const onnx::Node&);
  static const auto rules = [] {
    std::map<std::string, Rule> all{
        {"Cast", converted},
        {"Flatten", flattened},
        {"Gemm", multiplied},
        {"ConstantOfShape", filled},
        {"Transpose", transposed},
        {"Conv", convolved},
        {"MaxPool", pooled},
        {"AveragePool", pooled},
        {"GlobalAveragePool", pooled},
        {"Shape",
         [](const NodeFacts& f, const onnx::Node& n) {
           const std::int64_t rank = rank_of(f.input(0)),
                              count =
                                  section_of(rank, n.integer("start", 0), n.integer("end", rank), 1).count;
           return std::optional(TensorSpec{f.input(0).has_shape, {count}, "i64"});
         }},
        {"Size",
         [](const NodeFacts&, const onnx::Node&) {
           return std::optional(TensorSpec{true, {}, "i64"});
         }},
        {"Where", [](const NodeFacts& f, const onnx::Node&) { return broadcast(f, 1); }},
        {"MatMul", [](const NodeFacts& f, const onnx::Node&) { return product(f); }},
        {"Reshape", [](const NodeFacts& f, const onnx::Node&) { return reshaped(f); }},
        {"Slice", [](const NodeFacts& f, const onnx::Node&) { return sliced(f); }},
        {"Squeeze", [](const NodeFacts& f, const onnx::Node&) { return squeezed(f, false); }},
        {"Unsqueeze", [](const NodeFacts& f, const onnx::Node&) { return squeezed(f, true); }},
        {"Concat", [](const NodeFacts& f, const onnx::Node&) { return joined(f); }},
        {"Gather", [](const NodeFacts& f, const onnx::Node&) { return gathered(f); }},
        {"Pad", [](const NodeFacts& f, const onnx::Node&) { return padded(f); }},
        {"Expand", [](const NodeFacts& f, const onnx::Node&) { return expanded(f); }}};
    for (const char* type : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or"})
      all[type] = compared;
    for (const char* type : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Mod"})
      all[type] = [](const NodeFacts& f, const onnx::Node&) { return broadcast(f, 0); };
    for (const char* type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"})
      all[type] = reduced;
    for (const char* type : kSameShape)
      all[type] = [](const NodeFacts& f, const onnx::Node&) { return std::optional(f.input(0)); };
    return all;
  }();
  const auto rule = rules.find(node.type);
  return rule == rules.end() ? std::nullopt : rule->second(facts, node);
}

}  // namespace

Section section_of(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  // Backwards the last place is dim - 1, and the end before the first one is -1.
  const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? dim : dim - 1;
  const auto inside = [&](std::int64_t at) {
    return std::max(least, std::min(most, at < 0 ? at + dim : at));
  };
  const std::int64_t begin = inside(start), length = step > 0 ? inside(end) - begin : begin - inside(end),
                     stride = std::clamp<std::int64_t>(std::abs(step), 1, kMaxElements);
  return {std::max<std::int64_t>(begin, 0), length <= 0 ? 0 : (length - 1) / stride + 1,
          step > 0 ? stride : -stride};
}

std::vector<TensorSpec> output_specs(const KnownValues& known, const onnx::Node& node,
                                     std::vector<TensorSpec> inputs) {
  const NodeFacts facts(known, node, std::move(inputs));
  std::vector<TensorSpec> specs(node.outputs.size());
  if (specs.empty() || !(node.domain.empty() || node.domain == "ai.onnx")) return specs;
  if (node.type == "Split") {
    const TensorSpec& src = facts.input(0);
    const std::int64_t axis = facts.axis("axis", 0, rank_of(src));
    if (!src.has_shape || axis < 0 || axis >= rank_of(src)) return specs;
    const auto at = static_cast<std::size_t>(axis);
    const std::optional<Dims> sizes = facts.integers(1, "split");
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      specs[i] = src;
      specs[i].dims[at] = !sizes              ? src.dims[at] / static_cast<std::int64_t>(specs.size())
                          : i < sizes->size() ? (*sizes)[i]
                                              : 0;
      sum += specs[i].dims[at];
    }
    if (sum != src.dims[at]) specs.assign(specs.size(), {});
    return specs;
  }
  if (node.type == "LSTM" || node.type == "GRU" || node.type == "RNN") {
    const TensorSpec &src = facts.input(0), &weight = facts.input(2);
    if (rank_of(src) != 3 || rank_of(weight) != 3 || node.integer("layout", 0) != 0) return specs;
    const Dims last{weight.dims[0], src.dims[1], weight.dims[2]};
    for (std::size_t i = 0; i < specs.size() && i < 3; ++i) specs[i] = of_dims(src, last);
    specs[0].dims.insert(specs[0].dims.begin(), src.dims[0]);
    return specs;
  }
  if (node.type == "Resize" || node.type == "Upsample") {
    if (std::optional<TensorSpec> made = resized(known, facts, node)) specs[0] = std::move(*made);
    return specs;
  }
  if (std::optional<TensorSpec> first = first_spec(facts, node)) specs[0] = std::move(*first);
  return specs;
}

}  // namespace trainyard::interchange

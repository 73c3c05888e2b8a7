#include "interchange/onnx_known.h"

#include "base/error.h"
#include "interchange/onnx_content.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

using Numbers = std::vector<double>;
using Shared = std::shared_ptr<const Numbers>;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kMostFollowed = std::int64_t{1} << 24;  // numbers of a value: a mask of 4096 steps
constexpr std::int64_t kMostFollowedOfAll = std::int64_t{1} << 28;
constexpr int kDeepest = 64;  // ops between a value and the file's numbers

bool is_whole(std::string_view dtype) {
  return dtype == "bool" || dtype.starts_with('i') || dtype.starts_with('u');
}

double computed(const std::string& type, double a, double b) {
  if (type == "Add") return a + b;
  if (type == "Sub") return a - b;
  if (type == "Mul") return a * b;
  if (type == "Pow") return std::pow(a, b);
  if (type == "Min") return std::min(a, b);
  if (type == "Max") return std::max(a, b);
  if (type == "Equal") return a == b ? 1 : 0;
  if (type == "Less") return a < b ? 1 : 0;
  if (type == "Greater") return a > b ? 1 : 0;
  if (type == "LessOrEqual") return a <= b ? 1 : 0;
  if (type == "GreaterOrEqual") return a >= b ? 1 : 0;
  if (type == "And") return a != 0 && b != 0 ? 1 : 0;
  if (type == "Or") return a != 0 || b != 0 ? 1 : 0;
  return std::numeric_limits<double>::quiet_NaN();
}

bool has_two(const std::string& type) {
  for (const char* name : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Equal", "Less", "Greater",
                           "LessOrEqual", "GreaterOrEqual", "And", "Or"})
    if (type == name) return true;
  return false;
}

// Whole numbers are divided towards zero, and by no zero.
double quotient(bool whole, double a, double b) {
  if (!whole) return a / b;
  return b == 0 ? 0 : std::trunc(a / b);
}

std::optional<double (*)(double)> function_of(const std::string& type) {
  using Function = double (*)(double);
  static const std::map<std::string, Function> kFunctions{
      {"Neg", [](double x) { return -x; }},
      {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Sin", [](double x) { return std::sin(x); }}};
  const auto found = kFunctions.find(type);
  return found == kFunctions.end() ? std::nullopt : std::optional(found->second);
}

// Returns the place of an element of `dims` in an operand that is broadcast to it.
std::size_t broadcast_place(std::int64_t index, const Dims& dims, const Dims& operand) {
  std::int64_t at = 0, stride = 1;
  const std::size_t shift = dims.size() - operand.size();
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::int64_t here = index % dims[i];
    index /= dims[i];
    if (i < shift) continue;
    if (operand[i - shift] != 1) at += here * stride;
    stride *= operand[i - shift];
  }
  return static_cast<std::size_t>(at);
}

// The inputs of a node whose result is computed.
struct Operands {
  TensorSpec dst;
  std::vector<Shared> numbers = {};
  std::vector<Dims> dims = {};

  double at(std::size_t input, std::int64_t index) const {
    return (*numbers[input])[broadcast_place(index, dst.dims, dims[input])];
  }
  double one(std::size_t input) const {
    return input < numbers.size() && numbers[input] != nullptr && numbers[input]->size() == 1
               ? numbers[input]->front()
               : 0.0;
  }
};

using Element = std::function<double(std::int64_t)>;

Shared each(std::int64_t elements, const Element& element) {
  Numbers made(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) made[static_cast<std::size_t>(i)] = element(i);
  return std::make_shared<const Numbers>(std::move(made));
}

Shared range(const Operands& operands) {
  const double start = operands.one(0), step = operands.one(2);
  const double count = step == 0 ? -1 : std::ceil((operands.one(1) - start) / step);
  if (!(count > 0 && count <= static_cast<double>(kMostFollowed))) return nullptr;
  return each(static_cast<std::int64_t>(count),
              [&](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

Element triangle(const onnx::Node& node, const Operands& operands) {
  const std::int64_t columns = operands.dst.dims.back(),
                     rows = operands.dst.dims[operands.dst.dims.size() - 2];
  const double given = operands.one(1);
  const auto shift = static_cast<std::int64_t>(std::isnan(given) ? 0 : std::clamp(given, -1e9, 1e9));
  return [&operands, columns, rows, shift, upper = node.integer("upper", 1) != 0](std::int64_t i) {
    const std::int64_t above = i % columns - i / columns % rows - shift;
    return (upper ? above >= 0 : above <= 0) ? (*operands.numbers[0])[static_cast<std::size_t>(i)] : 0.0;
  };
}

// Returns how an element of the result is computed; nothing where the op is not known here.
std::optional<Element> element_of(const onnx::Node& node, const Operands& operands) {
  const std::size_t inputs = operands.numbers.size();
  if (node.type == "ConstantOfShape") {
    const onnx::Attribute* value = node.find("value");
    const bool given = value != nullptr && !value->tensor.empty() && !value->tensor[0].numbers.empty();
    return [number = given ? value->tensor[0].numbers[0] : 0.0](std::int64_t) { return number; };
  }
  if (node.type == "Div" && inputs == 2)
    return [&operands, whole = is_whole(operands.dst.dtype)](std::int64_t i) {
      return quotient(whole, operands.at(0, i), operands.at(1, i));
    };
  if (has_two(node.type) && inputs == 2)
    return [&](std::int64_t i) { return computed(node.type, operands.at(0, i), operands.at(1, i)); };
  if (node.type == "Where" && inputs == 3)
    return [&](std::int64_t i) { return operands.at(0, i) != 0 ? operands.at(1, i) : operands.at(2, i); };
  if (node.type == "Trilu" && operands.dst.dims.size() >= 2) return triangle(node, operands);
  if (const auto function = function_of(node.type))
    return [&operands, apply = *function](std::int64_t i) {
      return apply((*operands.numbers[0])[static_cast<std::size_t>(i)]);
    };
  return std::nullopt;
}

}  // namespace

void set_open_batch(const onnx::Model& model, std::int64_t batch, TensorSpec& spec) {
  const bool by_steps = model.producer == kProducer && spec.dtype.starts_with('i') && spec.dims.size() == 2;
  const std::size_t axis = by_steps && spec.dims[0] != kUnknown ? 1 : 0;
  if (axis < spec.dims.size() && spec.dims[axis] == kUnknown) spec.dims[axis] = batch;
}

KnownValues::KnownValues(const onnx::Model& model, std::int64_t batch) {
  const bool open = std::any_of(model.inputs.begin(), model.inputs.end(), [](const onnx::ValueInfo& input) {
    return std::find(input.spec.dims.begin(), input.spec.dims.end(), kUnknown) != input.spec.dims.end();
  });
  // The file declares values in between for its own batch.
  if (!open)
    for (const auto* values : {&model.values, &model.outputs})
      for (const onnx::ValueInfo& value : *values) specs_[value.name] = value.spec;
  for (const onnx::ValueInfo& value : model.inputs) specs_[value.name] = value.spec;
  for (const onnx::ValueInfo& value : model.inputs) set_open_batch(model, batch, specs_[value.name]);
  for (const onnx::Tensor& tensor : model.initializers) {
    initializers_[tensor.name] = &tensor;
    specs_[tensor.name] = {true, tensor.dims, tensor.dtype};
    // Single numbers are factors and bounds; more of them are weights, where they are no whole ones.
    if (is_whole(tensor.dtype) || tensor.elements() == 1) constants_.emplace(tensor.name, tensor);
  }
  for (const onnx::Node& node : model.nodes) follow(node);
}

void KnownValues::follow(const onnx::Node& node) {
  for (const std::string& output : node.outputs)
    if (!output.empty()) makers_[output] = node;
  if (node.type == "Constant" && !node.outputs.empty()) {
    const onnx::Attribute* value = node.find("value");
    if (value == nullptr || value->tensor.empty()) return;
    onnx::Tensor tensor = value->tensor[0];
    tensor.name = node.outputs[0];
    specs_[tensor.name] = {true, tensor.dims, tensor.dtype};
    constants_[tensor.name] = std::move(tensor);
    return;
  }
  const std::vector<TensorSpec> followed = followed_specs(node);
  bool constant = !node.inputs.empty();
  for (const std::string& input : node.inputs) constant = constant && (input.empty() || is_constant(input));
  const bool of_shape = node.type == "Shape" || node.type == "Size";
  if (of_shape && !node.inputs.empty() && spec(node.inputs[0]).elements()) constant = true;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (followed[i].has_shape) specs_[name] = followed[i];
    // A truth value has no gradient, whatever it is made of.
    const bool truth = specs_[name].dtype == "bool";
    if (!constant && !truth) continue;
    const Shared content = compute(node, i, 0);
    if (content == nullptr) continue;
    if (node.type == "Range")
      specs_[name] = {true, {static_cast<std::int64_t>(content->size())}, spec(node.inputs[0]).dtype};
    onnx::Tensor tensor;
    tensor.name = name;
    tensor.dtype = specs_[name].dtype;
    tensor.dims = specs_[name].dims;
    // Many numbers have one copy, because rules read few.
    if (static_cast<std::int64_t>(content->size()) <= onnx::kReadNumbers) tensor.numbers = *content;
    numbers_[name] = content;
    constants_[name] = std::move(tensor);
  }
}

std::vector<TensorSpec> KnownValues::followed_specs(const onnx::Node& node) const {
  std::vector<TensorSpec> inputs;
  for (const std::string& input : node.inputs) inputs.push_back(spec(input));
  return output_specs(*this, node, std::move(inputs));
}

const TensorSpec& KnownValues::spec(const std::string& value) const {
  static const TensorSpec kNothing;
  const auto found = specs_.find(value);
  return found == specs_.end() ? kNothing : found->second;
}

bool KnownValues::makes_constants(const onnx::Node& node) const {
  return !node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(),
                                              [&](const std::string& output) { return is_constant(output); });
}

const onnx::Tensor* KnownValues::constant(const std::string& value) const {
  if (const auto found = constants_.find(value); found != constants_.end()) return &found->second;
  const auto found = initializers_.find(value);
  return found == initializers_.end() ? nullptr : found->second;
}

const onnx::Node* KnownValues::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : &found->second;
}

Shared KnownValues::numbers(const std::string& value) const { return numbers(value, 0); }

std::optional<double> KnownValues::number(const std::string& value) const {
  const std::optional<std::int64_t> elements = spec(value).elements();
  const Shared found = elements && *elements == 1 ? numbers(value) : nullptr;
  return found != nullptr && found->size() == 1 ? std::optional(found->front()) : std::nullopt;
}

Shared KnownValues::numbers(const std::string& value, int depth) const {
  if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
  Shared content;
  if (const onnx::Tensor* tensor = constant(value)) {
    if (tensor->elements() > kMostFollowed || tensor->external) return nullptr;
    try {
      content = std::make_shared<const Numbers>(read_content(*tensor, value));
    } catch (const Error&) {
      return nullptr;  // the import says it where the numbers are needed
    }
  } else if (const onnx::Node* node = maker(value); node != nullptr && depth < kDeepest) {
    const auto output = std::find(node->outputs.begin(), node->outputs.end(), value);
    content = compute(*node, static_cast<std::size_t>(output - node->outputs.begin()), depth + 1);
  }
  return numbers_[value] = content;
}

Shared KnownValues::compute(const onnx::Node& node, std::size_t output, int depth) const {
  // The file may declare wrong shapes; only what follows from its nodes counts.
  const TensorSpec dst = followed_specs(node)[output];
  if (node.type == "Shape") {
    const TensorSpec src = node.inputs.empty() ? TensorSpec{} : spec(node.inputs[0]);
    if (!src.elements()) return nullptr;
    const auto rank = static_cast<std::int64_t>(src.dims.size());
    const Section part = section_of(rank, node.integer("start", 0), node.integer("end", rank), 1);
    const auto begin = src.dims.begin() + part.begin;
    return std::make_shared<const Numbers>(begin, begin + part.count);
  }
  if (node.type == "Size") {
    const TensorSpec src = node.inputs.empty() ? TensorSpec{} : spec(node.inputs[0]);
    return src.elements() ? std::make_shared<const Numbers>(1, static_cast<double>(*src.elements()))
                          : nullptr;
  }
  Operands operands{.dst = dst};
  for (const std::string& input : node.inputs) {
    operands.numbers.push_back(input.empty() ? nullptr : numbers(input, depth));
    operands.dims.push_back(spec(input).dims);
    if (!input.empty() && operands.numbers.back() == nullptr) return nullptr;
  }
  if (node.type == "Range") return range(operands);
  if (operands.numbers.empty() || !dst.elements() || *dst.elements() > kMostFollowed) return nullptr;
  followed_ += *dst.elements();
  if (followed_ > kMostFollowedOfAll) return nullptr;
  if (const auto element = element_of(node, operands)) return each(*dst.elements(), *element);
  const auto move = movement(node, output);
  if (!move) return nullptr;
  const bool truncates = node.type == "Cast" && is_whole(dst.dtype);
  return each(*dst.elements(), [&](std::int64_t i) {
    const Origin origin = (*move)(i);
    const double number = operands.numbers[origin.input]->at(static_cast<std::size_t>(origin.index));
    return truncates ? std::trunc(number) : number;
  });
}

}  // namespace trainyard::interchange

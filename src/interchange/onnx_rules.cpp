#include "interchange/onnx_rules.h"

#include "interchange/text_format.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace trainyard::interchange {

using graph::ValueId;

// Token ids are 64-bit elsewhere and 32-bit here. Files may keep numbers in 16 bits that are computed in 32.
std::optional<graph::TensorType> type_of(const TensorSpec& spec) {
  if (!spec.elements() || spec.dims.size() > static_cast<std::size_t>(Shape::kMaxRank)) return std::nullopt;
  graph::TensorType type;
  for (const std::int64_t dim : spec.dims) {
    if (dim < 1) return std::nullopt;
    type.shape.append(dim);
  }
  if (spec.dtype == "i64" || spec.dtype == "f16" || spec.dtype == "bf16") {
    type.dtype = spec.dtype == "i64" ? DType::i32 : DType::f32;
    return type;
  }
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u8})
    if (spec.dtype == trainyard::name(dtype)) {
      type.dtype = dtype;
      return type;
    }
  return std::nullopt;
}

ImportContext::ImportContext(const onnx::Model& model, const KnownValues& known, graph::Graph& graph,
                             Options options)
    : known_(known),
      graph_(graph),
      options_(std::move(options)),
      opset_(model.opset),
      own_file_(model.producer == kProducer) {
  for (const onnx::Tensor& tensor : model.initializers) constants_[tensor.name] = &tensor;
  for (const onnx::ValueInfo& value : model.values) declared_[value.name] = value.spec;
  for (const onnx::ValueInfo& value : model.outputs) {
    outputs_.insert(value.name);
    declared_[value.name] = value.spec;
  }
  for (const onnx::ValueInfo& value : model.inputs) {
    if (constants_.contains(value.name)) continue;  // until version 4 initializers are inputs, too
    TensorSpec spec = value.spec;
    set_open_batch(model, options_.batch, spec);
    inputs_[value.name] = std::move(spec);
    roles_[value.name] = value.doc;
  }
  const auto is_sample = [&](const auto& role) { return role.second.empty(); };
  if (std::count_if(roles_.begin(), roles_.end(), is_sample) == 1)
    sample_ = std::find_if(roles_.begin(), roles_.end(), is_sample)->first;
  for (const onnx::Node& node : model.nodes)
    for (const std::string& input : node.inputs)
      if (!input.empty() && !known_.makes_constants(node)) readers_[input].push_back(&node);
  if (!options_.tokens.empty()) add_tokens(options_.tokens);
}

std::string ImportContext::name(const onnx::Node& node) {
  if (!node.name.empty()) return node.name;
  return node.outputs.empty() || node.outputs[0].empty() ? node.type : node.outputs[0];
}

ValueId ImportContext::value(const std::string& value) const {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  const auto found = rows_.find(value);
  return found == rows_.end() ? static_cast<ValueId>(graph::kNone) : found->second.rows.value;
}

const onnx::Tensor* ImportContext::constant(const std::string& value) const {
  if (const auto found = constants_.find(value); found != constants_.end()) return found->second;
  return known_.is_constant(value) ? known_.constant(value) : nullptr;  // of a node further behind
}

TensorSpec ImportContext::declared(const std::string& value) const {
  for (const auto* table : {&inputs_, &declared_})
    if (const auto found = table->find(value); found != table->end()) return found->second;
  return {};
}

// The samples of a network on sequences hold their labels, too, and lie step by step: there is one step more,
// or twice as many.
void ImportContext::add_tokens(const std::string& value) {
  const TensorSpec& spec = inputs_.at(value);
  const std::int64_t sequences = spec.dims[0], steps = spec.dims[1];
  if (sequences < 1 ||
      static_cast<double>(sequences) * 2 * static_cast<double>(steps) > static_cast<double>(kMaxElements))
    return;
  std::int64_t vocabulary = kMaxElements;
  if (const auto readers = readers_.find(value); readers != readers_.end())
    for (const onnx::Node* reader : readers->second)
      if (const onnx::Tensor* table = reader->type == "Gather" ? constant(reader->inputs[0]) : nullptr;
          table != nullptr && !table->dims.empty())
        vocabulary = std::min(vocabulary, table->dims[0]);
  tokens_ = graph_.add_input(
      value, {{options_.masked ? 2 * steps : steps + 1, sequences}, DType::i32},
      graph::Initializer::integers(0, static_cast<double>(std::max<std::int64_t>(vocabulary, 1))));
  const ValueId ids = ops::slice(graph_, "ids", tokens_, {0, 0}, {steps, sequences});
  rows_[value] = {
      {.value = ids, .outer = sequences, .inner = steps, .swapped = true}, {sequences, steps}, "ids"};
}

ValueId ImportContext::add_input(const std::string& value) {
  const std::optional<graph::TensorType> type = type_of(inputs_.at(value));
  if (!type) decline("input '{}' is {}", value, inputs_.at(value).to_string());
  return values_[value] = graph_.add_input(value, *type, graph::Initializer::normal(1));
}

ValueId ImportContext::tensor(const onnx::Node& node, std::size_t input) {
  if (!has(node, input)) decline("input {} is missing", input);
  const std::string& name = node.inputs[input];
  if (const ValueId known = tensor_of(name); known != graph::kNone) return known;
  if ((known_.is_constant(name) && known_.maker(name) != nullptr) || is_mask(name)) return add_fixed(name);
  if (constants_.contains(name)) return state(node, input, shape(node, input));
  if (inputs_.contains(name)) return add_input(name);
  decline("the shape of its input '{}' is not known", name);
}

// A mask lies in the file as weights do, but hides by numbers that no weight has.
bool ImportContext::is_mask(const std::string& name) const {
  const onnx::Tensor* tensor = constant(name);
  const auto numbers = tensor != nullptr && tensor->dtype.starts_with('f') ? known_.numbers(name) : nullptr;
  return numbers != nullptr &&
         std::any_of(numbers->begin(), numbers->end(), [](double number) { return !(number > kHidden); });
}

// Numbers that no weight takes part in are not trained.
ValueId ImportContext::add_fixed(const std::string& name) {
  const std::optional<graph::TensorType> type = type_of(known_.spec(name));
  const auto numbers = known_.numbers(name);
  if (!type || numbers == nullptr || numbers->empty())
    decline("the constant '{}' is {}", name, known_.spec(name).to_string());
  const double first = numbers->front();
  if (std::all_of(numbers->begin(), numbers->end(), [&](double number) { return number == first; }))
    return values_[name] = ops::fill(graph_, name, *type, first);
  if (type->dtype == DType::i32) decline("the constant '{}' is {}", name, known_.spec(name).to_string());
  return values_[name] =
             graph_.add_state(name, *type, graph::Role::statistic, graph::Initializer::listed(*numbers));
}

ValueId ImportContext::tensor_of(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  const auto found = rows_.find(name);
  if (found == rows_.end()) return graph::kNone;
  const auto& [rows, shape, as_tensor] = found->second;
  ValueId made = rows.value;
  Shape now = graph_.shape(made);
  if (graph_.dtype(made) == DType::i32) decline("token ids '{}' are read otherwise than by a look-up", name);
  if (rows.swapped && rows.outer > 1 && rows.inner > 1) {
    const std::int64_t width = now.rank() == 2 ? now[1] : 1;
    made = ops::reshape(graph_, as_tensor, made, {rows.inner, rows.outer, width});
    made = ops::permute(graph_, as_tensor, made, {1, 0, 2});
    now = graph_.shape(made);
  }
  if (!(now == shape)) made = ops::reshape(graph_, as_tensor, made, shape);
  return values_[name] = made;
}

Rows ImportContext::rows(const onnx::Node& node, std::size_t input) {
  if (has_rows(node, input)) {
    const Rows& known = rows_.at(node.inputs[input]).rows;
    if (graph_.dtype(known.value) == DType::i32)
      decline("token ids '{}' are read otherwise than by a look-up", node.inputs[input]);
    return known;
  }
  const ValueId src = tensor(node, input);
  const Shape shape = graph_.shape(src);
  if (shape.rank() < 2) decline("input is {}: rows are wanted", shape.to_string());
  if (shape.rank() == 2) return {.value = src, .outer = shape[0]};
  const std::int64_t width = shape[shape.rank() - 1], count = shape.elements() / width;
  const Rows made{.value = ops::reshape(graph_, name(node) + "/rows", src, {count, width}),
                  .outer = shape[0],
                  .inner = count / shape[0],
                  .all_equal = equal_rows_.contains(node.inputs[input])};
  rows_[node.inputs[input]] = {made, shape, name(node) + "/tensor"};
  return made;
}

ValueId ImportContext::keep_rows(const onnx::Node& node, const Rows& rows, const Shape& shape,
                                 std::size_t output) {
  const std::string& name = node.outputs.at(output);
  if (!rows.swapped && shape == graph_.shape(rows.value))
    values_[name] = rows.value;
  else
    rows_[name] = {rows, shape, ImportContext::name(node)};
  return rows.value;
}

void ImportContext::set_made(const onnx::Node& node, ValueId made) {
  if (!node.outputs.empty() && !rows_.contains(node.outputs[0])) values_[node.outputs[0]] = made;
}

ValueId ImportContext::output(const std::string& name) {
  const auto found = rows_.find(name);
  if (tokens_ == graph::kNone) return tensor_of(name);
  return found != rows_.end() && found->second.rows.swapped ? found->second.rows.value : rows_by_steps(name);
}

// Rows that lie sequence by sequence are put step by step, as labels are.
ValueId ImportContext::rows_by_steps(const std::string& name) {
  const ValueId made = tensor_of(name);
  const std::int64_t rows = graph_.shape(tokens_)[0], steps = options_.masked ? rows / 2 : rows - 1,
                     sequences = graph_.shape(tokens_)[1];
  if (made == graph::kNone || graph_.shape(made).elements() % (steps * sequences) != 0) return made;
  const std::int64_t width = graph_.shape(made).elements() / (steps * sequences);
  if (graph_.shape(made)[graph_.shape(made).rank() - 1] != width) return made;
  const ValueId whole = ops::reshape(graph_, name + "/sequences", made, {sequences, steps, width});
  return ops::reshape(graph_, name + "/rows", ops::permute(graph_, name + "/steps", whole, {1, 0, 2}),
                      {steps * sequences, width});
}

bool ImportContext::is_state(const onnx::Node& node, std::size_t input) const {
  if (!has(node, input)) return false;
  const std::string& name = node.inputs[input];
  const ValueId known = value(name);
  if (known != graph::kNone) {
    const graph::Role role = graph_.value(known).role;
    return role == graph::Role::parameter || role == graph::Role::statistic;
  }
  return constants_.contains(name) || (inputs_.contains(name) && name != sample_);
}

Shape ImportContext::shape(const onnx::Node& node, std::size_t input) {
  if (!has(node, input)) decline("input {} is missing", input);
  const std::string& name = node.inputs[input];
  if (const auto found = rows_.find(name); found != rows_.end()) return found->second.shape;
  const onnx::Tensor* content = constant(name);
  const std::optional<graph::TensorType> type =
      type_of(content != nullptr            ? TensorSpec{true, content->dims, content->dtype}
              : inputs_.contains(name)      ? inputs_.at(name)
              : value(name) != graph::kNone ? spec_of(graph_.value(value(name)).type)
                                            : TensorSpec{});
  if (!type) decline("the type of its input '{}' is not ours", name);
  return type->shape;
}

ValueId ImportContext::state(const onnx::Node& node, std::size_t input, const Shape& shape,
                             graph::Role role) {
  if (!is_state(node, input)) decline("input {} is no weight", input);
  want_elements(shape);
  return add_state(node.inputs[input], {shape, role, shape.elements()});
}

ValueId ImportContext::arranged_state(const onnx::Node& node, std::size_t input, const Shape& shape,
                                      const Arrangement& arrangement) {
  if (!is_state(node, input)) decline("input {} is no weight", input);
  want_elements(shape);
  return add_state(node.inputs[input], {shape, graph::Role::parameter, shape.elements(), arrangement});
}

ValueId ImportContext::half_state(const onnx::Node& node, std::size_t input, const Shape& shape,
                                  const Arrangement& arrangement) {
  if (!is_state(node, input)) decline("input {} is no weight", input);
  want_elements(shape);
  return add_state(node.inputs[input], {shape, graph::Role::parameter, 2 * shape.elements(), arrangement});
}

graph::Initializer ImportContext::first_content(const std::string& name, const StateForm& form) const {
  const onnx::Tensor* content = constant(name);
  if (content != nullptr && options_.weights != nullptr)
    return options_.weights->initializer(*content, form.arrangement);
  if (form.role == graph::Role::statistic) return graph::Initializer::constant(1);
  if (form.shape.rank() < 2) return graph::Initializer::constant(0);
  // Scaled by the numbers that each result is the sum of, as He et al. start weights.
  const double fan_in = static_cast<double>(std::max<std::int64_t>(1, form.shape.elements_from(1)));
  return graph::Initializer::truncated_normal(std::sqrt(2 / fan_in));
}

ValueId ImportContext::add_state(const std::string& name, const StateForm& form) {
  if (const ValueId known = value(name); known != graph::kNone) {
    if (!(graph_.shape(known) == form.shape))
      decline("weight '{}' is used as {} and as {}", name, graph_.shape(known).to_string(),
              form.shape.to_string());
    if (arrangements_[name] != form.arrangement.name)
      decline("weight '{}' is used in two orders of its numbers", name);
    return known;
  }
  const onnx::Tensor* content = constant(name);
  const TensorSpec spec =
      content != nullptr ? TensorSpec{true, content->dims, content->dtype} : inputs_.at(name);
  const std::optional<graph::TensorType> type = type_of(spec);
  if (!type || (type->dtype != DType::f32 && type->dtype != DType::f64 && type->dtype != DType::bf16))
    decline("weight '{}' is {}", name, spec.to_string());
  if (type->shape.elements() != form.elements)
    decline("weight '{}' is {}, wants {}", name, spec.to_string(), form.shape.to_string());
  arrangements_[name] = form.arrangement.name;
  const std::string& said = content != nullptr ? content->doc : roles_.at(name);
  const bool is_statistic =
      form.role == graph::Role::statistic || said == graph::name(graph::Role::statistic);
  StateForm used = form;
  used.role = is_statistic ? graph::Role::statistic : graph::Role::parameter;
  return values_[name] =
             graph_.add_state(name, {form.shape, type->dtype}, used.role, first_content(name, used));
}

std::vector<std::int64_t> ImportContext::integers(const onnx::Node& node, std::size_t input) {
  const onnx::Tensor* content = has(node, input) ? constant(node.inputs[input]) : nullptr;
  if (content == nullptr || (content->numbers.empty() && content->elements() != 0))
    decline("its input {} is not written in the file", input);
  std::vector<std::int64_t> values;
  for (const double number : content->numbers) {
    // Slices go on to the end by the greatest integer there is.
    const double least = static_cast<double>(-kMaxElements), most = static_cast<double>(kMaxElements);
    values.push_back(
        static_cast<std::int64_t>(std::isnan(number) ? 0 : std::min(std::max(number, least), most)));
  }
  return values;
}

std::vector<std::int64_t> ImportContext::squeezed_axes(const onnx::Node& node) {
  return has(node, 1) ? integers(node, 1) : node.integers("axes");
}

const onnx::Node* ImportContext::sole_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  return found != readers_.end() && found->second.size() == 1 && !outputs_.contains(value)
             ? found->second.front()
             : nullptr;
}

void ImportContext::fold(const onnx::Node& node, ValueId value) {
  folded_.insert(&node);
  set_made(node, value);
}

int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) ImportContext::decline("axis {} is not one of {} dimensions", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void ImportContext::want_elements(const Shape& shape) {
  double count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<double>(dim);
  if (!(count <= static_cast<double>(kMaxElements)))
    decline("{} has more than {} elements", shape.to_string(), kMaxElements);
}

}  // namespace trainyard::interchange

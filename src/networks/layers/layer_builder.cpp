#include "networks/layers/layer_builder.h"

#include "base/text.h"
#include "ops/shape.h"

namespace trainyard::networks::layers {

using graph::ValueId;

namespace {

// An Error that has its place already: blocks around the layer leave it as it is.
class PlacedError : public Error {
 public:
  using Error::Error;
};

const OptionRow& option_of(const Layer& layer, std::string_view name) {
  const auto& options = layer.row->options;
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const OptionRow& row) { return row.name == name; });
  TRAINYARD_CHECK(found != options.end());
  return *found;
}

double product(const auto& dims) {
  double all = 1;
  for (const std::int64_t dim : dims) all *= static_cast<double>(dim);
  return all;
}

}  // namespace

void complain(const std::string& place, const std::string& what) {
  throw PlacedError(ErrorKind::config, fmt::format("{}: {}", place, what));
}

LayerBuilder::LayerBuilder(Builder& builder, Variables variables, std::int64_t length, bool causal)
    : builder_(builder), variables_(std::move(variables)), length_(length), causal_(causal) {}

ValueId LayerBuilder::network(const std::vector<Layer>& layers, ValueId x, int classes) {
  classes_ = classes;
  batch_ = static_cast<double>(shape(x)[form(x) == kTokens ? 1 : 0]);
  x = as_rows(list(layers, x));
  want_all_read(x);
  const Layer& last = layers.back();
  if (form(x) == kTokens || shape(x).elements_from(1) != classes)
    complain(last.place,
             fmt::format("the last layer makes {}, and {} classes are wanted: `- logits` makes them",
                         describe(x), classes));
  const bool has_logits = graph().find("logits:0") != graph::kNone;
  if (has_logits && graph().value(x).name != "logits:0")
    complain(last.place, "a layer comes behind `logits`, which is the last one");
  if (has_logits) return x;
  x = asked_rows(x);
  return ops::reshape(graph(), "logits", x, {shape(x)[0], classes});
}

ValueId LayerBuilder::list(const std::vector<Layer>& layers, ValueId x) {
  for (const Layer& layer : layers) x = one(layer, x);
  return x;
}

ValueId LayerBuilder::branch(const Branch& branch, ValueId x) {
  return branch.from.text.empty() ? list(branch.layers, x) : output_of(branch.from);
}

ValueId LayerBuilder::branch_of(const std::string& prefix, const Branch& inner, ValueId x) {
  const std::size_t outer = prefix_.size();
  if (!prefix.empty()) prefix_ += prefix + "/";
  x = branch(inner, x);
  prefix_.resize(outer);
  return x;
}

ValueId LayerBuilder::one(const Layer& layer, ValueId x) {
  if (++layers_ > kMostLayers) complain(layer.place, fmt::format("more than {} layers", kMostLayers));
  const std::string name = full_name(layer);
  if (!layer.from.text.empty()) x = output_of(layer.from);
  want_form(layer, name, x);
  const std::size_t nodes_before = graph().nodes().size();
  try {
    x = layer.row->build(*this, layer, name, x);
    want_countable(nodes_before, x);
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    complain(layer.place, fmt::format("layer '{}': {}", name, error.what()));
  }
  outputs_[name] = x;
  for (; values_seen_ < graph().values().size(); ++values_seen_)
    if (const auto id = static_cast<ValueId>(values_seen_); graph().value(id).role == graph::Role::parameter)
      places_.emplace_back(id, layer.place);
  return x;
}

// Nothing could train a parameter that the result does not depend on.
void LayerBuilder::want_all_read(ValueId result) const {
  const graph::Graph& graph = builder_.graph();
  std::vector<bool> read(graph.values().size(), false);
  read[static_cast<std::size_t>(result)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node)
    if (std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](ValueId id) { return read[static_cast<std::size_t>(id)]; }))
      for (const ValueId input : node->inputs) read[static_cast<std::size_t>(input)] = true;
  for (const auto& [parameter, place] : places_)
    if (!read[static_cast<std::size_t>(parameter)])
      complain(place, fmt::format("no layer reads what the one of '{}' makes", graph.value(parameter).name));
}

std::string LayerBuilder::full_name(const Layer& layer) {
  std::string name = prefix_ + layer.name;
  if (layer.name.empty()) {
    int& count = counts_[prefix_ + layer.row->name];
    do name = fmt::format("{}{}{}", prefix_, layer.row->name, ++count);
    while (outputs_.contains(name));
  }
  if (std::string_view(layer.row->name) == "logits") name = "logits";
  // A block is noted when it ends, and its layers before.
  if (!outputs_.emplace(name, graph::kNone).second)
    complain(layer.place,
             fmt::format("layer '{}' is there twice; the name of a block around it, or of a repeat, "
                         "keeps them apart",
                         name));
  return name;
}

std::string LayerBuilder::full_name_of(const Text& name) const {
  // The innermost block that is open and has such a layer.
  for (std::string prefix = prefix_;;) {
    if (const auto found = outputs_.find(prefix + name.text);
        found != outputs_.end() && found->second != graph::kNone)
      return found->first;
    if (prefix.empty()) break;
    const std::size_t slash = prefix.size() < 2 ? std::string::npos : prefix.rfind('/', prefix.size() - 2);
    prefix.resize(slash == std::string::npos ? 0 : slash + 1);
  }
  std::vector<std::string> names;
  for (const auto& [known, value] : outputs_)
    if (value != graph::kNone) names.push_back(known);
  complain(name.place,
           fmt::format("no layer '{}' comes before{}", name.text, did_you_mean(name.text, names)));
}

ValueId LayerBuilder::output_of(const Text& name) const { return outputs_.at(full_name_of(name)); }

bool LayerBuilder::is_given(const Layer& layer, const char* option) const {
  return layer.texts.contains(option) || layer.branches.contains(option);
}

const Text& LayerBuilder::text(const Layer& layer, const char* option) const {
  const auto found = layer.texts.find(option);
  TRAINYARD_CHECK(found != layer.texts.end());
  return found->second.front();
}

double LayerBuilder::number(const OptionRow& row, const Text& given) const {
  double value = 0;
  try {
    value = evaluate(given.text, variables_);
  } catch (const Error& error) {
    complain(given.place, fmt::format("{}: {}", row.name, error.what()));
  }
  const bool whole = row.kind != OptionRow::Kind::real;
  if (value < row.least || value > row.most || (whole && value != std::floor(value)))
    complain(given.place,
             fmt::format("{} {}: a {}number from {:g} to {:g} expected", row.name,
                         given.text == fmt::format("{:g}", value) ? given.text
                                                                  : fmt::format("{} ({})", given.text, value),
                         whole ? "whole " : "", row.least, row.most));
  return value;
}

std::int64_t LayerBuilder::whole(const Layer& layer, const char* option) const {
  return static_cast<std::int64_t>(real(layer, option));
}

double LayerBuilder::real(const Layer& layer, const char* option) const {
  const OptionRow& row = option_of(layer, option);
  return number(row, is_given(layer, option) ? text(layer, option) : Text{row.fallback, layer.place});
}

std::string LayerBuilder::word(const Layer& layer, const char* option) const {
  const OptionRow& row = option_of(layer, option);
  if (!is_given(layer, option)) return row.fallback;
  const Text& given = text(layer, option);
  std::string word;
  try {
    word = substituted(given.text, variables_);
  } catch (const Error& error) {
    complain(given.place, fmt::format("{}: {}", row.name, error.what()));
  }
  if (std::find(row.choices.begin(), row.choices.end(), word) == row.choices.end())
    complain(given.place, fmt::format("{} '{}'{}: one of {} expected", row.name, word,
                                      did_you_mean(word, row.choices), joined(row.choices, ", ")));
  return word;
}

bool LayerBuilder::flag(const Layer& layer, const char* option) const {
  const OptionRow& row = option_of(layer, option);
  const Text given = is_given(layer, option) ? text(layer, option) : Text{row.fallback, layer.place};
  if (given.text == "yes" || given.text == "true") return true;
  if (given.text == "no" || given.text == "false") return false;
  complain(given.place, fmt::format("{} '{}': yes or no expected", row.name, given.text));
}

Kernel LayerBuilder::kernel(const Layer& layer, const char* option) const {
  const OptionRow& row = option_of(layer, option);
  if (!is_given(layer, option)) return static_cast<std::int64_t>(number(row, {row.fallback, layer.place}));
  const std::vector<Text>& sides = layer.texts.find(option)->second;
  const auto side = [&](const Text& text) { return static_cast<std::int64_t>(number(row, text)); };
  return {side(sides.front()), side(sides.back())};
}

std::pair<Padding, std::int64_t> LayerBuilder::padding_of(const Layer& layer) const {
  const OptionRow& row = option_of(layer, "padding");
  const Text given = is_given(layer, "padding") ? text(layer, "padding") : Text{row.fallback, layer.place};
  if (given.text == "same") return {Padding::same, 0};
  if (given.text == "valid") return {Padding::valid, 0};
  if (given.text == "centred") return {Padding::centred, 0};
  if (given.text.empty() || (std::isalpha(static_cast<unsigned char>(given.text.front())) != 0))
    complain(given.place, fmt::format("padding '{}'{}: same, valid, centred or a number of pixels expected",
                                      given.text, did_you_mean(given.text, {"same", "valid", "centred"})));
  return {Padding::fixed, static_cast<std::int64_t>(number(row, given))};
}

ops::SequenceRows LayerBuilder::sequence() const {
  return {new_steps_ ? builder_.graph().shape(new_steps_->ids)[0] : length_};
}

ValueId LayerBuilder::as_rows(ValueId x) {
  const Shape& steps = shape(x);
  if (steps.rank() != 3) return x;
  return ops::reshape(graph(), "steps", x, {steps[0] * steps[1], steps[2]});
}

ValueId LayerBuilder::asked_rows(ValueId x) {
  x = as_rows(x);
  if (!new_steps_) return x;
  const std::int64_t rows = shape(x)[0], last = rows / sequence().steps;
  return ops::slice(graph(), "last_step", x, {rows - last, 0}, {last, shape(x)[1]});
}

ValueId LayerBuilder::as_steps(ValueId x) {
  const Shape& rows = shape(x);
  if (length_ == 0 || rows.rank() != 2) return x;
  return ops::reshape(graph(), "sequences", x, {sequence().steps, rows[0] / sequence().steps, rows[1]});
}

Form LayerBuilder::form(ValueId x) const {
  if (builder_.graph().dtype(x) == DType::i32) return kTokens;
  if (shape(x).rank() == 4) return kImage;
  return length_ > 0 ? kSteps : kFeatures;
}

std::string LayerBuilder::describe(ValueId x) const {
  const Shape& own = shape(x);
  switch (form(x)) {
    case kImage:
      return fmt::format("an image of {}x{}x{}", own[1], own[2], own[3]);
    case kTokens:
      return fmt::format("{} tokens", own[0]);
    case kSteps:
      return fmt::format("{} steps of {} numbers", length_, own[own.rank() - 1]);
    default:
      return fmt::format("{} numbers", own[1]);
  }
}

void LayerBuilder::want_form(const Layer& layer, const std::string& name, ValueId x) const {
  const unsigned takes = layer.row->takes;
  if ((takes & form(x)) != 0) return;
  std::vector<std::string> wanted;
  if ((takes & kImage) != 0) wanted.push_back("images");
  if ((takes & kFeatures) != 0) wanted.push_back("numbers");
  if ((takes & kSteps) != 0) wanted.push_back("steps of sequences");
  if ((takes & kTokens) != 0) wanted.push_back("tokens");
  complain(layer.place, fmt::format("layer '{}' ({}) reads {}, and gets {}{}", name, layer.row->name,
                                    joined(wanted, " or "), describe(x),
                                    form(x) == kTokens ? ", which `embedding` makes vectors of" : ""));
}

void LayerBuilder::want_weights(std::initializer_list<std::int64_t> dims) const {
  if (product(dims) > kMostWeights)
    fail(ErrorKind::config, "{:.3g} weights, at most {:g} are possible", product(dims), kMostWeights);
}

void LayerBuilder::want_numbers(std::initializer_list<std::int64_t> dims) const {
  if (product(dims) > kMostNumbers)
    fail(ErrorKind::config, "makes {:.3g} numbers of a sample, at most {:g} are possible", product(dims),
         kMostNumbers);
}

// Costs are 64-bit numbers everywhere.
void LayerBuilder::want_countable(std::size_t nodes_before, ValueId made) {
  const double numbers = product(shape(made)) / batch_;
  if (numbers > kMostNumbers)
    fail(ErrorKind::config, "makes {:.3g} numbers of a sample, at most {:g} are possible", numbers,
         kMostNumbers);
  for (std::size_t n = nodes_before; n < graph().nodes().size(); ++n) {
    const graph::Node& node = graph().nodes()[n];
    double each = static_cast<double>(std::max<std::int64_t>(1, length_));
    for (const ValueId input : node.inputs)
      if (graph().value(input).role == graph::Role::parameter)
        each = std::max(each, product(shape(input)) / static_cast<double>(shape(input)[0]));
    operations_ +=
        2 * each * std::max(product(shape(node.outputs.front())), product(shape(node.inputs.front())));
  }
  if (operations_ > kMostOperations)
    fail(ErrorKind::config, "up to here a pass of this batch has more than {:g} operations", kMostOperations);
}

}  // namespace trainyard::networks::layers

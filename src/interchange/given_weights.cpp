#include "interchange/given_weights.h"

#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "interchange/onnx_import.h"
#include "networks/zoo/fine_tuning.h"

namespace trainyard::interchange {
namespace {

using graph::Initializer;
using graph::Role;
using networks::FileWeight;

constexpr std::size_t kMostNamed = 3;  // in one line

// PyTorch counts batches in each batch norm, and wraps networks that several devices train.
constexpr std::string_view kBatchCount = "num_batches_tracked", kWrapped = "module.";

std::string canonical(std::string_view name) {
  if (name.starts_with(kWrapped)) name.remove_prefix(kWrapped.size());
  std::string text(name);
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += fmt::format("{}{}", text.empty() ? "" : "x", dim);
  return text.empty() ? "scalar" : text;
}

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t from) {
  std::int64_t count = 1;
  for (std::size_t i = from; i < dims.size(); ++i) count *= dims[i];
  return count;
}

// A dense layer of ours takes images as they are, where others make them flat first.
bool same_shape(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  if (a == b) return true;
  if ((a.size() == 2) == (b.size() == 2) || a.size() < 2 || b.size() < 2) return false;
  return a[0] == b[0] && product(a, 1) == product(b, 1);
}

std::string some(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  return names.size() > kMostNamed ? fmt::format("{} and {} more", text, names.size() - kMostNamed) : text;
}

// Wanted holds the weights that a network wants, and which of them are its last layer's.
struct Wanted {
  std::vector<FileWeight> weights;
  std::unordered_set<std::string> head, constants;
};

// Sinusoids and other numbers that are the same in every run are listed by our networks themselves.
bool is_constant(const graph::Value& value) {
  return value.role == Role::statistic && value.initializer.kind == Initializer::Kind::listed;
}

networks::Model inference_of(networks::ModelOptions options) {
  options.batch = 1;
  options.training = options.loss = false;
  options.start = nullptr;
  return networks::build_model(options);
}

void want_head_alone(const networks::Model& model, const std::vector<graph::ValueId>& head) {
  for (const graph::ValueId parameter : head) {
    int readers = 0;
    for (const graph::Node& node : model.graph.nodes())
      readers += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), parameter));
    if (readers > 1)
      fail(ErrorKind::usage, "{}: '{}' of the last layer is a weight of other layers, too",
           Setting{"new_head"}, model.graph.value(parameter).name);
  }
}

Wanted wanted_by(const networks::Model& model, const networks::NetworkFile* network_file, bool arranged) {
  Wanted wanted;
  for (const graph::ValueId id : networks::head_of(model.graph, model.logits))
    wanted.head.insert(model.graph.value(id).name);
  if (network_file != nullptr && !arranged) {
    wanted.weights = network_file->weights;
    return wanted;
  }
  for (const graph::Value& value : model.graph.values())
    if (value.role != Role::parameter && value.role != Role::statistic)
      continue;
    else if (network_file == nullptr && is_constant(value))
      wanted.constants.insert(canonical(value.name));
    else
      wanted.weights.push_back({value.name, {value.type.shape.begin(), value.type.shape.end()}});
  return wanted;
}

class Matching {
 public:
  Matching(const OfferedWeights& offered_weights, const Wanted& wanted, const WeightRules& rules)
      : from_(offered_weights.from), wanted_(wanted), rules_(rules), new_head_(rules.new_head) {
    const std::vector<OfferedWeight>& offered = offered_weights.tensors;
    std::unordered_map<std::string, const OfferedWeight*> by_name;
    for (const OfferedWeight& weight : offered) by_name[canonical(weight.name)] = &weight;
    for (const FileWeight& weight : wanted.weights)
      if (const auto found = by_name.find(canonical(weight.name)); found != by_name.end()) {
        offers_[weight.name] = found->second;
        by_name.erase(found);
      }
    for (const OfferedWeight& weight : offered)
      if (const std::string name = canonical(weight.name);
          by_name.contains(name) && !wanted.constants.contains(name) && !name.ends_with(kBatchCount))
        left_over_.push_back(weight.name);
    if (offers_.empty() && !offered.empty() && !wanted.weights.empty())
      fail(ErrorKind::config,
           "'{}': none of its {} tensors has a name of the network's; it has '{}', the network '{}'", from_,
           offered.size(), offered.front().name, wanted.weights.front().name);
  }

  // The weights of the network with those that they take.
  std::map<std::string, const OfferedWeight*> run() {
    for (const FileWeight& weight : wanted_.weights)
      if (const OfferedWeight* offer = offer_of(weight.name))
        new_head_ = new_head_ || (is_head(weight) && !same_shape(weight.dims, offer->dims));
    std::map<std::string, const OfferedWeight*> taken;
    for (const FileWeight& weight : wanted_.weights) {
      if (new_head_ && is_head(weight)) {
        afresh_.push_back(weight.name);
        continue;
      }
      const OfferedWeight* offer = offer_of(weight.name);
      if (offer == nullptr) {
        missing_.push_back(weight.name);
        continue;
      }
      check(weight, *offer);
      taken[weight.name] = offer;
    }
    if (!rules_.partial && !(missing_.empty() && left_over_.empty())) refuse_difference();
    return taken;
  }

  bool has_new_head() const { return new_head_; }

  std::string note(std::size_t taken) const {
    std::string text = fmt::format("{} of {} tensors start from '{}'", taken, wanted_.weights.size(), from_);
    if (!afresh_.empty()) text += fmt::format("; the last layer starts afresh: {}", some(afresh_));
    if (!missing_.empty())
      text += fmt::format("; {} from random numbers: {}", missing_.size(), some(missing_));
    if (!left_over_.empty())
      text += fmt::format("; {} of the file are left out: {}", left_over_.size(), some(left_over_));
    return text;
  }

 private:
  bool is_head(const FileWeight& weight) const { return wanted_.head.contains(weight.name); }
  const OfferedWeight* offer_of(const std::string& name) const {
    const auto found = offers_.find(name);
    return found == offers_.end() ? nullptr : found->second;
  }

  void check(const FileWeight& weight, const OfferedWeight& offer) const {
    if (!offer.is_float())
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, and weights are floats", from_, offer.name,
           offer.to_string());
    if (!same_shape(weight.dims, offer.dims))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, the network's '{}' {}", from_, offer.name,
           shape_text(offer.dims), weight.name, shape_text(weight.dims));
  }

  [[noreturn]] void refuse_difference() const {
    std::string text;
    if (!missing_.empty())
      text = fmt::format("lacks {} of the network's {} tensors: {}", missing_.size(), wanted_.weights.size(),
                         some(missing_));
    if (!left_over_.empty())
      text += fmt::format("{}has {} that the network has not: {}", text.empty() ? "" : "; ",
                          left_over_.size(), some(left_over_));
    fail(ErrorKind::config, "'{}' {} ({} allows it)", from_, text, Setting{"partial_weights"});
  }

  const std::string& from_;
  const Wanted& wanted_;
  const WeightRules& rules_;
  bool new_head_;
  std::unordered_map<std::string, const OfferedWeight*> offers_;  // by the name of the network's weight
  std::vector<std::string> missing_, left_over_, afresh_;
};

// As the import starts weights that its file leaves out.
Initializer fresh(const graph::Value& value) {
  if (value.type.shape.rank() < 2) return Initializer::constant(0);
  const auto inputs = static_cast<double>(std::max<std::int64_t>(1, value.type.shape.elements_from(1)));
  return Initializer::truncated_normal(std::sqrt(1 / inputs));
}

// Weights in the file must not come back.
void renew(const networks::Model& model, const std::unordered_set<std::string>& head,
           networks::StartWeights& start) {
  for (const graph::Value& value : model.graph.values())
    if (head.contains(value.name)) start.content[value.name] = fresh(value);
}

}  // namespace

std::string OfferedWeight::to_string() const { return fmt::format("{} {}", type, shape_text(dims)); }

GivenWeights match_weights(const networks::ModelOptions& options, const networks::NetworkFile* network_file,
                           const OfferedWeights& offered, const WeightRules& rules) {
  const networks::Model model = inference_of(options);
  const Wanted wanted = wanted_by(model, network_file, offered.arranged);
  Matching matching(offered, wanted, rules);
  const std::map<std::string, const OfferedWeight*> taken = matching.run();
  auto start = std::make_shared<networks::StartWeights>(networks::StartWeights{offered.from, {}});
  std::map<std::string, std::vector<double>> as_written;
  for (const auto& [name, offer] : taken)
    if (offered.arranged || network_file == nullptr)
      start->content[name] = Initializer::listed(offer->numbers());
    else
      as_written[name] = offer->numbers();
  if (!as_written.empty()) start->content = network_file->arrange(as_written);
  if (matching.has_new_head()) {
    want_head_alone(model, networks::head_of(model.graph, model.logits));
    if (network_file != nullptr) renew(model, wanted.head, *start);
  }
  return {start, matching.note(taken.size())};
}

GivenWeights renew_head(const networks::ModelOptions& options, const networks::NetworkFile& network_file) {
  const networks::Model model = inference_of(options);
  const std::vector<graph::ValueId> head = networks::head_of(model.graph, model.logits);
  want_head_alone(model, head);
  const Wanted wanted = wanted_by(model, &network_file, true);
  auto start = std::make_shared<networks::StartWeights>(networks::StartWeights{"new head", {}});
  renew(model, wanted.head, *start);
  std::vector<std::string> names;
  for (const graph::ValueId parameter : head) names.push_back(model.graph.value(parameter).name);
  return {start, fmt::format("the last layer starts afresh: {}", some(names))};
}

}  // namespace trainyard::interchange

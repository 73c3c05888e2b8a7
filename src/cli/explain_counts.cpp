#include "cli/explain_counts.h"

#include <array>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/text_table.h"
#include "networks/generator/published.h"
#include "networks/zoo.h"
#include "train/thread_limit.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;
using networks::generator::Counts;
using networks::generator::PublishedCounts;

struct CountsRow {
  const char *key, *label;
  std::int64_t Counts::*count;
};

constexpr std::array kRows = {CountsRow{"parameters", "parameters", &Counts::parameters},
                              CountsRow{"forward_flops", "forward flops", &Counts::forward_flops},
                              CountsRow{"backward_flops", "backward flops", &Counts::backward_flops},
                              CountsRow{"compulsory_bytes", "bytes moved", &Counts::compulsory_bytes},
                              CountsRow{"saved_bytes", "saved activations", &Counts::saved_bytes},
                              CountsRow{"peak_bytes", "peak memory", &Counts::peak_bytes}};

struct CountedSteps {
  std::optional<Counts> by_formula;  // of generated networks
  Counts by_graph, by_kernels;
  std::optional<PublishedCounts> published;
};

// Kernels do several nodes at once, so they move and keep less than the graph.
Counts count_kernels(const plan::CompiledStep& step, std::int64_t parameters) {
  Counts counts{.parameters = parameters};
  for (const plan::Step& each : step.plan.steps) {
    (each.phase == graph::Phase::forward ? counts.forward_flops : counts.backward_flops) += each.cost.flops;
    counts.compulsory_bytes += each.cost.bytes_moved;
  }
  for (const plan::Buffer& buffer : step.plan.buffers)
    if (buffer.saved && buffer.region == plan::Region::slab)
      counts.saved_bytes += static_cast<std::int64_t>(buffer.bytes);
  counts.peak_bytes = static_cast<std::int64_t>(step.plan.total_bytes());
  return counts;
}

CountedSteps count(const RunOptions& options, const train::SessionOptions& session) {
  const networks::NetworkInfo& network = networks::find_network(options.network);
  const int classes = options.classes > 0 ? options.classes : network.classes;
  CountedSteps counted;
  if (network.generator != nullptr && network.generator->count != nullptr) {
    const auto parameters = networks::parameters_of(network, options.parameters);
    counted.by_formula =
        network.generator->count(parameters, classes,
                                 {.batch = session.model.batch,
                                  .training = session.model.training,
                                  .slots = session.model.training ? session.update.slots() : 0});
    if (network.name == "fc")
      counted.published = networks::generator::published_fc(
          networks::generator::fc_sizes(parameters, classes), session.model.batch, session.model.training);
  }
  networks::Model model = networks::build_model(session.model);
  if (session.model.training) networks::add_training_step(model, session.update);
  counted.by_graph = networks::generator::count_graph(model.graph);
  train::limit_threads(session.threads);
  const auto backend =
      backend::make_backend(session.backend, session.device, session.precision, session.tuning);
  counted.by_kernels = count_kernels(train::compile_step(session, *backend), counted.by_graph.parameters);
  return counted;
}

void print_table(const RunOptions& options, const CountedSteps& counted) {
  TextTable table({"", "formula", "graph", "kernels"});
  for (const CountsRow& row : kRows)
    table.add({row.label, counted.by_formula ? fmt::format("{}", (*counted.by_formula).*row.count) : "",
               fmt::format("{}", counted.by_graph.*row.count),
               fmt::format("{}", counted.by_kernels.*row.count)});
  fmt::print("{}, batch {}, {}\n\n{}", options.network, options.batch,
             options.mode == "infer" ? "inference" : options.optimizer, table.text());
  if (counted.published)
    fmt::print("\nas ParaDnn publishes it: {} parameters without biases, {} a step\n",
               counted.published->parameters, format_flops(counted.published->flops));
}

Json to_json(const Counts& counts) {
  Json json;
  for (const CountsRow& row : kRows) json[row.key] = counts.*row.count;
  return json;
}

}  // namespace

void explain_counts(const RunOptions& options) {
  const CountedSteps counted = count(options, to_session(options));
  if (!options.json) return print_table(options, counted);
  Json json{{"network", options.network}, {"batch", options.batch}, {"mode", options.mode}};
  json["formula"] = counted.by_formula ? to_json(*counted.by_formula) : Json(nullptr);
  json["graph"] = to_json(counted.by_graph);
  json["kernels"] = to_json(counted.by_kernels);
  if (counted.published)
    json["published"] = {{"parameters", counted.published->parameters}, {"flops", counted.published->flops}};
  fmt::print("{}\n", json.dump());
}

}  // namespace trainyard::cli

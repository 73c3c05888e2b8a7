#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "run_graph.h"

namespace trainyard::conformance {
namespace {

using graph::Graph;

constexpr double kTolerance = 1e-4;
constexpr double kTf32Tolerance = 3e-3;  // rounds by 0.0005; gradients are products of what is rounded
// Two steps, so that state made by the first is used by the second.
constexpr int kSteps = 2;
constexpr backend::StepContext kStart{.seed = 11, .step = 3};

// Largest error over the largest value; infinite where something is not a number.
double relative_error(std::span<const float> got, std::span<const float> want) {
  double error = 0, largest = 1e-6;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    error = std::max(error, difference);
    largest = std::max(largest, std::abs(static_cast<double>(want[i])));
  }
  return error / largest;
}

void compare(const Graph& graph, const RunResult& got, const RunResult& want, const std::string& how,
             double tolerance, std::vector<std::string>& faults) {
  for (const std::string& violation : got.violations) faults.push_back(how + ": " + violation);
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const HostTensor &a = got.values[v], &b = want.values[v];
    const std::string& name = graph.values()[v].name;
    if (a.dtype() == DType::f32) {
      const double error = relative_error(a.as<float>(), b.as<float>());
      if (error > tolerance)
        faults.push_back(fmt::format("{}: '{}' is off by {:.2g} of its largest value", how, name, error));
    } else if (std::memcmp(a.data(), b.data(), b.bytes()) != 0) {
      faults.push_back(fmt::format("{}: '{}' is not the same", how, name));
    }
  }
}

}  // namespace

Verdict compare_with_reference(const Problem& problem, const backend::Backend& backend, bool tf32) {
  Graph graph;
  problem.problem.build(graph, DType::f32);
  if (has_gradient(problem)) append_backward(graph);
  const auto reference = backend::make_reference_backend();
  const RunResult want = run_steps(graph, *reference, {.context = kStart, .rounded_start = tf32}, kSteps);

  Verdict verdict;
  std::set<const backend::Candidate*> used;
  const auto check = [&](RunOptions options, const std::string& how) {
    options.rounded_start = tf32;
    const RunResult got = run_steps(graph, backend, options, kSteps);
    compare(graph, got, want, how, tf32 ? kTf32Tolerance : kTolerance, verdict.faults);
    used.insert(got.used.begin(), got.used.end());
    for (const std::string& decline : got.declines)
      if (std::find(verdict.declines.begin(), verdict.declines.end(), decline) == verdict.declines.end())
        verdict.declines.push_back(decline);
  };
  check({.context = kStart}, "plain images");
  check({.context = kStart, .images = std::nullopt}, "images as kernels leave them");
  check({.context = kStart, .images = std::nullopt, .in_place = true}, "in place");
  // Blocks of channels are a thing of CPUs.
  std::vector<const char*> layouts{"acdb"};
  if (backend.device()->is_host()) layouts.insert(layouts.end(), {"aBcd8b", "aBcd16b"});
  for (const char* layout : layouts)
    check({.context = kStart, .images = Layout::parse(layout)}, fmt::format("images as {}", layout));

  for (const backend::Candidate& candidate : backend.candidates()) {
    const bool occurs = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                    [&](const graph::Node& node) { return node.op == candidate.op; });
    if (!occurs || used.contains(&candidate)) continue;
    check({.context = kStart, .prefer = &candidate}, fmt::format("with {}", candidate.name));
    check({.context = kStart, .images = std::nullopt, .in_place = true, .prefer = &candidate},
          fmt::format("with {} in place", candidate.name));
  }
  return verdict;
}

}  // namespace trainyard::conformance

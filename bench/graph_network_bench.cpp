// A training step of Driple's graph network at the size of its authors: 32 graphs of 100 nodes, 50
// convolutions, 100 steps of Set2Set; forward, backward and Adam, f32. Prints seconds, and the matrix
// products they consist of.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "engine/canonical.h"
#include "engine/executor.h"
#include "engine/op_breakdown.h"
#include "graph/autodiff.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"

namespace trainyard {
namespace {

using predict::GraphSample;

// A connected graph with about two edges a node, as networks have them.
GraphSample make_graph(std::int64_t nodes, std::uint64_t number) {
  const Philox random(7, number);
  GraphSample sample{.name = "graph", .nodes = nodes};
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (std::int32_t i = 1; i < nodes; ++i) {
    edges.emplace_back(i - 1, i);
    edges.emplace_back(
        static_cast<std::int32_t>(random.word(static_cast<std::uint64_t>(i)) % static_cast<std::uint32_t>(i)),
        i);
  }
  predict::set_undirected_edges(sample, edges);
  for (std::int64_t i = 0; i < nodes * 3; ++i)
    sample.features.push_back(to_unit_float(random.word(static_cast<std::uint64_t>(1000 + i))));
  sample.labels.assign(12, 0.5f);
  return sample;
}

void time_steps(int steps) {
  const double kSeedSeconds = 4.8;  // PyTorch's on two cores, as measured from the authors' repository
  std::vector<GraphSample> graphs;
  std::vector<const GraphSample*> batch;
  for (std::uint64_t g = 0; g < 32; ++g) graphs.push_back(make_graph(100, g));
  for (const GraphSample& graph : graphs) batch.push_back(&graph);
  const predict::Architecture architecture;
  const auto backend = backend::make_backend("auto");
  predict::GraphNetwork network =
      predict::build_network({.architecture = architecture,
                              .capacity = predict::capacity_for(graphs, architecture, 32),
                              .training = true});
  predict::add_training_step(network, {.rule = ops::Rule::adam, .weight_decay = 1e-6});
  engine::Executor executor(plan::compile(network.graph, *backend));
  engine::initialise_state(executor, 1);
  engine::initialise_optimizer(executor, 1);
  predict::write_graphs(executor, batch, architecture, predict::no_scaling(architecture));
  predict::write_labels(executor, batch, predict::no_scaling(architecture));
  std::vector<double> seconds, kernels(executor.plan().steps.size(), 0);
  executor.run({1, 0});
  const std::clock_t cpu_began = std::clock();
  for (int step = 1; step <= steps; ++step) {
    const double began = now_seconds();
    executor.run({1, step});
    seconds.push_back(now_seconds() - began);
  }
  const double cpu = static_cast<double>(std::clock() - cpu_began) / CLOCKS_PER_SEC / steps;
  executor.run_timed({1, steps + 1}, kernels);
  std::sort(seconds.begin(), seconds.end());
  const graph::Cost cost = graph::total_cost(executor.graph());
  const auto flops = static_cast<double>(cost.flops);
  double peak = 0;
  for (const auto& one : backend->gemm_peaks({"f32"}, 1.0)) peak = one.flops_per_second;
  const double best = seconds.front(), median = seconds[seconds.size() / 2];
  std::printf("threads %d, plan %.0f MB\n", thread_count(),
              static_cast<double>(executor.plan().total_bytes()) / 1e6);
  std::printf("step: best %.3f s, median %.3f s of %d; %.1f and %.1f times as fast as PyTorch's 4.8 s\n",
              best, median, steps, kSeedSeconds / best, kSeedSeconds / median);
  // This is the CPU time of all threads, including the time they wait for each other: a busy machine disturbs
  // it least.
  std::printf("CPU: %.3f s a step\n", cpu);
  std::printf(
      "products %.1f GFLOP, beside them %.1f GFLOP; bound at the measured peak of %.0f GFLOP/s: %.3f s\n",
      flops / 1e9, static_cast<double>(cost.elementwise_flops) / 1e9, peak / 1e9, flops / peak);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] > 0.002)
      std::printf("  %-28s %-28s %7.1f ms\n", executor.plan().steps[i].name.c_str(),
                  executor.plan().steps[i].kernel.c_str(), 1e3 * kernels[i]);
}

}  // namespace
}  // namespace trainyard

int main(int count, char** arguments) {
  trainyard::time_steps(count > 1 ? std::max(1, std::atoi(arguments[1])) : 20);
  return 0;
}

#include "predict/gnn/batch.h"

namespace trainyard::predict {

namespace {

// Returns the sum of the `graphs` largest numbers.
std::int64_t sum_of_largest(std::vector<std::int64_t> sizes, std::int64_t graphs) {
  std::sort(sizes.rbegin(), sizes.rend());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < std::min(sizes.size(), static_cast<std::size_t>(graphs)); ++i) sum += sizes[i];
  return std::max<std::int64_t>(sum, 1);
}

}  // namespace

Capacity capacity_for(std::span<const GraphSample> samples, const Architecture& architecture,
                      std::int64_t graphs) {
  Capacity capacity{.graphs = graphs};
  std::vector<std::int64_t> nodes, edges;
  for (const GraphSample& sample : samples) {
    nodes.push_back(sample.nodes);
    edges.push_back(static_cast<std::int64_t>(sample.neighbours.size()));
    capacity.convolutions = std::max(capacity.convolutions, architecture.convolutions.on(sample.nodes));
    capacity.readout_steps = std::max(capacity.readout_steps, architecture.readout_steps.on(sample.nodes));
  }
  capacity.nodes = sum_of_largest(std::move(nodes), graphs);
  capacity.edges = sum_of_largest(std::move(edges), graphs);
  return capacity;
}

void write_graphs(engine::Executor& executor, std::span<const GraphSample* const> samples,
                  const Architecture& architecture, const GnnScaling& scaling) {
  using Names = InputNames;
  const auto features = executor.host_view<float>(Names::kFeatures);
  const auto segments = executor.host_view<std::int32_t>(Names::kSegments),
             offsets = executor.host_view<std::int32_t>(Names::kOffsets),
             neighbours = executor.host_view<std::int32_t>(Names::kNeighbours),
             first_rounds = executor.host_view<std::int32_t>(Names::kFirstRounds),
             rounds = executor.host_view<std::int32_t>(Names::kRounds),
             steps = executor.host_view<std::int32_t>(Names::kReadoutSteps);
  const auto columns = static_cast<std::size_t>(architecture.features);
  TRAINYARD_CHECK(samples.size() <= rounds.size());
  std::size_t node = 0, edge = 0;
  segments[0] = offsets[0] = 0;
  for (std::size_t g = 0; g < rounds.size(); ++g) {
    const GraphSample* sample = g < samples.size() ? samples[g] : nullptr;
    first_rounds[g] = sample != nullptr ? 1 : 0;
    rounds[g] =
        sample != nullptr ? static_cast<std::int32_t>(architecture.convolutions.on(sample->nodes) - 1) : 0;
    steps[g] =
        sample != nullptr ? static_cast<std::int32_t>(architecture.readout_steps.on(sample->nodes)) : 0;
    if (sample != nullptr) {
      TRAINYARD_CHECK((node + static_cast<std::size_t>(sample->nodes)) * columns <= features.size());
      TRAINYARD_CHECK(edge + sample->neighbours.size() <= neighbours.size());
      for (std::size_t i = 0; i < sample->features.size(); ++i)
        features[node * columns + i] = scaling.feature(i % columns, sample->features[i]);
      for (std::size_t i = 1; i < sample->offsets.size(); ++i)
        offsets[node + i] = static_cast<std::int32_t>(edge) + sample->offsets[i];
      for (std::size_t i = 0; i < sample->neighbours.size(); ++i)
        neighbours[edge + i] = static_cast<std::int32_t>(node) + sample->neighbours[i];
      node += static_cast<std::size_t>(sample->nodes);
      edge += sample->neighbours.size();
    }
    segments[g + 1] = static_cast<std::int32_t>(node);
  }
  std::fill(offsets.begin() + static_cast<std::ptrdiff_t>(node), offsets.end(),
            static_cast<std::int32_t>(edge));
}

std::int64_t write_labels(engine::Executor& executor, std::span<const GraphSample* const> samples,
                          const GnnScaling& scaling) {
  const auto minus_target = executor.host_view<float>(InputNames::kMinusTarget),
             root_weight = executor.host_view<float>(InputNames::kRootWeight);
  const std::size_t outputs = scaling.label_spread.size();
  std::fill(minus_target.begin(), minus_target.end(), 0.0f);
  std::fill(root_weight.begin(), root_weight.end(), 0.0f);
  std::int64_t known = 0;
  for (const GraphSample* sample : samples)
    for (std::size_t output = 0; output < outputs; ++output) known += sample->knows(output) ? 1 : 0;
  for (std::size_t g = 0; g < samples.size(); ++g)
    for (std::size_t output = 0; output < outputs; ++output) {
      if (!samples[g]->knows(output)) continue;
      const float label = samples[g]->labels[output];
      minus_target[g * outputs + output] = -scaling.target(output, label);
      root_weight[g * outputs + output] =
          std::sqrt(scaling.weight(output, label) / static_cast<float>(known));
    }
  return known;
}

}  // namespace trainyard::predict

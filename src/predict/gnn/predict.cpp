#include "backend/backend.h"
#include "engine/executor.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/model.h"
#include "predict/gnn/network.h"
#include "predict/gnn/weights.h"

namespace trainyard::predict {

std::vector<std::vector<float>> predict(const GnnModel& model, std::span<const GraphSample> graphs) {
  constexpr std::size_t kGraphsAtOnce = 32;
  std::vector<std::vector<float>> results;
  if (graphs.empty()) return results;
  for (const GraphSample& graph : graphs) check_sample(graph, model.architecture.features, 0);
  const std::size_t batch = std::min(kGraphsAtOnce, graphs.size());
  const auto backend = backend::make_backend("auto");
  engine::Executor executor(plan::compile(
      build_network({.architecture = model.architecture,
                     .capacity = capacity_for(graphs, model.architecture, static_cast<std::int64_t>(batch))})
          .graph,
      *backend));
  write_weights(executor, model.parameters);
  const auto outputs = static_cast<std::size_t>(model.architecture.outputs);
  for (std::size_t first = 0; first < graphs.size(); first += batch) {
    std::vector<const GraphSample*> part;
    for (std::size_t i = first; i < std::min(first + batch, graphs.size()); ++i) part.push_back(&graphs[i]);
    write_graphs(executor, part, model.architecture, model.scaling);
    executor.run({});
    const auto numbers = executor.host_view<float>(kPrediction);
    for (std::size_t g = 0; g < part.size(); ++g) {
      std::vector<float>& result = results.emplace_back();
      for (std::size_t output = 0; output < outputs; ++output)
        result.push_back(model.scaling.prediction(output, numbers[g * outputs + output]));
    }
  }
  return results;
}

}  // namespace trainyard::predict

#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks {
namespace {

struct Golden {
  generator::Given parameters;
  std::int64_t parameter_count, forward_flops;  // flops of one sequence
};

// Per layer c E^2 + b E parameters with (c, b) = rnn (2, 1), lstm (8, 4), gru (6, 3); embedding V E, output
// E V + V; forward 2 T (L c E^2 + E V), and training three times that: the embedding is trained, so that no
// gradient of an input is left out.
const Golden kGolden[] = {
    {{{"layers", "1"}, {"hidden", "100"}, {"length", "10"}, {"vocabulary", "2"}, {"cell", "rnn"}},
     20'502,
     404'000},
    {{{"layers", "13"}, {"hidden", "900"}, {"length", "90"}, {"vocabulary", "1024"}, {"cell", "lstm"}},
     86'131'024,
     15'329'088'000},
    {{{"layers", "5"}, {"hidden", "500"}, {"length", "50"}, {"vocabulary", "32"}, {"cell", "gru"}},
     7'539'532,
     751'600'000},
};

TEST(Rnn, ParametersAndFlops) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.parameters.at("cell"));
    constexpr std::int64_t kBatch = 3;
    Model model = build_model({.network = "rnn", .batch = kBatch, .parameters = golden.parameters});
    EXPECT_EQ(graph::parameter_count(model.graph), golden.parameter_count);
    add_training_step(model, {});
    EXPECT_EQ(graph::total_cost(model.graph, graph::Phase::forward).flops, kBatch * golden.forward_flops);
    EXPECT_EQ(graph::total_cost(model.graph).flops, 3 * kBatch * golden.forward_flops);
  }
}

TEST(Rnn, LabelsAreTheNextTokens) {
  const Model model = build_model({.network = "rnn", .batch = 4, .parameters = {{"length", "7"}}});
  EXPECT_EQ(model.graph.value(model.tokens).type.to_string(), "i32 8x4");
  EXPECT_EQ(model.graph.value(model.labels).type.to_string(), "i32 7x4");
  EXPECT_EQ(model.graph.value(model.lengths).type.to_string(), "i32 4");
  EXPECT_EQ(model.graph.value(model.lengths).initializer.a, 1);
  EXPECT_EQ(model.graph.value(model.lengths).initializer.b, 8);
  EXPECT_EQ(model.graph.value(model.tokens).initializer.b, 1024);
}

}  // namespace
}  // namespace trainyard::networks

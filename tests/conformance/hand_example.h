#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run_graph.h"

namespace trainyard::conformance {

// A small graph in f64 whose numbers are given by hand; runs on the reference backend.
class HandExample {
 public:
  using Numbers = std::vector<double>;

  graph::Graph graph;

  graph::ValueId input(const std::string& name, const Shape& shape, Numbers numbers);
  graph::ValueId integers(const std::string& name, const Shape& shape, Numbers numbers);
  graph::ValueId labels(const std::string& name, Numbers numbers);
  graph::ValueId parameter(const std::string& name, const Shape& shape, Numbers numbers);
  graph::ValueId statistic(const std::string& name, const Shape& shape, Numbers numbers);
  void set(graph::ValueId value, Numbers numbers);

  // State goes on from run to run.
  void run(const backend::StepContext& context = {.seed = 1, .step = 0});
  Numbers operator[](graph::ValueId value) const;

 private:
  graph::ValueId add(const std::string& name, const Shape& shape, graph::Role role, Numbers numbers);

  std::vector<std::pair<graph::ValueId, Numbers>> given_;
  Values values_;
};

// EXPECT_NEAR for each number.
void expect_near(const HandExample::Numbers& got, const HandExample::Numbers& want, double error = 1e-12);

}  // namespace trainyard::conformance

#pragma once

#include "predict/analytic/predictor.h"
#include "predict/gnn/graph_sample.h"
#include "predict/graph_features/graph_features.h"

namespace trainyard::predict {

// GraphForm tells how the training step of a job becomes a graph for a GNN; it is stored with the model.
struct GraphForm {
  int groups = 60;                    // at most so many nodes, by fluid communities as Driple's
  std::uint64_t seed = 42;            // of the communities
  std::vector<std::string> op_types;  // counted one by one; all others together

  std::int64_t features() const;
};

// JobGraphs makes the graphs of jobs. A node is a group of ops with its counts: ops, flops, bytes,
// parameters, edges, types. Each node also has the sums over the whole graph and the figures of the device,
// which are the same in all nodes. Networks are made once and kept.
class JobGraphs {
 public:
  explicit JobGraphs(GraphForm form) : form_(std::move(form)) {}

  const GraphForm& form() const { return form_; }
  // Chooses the most frequent types of the jobs as those to tell apart.
  void learn_types(const std::vector<JobDescription>& jobs);
  // Returns a sample without labels. Throws Error (config) where the network is unknown.
  GraphSample sample(const JobDescription& job);

 private:
  const GraphFeatures& grouped_graph(const JobDescription& job);

  GraphForm form_;
  OpVocabulary vocabulary_;  // of all graphs so far
  std::map<WorkKey, GraphFeatures> graphs_;
};

}  // namespace trainyard::predict

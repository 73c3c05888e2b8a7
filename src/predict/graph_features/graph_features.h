#pragma once

#include "interchange/interchange_graph.h"
#include "predict/graph_features/op_vocabulary.h"

namespace trainyard::predict {

// OpFeatures holds the counts of one op, or of a group of ops. They are plain numbers; a model that learns
// from them scales them.
struct OpFeatures {
  std::int64_t ops = 0;
  std::vector<std::pair<int, std::int64_t>> types;  // number in the vocabulary and how many; ascending
  std::int64_t flops = 0, elementwise_flops = 0, bytes_moved = 0;
  std::int64_t output_bytes = 0, parameters = 0;
  std::int64_t inputs = 0, outputs = 0;  // edges that come in and go out, of groups from and to others
};

struct FeatureEdge {
  int from = 0, to = 0;
  std::int64_t bytes = 0;  // of a group: all that goes that way; a tensor that two ops read counts twice
  bool control = false;    // nothing but control edges
};

// GraphFeatures holds ops or groups with directed edges, each pair at most once.
struct GraphFeatures {
  std::vector<OpFeatures> nodes;
  std::vector<FeatureEdge> edges;  // ascending by (from, to)
};

GraphFeatures graph_features(const interchange::ExchangeGraph& graph, const OpVocabulary& vocabulary);

// Removes edges within a group. REQUIRES: a group from 0 to groups - 1 for each node.
GraphFeatures grouped(const GraphFeatures& features, const std::vector<int>& group, int groups);

// LegacyOptions selects the graph features of Driple and GPUAlloc.
struct LegacyOptions {
  bool gpu_only = true;  // only ops whose device says GPU
  int groups = 100;      // fewer where there are fewer ops
  std::uint64_t seed = 42;
};

struct LegacyFeatures {
  static constexpr int kWidth = 3;  // sum of tensor sizes, number of ops, sum of op frequencies
  int groups = 0;
  std::vector<double> features;         // groups x kWidth
  std::vector<std::uint8_t> adjacency;  // groups x groups: 0 or 1, symmetric, nothing on the diagonal
  std::vector<int> group_of_op;         // -1: left out
  std::int64_t kept_ops = 0;            // on the device
  std::int64_t connected_ops = 0;       // in the largest connected part
  std::int64_t unknown_ops = 0;         // of those without a frequency; the originals fail there
};

// Throws Error (config) where no op is left.
LegacyFeatures legacy_features(const interchange::ExchangeGraph& graph, const OpVocabulary& frequencies,
                               const LegacyOptions& options);

}  // namespace trainyard::predict

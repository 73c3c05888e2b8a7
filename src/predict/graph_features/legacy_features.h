#pragma once

#include <cstdint>
#include <vector>

#include "exchange/exchange_graph.h"
#include "predict/graph_features/op_vocabulary.h"

namespace trainyard::predict {

// What Driple and GPUAlloc make of a graph.
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

// Error (config) where no op is left.
LegacyFeatures legacy_features(const exchange::ExchangeGraph& graph, const OpVocabulary& frequencies,
                               const LegacyOptions& options);

}  // namespace trainyard::predict

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predict/gnn/run_model.h"

namespace trainyard::predict {

// How often something is done on a graph of n nodes: a fixed number, or a rule of Driple's and its ancestors:
// factor times n, log2 n, log10 n or the root of n, cut to a whole number. At least once.
struct Repeats {
  enum class Rule : std::uint8_t { fixed, nodes, log2, log10, root };
  Rule rule = Rule::nodes;
  double factor = 1;

  std::int64_t on(std::int64_t nodes) const;
  std::string text() const;  // "50", "0.5 nodes", "3 root"
  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// The other way; Error (config) says what is allowed.
Repeats parse_repeats(std::string_view text);

std::vector<JobDescription> jobs_of(const RunSet& set, const std::vector<std::size_t>& rows);

// What runs of one device take before their first step, by those that differ in steps alone; 0 where there
// are none.
double start_seconds_of(const RunSet& set, const std::vector<std::size_t>& rows);

// One graph for all runs of the same work on the same device, with the mean of what they measured as labels.
std::vector<GraphSample> labelled_graphs(const RunSet& set, const std::vector<std::size_t>& rows,
                                         const GraphRunModel& model, JobGraphs& graphs);

// A share as a label, which is above 0, and back. Its logarithm is a fraction of the logit, so that shares,
// which scatter by several units of it, leave the network time for time.
float label_of_share(double share);
double share_of_label(float label);

// Of a device that was seen, or the mean over those.
double start_seconds_on(const GraphRunModel& model, const Device& device);

}  // namespace trainyard::predict

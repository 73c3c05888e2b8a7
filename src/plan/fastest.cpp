#include "plan/fastest.h"

#include <algorithm>

#include <fmt/core.h>

#include "backend/measure.h"
#include "base/error.h"
#include "base/units.h"

namespace trainyard::plan {
namespace {

using backend::Candidate;
using backend::KernelRequest;

// All that the time of a node's kernels depends on.
std::string looks_of(const std::vector<const Candidate*>& accepted, const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  std::string text = node.node().op->describe == nullptr ? "" : node.node().op->describe(node);
  for (const Candidate* candidate : accepted) text += fmt::format("|{}", candidate->name);
  for (int i = 0; i < node.inputs(); ++i)
    text += fmt::format("|{} {}", node.input(i).type.to_string(), request.input_or_plain(i).to_string());
  for (int o = 0; o < node.outputs(); ++o) text += fmt::format("|{}", node.output(o).type.to_string());
  return text;
}

}  // namespace

const Candidate* FastestCandidate::find(const std::vector<const Candidate*>& accepted,
                                        const KernelRequest& request, std::vector<Declined>& declined) {
  if (accepted.size() == 1) return accepted.front();
  try {
    const std::vector<double>& seconds = measured(accepted, request);
    const auto best = std::min_element(seconds.begin(), seconds.end());
    const auto winner = static_cast<std::size_t>(best - seconds.begin());
    for (std::size_t i = 0; i < accepted.size(); ++i)
      if (i != winner)
        declined.push_back(
            {accepted[i]->name,
             fmt::format("slower: {} against {}", format_seconds(seconds[i]), format_seconds(*best))});
    return accepted[winner];
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    for (std::size_t i = 1; i < accepted.size(); ++i)
      declined.push_back({accepted[i]->name, fmt::format("not measured: {}", error.what())});
    return accepted.front();
  }
}

const std::vector<double>& FastestCandidate::measured(const std::vector<const Candidate*>& accepted,
                                                      const KernelRequest& request) {
  const std::string looks = looks_of(accepted, request);
  if (const auto known = seconds_.find(looks); known != seconds_.end()) return known->second;
  std::vector<double> seconds = backend_.kept_seconds(looks);
  if (seconds.size() == accepted.size()) return seconds_[looks] = std::move(seconds);
  seconds.clear();
  double best = backend::kNeverHopeless;
  for (const Candidate* candidate : accepted) {
    const auto kernel = candidate->make(request);
    seconds.push_back(
        backend::measure_kernel(backend_.device(), request.node, *kernel, backend::hopeless_against(best)));
    best = std::min(best, seconds.back());
  }
  backend_.keep_seconds(looks, seconds);
  return seconds_[looks] = std::move(seconds);
}

}  // namespace trainyard::plan

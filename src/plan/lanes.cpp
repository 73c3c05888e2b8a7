#include <algorithm>
#include <set>

#include "plan/passes.h"

namespace trainyard::plan {
namespace {

struct Range {
  Region region;
  std::size_t begin, end;
};

bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Range& x) {
    return std::any_of(b.begin(), b.end(), [&](const Range& y) {
      return x.region == y.region && x.begin < y.end && y.begin < x.end;
    });
  });
}

// The memory that a step reads, and that it writes.
struct Touched {
  std::vector<Range> read, written;
};

Touched touched_by(const CompiledStep& compiled, const Step& step) {
  const auto range = [&](int id) {
    const Buffer& buffer = compiled.plan.buffers[static_cast<std::size_t>(id)];
    return Range{buffer.region, buffer.offset, buffer.offset + buffer.bytes};
  };
  Touched touched;
  for (const int id : step.inputs) touched.read.push_back(range(id));
  for (const int id : step.outputs) touched.written.push_back(range(id));
  if (step.workspace >= 0) touched.written.push_back(range(step.workspace));
  if (!step.is_reorder())
    for (const int i : graph::mutated_inputs({*compiled.graph, compiled.graph->node(step.node)}))
      touched.written.push_back(range(step.inputs[static_cast<std::size_t>(i)]));
  return touched;
}

}  // namespace

// Every step goes behind one that it waits for anyhow, or else into the lane that was used least recently.
void assign_lanes(CompiledStep& compiled, int lanes) {
  std::vector<Step>& steps = compiled.plan.steps;
  std::vector<Touched> touched;
  for (const Step& step : steps) touched.push_back(touched_by(compiled, step));
  std::vector<std::set<int>> before(steps.size());  // all that must be done, also indirectly
  std::vector<int> last(static_cast<std::size_t>(lanes), -1);
  for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
    const auto at = static_cast<std::size_t>(s);
    std::vector<int> waits;
    for (int t = s - 1; t >= 0; --t) {
      const auto other = static_cast<std::size_t>(t);
      if (before[at].contains(t)) continue;
      if (!overlap(touched[other].written, touched[at].read) &&
          !overlap(touched[other].written, touched[at].written) &&
          !overlap(touched[other].read, touched[at].written))
        continue;
      waits.push_back(t);
      before[at].insert(t);
      before[at].insert(before[other].begin(), before[other].end());
    }
    auto lane = std::find_if(last.begin(), last.end(),
                             [&](int t) { return std::find(waits.begin(), waits.end(), t) != waits.end(); });
    if (lane == last.end())
      lane = std::find_if(last.begin(), last.end(), [&](int t) { return t < 0 || before[at].contains(t); });
    if (lane == last.end()) lane = std::min_element(last.begin(), last.end());
    if (*lane >= 0) {
      before[at].insert(*lane);
      before[at].insert(before[static_cast<std::size_t>(*lane)].begin(),
                        before[static_cast<std::size_t>(*lane)].end());
      std::erase(waits, *lane);
    }
    *lane = s;
    steps[at].lane = static_cast<int>(lane - last.begin());
    steps[at].waits_for = std::move(waits);
  }
}

}  // namespace trainyard::plan

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

// Touched is the memory that a step reads, and that it writes.
struct Touched {
  std::vector<Range> read, written;
};

Touched touched_by(const CompiledStep& compiled, const Step& step) {
  const auto range = [&](int id) {
    const Buffer& buffer = compiled.plan.buffers[static_cast<std::size_t>(id)];
    return Range{buffer.region, buffer.offset, buffer.offset + buffer.bytes};
  };
  Touched touched;
  if (step.phase == graph::Phase::prepare) return touched;  // done before
  for (const int id : step.inputs) touched.read.push_back(range(id));
  for (const int id : step.outputs) touched.written.push_back(range(id));
  if (step.workspace >= 0) touched.written.push_back(range(step.workspace));
  if (!step.is_reorder())
    for (const int i : graph::mutated_inputs({*compiled.graph, compiled.graph->node(step.node)}))
      touched.written.push_back(range(step.inputs[static_cast<std::size_t>(i)]));
  return touched;
}

bool conflict(const Touched& earlier, const Touched& later) {
  return overlap(earlier.written, later.read) || overlap(earlier.written, later.written) ||
         overlap(earlier.read, later.written);
}

// Lists for every step the steps that it must wait for, without those that follow from others.
std::vector<std::vector<int>> dependencies_of(const std::vector<Touched>& touched) {
  std::vector<std::vector<int>> direct(touched.size());
  std::vector<std::set<int>> all(touched.size());
  for (std::size_t s = 0; s < touched.size(); ++s)
    for (int t = static_cast<int>(s) - 1; t >= 0; --t) {
      if (all[s].contains(t) || !conflict(touched[static_cast<std::size_t>(t)], touched[s])) continue;
      direct[s].push_back(t);
      all[s].insert(t);
      const std::set<int>& further = all[static_cast<std::size_t>(t)];
      all[s].insert(further.begin(), further.end());
    }
  return direct;
}

// Returns the length of the chain of waiting steps behind each step: the longest chain decides the total
// time.
std::vector<int> chains_behind(const std::vector<std::vector<int>>& waits_for) {
  std::vector<int> length(waits_for.size(), 0);
  for (std::size_t s = waits_for.size(); s-- > 0;)
    for (const int t : waits_for[s])
      length[static_cast<std::size_t>(t)] = std::max(length[static_cast<std::size_t>(t)], length[s] + 1);
  return length;
}

// A second kernel beside one that fills the device only takes away its cache.
bool fills_device(const Step& step) {
  constexpr std::int64_t kFlops = 20'000'000'000, kBytes = std::int64_t{256} << 20;
  return step.cost.flops > kFlops || step.cost.bytes_moved > kBytes;
}

// Marks the steps of the longest chain, and those that fill the device.
std::vector<bool> urgent_steps(const std::vector<Step>& steps,
                               const std::vector<std::vector<int>>& waits_for) {
  const std::vector<int> length = chains_behind(waits_for);
  std::vector<bool> urgent(steps.size(), false);
  int next = -1;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool first = next < 0 && length[s] == *std::max_element(length.begin(), length.end());
    const bool follows = next >= 0 && length[s] == length[static_cast<std::size_t>(next)] - 1 &&
                         std::count(waits_for[s].begin(), waits_for[s].end(), next) > 0;
    if (first || follows) next = static_cast<int>(s);
    urgent[s] = first || follows || fills_device(steps[s]);
  }
  return urgent;
}

// Updates that nothing waits for may outlast the training step.
void find_late_steps(std::vector<Step>& steps, const std::vector<std::vector<int>>& waits_for,
                     const std::vector<bool>& urgent) {
  std::vector<bool> waited_for(steps.size(), false);  // by one that is not late
  for (std::size_t s = steps.size(); s-- > 0;) {
    steps[s].late = steps[s].phase == graph::Phase::update && !urgent[s] && !waited_for[s];
    for (const int t : waits_for[s])
      if (!steps[s].late) waited_for[static_cast<std::size_t>(t)] = true;
  }
}

// Late steps keep their order in a lane of their own, so it is enough to wait for the last one in the way.
void wait_for_late_steps(std::vector<Step>& steps, const std::vector<Touched>& touched, int lanes) {
  std::vector<int> waited(static_cast<std::size_t>(lanes), -1);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    int& seen = waited[static_cast<std::size_t>(steps[s].lane)];
    for (int t = static_cast<int>(steps.size()) - 1; t > seen && !steps[s].late; --t) {
      const auto late = static_cast<std::size_t>(t);
      if (!steps[late].late || !conflict(touched[late], touched[s])) continue;
      steps[s].waits_for_late = seen = t;
    }
  }
}

}  // namespace

// Lane 0 takes the urgent steps, the last lane the late ones, and the lanes between those that can run
// beside.
void assign_lanes(CompiledStep& compiled, int lanes) {
  std::vector<Step>& steps = compiled.plan.steps;
  std::vector<Touched> touched;
  for (const Step& step : steps) touched.push_back(touched_by(compiled, step));
  const std::vector<std::vector<int>> waits_for = dependencies_of(touched);
  const std::vector<bool> urgent = urgent_steps(steps, waits_for);
  if (lanes > 2) find_late_steps(steps, waits_for, urgent);
  std::vector<int> last(static_cast<std::size_t>(lanes), -1);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto side = last.begin() + 1, end = lanes > 2 ? last.end() - 1 : last.end();
    auto lane = last.begin();
    if (steps[s].late) {
      lane = last.end() - 1;
    } else if (!urgent[s]) {
      // The step goes behind a step that it waits for anyway, or else to the lane that was idle longest.
      lane = std::find_if(side, end,
                          [&](int t) { return std::count(waits_for[s].begin(), waits_for[s].end(), t) > 0; });
      if (lane == end) lane = std::min_element(side, end);
    }
    steps[s].lane = static_cast<int>(lane - last.begin());
    steps[s].waits_for = waits_for[s];
    std::erase_if(steps[s].waits_for,
                  [&](int t) { return steps[static_cast<std::size_t>(t)].lane == steps[s].lane; });
    *lane = static_cast<int>(s);
  }
  wait_for_late_steps(steps, touched, lanes);
}

}  // namespace trainyard::plan

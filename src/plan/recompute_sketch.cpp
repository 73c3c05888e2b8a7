#include "ops/norm.h"
#include "plan/recompute.h"

namespace trainyard::plan {

namespace {

using graph::Phase;

std::size_t index(int id) { return static_cast<std::size_t>(id); }

// On processors and GPUs alike a byte of memory takes about as long as so many flops.
constexpr double kFlopsPerByte = 10;

double cost_of(const graph::Cost& cost) {
  return static_cast<double>(cost.bytes_moved) +
         static_cast<double>(cost.flops + cost.elementwise_flops) / kFlopsPerByte;
}

}  // namespace

StepSketch::StepSketch(const CompiledStep& whole) : producer_(whole.plan.buffers.size(), -1) {
  const graph::Graph& graph = *whole.graph;
  for (const Buffer& buffer : whole.plan.buffers)
    bytes_.push_back(buffer.region == Region::slab ? buffer.bytes : 0);
  for (std::size_t s = 0; s < whole.plan.steps.size(); ++s) {
    const Step& step = whole.plan.steps[s];
    Part part{.inputs = step.inputs,
              .outputs = step.outputs,
              .workspace = step.workspace,
              .in_place = whole.kernels[s]->io().in_place,
              .forward = step.phase == Phase::forward || step.phase == Phase::prepare,
              .cost = cost_of(step.cost)};
    if (step.is_reorder()) {
      part.follows = producer_of(step.inputs.front());
    } else if (const graph::Node& node = graph.node(step.node); can_run_again({graph, node})) {
      part.node = node.outputs.front();
      part.keeps_small = !graph::mutated_inputs({graph, node}).empty();
      // A value that outlives the step needs its memory anyway.
      part.can_drop = std::none_of(node.outputs.begin(), node.outputs.end(), [&](graph::ValueId output) {
        return std::count(graph.outputs().begin(), graph.outputs().end(), output) > 0;
      });
    }
    numbers_ += 2 * (part.inputs.size() + part.outputs.size());
    if (step.phase == Phase::forward)
      for (const int output : step.outputs) producer_[index(output)] = static_cast<int>(s);
    steps_.push_back(std::move(part));
    steps_.back().can_drop = steps_.back().can_drop && bytes(s) > 0;
  }
}

std::size_t StepSketch::bytes(std::size_t step) const {
  std::size_t sum = 0;
  for (const int output : steps_[step].outputs) sum += bytes_[index(output)];
  return sum;
}

bool StepSketch::is_made_again(int buffer, const Flags& runs_again) const {
  const int producer = producer_of(buffer);
  if (producer < 0 || runs_again[index(producer)] == 0) return false;
  const Part& part = steps_[index(producer)];
  return !part.keeps_small || buffer == part.outputs.front();
}

template <typename Emit>
StepSketch::Flags StepSketch::walk(const Flags& dropped, const Emit& emit) const {
  Flags runs_again(steps_.size(), 0);
  const auto is_dropped = [&](std::size_t step) {
    const Part& part = steps_[step];
    return part.follows >= 0 ? dropped[index(part.follows)] != 0 : part.can_drop && dropped[step] != 0;
  };
  std::function<void(int)> need = [&](int buffer) {
    const int producer = producer_of(buffer);
    if (producer < 0 || runs_again[index(producer)] != 0 || !is_dropped(index(producer))) return;
    const Part& part = steps_[index(producer)];
    if (part.keeps_small && buffer != part.outputs.front()) return;
    runs_again[index(producer)] = 1;
    for (const int input : part.inputs) need(input);
    emit(index(producer), true, runs_again);
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (!steps_[s].forward)
      for (const int input : steps_[s].inputs) need(input);
    emit(s, false, runs_again);
  }
  return runs_again;
}

StepSketch::Outlook StepSketch::look(const Flags& dropped) const {
  Outlook outlook;
  std::vector<SlabStep> steps;
  std::vector<char> for_next;  // of each: whether it makes again what the step behind it reads
  steps.reserve(steps_.size() + steps_.size() / 2);
  const int second = static_cast<int>(bytes_.size());  // what is made again has a buffer of its own
  std::vector<int> numbers;                            // of steps that do not have those of the plan
  numbers.reserve(2 * numbers_);
  const auto listed = [&](const std::vector<int>& from, const auto& change) {
    const std::size_t first = numbers.size();
    for (const int number : from) numbers.push_back(change(number));
    return std::span<const int>(numbers).subspan(first);
  };
  // The small outputs are inputs of the second run.
  const auto without_small = [&](const Part& part, SlabStep step) {
    const std::size_t first = numbers.size();
    numbers.insert(numbers.end(), step.inputs.begin(), step.inputs.end());
    numbers.insert(numbers.end(), part.outputs.begin() + 1, part.outputs.end());
    return SlabStep{.inputs = std::span<const int>(numbers).subspan(first),
                    .outputs = step.outputs.first(1),
                    .workspace = -1,
                    .in_place = {}};
  };
  outlook.runs_again = walk(dropped, [&](std::size_t s, bool again, const Flags& runs_again) {
    const Part& part = steps_[s];
    SlabStep step{.inputs = part.inputs,
                  .outputs = part.outputs,
                  .workspace = part.workspace,
                  .in_place = part.in_place};
    if (again || !part.forward)
      step.inputs = listed(
          part.inputs, [&](int input) { return is_made_again(input, runs_again) ? input + second : input; });
    if (again) {
      outlook.cost += part.cost;
      step.outputs = listed(part.outputs, [&](int output) { return output + second; });
      if (step.workspace >= 0) step.workspace += second;
      if (part.keeps_small) step = without_small(part, step);
    }
    steps.push_back(step);
    for_next.push_back(again ? 1 : 0);
  });
  std::vector<std::size_t> bytes = bytes_;
  bytes.insert(bytes.end(), bytes_.begin(), bytes_.end());
  std::vector<int> storage_of;
  const std::vector<std::size_t> living =
      living_bytes(share_in_place(steps, bytes, lifetimes_of(steps, bytes.size()), storage_of), steps.size());
  std::size_t most = 0;
  for (std::size_t s = 0; s < living.size(); ++s) {
    most = std::max(most, living[s]);
    if (for_next[s] != 0) continue;
    outlook.living.push_back(most);
    outlook.most_living = std::max(outlook.most_living, most);
    most = 0;
  }
  return outlook;
}

namespace {

// The last forward step that reads each buffer; -1: none.
template <typename Parts>
std::vector<int> last_forward_readers(const Parts& parts, std::size_t buffers) {
  std::vector<int> last(buffers, -1);
  for (std::size_t s = 0; s < parts.size(); ++s)
    if (parts[s].forward)
      for (const int input : parts[s].inputs) last[index(input)] = static_cast<int>(s);
  return last;
}

}  // namespace

std::vector<std::size_t> StepSketch::crossing_bytes() const {
  const std::vector<int> last = last_forward_readers(steps_, bytes_.size());
  std::vector<std::size_t> crossing(steps_.size(), 0);
  for (std::size_t b = 0; b < bytes_.size(); ++b)
    if (producer_[b] >= 0)
      for (int s = producer_[b]; s < last[b]; ++s) crossing[index(s)] += bytes_[b];
  return crossing;
}

std::vector<std::size_t> StepSketch::crossing_steps(std::size_t behind) const {
  const std::vector<int> last = last_forward_readers(steps_, bytes_.size());
  std::vector<std::size_t> found;
  const int at = static_cast<int>(behind);
  for (std::size_t b = 0; b < bytes_.size(); ++b) {
    if (producer_[b] < 0 || producer_[b] > at || last[b] <= at) continue;
    const Part& part = steps_[index(producer_[b])];
    found.push_back(index(part.follows >= 0 ? part.follows : producer_[b]));
  }
  return found;
}

StepSketch::Flags StepSketch::unread() const {
  Flags flags(steps_.size(), 0);
  for (std::size_t s = 0; s < steps_.size(); ++s) flags[s] = can_drop(s) ? 1 : 0;
  for (const Part& part : steps_)
    if (!part.forward)
      for (const int input : part.inputs)
        if (const int producer = producer_of(input); producer >= 0) {
          flags[index(producer)] = 0;
          if (const int follows = steps_[index(producer)].follows; follows >= 0) flags[index(follows)] = 0;
        }
  return flags;
}

Dropped StepSketch::nodes(const Flags& steps) const {
  Dropped nodes;
  for (std::size_t s = 0; s < steps_.size(); ++s)
    if (steps[s] != 0 && can_drop(s)) nodes.insert(steps_[s].node);
  return nodes;
}

}  // namespace trainyard::plan

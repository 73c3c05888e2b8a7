#include "predict/kernels/kernel_memory.h"

#include "base/json.h"
#include "engine/executor.h"

namespace trainyard::predict {

namespace {

// This is the deviation of a step's predicted seconds, as a logarithm. The probability that many steps are
// recorded as one follows from it.
constexpr double kStepDeviation = 0.1;

double chance_of_many(double step_seconds, double steps, bool certain) {
  constexpr auto kMany = static_cast<double>(engine::Executor::kStepsPerLaunch);
  if (steps < kMany) return 0;
  const double most = engine::Executor::kSecondsAtOnce / kMany;
  if (certain) return step_seconds <= most ? 1 : 0;
  return 0.5 * std::erfc(std::log(step_seconds / most) / kStepDeviation / std::sqrt(2.0));
}

}  // namespace

OverheadTerms overhead_terms(const PlannedStep& step, bool on_host, double step_seconds, double steps,
                             bool certain) {
  const double many =
      static_cast<double>(engine::Executor::kStepsPerLaunch) * chance_of_many(step_seconds, steps, certain);
  const double recorded = on_host ? 0 : 1 + many;
  return {1, step.convolution, step.ops, step.shapes, recorded * step.kernels};
}

KernelMemory::KernelMemory(std::vector<DeviceOverhead> devices) : devices_(std::move(devices)) {
  for (const DeviceOverhead& one : devices_)
    planners_.push_back({one.backend, one.threads, KernelHabits(one.habits)});
}

std::size_t KernelMemory::find(const std::string& device, backend::Precision precision) const {
  std::size_t found = devices_.size();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].precision != precision) continue;
    if (same_device_name(devices_[d].device, device)) return d;
    found = std::min(found, d);
  }
  return found < devices_.size() ? found : 0;
}

MemoryNeed KernelMemory::need(const PlannedStep& step, std::size_t device, double step_seconds,
                              double steps) const {
  MemoryNeed need = step.need;
  const OverheadTerms terms = overhead_terms(step, planners_[device].on_host(), step_seconds, steps, false);
  for (std::size_t t = 0; t < kOverheadTerms; ++t) need.overhead += terms[t] * devices_[device].overhead[t];
  need.overhead = std::max(need.overhead, 0.0);
  return need;
}

namespace {

constexpr std::size_t kMostMemoryDevices = 1000, kMostHabitOps = 10000;
constexpr std::int64_t kMostHabits = 2'000'000;
// The columns are device, op, taken, ratio, bytes of src, dst and weight; the place follows them.
constexpr std::int64_t kHabitColumns = 7 + kShapeDimensions;
constexpr double kMostBytes = 1e15, kMostRatio = 1e9;

std::vector<std::string> ops_in(const KernelMemory& memory) {
  std::vector<std::string> ops;
  for (const DeviceOverhead& device : memory.devices())
    for (const NodeHabit& one : device.habits) ops.push_back(one.op);
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

// HabitCells reads one row from left to right and checks the bounds of each number.
class HabitCells {
 public:
  HabitCells(std::span<const double> cells, const std::string& who) : cells_(cells), who_(who) {}

  double number(double least, double most) {
    const double cell = cells_[at_++];
    if (!(cell >= least && cell <= most)) refuse();
    return cell;
  }
  std::size_t index(std::size_t end) {
    return static_cast<std::size_t>(number(0, static_cast<double>(end) - 1));
  }
  [[noreturn]] void refuse() const {
    fail(ErrorKind::config, "'{}': a number of its kernels' memory is out of bounds", who_);
  }

 private:
  std::span<const double> cells_;
  const std::string& who_;
  std::size_t at_ = 0;
};

DeviceOverhead device_memory_in(const JsonMembers& members) {
  DeviceOverhead one;
  one.device = members.text("device");
  one.precision = precision_named(members.text("precision"));
  one.backend = members.text("backend");
  one.threads = static_cast<int>(members.number("threads", 0, 4096));
  one.runs = members.number("runs", 0, kMostBytes);
  const JsonMembers overhead = members.object("overhead_bytes");
  for (std::size_t t = 0; t < kOverheadTerms; ++t)
    one.overhead[t] = overhead.number(kOverheadNames[t], -kMostBytes, kMostBytes);
  return one;
}

}  // namespace

std::string memory_to_json(const KernelMemory& memory) {
  Json devices = Json::array();
  for (const DeviceOverhead& one : memory.devices()) {
    Json overhead = Json::object();
    for (std::size_t t = 0; t < kOverheadTerms; ++t) overhead[kOverheadNames[t]] = one.overhead[t];
    devices.push_back({{"device", one.device},
                       {"precision", backend::name(one.precision)},
                       {"backend", one.backend},
                       {"threads", one.threads},
                       {"runs", one.runs},
                       {"overhead_bytes", std::move(overhead)}});
  }
  return json_text(Json{{"ops", ops_in(memory)}, {"devices", std::move(devices)}});
}

ModelTensor habits_tensor(const KernelMemory& memory) {
  const std::vector<std::string> ops = ops_in(memory);
  std::vector<double> cells;
  for (std::size_t d = 0; d < memory.devices().size(); ++d)
    for (const NodeHabit& one : memory.devices()[d].habits) {
      const auto op = std::lower_bound(ops.begin(), ops.end(), one.op) - ops.begin();
      cells.insert(cells.end(), {static_cast<double>(d), static_cast<double>(op), one.taken ? 1.0 : 0.0,
                                 one.ratio, one.node.src_bytes, one.node.dst_bytes, one.node.weight_bytes});
      cells.insert(cells.end(), one.node.place.begin(), one.node.place.end());
    }
  const Shape shape{static_cast<std::int64_t>(cells.size()) / kHabitColumns, kHabitColumns};
  return {kHabitsTensor, shape, std::move(cells)};
}

KernelMemory parse_kernel_memory(const JsonMembers& members, const ModelContainer& container,
                                 const std::string& who) {
  std::vector<DeviceOverhead> devices;
  for (const JsonMembers& device : members.objects("devices", kMostMemoryDevices))
    devices.push_back(device_memory_in(device));
  const std::vector<std::string> ops = members.texts("ops", kMostHabitOps);
  const std::span<const double> cells = container.rows(kHabitsTensor, kHabitColumns, kMostHabits, who);
  for (std::size_t at = 0; at < cells.size(); at += kHabitColumns) {
    HabitCells row(cells.subspan(at, kHabitColumns), who);
    std::vector<NodeHabit>& habits = devices[row.index(devices.size())].habits;
    NodeHabit habit{.op = ops[row.index(ops.size())], .node = {}};
    habit.taken = row.index(2) == 1;
    habit.ratio = row.number(-1, kMostRatio);
    for (double* bytes : {&habit.node.src_bytes, &habit.node.dst_bytes, &habit.node.weight_bytes})
      *bytes = row.number(0, kMostBytes);
    if (!(habit.node.bytes() > 0)) row.refuse();
    for (double& one : habit.node.place) one = row.number(-1e6, 1e6);
    habits.push_back(std::move(habit));
  }
  return KernelMemory(std::move(devices));
}

}  // namespace trainyard::predict

#include "base/error.h"
#include "base/json.h"
#include "predict/kernels/kernel_model.h"
#include "predict/runs/device.h"

namespace trainyard::predict {
namespace {

constexpr int kKernelModelVersion = 3;
constexpr std::size_t kMostDevices = 1000, kMostNetworks = 10000, kMostKinds = 10000;
constexpr std::int64_t kMostKernels = 2'000'000, kMostSteps = 100'000;
constexpr double kHuge = 1e30;
// The columns are kind, op, flops, bytes, rows, columns, inner; device, group, seconds, share, error; the
// place follows them.
constexpr std::int64_t kKernelColumns = 12 + kShapeDimensions;
// The columns are device, group, logarithm; the place follows them.
constexpr std::int64_t kStepColumns = 3 + kShapeDimensions;

struct RateMember {
  const char* name;
  double Rates::*member;
};
constexpr RateMember kRates[] = {{"flops_per_second", &Rates::flops_per_second},
                                 {"bytes_per_second", &Rates::bytes_per_second},
                                 {"launch_seconds", &Rates::launch_seconds},
                                 {"half_columns", &Rates::half_columns},
                                 {"half_inner", &Rates::half_inner},
                                 {"half_tiles", &Rates::half_tiles}};

Json json_of(const Adaptation& one) {
  return {{"like", one.like},
          {"doublings", one.doublings},
          {"whole", one.corrections.whole},
          {"step", one.corrections.step},
          {"ops", one.corrections.of_op},
          {"interval_factor", one.interval_factor}};
}

Adaptation adaptation_in(const JsonMembers& members) {
  constexpr double kMostCorrection = 20;  // as a logarithm
  return {.like = members.text("like"),
          .doublings = members.number("doublings", 0, kHuge),
          .corrections = {.whole = members.number("whole", -kMostCorrection, kMostCorrection),
                          .step = members.number("step", -kMostCorrection, kMostCorrection),
                          .of_op = members.object("ops").numbers(-kMostCorrection, kMostCorrection)},
          .interval_factor = members.number("interval_factor", 0, kHuge)};
}

Json json_of(const DeviceRates& one) {
  Json rates = Json::object();
  for (const RateMember& rate : kRates) rates[rate.name] = one.rates.*rate.member;
  Json json{{"device", parse_json(device_to_json(one.device))},
            {"precision", backend::name(one.precision)},
            {"runs", one.runs},
            {"families", one.families},
            {"rates", std::move(rates)}};
  if (one.adaptation) json["adaptation"] = json_of(*one.adaptation);
  return json;
}

DeviceRates device_in(const JsonMembers& members) {
  DeviceRates one;
  one.device = parse_device(members.object("device"));
  one.precision = precision_named(members.text("precision"));
  one.runs = members.number("runs", 0, kHuge);
  if (members.has("families")) one.families = members.object("families").numbers(0, kHuge);
  if (members.has("adaptation")) one.adaptation = adaptation_in(members.object("adaptation"));
  const JsonMembers rates = members.object("rates");
  for (const RateMember& rate : kRates) one.rates.*rate.member = rates.number(rate.name, 1e-30, kHuge);
  return one;
}

Json json_of(const StepIntervals& intervals) {
  Json halves = Json::object(), doubts = Json::object();
  for (std::size_t kind = 0; kind < kStepKinds; ++kind)
    halves[name(static_cast<StepKind>(kind))] = intervals.halves[kind];
  for (std::size_t d = 0; d < StepIntervals::kDoubts; ++d)
    doubts[StepIntervals::kDoubtNames[d]] = {{"exponent", intervals.doubts[d].exponent},
                                             {"typical", intervals.doubts[d].typical}};
  return {{"halves", std::move(halves)}, {"doubts", std::move(doubts)}};
}

StepIntervals intervals_in(const JsonMembers& members) {
  StepIntervals intervals;
  const JsonMembers halves = members.object("halves"), doubts = members.object("doubts");
  for (std::size_t kind = 0; kind < kStepKinds; ++kind)
    intervals.halves[kind] = halves.number(name(static_cast<StepKind>(kind)), 0, 100);
  for (std::size_t d = 0; d < StepIntervals::kDoubts; ++d) {
    const JsonMembers doubt = doubts.object(StepIntervals::kDoubtNames[d]);
    intervals.doubts[d] = {.exponent = doubt.number("exponent", -10, 10),
                           .typical = doubt.number("typical", 1e-30, kHuge)};
  }
  return intervals;
}

// Cells reads one row from left to right, and checks whole numbers below `end` and the bounds of figures.
class Cells {
 public:
  Cells(std::span<const double> cells, const std::string& who) : cells_(cells), who_(who) {}

  std::size_t index(std::size_t end) {
    const double cell = next();
    if (!(cell >= 0 && cell < static_cast<double>(end)) || cell != std::floor(cell)) refuse();
    return static_cast<std::size_t>(cell);
  }
  double number(double least, double most) {
    const double cell = next();
    if (!(cell >= least && cell <= most)) refuse();
    return cell;
  }
  ShapePlace place() {
    ShapePlace place;
    for (double& one : place) one = number(-1e6, 1e6);
    return place;
  }

 private:
  double next() { return cells_[at_++]; }
  [[noreturn]] void refuse() const {
    fail(ErrorKind::config, "'{}': a number of its samples is out of bounds", who_);
  }
  std::span<const double> cells_;
  const std::string& who_;
  std::size_t at_ = 0;
};

constexpr std::size_t kMostGroups = 1'000'000;

}  // namespace

ModelContainer to_container(const KernelModel& model) {
  std::map<std::string, std::size_t> kinds;
  std::vector<std::string> names;
  const auto number = [&](const std::string& kind) {
    const auto [at, fresh] = kinds.try_emplace(kind, names.size());
    if (fresh) names.push_back(kind);
    return static_cast<double>(at->second);
  };
  std::vector<double> kernels, steps;
  for (const KernelObservation& one : model.kernels()) {
    const KernelShape& shape = one.shape;
    kernels.insert(kernels.end(), {number(shape.kind), number(shape.op), shape.flops, shape.bytes, shape.rows,
                                   shape.columns, shape.inner, static_cast<double>(one.device),
                                   static_cast<double>(one.group), one.seconds, one.share, one.error});
    kernels.insert(kernels.end(), shape.place.begin(), shape.place.end());
  }
  for (const StepObservation& one : model.steps()) {
    steps.insert(steps.end(),
                 {static_cast<double>(one.device), static_cast<double>(one.group), one.logarithm});
    steps.insert(steps.end(), one.place.begin(), one.place.end());
  }
  Json devices = Json::array();
  for (const DeviceRates& one : model.devices()) devices.push_back(json_of(one));
  Json description{{"runs", model.runs},
                   {"networks", model.networks},
                   {"kinds", names},
                   {"devices", std::move(devices)},
                   {"intervals", json_of(model.intervals)}};
  if (!model.memory.empty()) description["memory"] = parse_json(memory_to_json(model.memory));
  const auto rows = [](std::size_t numbers, std::int64_t columns) {
    return static_cast<std::int64_t>(numbers) / columns;
  };
  ModelContainer container{kKernelModelSchema, kKernelModelVersion, json_text(description), {}};
  const Shape kernel_shape{rows(kernels.size(), kKernelColumns), kKernelColumns},
      step_shape{rows(steps.size(), kStepColumns), kStepColumns};
  container.tensors.push_back({"kernels", kernel_shape, std::move(kernels)});
  container.tensors.push_back({"steps", step_shape, std::move(steps)});
  if (!model.memory.empty()) container.tensors.push_back(habits_tensor(model.memory));
  return container;
}

KernelModel parse_kernel_model(const ModelContainer& container, const std::string& who) {
  want_schema(container, kKernelModelSchema, kKernelModelVersion, who);
  const JsonMembers members(container.description, who);
  std::vector<DeviceRates> devices;
  for (const JsonMembers& device : members.objects("devices", kMostDevices))
    devices.push_back(device_in(device));
  const std::vector<std::string> kinds = members.texts("kinds", kMostKinds);
  const std::span<const double> kernel_cells = container.rows("kernels", kKernelColumns, kMostKernels, who),
                                step_cells = container.rows("steps", kStepColumns, kMostSteps, who);
  std::vector<KernelObservation> kernels;
  for (std::size_t at = 0; at < kernel_cells.size(); at += kKernelColumns) {
    Cells cells(kernel_cells.subspan(at, kKernelColumns), who);
    KernelObservation one;
    one.shape.kind = kinds[cells.index(kinds.size())];
    one.shape.op = kinds[cells.index(kinds.size())];
    one.shape.flops = cells.number(0, kHuge);
    one.shape.bytes = cells.number(0, kHuge);
    for (double* size : {&one.shape.rows, &one.shape.columns, &one.shape.inner})
      *size = cells.number(1e-6, kHuge);
    one.device = cells.index(devices.size());
    one.group = static_cast<int>(cells.index(kMostGroups));
    one.seconds = cells.number(0, kHuge);
    one.share = cells.number(0, 1);
    one.error = cells.number(-1, 1);
    one.shape.place = cells.place();
    kernels.push_back(std::move(one));
  }
  std::vector<StepObservation> steps;
  for (std::size_t at = 0; at < step_cells.size(); at += kStepColumns) {
    Cells cells(step_cells.subspan(at, kStepColumns), who);
    StepObservation one;
    one.device = cells.index(devices.size());
    one.group = static_cast<int>(cells.index(kMostGroups));
    one.logarithm = cells.number(-100, 100);
    one.place = cells.place();
    steps.push_back(one);
  }
  KernelModel model(std::move(devices), std::move(kernels), std::move(steps));
  model.runs = members.number("runs", 0, kHuge);
  model.networks = members.texts("networks", kMostNetworks);
  model.intervals = intervals_in(members.object("intervals"));
  if (container.find(kHabitsTensor) != nullptr)
    model.memory = parse_kernel_memory(members.object("memory"), container, who);
  return model;
}

}  // namespace trainyard::predict

#include "meter/nvml.h"

#include <dlfcn.h>

#include "base/error.h"

namespace trainyard::meter {
namespace {

// These declarations come from NVIDIA's nvml.h, whose functions and structs keep their layout across drivers.
// Machines without a CUDA toolkit have no header to build with.
using Device = void*;
constexpr int kSuccess = 0, kNotSupported = 3, kNoPermission = 4;
enum Clock : int { kSmClock = 1, kMemoryClock = 2 };
constexpr int kGpuTemperature = 0;
constexpr unsigned kTextBytes = 96;

struct Memory {
  unsigned long long total, free, used;
};

struct Utilisation {
  unsigned gpu, memory;  // percent
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;  // all ones: not known
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kMostProcesses = 256;

std::optional<int> to_int(std::optional<unsigned> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::string complaint_about(int result) {
  return result == kSuccess        ? ""
         : result == kNotSupported ? "not supported"
         : result == kNoPermission ? "permission denied"
                                   : fmt::format("NVML error {}", result);
}

// Returns the last argument of the call, if the library has the function and it succeeds.
template <typename Result, typename... Parameters, typename... Arguments>
std::optional<Result> ask(int (*function)(Parameters...), Arguments... arguments) {
  Result result{};
  if (!function || function(arguments..., &result) != kSuccess) return std::nullopt;
  return result;
}

// Returns the first of a call's two results: the current mode, not the one after the next reset.
template <typename Number>
std::optional<bool> ask_mode(int (*function)(Device, Number*, Number*), Device device) {
  Number now{}, later{};
  if (!function || function(device, &now, &later) != kSuccess) return std::nullopt;
  return now != 0;
}

}  // namespace

struct Nvml::Functions {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*handle_at)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*max_clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;             // milliwatts
  int (*power_limit)(Device, unsigned*) = nullptr;       // milliwatts
  int (*energy)(Device, unsigned long long*) = nullptr;  // millijoules
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*throttle)(Device, unsigned long long*) = nullptr;
  int (*persistence)(Device, int*) = nullptr;
  int (*ecc)(Device, int*, int*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
  int (*utilisation)(Device, Utilisation*) = nullptr;
  int (*processes)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*default_clock)(Device, int, unsigned*) = nullptr;
  int (*lock_clocks)(Device, unsigned, unsigned) = nullptr;  // lowest and highest MHz
  int (*release_clocks)(Device) = nullptr;

  ~Functions() {
    if (library) ::dlclose(library);
  }

  template <typename Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
  }

  void find_all() {
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
    find(count, "nvmlDeviceGetCount_v2");
    find(handle, "nvmlDeviceGetHandleByIndex_v2");
    find(handle_at, "nvmlDeviceGetHandleByPciBusId_v2");
    find(name, "nvmlDeviceGetName");
    find(uuid, "nvmlDeviceGetUUID");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(clock, "nvmlDeviceGetClockInfo");
    find(max_clock, "nvmlDeviceGetMaxClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(temperature, "nvmlDeviceGetTemperature");
    find(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(persistence, "nvmlDeviceGetPersistenceMode");
    find(ecc, "nvmlDeviceGetEccMode");
    find(mig, "nvmlDeviceGetMigMode");
    find(utilisation, "nvmlDeviceGetUtilizationRates");
    find(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (!processes) find(processes, "nvmlDeviceGetComputeRunningProcesses_v2");  // of the same form
    find(default_clock, "nvmlDeviceGetDefaultApplicationsClock");
    find(lock_clocks, "nvmlDeviceSetGpuLockedClocks");
    find(release_clocks, "nvmlDeviceResetGpuLockedClocks");
  }
};

std::unique_ptr<Nvml> Nvml::open() {
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!functions->library) return nullptr;
  functions->find_all();
  if (!functions->init || !functions->shutdown || functions->init() != kSuccess) return nullptr;
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(functions)));
  return nvml->devices_.empty() ? nullptr : std::move(nvml);
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {
  const unsigned count = ask<unsigned>(functions_->count).value_or(0);
  for (unsigned index = 0; index < count; ++index)
    if (const auto device = ask<Device>(functions_->handle, index)) devices_.push_back(*device);
}

Nvml::~Nvml() { functions_->shutdown(); }

int Nvml::device_count() const { return static_cast<int>(devices_.size()); }

std::string Nvml::driver_version() const {
  char text[kTextBytes] = "";
  if (functions_->driver_version) functions_->driver_version(text, kTextBytes);
  return text;
}

std::string Nvml::cuda_version() const {
  const int version = ask<int>(functions_->cuda_version).value_or(0);
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::optional<int> Nvml::find(const std::string& pci_address) const {
  const auto handle = ask<Device>(functions_->handle_at, pci_address.c_str());
  const auto found = handle ? std::find(devices_.begin(), devices_.end(), *handle) : devices_.end();
  return found == devices_.end() ? std::nullopt : std::optional(static_cast<int>(found - devices_.begin()));
}

void* Nvml::handle_of(int device) const {
  TRAINYARD_CHECK(device >= 0 && device < device_count());
  return devices_[static_cast<std::size_t>(device)];
}

GpuDescription Nvml::describe(int device) const {
  const Device handle = handle_of(device);
  const Functions& nvml = *functions_;
  GpuDescription found;
  char text[kTextBytes] = "";
  if (nvml.name && nvml.name(handle, text, kTextBytes) == kSuccess) found.name = text;
  if (nvml.uuid && nvml.uuid(handle, text, kTextBytes) == kSuccess) found.uuid = text;
  if (const auto memory = ask<Memory>(nvml.memory, handle))
    found.memory_bytes = static_cast<std::int64_t>(memory->total);
  found.max_sm_mhz = to_int(ask<unsigned>(nvml.max_clock, handle, kSmClock));
  found.max_memory_mhz = to_int(ask<unsigned>(nvml.max_clock, handle, kMemoryClock));
  found.power_limit_watts = scaled(ask<unsigned>(nvml.power_limit, handle), 1e-3);
  if (const auto mode = ask<int>(nvml.persistence, handle)) found.persistence = *mode != 0;
  found.ecc = ask_mode(nvml.ecc, handle);
  found.mig = ask_mode(nvml.mig, handle);
  return found;
}

GpuLoad Nvml::load(int device) const {
  const Device handle = handle_of(device);
  GpuLoad now;
  if (const auto use = ask<Utilisation>(functions_->utilisation, handle)) {
    now.busy_fraction = use->gpu / 100.0;
    now.memory_busy_fraction = use->memory / 100.0;
  }
  if (const auto memory = ask<Memory>(functions_->memory, handle))
    now.memory_used_bytes = static_cast<std::int64_t>(memory->used);
  now.power_watts = scaled(ask<unsigned>(functions_->power, handle), 1e-3);
  return now;
}

GpuClocks Nvml::clocks(int device) const {
  const Device handle = handle_of(device);
  return {to_int(ask<unsigned>(functions_->clock, handle, kSmClock)),
          to_int(ask<unsigned>(functions_->clock, handle, kMemoryClock))};
}

std::optional<double> Nvml::energy_joules(int device) const {
  return scaled(ask<unsigned long long>(functions_->energy, handle_of(device)), 1e-3);
}

GpuSample Nvml::sample(int device) const {
  const Device handle = handle_of(device);
  const Functions& nvml = *functions_;
  GpuSample now{load(device), clocks(device)};
  now.temperature_celsius = to_int(ask<unsigned>(nvml.temperature, handle, kGpuTemperature));
  now.energy_joules = energy_joules(device);
  now.throttle_reasons = throttle_reasons(ask<unsigned long long>(nvml.throttle, handle).value_or(0));
  return now;
}

std::optional<std::vector<GpuProcess>> Nvml::processes(int device) const {
  ProcessInfo infos[kMostProcesses];
  unsigned count = kMostProcesses;
  if (!functions_->processes || functions_->processes(handle_of(device), &count, infos) != kSuccess)
    return std::nullopt;
  std::vector<GpuProcess> list;
  for (unsigned i = 0; i < std::min(count, kMostProcesses); ++i)
    if (infos[i].used_bytes != ~0ULL)
      list.push_back({static_cast<int>(infos[i].pid), static_cast<std::int64_t>(infos[i].used_bytes)});
  return list;
}

std::optional<int> Nvml::default_sm_mhz(int device) const {
  const auto mhz = to_int(ask<unsigned>(functions_->default_clock, handle_of(device), kSmClock));
  return mhz ? mhz : describe(device).max_sm_mhz;
}

std::string Nvml::lock_sm_clock(int device, int mhz) const {
  const auto clock = static_cast<unsigned>(mhz);
  return functions_->lock_clocks ? complaint_about(functions_->lock_clocks(handle_of(device), clock, clock))
                                 : complaint_about(kNotSupported);
}

std::string Nvml::release_sm_clock(int device) const {
  return functions_->release_clocks ? complaint_about(functions_->release_clocks(handle_of(device)))
                                    : complaint_about(kNotSupported);
}

std::vector<std::string> throttle_reasons(std::uint64_t mask) {
  constexpr struct {
    std::uint64_t bit;
    const char* name;
  } kReasons[] = {{0x04, "power cap"},        {0x08, "hardware slowdown"}, {0x10, "sync boost"},
                  {0x20, "software thermal"}, {0x40, "hardware thermal"},  {0x80, "hardware power brake"}};
  std::vector<std::string> names;
  for (const auto& reason : kReasons)
    if (mask & reason.bit) names.emplace_back(reason.name);
  return names;
}

}  // namespace trainyard::meter

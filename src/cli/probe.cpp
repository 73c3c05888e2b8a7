#include "cli/commands.h"

#include <variant>

#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/probe_cpu.h"
#include "cli/progress_bar.h"
#include "meter/nvml.h"
#include "record/unit.h"
#include "run/run_record.h"

namespace trainyard::cli {

namespace {

struct ProbeOptions {
  std::string device = "cpu", name;
  int threads = 0;
  double seconds = 1;
  bool machine = false, json = false, quiet = false;
};

// As in a run record: sections of facts.
Json json_of(const record::Provenance& facts) {
  Json sections = Json::object();
  for (const record::Fact& fact : facts)
    std::visit([&](const auto& value) { sections[fact.section][fact.key] = value; }, fact.value);
  return sections;
}

void print_facts(const record::Provenance& facts) {
  std::string section;
  for (const record::Fact& fact : facts) {
    const auto* number = std::get_if<std::int64_t>(&fact.value);
    const bool bytes = number && record::unit_in_name(fact.key) == record::unit::bytes;
    fmt::print("{:<12} {:<24} {}\n", fact.section == section ? "" : fact.section, fact.key,
               bytes ? format_bytes(*number) : record::to_text(fact.value));
    section = fact.section;
  }
}

int show_machine(bool json) {
  backend::make_backend("auto");  // finds out what its kernels can use
  const record::Provenance facts = run::machine_facts();
  if (json)
    fmt::print("{}\n", json_text(Json{{"provenance", json_of(facts)}}));
  else
    print_facts(facts);
  return 0;
}

predict::DeviceSheet describe_gpu(const Json& report, const backend::Device& gpu) {
  const backend::DeviceModel model = gpu.model();
  predict::DeviceSheet device{.name = model.name,
                              .launch_seconds = report["launch_seconds"]["in_a_row"].get<double>(),
                              .memory_bytes = static_cast<double>(model.memory_bytes),
                              .multiprocessors = static_cast<double>(model.multiprocessors),
                              .kind = predict::DeviceKind::gpu};
  if (const auto nvml = meter::Nvml::open())
    if (const auto number = nvml->find(gpu.pci_address()))
      device.watts = nvml->describe(*number).power_limit_watts.value_or(0);
  set_roofs(device, report);
  return device;
}

Json probe_gpu(const ProbeOptions& options, const backend::Backend& backend) {
  Json report{{"device", backend.device()->name()}};
  ProgressBar bar("probe", 2, options.quiet);
  report["gemm"] = gemm_rows(backend, {"f32", "tf32", "bf16"}, options.seconds);
  bar.update(1);
  for (const backend::DevicePeak& peak : backend.device_peaks(options.seconds))
    report[peak.group][peak.name] = peak.value;
  bar.update(2);
  return report;
}

// The groups of figures that there may be, with the word that begins their lines.
struct Group {
  const char* key;
  const char* label;
  std::string (*text)(double value);
};

void print_peaks(const Json& report, const ProbeOptions& options) {
  const auto bandwidth = [](double rate) { return fmt::format("{:.1f} GB/s", rate / 1e9); };
  const Group groups[] = {{"fma_flops_per_second", "multiply-add", format_rate},
                          {"memory_bytes_per_second", "memory", bandwidth},
                          {"cache_bytes_per_second", "cache", bandwidth},
                          {"launch_seconds", "launch", format_seconds},
                          {"transfer_bytes_per_second", "transfer", bandwidth}};
  fmt::print("{}, best of {} each\n",
             report.contains("threads") ? fmt::format("{} threads", report["threads"].get<int>())
                                        : report["device"].get<std::string>(),
             format_seconds(options.seconds));
  const auto line = [](const std::string& name, const std::string& value) {
    fmt::print("{:<28} {}\n", name, value);
  };
  if (const auto isa = report.find("kernel_isa"); isa != report.end())
    line("instructions",
         isa->contains("refused")
             ? fmt::format("{}; a process that tried {} {}", (*isa)["name"].get<std::string>(),
                           (*isa)["refused"].get<std::string>(), (*isa)["reason"].get<std::string>())
             : (*isa)["name"].get<std::string>());
  for (const Json& row : report["gemm"])
    line("matrix product " + row["precision"].get<std::string>(),
         row["flops_per_second"].is_null()
             ? "no fast kernel on this machine"
             : fmt::format("{} at {}", format_rate(row["flops_per_second"].get<double>()),
                           row["size"].get<std::int64_t>()));
  for (const Group& group : groups) {
    if (!report.contains(group.key)) continue;
    for (const auto& [name, value] : report[group.key].items()) {
      std::string words = name;
      std::replace(words.begin(), words.end(), '_', ' ');
      line(std::string(group.label) + " " + words, group.text(value.get<double>()));
    }
  }
}

int probe(const ProbeOptions& options) {
  if (options.machine) return show_machine(options.json);
  const DeviceSpec wanted = DeviceSpec::parse(options.device);
  const bool cpu = wanted.is_cpu();
  const auto gpu = cpu ? nullptr : backend::make_backend("auto", wanted);
  Json report = cpu ? probe_cpu(options.threads, options.seconds, options.quiet) : probe_gpu(options, *gpu);
  if (!options.json) {
    print_peaks(report, options);
    return 0;
  }
  const record::Provenance facts = run::machine_facts();
  predict::DeviceSheet device = cpu ? describe_cpu(report, facts) : describe_gpu(report, *gpu->device());
  if (!options.name.empty()) device.name = options.name;
  if (device.name.empty()) device.name = options.device;
  report["devices"] = json_of_device(device);
  report["provenance"] = json_of(facts);
  fmt::print("{}\n", json_text(report));
  return 0;
}

}  // namespace

std::function<int()> declare_probe(Command& command) {
  const auto options = std::make_shared<ProbeOptions>();
  command.add_option("--device", options->device, "cpu, cuda (the first GPU) or cuda:1")
      ->capture_default_str();
  command.add_option("--threads", options->threads, "CPU threads (default: all cores)")
      ->transform(within("threads"));
  command.add_option("--seconds", options->seconds, "Time for each measurement")
      ->transform(within(record::NumberRange::above(0, 60)))
      ->capture_default_str();
  command.add_option("--name", options->name, "What --json calls the device (default: its model)")
      ->type_name("NAME");
  command.add_flag("--machine", options->machine,
                   "Measure nothing: what is known of this machine and program, as every run records it");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options->quiet, "No progress bar");
  command.footer(
      "What --json prints describes the device for `predict --devices FILE` and for clusters of `place`.\n\n"
      "Examples:\n"
      "  trainyard probe --machine\n"
      "  trainyard probe --threads 1 --seconds 0.1 --name corner --json");
  return [options, &command] {
    warn_of_idle_options(
        command,
        {{options->machine, {"--device", "--threads", "--seconds", "--name"}, "--machine measures nothing"},
         {!options->machine && names_gpu(options->device), {"--threads"}, "it is for the CPU"},
         {!options->machine && !options->json, {"--name"}, "only --json names the device"}});
    return probe(*options);
  };
}

}  // namespace trainyard::cli

#include "cli/probe_cpu.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "cli/progress_bar.h"
#include "meter/peaks.h"
#include "ops/dense.h"
#include "run/run_record.h"
#include "train/session/device_threads.h"
#include "train/session/session.h"

namespace trainyard::cli {

Json gemm_rows(const backend::Backend& backend, const std::vector<std::string>& precisions, double seconds) {
  Json rows = Json::array();
  for (const backend::GemmPeak& peak : backend.gemm_peaks(precisions, seconds)) {
    Json row{{"precision", peak.precision}, {"size", peak.size}, {"flops_per_second", peak.flops_per_second}};
    if (peak.flops_per_second == 0) row["flops_per_second"] = nullptr;
    rows.push_back(row);
  }
  return rows;
}

Json json_of_device(const predict::DeviceSheet& device) {
  Json figures = Json::object();
  const auto add = [&](const char* key, double figure) {
    if (figure > 0) figures[key] = figure;
  };
  add("flops_per_second", device.flops_per_second);
  add("bytes_per_second", device.bytes_per_second);
  add("launch_seconds", device.launch_seconds);
  figures["memory"] = static_cast<std::int64_t>(device.memory_bytes);
  add("multiprocessors", device.multiprocessors);
  add("watts", device.watts);
  if (device.kind != predict::DeviceKind::unknown)
    figures["kind"] = device.kind == predict::DeviceKind::cpu ? "cpu" : "gpu";
  return {{device.name, figures}};
}

namespace {

void raise(double& figure, const Json& measured) {
  if (measured.is_number()) figure = std::max(figure, measured.get<double>());
}

}  // namespace

void set_roofs(predict::DeviceSheet& device, const Json& report) {
  for (const Json& row : report["gemm"])
    if (row["precision"] == "f32") raise(device.flops_per_second, row["flops_per_second"]);
  if (report.contains("fma_flops_per_second"))
    raise(device.flops_per_second, report["fma_flops_per_second"]["f32"]);
  for (const Json& figure : report["memory_bytes_per_second"]) raise(device.bytes_per_second, figure);
}

predict::DeviceSheet describe_cpu(const Json& report, const record::Provenance& facts) {
  predict::DeviceSheet device{.kind = predict::DeviceKind::cpu};
  if (const record::Value* model = record::find_fact(facts, "cpu", "model"))
    device.name = record::to_text(*model);
  for (const char* key : {"total_bytes", "limit_bytes"})
    if (const record::Value* fact = record::find_fact(facts, "memory", key))
      if (const double bytes = record::number_or(*fact, 0); bytes > 0)
        device.memory_bytes = device.memory_bytes == 0 ? bytes : std::min(device.memory_bytes, bytes);
  device.multiprocessors = report["threads"].get<double>();
  device.launch_seconds = 0;
  for (const Json& figure : report["launch_seconds"]) raise(device.launch_seconds, figure);
  set_roofs(device, report);
  return device;
}

namespace {

// As the engine calls it, with what the library does around it.
double smallest_kernel_seconds(const backend::Backend& backend) {
  graph::Graph graph;
  const graph::ValueId src = graph.add_input("src", {{1, 1}}), weight = graph.add_input("weight", {{1, 1}});
  ops::dense(graph, "smallest", src, weight, graph::kNone);
  const backend::KernelRequest request{.node = {graph, graph.nodes().front()},
                                       .device = backend.device().get(),
                                       .inputs = {Layout::plain(2), Layout::plain(2)},
                                       .outputs = {std::nullopt}};
  for (const backend::Candidate& candidate : backend.candidates())
    if (candidate.op == &ops::dense_op && candidate.accept(request).accepted())
      return backend::measure_kernel(backend.device(), request.node, *candidate.make(request));
  return 0;
}

}  // namespace

Json probe_cpu(int threads, double seconds, bool quiet) {
  Json report{{"threads", train::limit_threads(threads)}};
  ProgressBar bar("probe", 7, quiet);
  const auto backend = backend::make_backend("auto");
  if (const auto isa = backend::found_cpu_isa()) {
    report["kernel_isa"] = {{"name", isa->name}};
    if (!isa->refused.empty())
      report["kernel_isa"].update({{"refused", isa->refused}, {"reason", isa->reason}});
  }
  report["gemm"] = gemm_rows(*backend, {"f32", "bf16", "int8"}, seconds);
  bar.update(1);
  report["fma_flops_per_second"] = {{"f32", meter::f32_fma_flops_per_second(seconds)},
                                    {"f64", meter::f64_fma_flops_per_second(seconds)}};
  bar.update(3);
  report["memory_bytes_per_second"] = {{"read", meter::read_bytes_per_second(seconds)},
                                       {"copy", meter::copy_bytes_per_second(seconds)},
                                       {"triad", meter::triad_bytes_per_second(seconds)}};
  bar.update(6);
  report["launch_seconds"] = {{"all_threads", meter::launch_seconds(seconds)},
                              {"smallest_kernel", smallest_kernel_seconds(*backend)}};
  bar.update(7);
  return report;
}

namespace {

// Names what the figures depend on, so that those of another machine are not taken for them.
std::filesystem::path kept_figures(const record::Provenance& facts) {
  std::string machine;
  for (const char* key : {"model", "isa", "physical_cores", "allowed_cores", "quota_cores"})
    if (const record::Value* fact = record::find_fact(facts, "cpu", key))
      machine += fmt::format("{}={};", key, record::to_text(*fact));
  return default_cache_folder() / "probes" /
         fmt::format("cpu-{:08x}.json", crc32c(machine.data(), machine.size()));
}

}  // namespace

predict::DeviceSheet own_cpu(bool quiet) {
  constexpr double kSeconds = 0.05;  // each of some measurements
  backend::make_backend("auto");     // finds out what its kernels can use
  const record::Provenance facts = run::machine_facts();
  const std::filesystem::path kept = kept_figures(facts);
  if (std::filesystem::exists(kept)) return predict::read_devices(kept).front();
  predict::DeviceSheet device = describe_cpu(probe_cpu(0, kSeconds, true), facts);
  device.name = "this machine";
  std::filesystem::create_directories(kept.parent_path());
  AtomicFile file(kept);
  file.write(json_text(Json{{"devices", json_of_device(device)}}));
  file.commit();
  if (!quiet)
    fmt::print(stderr, "trainyard: measured this machine; its figures are kept in '{}'\n", kept.string());
  return device;
}

}  // namespace trainyard::cli

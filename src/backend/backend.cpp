#include "backend/backend.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "backend/function_kernel.h"
#include "base/nearest_name.h"

namespace trainyard::backend {

const Layout& KernelRequest::input_or_plain(int i) const {
  static const Layout plain;
  const auto& layout = inputs[static_cast<std::size_t>(i)];
  return layout ? *layout : plain;
}

KernelIo plain_io(const graph::NodeView& node) {
  KernelIo io;
  io.inputs.resize(static_cast<std::size_t>(node.inputs()));
  io.outputs.resize(static_cast<std::size_t>(node.outputs()));
  return io;
}

namespace {

std::unique_ptr<Backend> make_cpu_backend(std::string_view name) {
  if (name == "reference") return make_reference_backend();
  if (name == "null") return make_null_backend();
  auto backend = make_onednn_backend();
  if (backend != nullptr) return backend;
  if (name == "auto") return make_reference_backend();
  fail(ErrorKind::unsupported, "backend 'onednn': this build has none (install libdnnl-dev and build again)");
}

// "cuda" -> 0, "cuda:3" -> 3; -1: no such device.
int ordinal_of(std::string_view device) {
  if (device == "cuda") return 0;
  int ordinal = -1;
  constexpr std::string_view kPrefix = "cuda:";
  if (!device.starts_with(kPrefix)) return -1;
  const char* end = device.data() + device.size();
  const auto parsed = std::from_chars(device.data() + kPrefix.size(), end, ordinal);
  return parsed.ec == std::errc() && parsed.ptr == end ? ordinal : -1;
}

}  // namespace

void want_precision(std::string_view device, Precision precision) {
  if (device == "cpu" && precision != Precision::f32)
    fail(ErrorKind::unsupported, "precision {}: on the CPU there is f32 only (cuda has it)",
         backend::name(precision));
}

std::unique_ptr<Backend> make_backend(std::string_view name, std::string_view device, Precision precision,
                                      Effort tuning) {
  const std::vector<std::string> names = backend_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    fail(ErrorKind::usage, "unknown backend '{}'{}: one of {}", name, did_you_mean(name, names),
         fmt::join(names, ", "));
  const bool on_cpu = device == "cpu";
  const int ordinal = on_cpu ? 0 : ordinal_of(device);
  if (ordinal < 0) fail(ErrorKind::usage, "unknown device '{}': cpu, cuda or cuda:NUMBER", device);
  if (name == "null") return make_null_backend();
  if (on_cpu != (name != "cuda") && name != "auto")
    fail(ErrorKind::usage, "backend '{}' does not run on device '{}'", name, device);
  if (on_cpu) {
    want_precision(device, precision);
    return make_cpu_backend(name);
  }
  auto backend = make_cuda_backend(ordinal, precision, tuning);
  if (backend == nullptr)
    fail(ErrorKind::unsupported,
         "device '{}': this build has no CUDA (build again where the toolkit, cuDNN and a GPU are)", device);
  return backend;
}

std::vector<std::string> backend_names() { return {"auto", "onednn", "cuda", "reference", "null"}; }

}  // namespace trainyard::backend

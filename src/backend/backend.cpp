#include "backend/backend.h"

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

std::unique_ptr<Backend> make_backend(std::string_view name) {
  if (name == "reference") return make_reference_backend();
  if (name == "null") return make_null_backend();
  if (name == "onednn" || name == "auto") {
    auto backend = make_onednn_backend();
    if (backend != nullptr) return backend;
    if (name == "auto") return make_reference_backend();
    fail(ErrorKind::unsupported,
         "backend 'onednn': this build has none (install libdnnl-dev and build again)");
  }
  fail(ErrorKind::usage, "unknown backend '{}'{}: one of reference, onednn, null, auto", name,
       did_you_mean(name, backend_names()));
}

std::vector<std::string> backend_names() { return {"auto", "onednn", "reference", "null"}; }

}  // namespace trainyard::backend

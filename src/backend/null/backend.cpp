#include "backend/backend.h"

#include "backend/kernel.h"
#include "ops/registry/registry.h"

// Plans and costs without computing: every op in plain layout, no workspace.
namespace trainyard::backend {
namespace {

void refuse_to_run(const Arguments&) {
  fail(ErrorKind::unsupported, "backend 'null' plans and counts only; it cannot run a step");
}

class NullReorder final : public Kernel {
 public:
  using Kernel::Kernel;
  void bind(const Binding&) override {}
  void run(const StepContext&) override { TRAINYARD_CHECK(!"a plain plan has no reorders"); }
};

class NullBackend final : public Backend {
 public:
  NullBackend() {
    for (const graph::OpDef* op : ops::all_ops())
      candidates_.push_back({op, "null", [](const KernelRequest&) { return Decision::yes(); },
                             [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
                               return std::make_unique<FunctionKernel>(request.node, plain_io(request.node),
                                                                       refuse_to_run);
                             }});
  }
  std::string name() const override { return "null"; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType&, const Layout& from,
                                       const Layout& to) const override {
    return std::make_unique<NullReorder>(KernelIo{{from}, {to}, 0, {}});
  }
  bool executes() const override { return false; }

 private:
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Backend> make_null_backend() { return std::make_unique<NullBackend>(); }

}  // namespace trainyard::backend

#include "backend/backend.h"

#include "backend/reference/list.h"

namespace trainyard::backend {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  const std::vector<Candidate>& candidates() const override { return reference::candidates(); }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                       const Layout& to) const override {
    return reference::make_reorder(type, from, to);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace trainyard::backend

#include "backend/backend.h"

namespace trainyard::backend {

std::unique_ptr<Backend> make_cuda_backend(int, Precision, Effort) { return nullptr; }

}  // namespace trainyard::backend

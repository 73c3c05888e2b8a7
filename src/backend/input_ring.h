#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/host_tensor.h"

namespace trainyard::backend {

// A ring of batches in a device's memory, sent by the host: that of step i lies at place i % places, its
// labels behind its images.
struct InputRing {
  int places = 1;
  std::size_t image_bytes = 0, label_bytes = 0;  // of a batch
  std::int64_t begins = 1;                       // of so many steps the device notes when they began

  int place_of(std::int64_t step) const { return static_cast<int>(step % places); }
  std::size_t labels_at() const { return align_up(image_bytes); }
  std::size_t place_bytes() const { return labels_at() + align_up(label_bytes); }
  std::size_t bytes() const { return static_cast<std::size_t>(places) * place_bytes(); }
};

}  // namespace trainyard::backend

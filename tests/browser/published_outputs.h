#pragma once

#include <filesystem>

namespace trainyard::browser_test {

// Writes job outputs with the names, settings and speeds of the 231 that were published from PSC Bridges in
// 2018 (asakhare/Tensoflow-Benchmarking-with-CNN_DL_MNIST): 170 have a result. The files hold that part of
// the published text which an import reads. Returns how many were written.
int write_published_outputs(const std::filesystem::path& folder);

}  // namespace trainyard::browser_test

#pragma once

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/error.h"

namespace trainyard {

// Tests that need a GPU: skipped with the reason where there is none, or none was built for.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu_ = backend::make_backend("cuda", DeviceSpec::cuda());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

  std::unique_ptr<backend::Backend> gpu_;
};

}  // namespace trainyard

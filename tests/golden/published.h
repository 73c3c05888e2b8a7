#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/point.h"
#include "study/import/import.h"

namespace trainyard::golden {

// Measurements of ParaDnn and of its PyTorch re-make: TRAINYARD_PUBLISHED_FOLDER, or the data beside the
// tree, in whose root tests run.
class PublishedTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TRAINYARD_PUBLISHED_FOLDER");
    folder_ = given != nullptr ? given : "../shared/data";
    for (const char* part : {"paradnn", "pytorch-paradnn"})
      if (!std::filesystem::is_directory(folder_ / part))
        GTEST_SKIP() << "no published measurements at '" << (folder_ / part).string() << "'";
  }

  std::vector<analyze::Point> points(const std::string& file) const {
    return analyze::make_points(runs(file));
  }
  std::vector<record::RunRecord> runs(const std::string& file) const {
    return study::import_published({folder_ / file});
  }

  std::filesystem::path folder_;
};

}  // namespace trainyard::golden

// Files that others wrote: the models by which ONNX tests backends, an operator or a small network each. Each
// becomes ops, or what does not is named.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>

#include "base/test_folder.h"
#include "interchange/read_graph.h"

namespace trainyard::interchange {
namespace {

constexpr int kNoOnnx = 77;
constexpr const char* kOfDebian = "/usr/share/libonnx-testdata";  // package libonnx-testdata

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

struct Count {
  int whole = 0, in_part = 0, refused = 0;
};

// A file that nothing can be made of is refused in one line that names it.
void read_one(const std::filesystem::path& file, Count& count) {
  SCOPED_TRACE(file.string());
  try {
    const GraphFile read = read_graph_file(file, {.batch = 2});
    ASSERT_TRUE(read.network.has_value());
    ++(read.network->obstacles.empty() ? count.whole : count.in_part);
    for (const Obstacle& obstacle : read.network->obstacles) {
      EXPECT_FALSE(obstacle.type.empty());
      EXPECT_FALSE(obstacle.reason.empty()) << obstacle.type;
      EXPECT_EQ(obstacle.reason.find('\n'), std::string::npos) << obstacle.reason;
    }
    std::int64_t nodes = 0;
    for (const Coverage& row : read.network->coverage) nodes += row.nodes;
    EXPECT_GT(nodes, 0);
  } catch (const Error& error) {
    ++count.refused;
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    EXPECT_NE(std::string(error.what()).find(file.filename().string()), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

void read_all(const std::filesystem::path& folder, double least_whole) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::filesystem::path> files = files_below(folder);
  ASSERT_GT(files.size(), 500u);
  Count count;
  for (const std::filesystem::path& file : files) read_one(file, count);
  const double share = count.whole / static_cast<double>(files.size());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  testing::Test::RecordProperty("files", static_cast<int>(files.size()));
  testing::Test::RecordProperty("whole", count.whole);
  testing::Test::RecordProperty("in_part", count.in_part);
  testing::Test::RecordProperty("refused", count.refused);
  EXPECT_GE(share, least_whole) << count.whole << " of " << files.size() << " are ours, " << count.in_part
                                << " in part, " << count.refused << " refused";
  EXPECT_LT(seconds, 60);
}

TEST(OnnxOthers, OperatorsOfPythonsOnnxAreReadOrNamed) {
  const TestFolder folder;
  const std::string command =
      "tests/scripts/onnx_operators.py " + folder.path().string() + " > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  if (WEXITSTATUS(status) == kNoOnnx) GTEST_SKIP() << "Python's onnx is absent (Debian: python3-onnx)";
  ASSERT_EQ(status, 0);
  read_all(folder.path(), 0.28);
}

TEST(OnnxOthers, FilesOfDebianAreReadOrNamed) {
  if (!std::filesystem::exists(kOfDebian)) GTEST_SKIP() << kOfDebian << " is absent (libonnx-testdata)";
  read_all(kOfDebian, 0.3);
}

}  // namespace
}  // namespace trainyard::interchange

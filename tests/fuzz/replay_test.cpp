// Each fuzz target on whole files, on all or many of their beginnings, on files with changed bits, and on
// those that are kept in corpus/.

#include <filesystem>
#include <ostream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/philox.h"
#include "fuzz/targets.h"

namespace trainyard::fuzz {

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

class FuzzReplay : public testing::TestWithParam<Target> {};

TEST_P(FuzzReplay, WholeFilesAreRead) {
  for (const std::string& seed : GetParam().seeds()) EXPECT_NO_THROW(GetParam().run(seed));
}

TEST_P(FuzzReplay, KeptFilesAreReadOrRefused) {
  const std::filesystem::path folder = std::filesystem::path("tests/fuzz/corpus") / GetParam().name;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "none is kept";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::vector<std::byte> bytes = read_file(entry.path());
    EXPECT_NO_THROW(GetParam().run({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
        << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST_P(FuzzReplay, BeginningsAreReadOrRefused) {
  for (const std::string& seed : GetParam().seeds())
    for (std::size_t length = 0; length < seed.size(); length += 1 + seed.size() / 500)
      EXPECT_NO_THROW(GetParam().run(std::string_view(seed).substr(0, length))) << length;
}

TEST_P(FuzzReplay, ChangedBitsAreReadOrRefused) {
  std::uint64_t stream = 0;
  for (const std::string& seed : GetParam().seeds())
    for (int variant = 0; variant < 400; ++variant) {
      const Philox draws(7, ++stream);
      std::string changed = seed;
      for (std::uint64_t i = 0; i <= draws.word(0) % 4; ++i)
        changed[draws.word(2 * i + 1) % changed.size()] ^= static_cast<char>(1 << draws.word(2 * i + 2) % 8);
      EXPECT_NO_THROW(GetParam().run(changed)) << variant;
    }
}

TEST_P(FuzzReplay, AnyBytesAreReadOrRefused) {
  for (std::uint64_t stream = 1; stream <= 300; ++stream) {
    const Philox draws(11, stream);
    std::string bytes(draws.word(0) % 200, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(draws.word(i + 1));
    EXPECT_NO_THROW(GetParam().run(bytes)) << stream;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplay, testing::ValuesIn(kTargets),
                         [](const testing::TestParamInfo<Target>& one) {
                           return std::string(one.param.name);
                         });

}  // namespace
}  // namespace trainyard::fuzz

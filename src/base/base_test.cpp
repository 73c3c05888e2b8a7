#include <sys/stat.h>

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace trainyard {
namespace {

// Known answers of Philox4x32-10 from the Random123 distribution.
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(Philox(0, 0).block(0), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~0ull, ~0ull).block(~0ull),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(ErrorMessage, IsOneLineWhateverItQuotes) {
  EXPECT_STREQ(Error(ErrorKind::config, "'a\nb\x1b[2J': no name, \u00fc is").what(),
               "'a?b?[2J': no name, \u00fc is");
}

TEST(NearestName, SuggestsWhatIsCloseAndNothingElse) {
  const std::vector<std::string> names{"resnet50", "vgg16", "lenet"};
  EXPECT_EQ(nearest_name("resnet5O", names), "resnet50");
  EXPECT_EQ(nearest_name("vgg", names), "vgg16");
  EXPECT_EQ(nearest_name("mobilenet", {"googlenet", "mobilenet_v1"}), "mobilenet_v1");
  EXPECT_EQ(nearest_name("transformer", names), "");
}

TEST(Units, PrintThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0.00 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_seconds(0.0412), "41.2 ms");
  EXPECT_EQ(format_rate(166.2e9), "166 GFLOP/s");
  EXPECT_EQ(format_count(999), "999");
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const auto folder = std::filesystem::temp_directory_path() / "trainyard-atomic-file";
  std::filesystem::remove_all(folder);
  make_folders(folder);
  {
    AtomicFile abandoned(folder / "a");
    abandoned.write("half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  AtomicFile kept(folder / "b");
  kept.write("whole");
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
  kept.commit();
  EXPECT_EQ(read_file(folder / "b").size(), 5u);
  std::filesystem::remove_all(folder);
}

TEST(ReadFile, ReadsPipesAndStopsAtTheLimit) {
  const TestFolder folder;
  const std::filesystem::path file = folder.write("file", "12345"), pipe = folder.path() / "pipe";
  EXPECT_EQ(read_file(file, 5).size(), 5u);
  EXPECT_EQ(read_file(folder.write("empty", "")).size(), 0u);
  expect_error(ErrorKind::config, "more than 4 bytes", [&] { read_file(file, 4); });
  expect_error(ErrorKind::config, "more than 1000 bytes", [&] { read_file("/dev/zero", 1000); });
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << std::string(200'000, 'x'); });
  EXPECT_EQ(read_file(pipe).size(), 200'000u);
  writer.join();
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  try {
    AtomicFile file("/nonexistent-folder/x");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("/nonexistent-folder/x"), std::string::npos);
  }
}

TEST(Error, ACommandLineShowsSettingsAsOptions) {
  try {
    fail(ErrorKind::usage, "{} {}: give {} or less\n", Setting{"decay_steps"}, "a_b", Setting{"lr"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "decay_steps a_b: give lr or less?");
    EXPECT_EQ(error.with_options(), "--decay-steps a_b: give --lr or less?");
  }
}

}  // namespace
}  // namespace trainyard

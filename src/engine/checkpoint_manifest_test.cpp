#include "engine/checkpoint.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::engine {
namespace {

CheckpointManifest example() {
  CheckpointManifest manifest;
  manifest.header = {"lenet", 800, 18'446'744'073'709'551'615u, 2.3025851f, {{"batch", "32"}}};
  manifest.header.reached = {{"next batch", "17"}, {"batches left before it", "3,9"}};
  manifest.tensors_bytes = 24;
  manifest.tensors = {{"w", graph::Role::parameter, {{2, 3}, DType::f32}, 0, 0xDEADBEEF}};
  return manifest;
}

std::string error_of(const std::string& text) {
  try {
    parse_manifest(text, "run/manifest.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(CheckpointManifest, ComesBackAsWritten) {
  const CheckpointManifest wanted = example(), got = parse_manifest(manifest_to_text(wanted), "m");
  EXPECT_EQ(got.header.network, "lenet");
  EXPECT_EQ(got.header.step, 800);
  EXPECT_EQ(got.header.seed, wanted.header.seed);
  EXPECT_EQ(got.header.first_loss, wanted.header.first_loss);
  EXPECT_EQ(got.header.asked, wanted.header.asked);
  EXPECT_EQ(got.header.reached, wanted.header.reached);
  EXPECT_EQ(got.tensors_bytes, 24);
  ASSERT_EQ(got.tensors.size(), 1u);
  EXPECT_EQ(got.tensors[0].name, "w");
  EXPECT_EQ(got.tensors[0].type, wanted.tensors[0].type);
  EXPECT_EQ(got.tensors[0].crc32c, 0xDEADBEEFu);
}

TEST(CheckpointManifest, DamageIsNamed) {
  const std::string text = manifest_to_text(example());
  EXPECT_EQ(error_of(replaced(text, "800", "801")), "'run/manifest.json' is damaged: checksum mismatch");
  EXPECT_EQ(error_of(text.substr(0, text.size() / 2)), "'run/manifest.json' is damaged: not whole JSON");
  EXPECT_EQ(error_of(""), "'run/manifest.json' is damaged: not whole JSON");
  EXPECT_EQ(error_of("{}"), "'run/manifest.json' is damaged: not a checkpoint's manifest");
  EXPECT_EQ(error_of("[1]"), "'run/manifest.json' is damaged: not a checkpoint's manifest");
  EXPECT_EQ(error_of(replaced(text, "\"version\": 1", "\"version\": 7")),
            "'run/manifest.json': unknown version 7, 1 expected");
  EXPECT_NE(error_of(replaced(text, "manifest_crc32c", "manifest_crc32x")).find("damaged"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::engine

#include "weights/weight_file.h"

#include "base/test_folder.h"
#include "weights/safetensors.h"
#include "weights/test_state_dict.h"

namespace trainyard::weights {
namespace {

TEST(WeightFile, IsReadByTheEndOfItsName) {
  const TestFolder folder;
  for (const char* name : {"a.pt", "a.pth", "a.pkl"}) {
    const WeightFile file(folder.write(name, small_state_dict()));
    EXPECT_EQ(file.tensors().size(), 2u);
  }
  std::string written;
  write_safetensors({{"w", Element::u8, {1}, [] { return std::vector<std::byte>(1); }}}, {},
                    [&](std::string_view piece) { written += piece; });
  EXPECT_EQ(WeightFile(folder.write("a.safetensors", written)).tensors().front().name, "w");
}

TEST(WeightFile, ErrorsNameTheFile) {
  const TestFolder folder;
  expect_error(ErrorKind::usage, "ends with .onnx, .safetensors, .pt or .pth",
               [&] { WeightFile(folder.write("a.h5", "x")); });
  expect_error(ErrorKind::config, "absent.pt", [&] { WeightFile(folder.path() / "absent.pt"); });
  expect_error(ErrorKind::config, "a.safetensors': is cut short",
               [&] { WeightFile(folder.write("a.safetensors", "")); });
  expect_error(ErrorKind::config, "a.pt': its numbers are not", [&] {
    WeightFile(folder.write("a.pt", make_zip({{"a/data.pkl", pickled_dict({})}, {"a/byteorder", "big"}})));
  });
}

}  // namespace
}  // namespace trainyard::weights

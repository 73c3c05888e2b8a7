// State moves from run to run and from device to device.
#include "base/test_folder.h"
#include "curve.h"
#include "engine/checkpoint.h"
#include "gpu.h"

namespace trainyard {
namespace {

class Resume : public GpuTest {
 protected:
  // resnet20 has statistics, momentum gives state.
  static train::SessionOptions options(const std::string& device,
                                       backend::Precision precision = backend::Precision::f32) {
    train::SessionOptions options;
    options.model = {.network = "resnet20", .batch = 4};
    options.update.rule = ops::Rule::momentum;
    options.update.ema_decay = 0.9;
    options.device = DeviceSpec::parse(device);
    options.precision = precision;
    options.seed = 5;
    return options;
  }

  const data::Dataset dataset_ = small_dataset({3, 32, 32});
  const engine::CheckpointHeader header_{"resnet20", 10, 5, 2.5f, {{"batch", "4"}}};
  const TestFolder folder_;
};

TEST_F(Resume, OnTheGpuGivesTheSameBits) {
  for (const auto precision : {backend::Precision::f32, backend::Precision::bf16}) {
    SCOPED_TRACE(backend::name(precision));
    Curve whole(options("cuda", precision), dataset_);
    whole.run(0, 10);
    const auto saved = engine::save_checkpoint(whole.session().executor(), header_,
                                               {folder_.path() / backend::name(precision)});
    const std::vector<float> losses = whole.run(10, 10);

    Curve resumed(options("cuda", precision), dataset_);
    EXPECT_EQ(engine::load_checkpoint(saved, header_, resumed.session().executor()).step, 10);
    EXPECT_EQ(resumed.run(10, 10), losses);
    EXPECT_EQ(resumed.state(), whole.state());
  }
}

TEST_F(Resume, ACheckpointMovesBetweenDevicesBitByBit) {
  const std::vector<std::string> devices{"cuda", "cpu"};
  for (const std::string& from : devices) {
    const std::string& to = from == "cpu" ? devices[0] : devices[1];
    SCOPED_TRACE(from + " to " + to);
    Curve first(options(from), dataset_), second(options(to), dataset_);
    first.run(0, 10);
    const auto saved = engine::save_checkpoint(first.session().executor(), header_, {folder_.path() / from});
    engine::load_checkpoint(saved, header_, second.session().executor());
    EXPECT_EQ(second.state(), first.state());
    EXPECT_LT(relative_error(second.run(10, 3), first.run(10, 3)), 1e-3);
  }
}

}  // namespace
}  // namespace trainyard

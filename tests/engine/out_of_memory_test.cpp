// A step that cannot fit is refused by whoever plans it, before a kernel is chosen or measured.
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "networks/zoo/zoo.h"
#include "plan/compile.h"

namespace trainyard {
namespace {

// The host, with one mebibyte.
class SmallDevice final : public backend::Device {
 public:
  std::string name() const override { return "small:0"; }
  std::size_t free_bytes() const override { return std::size_t{1} << 20; }
  std::byte* allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  void release(std::byte* memory, std::size_t bytes) noexcept override { host_->release(memory, bytes); }
  void write(std::byte* to, const void* from, std::size_t bytes) override { host_->write(to, from, bytes); }
  void read(const std::byte* from, void* to, std::size_t bytes) override { host_->read(from, to, bytes); }
  void wait() override {}
  void fill_random(std::byte* to, std::size_t elements, DType dtype) override {
    host_->fill_random(to, elements, dtype);
  }
  double time(const std::function<void()>& enqueue) override { return host_->time(enqueue); }

 private:
  std::shared_ptr<backend::Device> host_ = backend::host_device();
};

class SmallBackend final : public backend::Backend {
 public:
  std::string name() const override { return "small"; }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  const std::vector<backend::Candidate>& candidates() const override { return kernels_->candidates(); }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                                const Layout& to) const override {
    return kernels_->make_reorder(type, from, to);
  }

 private:
  std::shared_ptr<backend::Device> device_ = std::make_shared<SmallDevice>();
  std::unique_ptr<backend::Backend> kernels_ = backend::make_reference_backend();
};

plan::CompiledStep planned(std::int64_t batch) {
  const networks::Model model = networks::build_model({.network = "deepmnist", .batch = batch});
  return plan::compile(model.graph, SmallBackend(), {.fuse = false, .pinned_layouts = {}});
}

TEST(OutOfMemory, ATensorThatNeverFitsIsNamed) {
  expect_error(ErrorKind::device,
               "small:0: out of memory: 6.12 MiB asked by conv2d 'conv1' alone, 1.00 MiB free",
               [] { planned(64); });
}

TEST(OutOfMemory, WhatFitsNodeByNodeIsPlanned) { EXPECT_GT(planned(8).plan.total_bytes(), 0u); }

}  // namespace
}  // namespace trainyard

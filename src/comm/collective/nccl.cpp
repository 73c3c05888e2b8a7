#include <cuda_runtime_api.h>
#include <nccl.h>
#include <unistd.h>

#include "base/error.h"
#include "comm/collective/collective.h"

namespace trainyard::comm::collective {
namespace {

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) fail(ErrorKind::peer, "nccl: {}: {}", call, ncclGetErrorString(code));
}

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) fail(ErrorKind::device, "nccl: {}: {}", call, cudaGetErrorString(code));
}

// The machine and the place in it: what no two ranks may share.
using GpuAddress = std::array<char, 128>;

GpuAddress address_of(int gpu) {
  GpuAddress address{};
  ::gethostname(address.data(), address.size() / 2);
  char* bus = address.data() + address.size() / 2;
  check(cudaDeviceGetPCIBusId(bus, static_cast<int>(address.size() / 2), gpu), "cudaDeviceGetPCIBusId");
  return address;
}

// NCCL itself waits a while, and then speaks of an internal error.
void want_a_gpu_each(Collective& ranks, int gpu) {
  const std::vector<GpuAddress> addresses = gather(ranks, address_of(gpu));
  for (std::size_t a = 0; a < addresses.size(); ++a)
    for (std::size_t b = a + 1; b < addresses.size(); ++b)
      if (addresses[a] == addresses[b])
        fail(ErrorKind::usage, "nccl: ranks {} and {} have the same GPU ({}): each wants one of its own", a,
             b, addresses[a].data() + addresses[a].size() / 2);
}

class NcclCollective final : public Collective {
 public:
  NcclCollective(Collective& ranks, int gpu, void* stream)
      : ranks_(ranks), stream_(static_cast<cudaStream_t>(stream)) {
    check(cudaSetDevice(gpu), "cudaSetDevice");
    want_a_gpu_each(ranks, gpu);
    ncclUniqueId id{};
    if (rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ranks_.broadcast(0, std::as_writable_bytes(std::span(id.internal)));
    check(ncclCommInitRank(&comm_, size(), id, rank()), "ncclCommInitRank");
    if (stream_ == nullptr) {
      check(cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      stream_ = own_stream_;
    }
  }

  ~NcclCollective() override {
    if (comm_ != nullptr) ncclCommDestroy(comm_);
    if (own_stream_ != nullptr) cudaStreamDestroy(own_stream_);
  }

  const char* name() const override { return "nccl"; }
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }

  void barrier() override { ranks_.barrier(); }

  using Collective::broadcast;
  void broadcast(int root, std::span<std::byte> bytes) override {
    check(ncclBroadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8, root, comm_, stream_),
          "ncclBroadcast");
    finish();
  }

  void all_reduce_mean(std::span<float> values) override {
    start(values);
    finish();
  }

  bool overlaps() const override { return true; }
  void start(std::span<float> values) override {
    check(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat32, ncclAvg, comm_, stream_),
          "ncclAllReduce");
  }
  void finish() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  void abort(int exit_code) override {
    ncclCommAbort(comm_);
    comm_ = nullptr;
    ranks_.abort(exit_code);
  }

 private:
  Collective& ranks_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr, own_stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Collective> join_nccl(Collective& ranks, int gpu, void* stream) {
  return std::make_unique<NcclCollective>(ranks, gpu, stream);
}

bool nccl_is_built() { return true; }

}  // namespace trainyard::comm::collective

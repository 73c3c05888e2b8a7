#define OMPI_SKIP_MPICXX  // the C++ bindings, long gone from the standard
#include <mpi.h>

#include <chrono>
#include <climits>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "comm/collective/collective.h"
#include "comm/collective/mpi_check.h"

namespace trainyard::comm::collective {
namespace {

// Messages in flight to and from the ranks of a communicator. The rank of each message is known, which MPI's
// own collectives do not tell.
class Messages {
 public:
  Messages(MPI_Comm comm, const std::vector<int>& ranks, double patience_seconds)
      : comm_(comm), ranks_(ranks), patience_(patience_seconds) {}

  void receive(int from, std::span<std::byte> bytes) {
    in_pieces(bytes, [&](std::byte* data, int count) {
      check_mpi(MPI_Irecv(data, count, MPI_BYTE, from, 0, comm_, add(from)), "MPI_Irecv");
    });
  }
  void send(int to, std::span<const std::byte> bytes) {
    in_pieces(bytes, [&](const std::byte* data, int count) {
      check_mpi(MPI_Isend(data, count, MPI_BYTE, to, 0, comm_, add(to)), "MPI_Isend");
    });
  }

  // Waits until all messages have arrived. MPI's own waiting would keep a core busy.
  void wait() {
    constexpr double kLeastPause = 20e-6, kMostPause = 1e-3;
    const double deadline = now_seconds() + patience_;
    for (double pause = kLeastPause; !done(); pause = std::min(2 * pause, kMostPause)) {
      if (now_seconds() > deadline)
        fail(ErrorKind::peer, "rank {} {} for {:.3g} s", joined(missing(), ", "), kDidNotTakePart, patience_);
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    }
    requests_.clear();
    peers_.clear();
  }

 private:
  template <typename Byte, typename Start>
  static void in_pieces(std::span<Byte> bytes, const Start& start) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kMost, bytes.size())))
      start(bytes.data(), static_cast<int>(std::min(kMost, bytes.size())));
  }

  MPI_Request* add(int peer) {
    peers_.push_back(peer);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  bool done() {
    int all = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return all != 0;
  }

  std::vector<int> missing() {
    std::vector<int> found;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int is_done = 0;
      check_mpi(MPI_Request_get_status(requests_[i], &is_done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
      if (is_done == 0) found.push_back(ranks_[static_cast<std::size_t>(peers_[i])]);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  MPI_Comm comm_;
  const std::vector<int>& ranks_;  // of the job, by rank of the communicator
  double patience_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
};

class MpiGroup final : public Group {
 public:
  MpiGroup(MPI_Comm comm, const std::vector<int>& ranks, double patience_seconds)
      : comm_(comm), ranks_(ranks), messages_(comm, ranks_, patience_seconds) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  }
  // The communicator is not freed: that is a collective operation, and other ranks may be gone.

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  // The bytes travel along a binomial tree: a rank that has them passes them on to those half as far.
  void broadcast(int root, std::span<std::byte> bytes) override {
    const int place = (rank_ - root + size()) % size();
    const auto rank_at = [&](int other) { return (other + root) % size(); };
    int reach = 1;
    while (reach < size() && (place & reach) == 0) reach *= 2;
    if (place != 0) {
      messages_.receive(rank_at(place - reach), bytes);
      messages_.wait();
    }
    for (reach /= 2; reach > 0; reach /= 2)
      if (place + reach < size()) messages_.send(rank_at(place + reach), bytes);
    messages_.wait();
  }

  void all_gather(std::span<const std::byte> own, std::span<const std::span<std::byte>> to) override {
    TRAINYARD_CHECK(static_cast<int>(to.size()) == size());
    // Each rank begins with the one behind it, so that they do not all ask the same.
    for (int step = 1; step < size(); ++step) {
      const int other = (rank_ + step) % size();
      messages_.receive(other, to[static_cast<std::size_t>(other)]);
    }
    for (int step = 1; step < size(); ++step) messages_.send((rank_ + size() - step) % size(), own);
    messages_.wait();
  }

 private:
  MPI_Comm comm_;
  const std::vector<int> ranks_;
  Messages messages_;
  int rank_ = 0;
};

class MpiJob final : public Job {
 public:
  MpiJob() {
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_MULTIPLE)
      fail(ErrorKind::unsupported,
           "mpi: this MPI library does not let several threads call it (MPI_THREAD_MULTIPLE is needed)");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }
  ~MpiJob() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Group> make_group(const std::vector<int>& ranks, double patience_seconds) override {
    const bool is_in = std::find(ranks.begin(), ranks.end(), rank_) != ranks.end();
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, rank_, &comm), "MPI_Comm_split");
    return is_in ? std::make_unique<MpiGroup>(comm, ranks, patience_seconds) : nullptr;
  }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Job> join_mpi_job() { return std::make_unique<MpiJob>(); }

}  // namespace trainyard::comm::collective

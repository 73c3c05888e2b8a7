#pragma once

#include "base/standard.h"

namespace trainyard::comm::collective {

// A rank says "rank 1, 2 did not take part for 3 s" of those that it waited for. Whoever started the ranks
// finds these words in what they print.
inline constexpr const char* kDidNotTakePart = "did not take part";

// A Group is some of a job's ranks, which pass bytes to each other. A rank may be in several groups, also in
// several of the same ranks, and use each from another thread: operations of one group do not wait for the
// others. In one group every rank calls the same operations in the same order. A waiting rank sleeps. Error
// (peer) when others do not come for as long as `patience_seconds`; it names them.
class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;  // in the group
  virtual int size() const = 0;

  // Every rank gets root's bytes; the spans have one length.
  virtual void broadcast(int root, std::span<std::byte> bytes) = 0;
  // Every rank gets what each of them has: to[r] is as long as rank r's `own`. to[rank()] is not written.
  virtual void all_gather(std::span<const std::byte> own, std::span<const std::span<std::byte>> to) = 0;
};

// Returns the value of every rank of the group, indexed by rank. T is plain data.
template <typename T>
std::vector<T> gather(Group& group, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(group.size()), own);
  std::vector<std::span<std::byte>> to;
  for (T& one : all) to.push_back(std::as_writable_bytes(std::span(&one, 1)));
  group.all_gather(std::as_bytes(std::span(&own, 1)), to);
  return all;
}

// Job holds the ranks of a job, of which groups are made.
class Job {
 public:
  virtual ~Job() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Called by all ranks alike, in the same order; null for those that are not in it. `ranks`: of the job,
  // rising.
  virtual std::unique_ptr<Group> make_group(const std::vector<int>& ranks, double patience_seconds) = 0;
};

// Runs `work` in a thread for each rank of a job in this process; throws what the first of them threw.
void run_thread_job(int size, const std::function<void(Job&)>& work);

// Makes this process a rank of the job that mpirun or srun started; alone, it is a job of one. A process
// calls this once. Without MPI: Error (unsupported).
std::unique_ptr<Job> join_mpi_job();

// A Collective is one rank's part in what all ranks of a group do together. Every rank calls the same
// operations in the same order, with spans of one length, always from one thread. Error (peer) when another
// rank is lost.
//
// Spans are in the memory that the group works on: the host's, or with NCCL a GPU's.
class Collective {
 public:
  virtual ~Collective() = default;

  virtual const char* name() const = 0;  // "local", "mpi", "nccl"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void barrier() = 0;
  // Every rank gets root's bytes.
  virtual void broadcast(int root, std::span<std::byte> bytes) = 0;
  // Every rank gets the mean over all ranks: sum / size, bit for bit the same everywhere. On the host it is
  // added in the order of ranks, so that threads and processes compute the same.
  virtual void all_reduce_mean(std::span<float> values) = 0;

  // The same in parts, beside other work: each start() takes a span, finish() returns when all of them have
  // their means. Until then nobody touches them, and no other operation is called. REQUIRES: overlaps().
  virtual void start(std::span<float> values) { all_reduce_mean(values); }
  virtual void finish() {}

  // A rank that cannot go on calls this to end the others, too. Where ranks are processes it does not return.
  virtual void abort(int exit_code) = 0;

  // Returns whether start() returns before the ranks have exchanged the values. Threads of one process would
  // only wait for each other more often.
  virtual bool overlaps() const { return false; }

  void broadcast(int root, std::span<float> values) { broadcast(root, std::as_writable_bytes(values)); }
};

// Returns the value of every rank, indexed by rank. T is plain data.
template <typename T>
std::vector<T> gather(Collective& ranks, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(ranks.size()), own);
  for (int root = 0; root < ranks.size(); ++root)
    ranks.broadcast(root, std::as_writable_bytes(std::span(&all[static_cast<std::size_t>(root)], 1)));
  return all;
}

// Makes this process a rank of the job that mpirun or srun started; alone, it is a job of one. A process
// calls this once. Without MPI, mpi_absent.cpp: Error (unsupported).
std::unique_ptr<Collective> join_mpi();
bool mpi_is_built();

// Returns the same ranks, each with a GPU of its own, number `gpu` of its machine. `ranks` introduces them to
// each other and must outlive this. Work goes to `stream`, a cudaStream_t or null for one of its own;
// operations return when it is done. Error (unsupported) without NCCL, Error (usage) when two ranks have the
// same GPU.
std::unique_ptr<Collective> join_nccl(Collective& ranks, int gpu, void* stream = nullptr);
bool nccl_is_built();

}  // namespace trainyard::comm::collective

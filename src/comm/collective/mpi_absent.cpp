#include "base/error.h"
#include "comm/collective/collective.h"

namespace trainyard::comm::collective {

namespace {

[[noreturn]] void fail_absent() {
  fail(ErrorKind::unsupported,
       "built without MPI: install Open MPI (Debian: libopenmpi-dev) and build again");
}

}  // namespace

std::unique_ptr<Collective> join_mpi() { fail_absent(); }

std::unique_ptr<Job> join_mpi_job() { fail_absent(); }

bool mpi_is_built() { return false; }

}  // namespace trainyard::comm::collective

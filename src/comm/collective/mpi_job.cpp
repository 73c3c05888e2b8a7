#include "comm/collective/mpi_job.h"

#include <charconv>
#include <cstdlib>

#include "base/standard.h"

namespace trainyard::comm::collective {
namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  int number = 0;
  if (text != nullptr) {
    const std::string_view view = text;
    std::from_chars(view.data(), view.data() + view.size(), number);
  }
  return number;
}

}  // namespace

int mpi_job_ranks() {
  if (const int ranks = number_in("OMPI_COMM_WORLD_SIZE"); ranks > 0) return ranks;
  // A batch script has the number of tasks, too; only what srun started can speak with the others.
  const bool introduced = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  return introduced ? number_in("SLURM_NTASKS") : 0;
}

int mpi_job_rank() {
  if (mpi_job_ranks() == 0) return 0;
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(variable) != nullptr) return number_in(variable);
  return 0;
}

}  // namespace trainyard::comm::collective

#pragma once

namespace trainyard::comm::collective {

// Returns the number of ranks that mpirun or srun started together with this process; 0 when neither started
// it.
int mpi_job_ranks();
// Returns the rank of this process in that job; 0 also when there is no job.
int mpi_job_rank();

}  // namespace trainyard::comm::collective

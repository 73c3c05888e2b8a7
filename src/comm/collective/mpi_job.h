#pragma once

namespace trainyard::comm::collective {

// How many ranks mpirun or srun started together with this process; 0: it was started by neither.
int mpi_job_ranks();
// Returns the rank of this process in that job; 0 also when there is no job.
int mpi_job_rank();

}  // namespace trainyard::comm::collective

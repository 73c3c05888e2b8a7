#pragma once

namespace trainyard::comm::collective {

// How many ranks mpirun or srun started together with this process; 0: it was started by neither.
int mpi_job_ranks();
// Which of them this process is; 0 also where there are none.
int mpi_job_rank();

}  // namespace trainyard::comm::collective

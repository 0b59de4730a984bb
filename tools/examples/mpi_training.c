// Trains a graph on the processes of an MPI program, one rank in each, which reach each other by MPI alone.
//
//   mpicc mpi_training.c -lpartita -o mpi_training && mpirun -n 4 ./mpi_training GRAPH.pbtxt SETTINGS
//   OUTPUT.safetensors
#define _POSIX_C_SOURCE 199309L  // nanosleep
#include <mpi.h>
#include <partita.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMostRanks = 256 };
static atomic_int closed[kMostRanks];

static void Check(partita_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", partita_error_message(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Until the request is done, or the other rank was closed.
static int32_t Wait(MPI_Request request, int rank) {
  const struct timespec pause = {0, 20000};
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return 1;
    if (atomic_load(&closed[rank])) break;
    nanosleep(&pause, NULL);
  }
  MPI_Cancel(&request);
  MPI_Request_free(&request);
  return 0;
}

static int32_t Send(void* user, int32_t to, const void* data, size_t bytes) {
  MPI_Request request;
  (void)user;
  MPI_Isend(data, (int)bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
  return Wait(request, to);
}

static int32_t Receive(void* user, int32_t from, void* data, size_t bytes) {
  MPI_Request request;
  (void)user;
  MPI_Irecv(data, (int)bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
  return Wait(request, from);
}

static void Close(void* user, int32_t rank) {
  (void)user;
  atomic_store(&closed[rank], 1);
}

int main(int argc, char** argv) {
  int threads, rank, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || threads < MPI_THREAD_MULTIPLE || ranks > kMostRanks) {
    fprintf(stderr, "usage: mpirun -n RANKS %s GRAPH SETTINGS OUTPUT.safetensors\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  partita_model* model = NULL;
  Check(partita_model_from_file(argv[1], NULL, &model));
  const partita_transport transport = {sizeof transport, rank, ranks, Send, Receive, Close, NULL};
  const partita_session_options options = {.size = sizeof options, .settings = argv[2], .transport = &transport};
  partita_session* session = NULL;
  Check(partita_session_start(model, &options, &session));
  partita_fit_result result = {.size = sizeof result};
  Check(partita_session_fit(session, NULL, &result));
  Check(partita_session_save(session, argv[3]));
  if (rank == 0) printf("%lld steps on %d ranks\n", (long long)result.steps, ranks);
  partita_session_free(session);
  partita_model_free(model);
  MPI_Finalize();
  return 0;
}

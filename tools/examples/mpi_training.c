// Trains a graph on the processes of an MPI program, one rank in each, which reach each other by MPI alone.
//
//   mpicc mpi_training.c -lpartita -o mpi_training
//   mpirun -n 4 ./mpi_training GRAPH.pbtxt SETTINGS OUTPUT.safetensors
#define _POSIX_C_SOURCE 199309L  // nanosleep
#include <limits.h>
#include <mpi.h>
#include <partita.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMostRanks = 256, kMostGroups = 1024 };
static atomic_int closed[kMostRanks];
static MPI_Comm groups[kMostGroups];  // of the sums, made when they are first used

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

static MPI_Comm GroupOf(const partita_all_reduce* sum) {
  if (groups[sum->group] == MPI_COMM_NULL) {
    MPI_Group all, members;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, sum->rank_count, sum->ranks, &members);
    MPI_Comm_create_group(MPI_COMM_WORLD, members, sum->group + 1, &groups[sum->group]);
    MPI_Group_free(&members);
    MPI_Group_free(&all);
  }
  return groups[sum->group];
}

// MPI cannot cancel it; where another rank fails, its MPI_Abort ends this one.
static int32_t AllReduce(void* user, const partita_all_reduce* sum) {
  const MPI_Datatype types[] = {[PARTITA_F32] = MPI_FLOAT, [PARTITA_F64] = MPI_DOUBLE, [PARTITA_I32] = MPI_INT32_T};
  const void* input = sum->input == sum->output ? MPI_IN_PLACE : sum->input;
  (void)user;
  if (sum->reduction != PARTITA_SUM || sum->group >= kMostGroups || sum->count > INT_MAX) return 0;
  return MPI_Allreduce(input, sum->output, (int)sum->count, types[sum->type], MPI_SUM, GroupOf(sum)) == MPI_SUCCESS;
}

static int32_t Barrier(void* user) {
  (void)user;
  return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS;
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
  for (int group = 0; group < kMostGroups; ++group) groups[group] = MPI_COMM_NULL;
  const partita_transport transport = {.size = sizeof transport,
                                       .rank = rank,
                                       .ranks = ranks,
                                       .send = Send,
                                       .receive = Receive,
                                       .close = Close,
                                       .all_reduce = AllReduce,
                                       .barrier = Barrier};
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

#!/usr/bin/env bash
# Trains over the nodes of a Slurm job, one task for each rank, and resumes after warnings and failures:
#   sbatch --nodes=2 slurm.sh --dp=2 --epochs=90 --save=model.safetensors GRAPH.pbtxt
# The arguments are those of `trainer train`; docs/guide/clusters.md 1 explains the rest.
#SBATCH --job-name=partita
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@60
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -euo pipefail

for argument; do
  if [[ $argument == --checkpoint=* ]]; then TRAINER_CHECKPOINT=${argument#*=}; fi
done

# A requeued job keeps its number, and thus its folder, which all nodes must see.
export TRAINER_CHECKPOINT=${TRAINER_CHECKPOINT:-$SLURM_SUBMIT_DIR/checkpoints-$SLURM_JOB_ID}
export TRAINER_CHECKPOINT_EVERY=${TRAINER_CHECKPOINT_EVERY:-15m}
export TRAINER_RESUME=auto

# The ranks join at the first node, where this script runs. Jobs that share a node get ports of their own.
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export MASTER_ADDR MASTER_PORT

# A secret of this start. srun passes it to the tasks; it is in no file, command line or job record.
if [[ -z ${PARTITA_JOB_TOKEN:-}${PARTITA_JOB_TOKEN_FILE:-} ]]; then
  PARTITA_JOB_TOKEN=$(head -c 24 /dev/urandom | base64)
  export PARTITA_JOB_TOKEN
fi

newest_checkpoint() {
  { find "$TRAINER_CHECKPOINT" -maxdepth 1 -name 'step-*' -printf '%f\n' 2>/dev/null || true; } | sort | tail -n 1
}

is_running() { [[ $(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T) == RUNNING ]]; }

# Ranks that lose another one end by themselves, rank 0 after it has completed its file: Slurm must not kill them first.
# Since Slurm 22.05 srun does not inherit --cpus-per-task.
before=$(newest_checkpoint)
code=0
srun --kill-on-bad-exit=0 --wait=0 ${SLURM_CPUS_PER_TASK:+--cpus-per-task="$SLURM_CPUS_PER_TASK"} \
  trainer train "$@" || code=$?
after=$(newest_checkpoint)

# 138: a rank was lost. Of a rank that a signal killed (137: SIGKILL, 139: SIGSEGV) srun reports that instead.
if ((code >= 134 && code <= 139)); then code=138; fi

# 143: warned, and saved; a job that scancel ends is not running any more. Starting again helps only if this start got
# further than the one before.
if ((code == 138 || code == 143)) && [[ $after != "$before" ]] && is_running; then
  echo "slurm.sh: ended with $code after $after; job $SLURM_JOB_ID is queued again"
  if scontrol requeue "$SLURM_JOB_ID"; then sleep 60; fi  # until Slurm ends this script
fi
exit "$code"

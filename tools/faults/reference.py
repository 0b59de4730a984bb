"""What a training comes to that nothing happens to, and whether files of another one are the same to the bit."""

import hashlib
import json
import os
import subprocess

try:
    from tools.faults.processes import newest_step
except ImportError:  # of a script beside it
    from processes import newest_step


RECORD = "trainer_state.json"


def checkpoint_flags(folder, every, keep):
    return [f"--checkpoint={folder}", f"--checkpoint-every={every}", f"--keep={keep}", "--resume=auto"]


def digests(folder):
    """Of each file."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def record_of(checkpoint):
    with open(os.path.join(checkpoint, RECORD), encoding="utf-8") as file:
        return json.load(file)


def checkpoints(folder):
    """The folder of each step that has one. Without a record it is none: so it ends when it makes room for newer ones."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    steps = {int(name[5:]): os.path.join(folder, name) for name in sorted(names) if name.startswith("step-")}
    return {step: path for step, path in steps.items() if os.path.exists(os.path.join(path, RECORD))}


class Reference:
    """command: of training, but for its files. every: steps from one checkpoint to the next."""

    def __init__(self, trainer, command, every, home):
        self._trainer, self.command, self.every = trainer, command, every
        folder, model = os.path.join(home, "reference"), os.path.join(home, "reference.safetensors")
        done = subprocess.run([*command, *checkpoint_flags(folder, every, 1_000_000), f"--save={model}"],
                              capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.steps = newest_step(folder)
        self._saved = {step: digests(path) for step, path in checkpoints(folder).items()}
        self._records = {step: record_of(path) for step, path in checkpoints(folder).items()}
        with open(model, "rb") as file:
            self._model = file.read()
        self.compared = self.same = 0  # checkpoints

    def wrong_model(self, path):
        """A sentence, or nothing."""
        with open(path, "rb") as file:
            return [] if file.read() == self._model else ["the model is another than that of the run that was let be"]

    def wrong_checkpoints(self, folder):
        """A sentence for each. Of steps that the run which was let be did not save, all bytes are read."""
        wrong = []
        for step, path in checkpoints(folder).items():
            self.compared += 1
            if step in self._saved:
                differ = set(digests(path).items()) ^ set(self._saved[step].items())
                if differ and not self._is_before_evaluation(step, path):
                    wrong.append(f"the checkpoint of step {step} is another than that of the run that was let be, in "
                                 f"{sorted({name for name, _ in differ})}")
            elif self._unreadable(path):
                wrong.append(f"the checkpoint of step {step} cannot be read: {self._unreadable(path)}")
        self.same += len(checkpoints(folder)) - len(wrong)
        return wrong

    def _is_before_evaluation(self, step, path):
        """Of an epoch's end, where a run that is told to stop may save before it evaluates, and only its sums differ."""
        ours, theirs = record_of(path), self._records[step]
        shards = {name: digest for name, digest in digests(path).items() if name != RECORD}
        same = {**self._saved[step], **shards} == self._saved[step] and len(shards) == len(self._saved[step]) - 1
        sums = ours.pop("epoch")["steps"], theirs["epoch"]["steps"]
        return same and sums[0] > sums[1] == 0 and all(ours[key] == theirs[key] for key in ours if key != "xxh3")

    def _unreadable(self, path):
        done = subprocess.run([self._trainer, "convert", f"--output={path}.converted", path], capture_output=True,
                              text=True, timeout=60, check=False)
        if done.returncode == 0:
            os.remove(path + ".converted")
        return done.stderr

"""The manifests of tools/examples/jobs: their fields, and what their pods run, as processes of this machine whose names
are 127.0.0.1. What a controller adds to a pod is added here."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from tests.tools.commands.trainer_case import MLP, TRAINER, TrainerCase, without_launchers
from tests.tools.examples import manifest_fields
from tools.faults import job

FOLDER = os.path.abspath("tools/examples/jobs")
MANIFESTS = ("jobset.yaml", "pytorchjob.yaml")
INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
# Debian's Python has Debian's parser.
READ = "import json, sys, yaml; json.dump([*yaml.safe_load_all(sys.stdin)], sys.stdout)"
SAME = ("--mock-data", "--batch=8", "--threads=1", "--schedule=constant")  # instead of data, which only users have
FINAL = (2, 3, 4, 5, 6, 7)  # exit codes after which starting again changes nothing
RESTARTED = (137, 138, 143)


def documents_of(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return json.loads(subprocess.run(["/usr/bin/python3", "-c", READ], stdin=file, capture_output=True, check=True,
                                         timeout=60).stdout)


def job_of(name):
    wanted, = documents_of(name)
    return wanted


def jobset_pods(jobset):
    """(container, variables by name) of each pod, as the controllers of jobs and sets of jobs start them."""
    replicated, = jobset["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]
    assert spec["completionMode"] == "Indexed" and spec["parallelism"] == spec["completions"]
    container, = spec["template"]["spec"]["containers"]
    host = f"{jobset['metadata']['name']}-{replicated['name']}-0-0.{jobset['spec']['network']['subdomain']}"
    return [(container, {INDEX: str(index)}, host) for index in range(spec["completions"])]


def pytorchjob_pods(pytorchjob):
    """As the operator starts them: the master first, with a service of its own, then the workers."""
    replicas = pytorchjob["spec"]["pytorchReplicaSpecs"]
    host = f"{pytorchjob['metadata']['name']}-master-0"
    templates = [kind["template"] for kind in (replicas["Master"], replicas["Worker"]) for _ in range(kind["replicas"])]
    added = {"WORLD_SIZE": str(len(templates)), "PET_NNODES": str(len(templates)), "PYTHONUNBUFFERED": "1"}
    for prefix in ("", "PET_"):
        added |= {prefix + "MASTER_ADDR": host, prefix + "MASTER_PORT": "23456"}
    pods = []
    for rank, template in enumerate(templates):
        container, = template["spec"]["containers"]
        assert container["name"] == "pytorch"
        pods.append((container, {**added, "RANK": str(rank), "PET_NODE_RANK": str(rank)}, host))
    return pods


def variables_of(container, added):
    """Those of the manifest, and those that a controller adds; a secret has a value."""
    variables = {name: value for name, value in added.items() if name != INDEX}
    for each in container["env"]:
        source = each.get("valueFrom", {})
        if "secretKeyRef" in source:
            variables[each["name"]] = job.TOKEN
        else:
            variables[each["name"]] = added[source["fieldRef"]["fieldPath"]] if source else each["value"]
    return variables


def pods_of(manifest):
    return jobset_pods(manifest) if manifest["kind"] == "JobSet" else pytorchjob_pods(manifest)


def with_flags(arguments, flags):
    """The arguments of `train`, with these flags instead of those of the same names."""
    names = {flag.partition("=")[0] for flag in flags}
    *kept, graph = [word for word in arguments if word.partition("=")[0] not in names]
    return [*kept, *flags, graph]


class FieldsTest(unittest.TestCase):

    def test_every_field_is_known(self):
        for name in ("claim.yaml", *MANIFESTS):
            for document in documents_of(name):
                self.assertEqual(manifest_fields.mistakes_of(document), [])

    def test_mistakes_are_found(self):
        jobset = job_of("jobset.yaml")
        broken = copy.deepcopy(jobset)
        broken["spec"]["net"] = broken["spec"].pop("network")
        pod = broken["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        pod["containers"][0]["env"][1]["value"] = 2
        number, unknown = manifest_fields.mistakes_of(broken)
        self.assertRegex(number, r"env\[1\].value is 2; expected str$")
        self.assertRegex(unknown, "^JobSet.spec.net is unknown; expected one of network, ")

    def test_both_run_the_same(self):
        first, second = (pods_of(job_of(name))[0][0] for name in MANIFESTS)
        for field in ("image", "command", "args", "resources", "volumeMounts"):
            self.assertEqual(first[field], second[field])

    def test_a_job_set_starts_again_when_that_helps(self):
        spec = job_of("jobset.yaml")["spec"]
        of_job = spec["replicatedJobs"][0]["template"]["spec"]
        rule, = of_job["podFailurePolicy"]["rules"]
        self.assertEqual((rule["action"], rule["onExitCodes"]["operator"]), ("FailJob", "NotIn"))
        self.assertEqual(rule["onExitCodes"]["containerName"], of_job["template"]["spec"]["containers"][0]["name"])
        self.assertEqual(tuple(rule["onExitCodes"]["values"]), RESTARTED)
        self.assertFalse(set(RESTARTED) & set(FINAL))
        # A failure policy of pods needs pods that never start again by themselves, and jobs that give up at once.
        self.assertEqual((of_job["template"]["spec"]["restartPolicy"], of_job["backoffLimit"]), ("Never", 0))
        ends, = spec["failurePolicy"]["rules"]
        self.assertEqual((ends["action"], ends["onJobFailureReasons"]), ("FailJobSet", ["PodFailurePolicy"]))
        self.assertGreater(spec["failurePolicy"]["maxRestarts"], 0)

    def test_a_pytorch_job_starts_again_when_that_helps(self):
        for kind in job_of("pytorchjob.yaml")["spec"]["pytorchReplicaSpecs"].values():
            self.assertEqual(kind["restartPolicy"], "ExitCode")  # after 128 and more
        self.assertGreaterEqual(min(RESTARTED), 128)
        self.assertLess(max(FINAL), 128)

    def test_image_has_what_pods_call(self):
        with open("tools/packages/Containerfile", encoding="utf-8") as file:
            text = file.read()
        self.assertIn('ENTRYPOINT ["trainer"]', text)
        self.assertIn("-t partita ", text)
        container = pods_of(job_of("jobset.yaml"))[0][0]
        self.assertEqual(container["image"], "partita")
        self.assertEqual(re.search("^WORKDIR (.*)", text, re.MULTILINE).group(1), container["volumeMounts"][0]["mountPath"])


class PodsTest(TrainerCase):

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("programs"))
        os.symlink(TRAINER, self.path("programs/trainer"))
        shutil.copyfile(MLP, self.path("model.pbtxt"))

    def start(self, manifest, *flags, port):
        """A process for each pod."""
        processes = []
        for container, added, host in pods_of(manifest):
            variables = variables_of(container, added)
            self.assertEqual(variables["MASTER_ADDR"], host)
            local = {name: re.sub(f"^{re.escape(host)}$", "127.0.0.1", value) for name, value in variables.items()}
            local |= {name: port for name in local if name.endswith("MASTER_PORT")}
            environment = {**without_launchers(), "PATH": self.path("programs") + ":" + os.environ["PATH"], **local}
            arguments = [word for word in container["args"] if word != "--data=data"]
            command = [*container["command"], *with_flags(arguments, [*SAME, *flags])]
            process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            processes.append(process)
        self.assertEqual(len(processes), 2)
        return processes

    def run_to_end(self, manifest, *flags):
        """The exit codes, and what rank 0 writes."""
        with job.reserve_port() as reserved:
            processes = self.start(manifest, *flags, port=job.port_of(reserved))
            written = [process.communicate(timeout=job.PATIENCE)[0] for process in processes]
        return [process.returncode for process in processes], written

    def wait_for_checkpoint(self, processes):
        deadline = time.monotonic() + job.PATIENCE
        folder = self.path("checkpoints")
        while not (os.path.isdir(folder) and any(name.startswith("step-") for name in os.listdir(folder))):
            self.assertLess(time.monotonic(), deadline)
            self.assertEqual([process.poll() for process in processes], [None, None])
            time.sleep(0.02)

    def newest_step(self):
        return max(int(name[5:]) for name in os.listdir(self.path("checkpoints")) if name.startswith("step-"))

    def assert_equals_threads(self, steps):
        self.call("train", *SAME, "--dp=2", f"--steps={steps}", "--save=threads", "model.pbtxt")
        with open(self.path("model.safetensors"), "rb") as pods, open(self.path("threads"), "rb") as threads:
            self.assertEqual(pods.read(), threads.read())

    def test_pods_equal_threads(self):
        for name in MANIFESTS:
            with self.subTest(name):
                codes, written = self.run_to_end(job_of(name), "--steps=3")
                self.assertEqual(codes, [0, 0], written)
                self.assert_equals_threads(3)
                shutil.rmtree(self.path("checkpoints"))

    def interrupt(self, manifest, number):
        """Exit codes of the pods if the second gets this signal when there is a checkpoint."""
        with job.reserve_port() as reserved:
            processes = self.start(manifest, "--epochs=100000", "--checkpoint-every=20", port=job.port_of(reserved))
            self.wait_for_checkpoint(processes)
            processes[1].send_signal(number)
            for process in processes:
                process.communicate(timeout=job.PATIENCE)
        return [process.returncode for process in processes]

    def test_interrupted_pods_resume(self):
        """An evicted pod makes all save and end with 143; a killed one makes the others end with 138."""
        for number, codes in ((signal.SIGTERM, [143, 143]), (signal.SIGKILL, [138, -signal.SIGKILL])):
            with self.subTest(number):
                manifest = job_of("jobset.yaml")
                self.assertEqual(self.interrupt(manifest, number), codes)
                steps = self.newest_step() + 5
                ended, written = self.run_to_end(manifest, f"--steps={steps}")
                self.assertEqual(ended, [0, 0], written)
                self.assert_equals_threads(steps)
                shutil.rmtree(self.path("checkpoints"))

    def test_a_wrong_flag_is_final(self):
        codes, written = self.run_to_end(job_of("jobset.yaml"), "--dp=3")
        self.assertEqual(codes, [2, 2], written)
        self.assertIn(2, FINAL)


if __name__ == "__main__":
    unittest.main()

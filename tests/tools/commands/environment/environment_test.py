"""The environment of a run: variables that linked libraries read, and limits on processors and processes."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import tempfile
import unittest

from tests.tools.commands.trainer_case import LENET, MLP, TRAINER, TrainerCase, example, without_launchers

BUILD_MODEL = os.path.abspath("tools/models/build_model")
EXPORTED = os.path.abspath("tests/importer/models/language.pt2")

# Values that changed what was computed or printed, or could.
HOSTILE = {
    "OMP_DYNAMIC": ["true"],
    "OMP_THREAD_LIMIT": ["1"],
    "OMP_MAX_ACTIVE_LEVELS": ["0", "9"],
    "OMP_NESTED": ["true"],
    "OMP_NUM_THREADS": ["1", "4,3,2", "nonsense"],
    "OMP_CANCELLATION": ["true"],
    "OMP_SCHEDULE": ["dynamic,1"],
    "OMP_PROC_BIND": ["true", "spread"],
    "OMP_PLACES": ["{0}"],
    "GOMP_CPU_AFFINITY": ["0"],
    "OMP_STACKSIZE": ["16k", "1000g"],
    "GOMP_STACKSIZE": ["1000000000"],
    "OMP_DISPLAY_ENV": ["verbose"],
    "ONEDNN_DEFAULT_FPMATH_MODE": ["BF16", "ANY"],
    "DNNL_DEFAULT_FPMATH_MODE": ["BF16"],
    "ONEDNN_VERBOSE": ["2"],
    "DNNL_VERBOSE": ["1"],
    "ONEDNN_MAX_CPU_ISA": ["SSE41"],
    "DNNL_MAX_CPU_ISA": ["AVX2"],
    "ONEDNN_CPU_ISA_HINTS": ["PREFER_YMM"],
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": ["0"],
    "ONEDNN_JIT_DUMP": ["1"],
    "JSIMD_FORCENONE": ["1"],
    "GLIBC_TUNABLES": ["glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"],
    "TCMALLOC_RELEASE_RATE": ["100"],
}

# Of the graphs that are built, the smallest of a kind.
SMALL = {
    "big-lstm": ["--batch=4", "--length=3", "--hidden=16", "--projection=8", "--layers=2", "--vocabulary=24"],
    "gnmt": ["--batch=4", "--hidden=12", "--layers=2", "--vocabulary=24", "--source-length=4", "--target-length=4"],
}

PIDS = "/sys/fs/cgroup/pids"
QUOTAS = "/sys/fs/cgroup/cpu"

# All graphs under each variable: `tools/test --all`.
ALL_CASES = "PARTITA_ALL_CASES" in os.environ


@contextlib.contextmanager
def control_group(mount, **limits):
    """A group of version 1 with limits, and a function that moves a child into it; skipped where none can be made."""
    folder = os.path.join(mount, f"partita_test_{os.getpid()}")
    try:
        os.mkdir(folder)
    except OSError as error:
        raise unittest.SkipTest(f"no control group can be made here: {error}") from error
    try:
        for name, value in limits.items():
            with open(os.path.join(folder, name.replace("_", ".", 1)), "w") as file:
                file.write(str(value))

        def enter():
            with open(os.path.join(folder, "cgroup.procs"), "w") as file:
                file.write("0")

        yield enter
    finally:
        os.rmdir(folder)


class EnvironmentTest(TrainerCase):

    def start(self, *arguments, variables=None, before=None):
        return subprocess.run([TRAINER, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              preexec_fn=before, env={**self.unset(), **(variables or {})})

    @staticmethod
    def unset():
        """This environment without what libraries read."""
        return {name: value for name, value in without_launchers().items()
                if not name.startswith(("OMP_", "GOMP_", "ONEDNN_", "DNNL_"))}

    def trained(self, graph, arguments, variables):
        """The bytes of a model that two threads have trained; the folder holds nothing else afterwards."""
        done = self.start("train", "--threads=2", "--deterministic", "--mock-data", "--steps=2", "--save=m.safetensors",
                          *arguments, graph, variables=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("m.safetensors"), "rb") as file:
            model = file.read()
        os.remove(self.path("m.safetensors"))
        self.assertEqual(os.listdir(self.folder), [])
        return model

    def built(self, model):
        """A small graph of a shipped kind, outside of the folder of runs."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        graph = os.path.join(folder.name, model + ".pbtxt")
        self.execute(BUILD_MODEL, model, *SMALL[model], "--output=" + graph)
        return graph

    def graphs(self):
        """What runs under the variables: a graph of each kind, and flags of its own."""
        mini, words, pairs = example("mini_inception.pbtxt"), self.built("big-lstm"), self.built("gnmt")
        return {
            "dense": (MLP, "--batch=1024"),
            "convolutional": (LENET, "--batch=128"),
            "branches": (mini, "--batch=8"),
            "words": (words,),
            "pairs": (pairs,),
            "dense in bf16": (MLP, "--batch=256", "--precision=bf16"),
            "convolutional in bf16": (LENET, "--batch=32", "--precision=bf16"),
            "branches in bf16": (mini, "--batch=8", "--precision=bf16"),
            "words in bf16": (words, "--precision=bf16"),
            "pairs in bf16": (pairs, "--precision=bf16"),
        }

    def compare(self, name, line, environments):
        graph, *arguments = line
        right = self.trained(graph, arguments, {})
        for variables in environments:
            with self.subTest(graph=name, variables=variables):
                self.assertEqual(self.trained(graph, arguments, variables), right)

    def test_no_variable_changes_what_a_graph_learns(self):
        """Each value by itself where kernels are few; all graphs with each, where all cases are asked for."""
        single = [{name: value} for name, values in HOSTILE.items() for value in values]
        for name, line in self.graphs().items():
            if ALL_CASES or name in ("dense", "convolutional"):
                self.compare(name, line, single)

    def test_no_variables_together_change_what_a_graph_learns(self):
        """First values, then last ones: a variable that hides another is not there in both."""
        together = [{name: values[place] for name, values in HOSTILE.items()} for place in (0, -1)]
        for name, line in self.graphs().items():
            self.compare(name, line, together)

    def test_no_variable_changes_what_ranks_learn(self):
        """All at once, for threads as ranks and for processes."""
        all_at_once = {name: values[0] for name, values in HOSTILE.items()}
        right = self.trained(LENET, ["--dp=2", "--batch=128"], {})
        self.assertEqual(self.trained(LENET, ["--dp=2", "--batch=128"], all_at_once), right)
        line = ["launch", "--", "train", "--dp=2", "--batch=128", "--threads=2", "--deterministic", "--mock-data",
                "--steps=2", "--save=m.safetensors", LENET]
        saved = []
        for variables in {}, all_at_once:
            done = self.start(*line, variables=variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path("m.safetensors"), "rb") as file:
                saved.append(file.read())
        self.assertEqual(*saved)

    def test_standard_output_is_json(self):
        self.call("train", "--mock-data", "--steps=1", "--save=m.safetensors", LENET)
        loud = {"ONEDNN_VERBOSE": "2", "DNNL_VERBOSE": "2", "OMP_DISPLAY_ENV": "true", "OMP_DISPLAY_AFFINITY": "true",
                "OMP_NUM_THREADS": "nonsense", "OMP_STACKSIZE": "nonsense"}
        done = self.start("evaluate", "--load=m.safetensors", "--mock-data", "--format=json", LENET, variables=loud)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {one["name"]: one for one in json.loads(done.stdout)["variables"]}
        self.assertLessEqual(set(loud), set(found))
        self.assertEqual(found["ONEDNN_VERBOSE"]["handling"], "pinned")
        self.assertEqual(found["ONEDNN_VERBOSE"]["library"], "oneDNN")

    def test_version_and_report_say_what_was_found(self):
        variables = {"OMP_DYNAMIC": "true", "OMP_THREAD_LIMIT": "1", "OMP_WAIT_POLICY": "passive",
                     "JPEGMEM": "1"}
        done = self.start("version", variables=variables)
        for line in ("OMP_DYNAMIC=true (OpenMP): pinned", "OMP_THREAD_LIMIT=1 (OpenMP): dropped",
                     "OMP_WAIT_POLICY=passive (OpenMP): kept", "JPEGMEM=1 (libjpeg-turbo): pinned"):
            self.assertIn("variable      " + line, done.stdout)
        found = {one["name"]: one["handling"]
                 for one in json.loads(self.start("version", "--format=json", variables=variables).stdout)["variables"]}
        self.assertEqual({name: found[name] for name in variables},
                         {"OMP_DYNAMIC": "pinned", "OMP_THREAD_LIMIT": "dropped", "OMP_WAIT_POLICY": "kept",
                          "JPEGMEM": "pinned"})
        self.start("train", "--mock-data", "--steps=1", "--threads=2", "--report=r.json", MLP, variables=variables)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["devices"][0]["threads"], 2)
        self.assertEqual({one["name"]: one["handling"] for one in report["variables"] if one["name"] in variables},
                         {name: found[name] for name in variables})

    def test_a_folder_of_temporary_files_that_cannot_be_written_is_an_error_of_resources(self):
        """And is not taken for a lost peer, after which a launcher would start all again."""
        done = self.start("train", "--mock-data", "--steps=1", EXPORTED, variables={"TMPDIR": "/proc"})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("/proc: cannot make a folder for the weights: No such file or directory; set TMPDIR to another",
                      done.stderr)
        self.start("train", "--mock-data", "--steps=1", EXPORTED, variables={"TMPDIR": "/nowhere"}).check_returncode()

    def processors(self, **how):
        """The cores that `version` tells and the threads that a run takes by itself."""
        cores = json.loads(self.start("version", "--format=json", **how).stdout)["host"]["cores"]
        done = self.start("train", "--mock-data", "--batch=8", "--steps=1", "--report=r.json", MLP, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("r.json")) as file:
            report = json.load(file)
        self.assertEqual(report["cores"], cores)
        return cores, report["devices"][0]["threads"]

    def test_an_affinity_mask_is_a_limit(self):
        allowed = os.sched_getaffinity(0)
        self.assertEqual(self.processors()[0], self.processors()[1])
        one = max(allowed)
        bind = lambda: os.sched_setaffinity(0, {one})
        self.assertEqual(self.processors(before=bind), (1, 1))
        if os.cpu_count() > 1:
            self.assertIn(f"1 core allowed of {os.cpu_count()}", self.start("version", before=bind).stdout)
        # libgomp binds the process to one core as soon as it is loaded; the program starts again on all of them.
        for variables in ({"OMP_PROC_BIND": "true"}, {"OMP_PLACES": "{%d}" % one}, {"GOMP_CPU_AFFINITY": str(one)}):
            with self.subTest(variables=variables):
                self.assertEqual(self.processors(variables=variables), self.processors())
                self.assertEqual(self.processors(variables=variables, before=bind), (1, 1))

    def test_a_quota_is_a_limit(self):
        for quota, cores in ((40000, 1), (100000, 1)):
            with self.subTest(quota=quota), control_group(QUOTAS, cpu_cfs_quota_us=quota) as enter:
                self.assertEqual(self.processors(before=enter), (cores, cores))

    def test_a_limit_of_processes_is_an_error_of_resources(self):
        """Whichever thread is the first that cannot be started: the command ends with 4 and a sentence, or succeeds."""
        outcomes = set()
        for most in range(1, 24):
            with self.subTest(pids=most), control_group(PIDS, pids_max=most) as enter:
                done = self.start("train", "--mock-data", "--steps=1", "--threads=8", "--batch=512", LENET,
                                  before=enter)
                outcomes.add(done.returncode)
                self.assertIn(done.returncode, (0, 4), done.stderr)
                self.assertNotIn("libgomp", done.stderr)
                if done.returncode == 4:
                    self.assertRegex(done.stderr, r"trainer: .*: cannot start .*; pids.max of the control group "
                                     rf"/partita_test_\d+ is {most}; raise it")
        self.assertEqual(outcomes, {0, 4})

    def test_a_limit_of_processes_ends_a_calibration_with_an_error_of_resources(self):
        """Its threads meet each other: of those that wait in vain no one is a lost peer."""
        for most in (3, 6, 8, 11, 14):
            for search in ([], ["--search=auto", "--ranks=2"]):
                with self.subTest(pids=most, search=search), control_group(PIDS, pids_max=most) as enter:
                    done = self.start("calibrate", "--steps=1", "--threads=2", "--save-profile=p.pbtxt", *search, MLP,
                                      before=enter)
                    self.assertIn(done.returncode, (0, 4), done.stderr)

    def test_a_limit_of_processes_ends_a_job_with_an_error_of_resources(self):
        """Whatever a rank starts when the limit is met: no library ends its process."""
        outcomes = set()
        for most in range(2, 40, 3):
            with self.subTest(pids=most), control_group(PIDS, pids_max=most) as enter:
                done = self.start("launch", "--", "train", "--dp=2", "--mock-data", "--steps=1", "--threads=1", MLP,
                                  before=enter)
                outcomes.add(done.returncode)
                self.assertIn(done.returncode, (0, 4), done.stderr)
                if done.returncode == 4:
                    self.assertRegex(done.stderr, rf"pids.max of the control group /partita_test_\d+ is {most}")
        self.assertEqual(outcomes, {0, 4})

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "only root can become another user")
    def test_a_limit_of_the_user_is_found_before_the_first_step(self):
        """Whichever thread is the first that cannot be started, no kernel has begun."""
        os.chmod(self.folder, 0o777)
        # A user without processes, who may read what root may: RLIMIT_NPROC counts all threads of a user.
        become_user = ["setpriv", f"--reuid={1_000_000 + os.getpid()}", "--inh-caps=+dac_override",
                       "--ambient-caps=+dac_override"]
        command = [TRAINER, "train", "--mock-data", "--steps=1", "--threads=8", "--batch=512", "--deterministic", LENET]
        of_kernels = 0
        for most in range(1, 14):
            with self.subTest(most=most):
                done = subprocess.run(become_user + command, capture_output=True, text=True, cwd=self.folder,
                                      timeout=300, env=self.unset(),
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)))
                self.assertIn(done.returncode, (0, 4), done.stderr)
                self.assertNotIn("node '", done.stderr)
                if "for kernels" in done.stderr:
                    of_kernels += 1
                    self.assertRegex(done.stderr, r"rank 0: stream '.*': cannot start thread \d of 7 for kernels: .*"
                                     rf"`ulimit -u` is {most}; raise it.*--threads")
        self.assertGreater(of_kernels, 0)


if __name__ == "__main__":
    unittest.main()

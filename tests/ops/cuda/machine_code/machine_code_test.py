"""Hot kernels divide no 64-bit integers, spill nothing, leave room for other blocks and load by vectors.

Reads the objects that the GPU backend is linked from. Arguments: those of the kernels, then the planted one.
"""

import re
import sys
import unittest

from tests.ops.cuda.machine_code import machine_code

# Mangled names, and what is allowed. In f64 they serve comparisons alone. With 64 registers four blocks of 256 threads
# run at once.
HOT = {
    r"MapRowsIfLi": {},
    r"MapRowsINS_4Bf16ELi": {"load": 64},
    r"StatisticsSumsIf": {},
    r"StatisticsSumsINS_4Bf16E": {"load": 64},
    r"GradientSumsIf": {},
    r"GradientSumsINS_4Bf16E": {"load": 64},
    r"11ElementwiseI(f|NS_4Bf16E)Li\dELi\dE": {},
    r"DropoutBodyI(f|NS_4Bf16E)": {"load": 32},
    r"UpdateBodyI.*EfLi\d+E": {},
    r"CrossEntropy(Grad)?(Rows)?BodyIf": {"load": 32},
    r"CrossEntropyLogitsGradBodyIf": {"load": 32},
    r"\d(Log)?Softmax(Grad)?(Rows)?BodyIf": {"load": 32},
    r"\d(Maximum|Exponentials|LabelShare)BodyIf": {"load": 32},
    r"13(Normalize|InputGrad)BodyI(f|NS_4Bf16E)E": {"load": 32},  # of layer norm
    # Sums in f64 of two columns by each of four channels: at 64 registers they spill, so three blocks run at once.
    r"ParameterSumsIf": {"registers": 80},
    r"ParameterSumsINS_4Bf16E": {"registers": 80, "load": 64},
    r"\d(SquaresBody|ErrorsBody|Quotients|RunsBody)I(f|NS_4Bf16E)": {"load": 32},
    r"TurnBodyI": {"load": 32},
}


class MachineCodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool, why = machine_code.tools()
        if cls.tool is None:
            raise unittest.SkipTest(why)

    def test_hot_kernels(self):
        kernels = [kernel for path in OBJECTS[:-1] for kernel in machine_code.read(self.tool, path)]
        for pattern, allowed in HOT.items():
            hot = [kernel for kernel in kernels if re.search(pattern, kernel.name)]
            self.assertTrue(hot, "no kernel is called " + pattern)
            for kernel in hot:
                with self.subTest(kernel.name):
                    self.assertEqual(machine_code.faults(kernel, **allowed), [])

    def test_finds_what_is_planted(self):
        faults = {
            re.search("Planted(Division|Stack)", kernel.name).group(): machine_code.faults(kernel)
            for kernel in machine_code.read(self.tool, OBJECTS[-1])
        }
        self.assertIn("calls __cuda_sm20_div_s64", faults["PlantedDivision"])
        self.assertIn("loads of [32] bits, 128 are needed", faults["PlantedDivision"])
        self.assertRegex(" ".join(faults["PlantedStack"]), "256 bytes of stack")


if __name__ == "__main__":
    OBJECTS = [argument for argument in sys.argv[1:] if argument.endswith(".o")]
    unittest.main(argv=sys.argv[:1])

"""Hot kernels divide no 64-bit integers, spill nothing, leave room for other blocks, load by vectors and need few
instructions.

Reads the objects that the GPU backend is linked from. Arguments: those of the kernels, and planted.cu.o.
"""

import re
import sys
import unittest

from tests.ops.cuda.machine_code import machine_code

# Rounds of the loops of a pooling with windows of 3 x 3: over the elements of a thread, once; over the window's rows and
# columns. Gradients: over the outputs that see a pixel, of windows at a stride of 2 (1.5 rows and 1.5 columns) or 1 (3
# and 3), and in that of a maximum over the window's earlier pixels, which are 4: a row of 3, and 1 of the pixel's own
# row.
WINDOW, STRIDE_2, STRIDE_1 = (1, 3, 3), (1, 1.5, 1.5, 1, 3), (1, 3, 3)

# bf16 is rounded by an instruction, not by adding 0x7fff to bits and more.
ROUNDS = {"has": ["F2FP.BF16"], "lacks": [", 0x7fff, "]}

# Mangled names, and what is allowed. In f64 they serve comparisons alone. With 64 registers four blocks of 256 threads
# run at once.
HOT = {
    r"MapRowsIfLi": {},
    r"MapRowsINS_4Bf16ELi(?!.*StatisticsGrad)": {"load": 64, **ROUNDS},
    r"MapRowsINS_4Bf16ELi.*StatisticsGrad": {"load": 64, "registers": 72, **ROUNDS},  # three blocks at once
    r"StatisticsSumsIf": {},
    r"StatisticsSumsINS_4Bf16E": {"load": 64},
    r"GradientSumsIfLb0": {},
    r"GradientSumsINS_4Bf16ELb0": {"load": 64},
    r"GradientSumsIfLb1": {"registers": 128},  # behind a relu: two blocks at once, two rows each
    r"GradientSumsINS_4Bf16ELb1": {"registers": 128, "load": 64},
    r"11ElementwiseIfLi\dELi\dE": {},
    r"11ElementwiseINS_4Bf16ELi\dELi\dE": {"lacks": ROUNDS["lacks"]},  # few only choose among elements
    r"DropoutBodyI(f|NS_4Bf16E)": {"load": 32},
    r"UpdateBodyI.*EfLi\d+E": {},
    r"CrossEntropy(Grad)?(Rows)?BodyIf": {"load": 32, "stack": 8},
    r"CrossEntropyLogitsGradBodyIf": {"load": 32},
    r"\d(Log)?Softmax(Grad)?(Rows)?BodyIf": {"load": 32},
    r"\d(Maximum|Exponentials|LabelShare)BodyIf": {"load": 32},
    r"13(Normalize|InputGrad)BodyI(f|NS_4Bf16E)E": {"load": 32},  # of layer norm
    # Sums in f64 of two columns by each of four channels: at 64 registers they spill, so three blocks run at once.
    r"ParameterSumsIf": {"registers": 80},
    r"ParameterSumsINS_4Bf16E": {"registers": 80, "load": 64},
    r"\d(ErrorsBody|Quotients|RunsBody)I(f|NS_4Bf16E)": {"load": 32},
    r"9QuotientsIfLb1": {},
    r"9QuotientsINS_4Bf16ELb1": {"load": 64},
    r"13SquaresKernelI.*7SquaresIf": {"load": 32},
    r"TurnBodyI": {"load": 32},
    # A thread has eight channels, of f32 by two accesses.
    r"11MaxPoolBodyIfLi8": {"most": (56, 8, WINDOW)},
    r"11MaxPoolBodyINS_4Bf16ELi8": {"most": (44, 8, WINDOW), "has": ["HSET2.BF16_V2.GT", "HSET2.BF16_V2.NAN"]},
    # On sm_80 the thread's index and sample wait in memory while the loops over windows run.
    r"15MaxPoolGradBodyIfLi8": {"most": (76, 8, STRIDE_2), "stack": 16},
    r"15MaxPoolGradBodyINS_4Bf16ELi8": {
        "most": (60, 8, STRIDE_2), "has": ["HMNMX2.BF16_V2", "HSET2.BF16_V2.EQ", "F2FP.BF16.F32.PACK_AB"]},
    r"15AveragePoolBodyIfLi8": {"most": (52, 8, WINDOW)},
    r"15AveragePoolBodyINS_4Bf16ELi8": {"most": (58, 8, WINDOW), "has": ["F2FP.BF16.F32.PACK_AB"]},
    r"19AveragePoolGradBodyIfLi8EiLb1": {"most": (40, 8, STRIDE_1)},
    r"19AveragePoolGradBodyINS_4Bf16ELi8EiLb1": {"most": (46, 8, STRIDE_1), "has": ["F2FP.BF16.F32.PACK_AB"]},
    r"19AveragePoolGradBodyI(f|NS_4Bf16E)Li8EiLb0": {},
    r"25GlobalAveragePoolGradBodyIfLi4": {"most": (30, 4, (1,))},
    r"25GlobalAveragePoolGradBodyINS_4Bf16ELi8": {"most": (25, 8, (1,))},
    r"PoolBodyI(f|NS_4Bf16E)Li1": {"load": 32},
    r"PoolGradBodyI(f|NS_4Bf16E)Li1": {"load": 32},
    # Scores of attention: at 128 registers two blocks of 256 threads run at once. On sm_90 those of queries need 80, at
    # which three do, on sm_80 up to 100.
    r"PassScoresKernel.*(OutputBody|QueryGradBody|KeyGradBody)I(f|NS_4Bf16E)": {"registers": 128},
    # Products of LSTMs. What they load by vectors goes to shared memory (LDGSTS). Blocks have 128 threads, so at 136
    # registers three run at once, at 96 five.
    r"18ProductTilesKernel.*ProductStepsIf": {"registers": 136, "load": 32, "has": ["LDGSTS.E.BYPASS.128"]},
    r"18ProductTilesKernel.*ProductStepsINS_4Bf16E": {
        "registers": 96, "load": 32, "has": ["LDGSTS.E.BYPASS.128", "HMMA.16816.F32.BF16", "LDSM.16.M"]},
}


# Bodies of attention, and what a product of two elements may take where a thread multiplies a row with four others, read
# 16 bytes at a time, 32 products in a round: instructions, loads. Half of the instructions multiply and add.
SCORES = [("If", 4, 10 / 32), ("INS_4Bf16E", 5, 5 / 32)]


class InstructionsTest(unittest.TestCase):
    def count(self, lines, rounds):
        return machine_code.instructions([(16 * i, line) for i, line in enumerate(lines)], rounds)

    def test_loops_count_as_often_as_their_rounds(self):
        code = ["MOV", "FADD", "FMUL", "@P0 BRA 0x20 ", "@!P1 BRA 0x10 ", "EXIT", "BRA 0x60"]
        self.assertEqual(self.count(code, (1, 1)), 6)
        self.assertEqual(self.count(code, (1, 10)), 2 + 2 + 2 * 10)
        self.assertEqual(self.count(code, (2, 10)), 2 + 2 * 2 + 2 * 20)

    def test_slow_paths_count_nothing(self):
        code = ["@P0 EXIT", "FADD", "CALL.REL.NOINC 0x70 ", "@P1 BRA 0x10 ", "@P2 BRA 0x10 ", "EXIT", "RET"]
        self.assertEqual(self.count(code, (1, 10)), 3)
        self.assertEqual(self.count(code[:4] + code[5:], (1,)), 5)  # the outermost loop itself may call


class MachineCodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = machine_code.disassembler()

    def test_hot_kernels(self):
        kernels = [kernel for path in OBJECTS[:-1] for kernel in machine_code.read(self.tool, path)]
        for pattern, allowed in HOT.items():
            hot = [kernel for kernel in kernels if re.search(pattern, kernel.name)]
            self.assertTrue(hot, "no kernel is called " + pattern)
            for kernel in hot:
                with self.subTest(kernel.name):
                    self.assertEqual(machine_code.faults(kernel, **allowed), [])

    def test_scores_of_attention(self):
        kernels = [kernel for path in OBJECTS[:-1] for kernel in machine_code.read(self.tool, path)]
        for body in ("OutputBody", "QueryGradBody", "KeyGradBody"):
            for dtype, instructions, loads in SCORES:
                (kernel,) = [kernel for kernel in kernels if re.search(f"PassScoresKernel.*{body}{dtype}", kernel.name)]
                rounds = [loop for loop in machine_code.innermost(kernel.code)
                          if sum("FMUL" in line for line in loop) == 32 and not any("LDS" in line for line in loop)]
                with self.subTest(kernel.name):
                    self.assertEqual(len(rounds), 1 if body == "OutputBody" else 2)
                    for loop in rounds:
                        self.assertLessEqual(len(loop) / 32, instructions)
                        self.assertLessEqual(sum("LDG" in line for line in loop) / 32, loads)

    def test_finds_what_is_planted(self):
        faults = {
            re.search("Planted(Division|Stack)", kernel.name).group(): machine_code.faults(kernel)
            for kernel in machine_code.read(self.tool, OBJECTS[-1])
        }
        self.assertIn("calls __cuda_sm20_div_s64", faults["PlantedDivision"])
        self.assertIn("loads of [32] bits, 128 are needed", faults["PlantedDivision"])
        self.assertRegex(" ".join(faults["PlantedStack"]), "256 bytes of stack")


if __name__ == "__main__":
    OBJECTS = sorted((argument for argument in sys.argv[1:] if argument.endswith(".o")),
                     key=lambda path: path.endswith("/planted.cu.o"))
    unittest.main(argv=sys.argv[:1])

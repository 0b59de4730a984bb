// Every wrong graph gets one sentence: the file, the node or field, what was found, what is allowed.
#include <gmock/gmock.h>

#include "graph/proto_io/proto_io_message.h"
#include "tests/graph/io/graph_text.h"

namespace partita {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  std::string name;
  std::string text;
  std::vector<std::string> says;  // all of these
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ModelRefusals : public ::testing::TestWithParam<Case> {};

TEST_P(ModelRefusals, SayWhatIsWrong) {
  const std::string refusal = Refusal(ParseText(GetParam().text).status());
  EXPECT_THAT(refusal, StartsWith("tiny.pbtxt:"));
  for (const std::string& part : GetParam().says) EXPECT_THAT(refusal, HasSubstr(part));
}

const std::string kRelu = R"(nodes { name: "r" op: "relu" inputs: "z" })";
const std::string kShape = R"(attributes { name: "shape" integers { values: [2] } })";
const std::string kOnes = kShape + R"( attributes { name: "initializer" text: "constant" })";

std::string Named(const std::string& name) { return "nodes { name: \"" + name + "\" op: \"relu\" inputs: \"z\" }"; }

std::string BatchNorm(const std::string& mean, const std::string& variance, const std::string& mean_op = "state") {
  return "nodes { name: \"g\" op: \"state\" " + kOnes + " } nodes { name: \"m\" op: \"" + mean_op + "\" " + kOnes +
         " } nodes { name: \"v\" op: \"state\" " + kOnes +
         " } nodes { name: \"n\" op: \"batch_norm\" inputs: [\"z\", \"g\", \"g\", \"" + mean + "\", \"" + variance +
         "\"] }";
}

const Case kFileCases[] = {
    {"Empty", "", {"is empty"}},
    {"Blank", " \n# nothing\n", {"schema_version is missing"}},
    {"Gzip", std::string("\x1f\x8b\x08\x00", 4), {"compressed by gzip"}},
    {"OtherVersion", Broken("schema_version: 1", "schema_version: 2"), {"schema_version is 2", "1 is needed"}},
    {"UnknownField",
     Broken("nodes {", "node {"),
     {"tiny.pbtxt:4:", "GraphProto has no field 'node'", "did you mean 'nodes'?"}},
    {"UnknownNestedField", Broken("inputs: \"x\"", "input: \"x\""), {"NodeProto has no field 'input'", "'inputs'"}},
    {"FieldOfTheOptimizer",
     std::string("schema_version: 1 average { decay: 0.9 pattern: \"*\" }"),
     {"GraphProto has no field 'average'", "it is a field of 'optimizer': optimizer { average ... }"}},
    {"WrongMessage", "schema_version: 1 mesh { name: \"data\" size: 2 }", {"GraphProto has no field 'mesh'"}},
    {"NotAProto", "PNG and so on", {"tiny.pbtxt:1:"}},
    {"FieldTwice", Broken("optimizer {", "optimizer {} optimizer {"), {"optimizer", "multiple times"}},
    {"NoNodes", std::string(kHead) + kTail, {"no nodes"}},
    {"NoOptimizer", Broken("optimizer { momentum: 0.9 }", ""), {"optimizer is missing"}},
    {"NoLearningRate", Broken("learning_rate { schedule: \"constant\" base: 0.1 }", ""), {"learning_rate is missing"}},
    {"ModelName", Broken("name: \"tiny\"", "name: \"a@b\""), {"field name", "'a@b'"}},
};
INSTANTIATE_TEST_SUITE_P(Files, ModelRefusals, ::testing::ValuesIn(kFileCases),
                         [](const auto& i) { return i.param.name; });

const Case kTrainingCases[] = {
    {"Momentum", Broken("momentum: 0.9", "momentum: 1"), {"optimizer.momentum is 1", "less than 1"}},
    {"MomentumNan", Broken("momentum: 0.9", "momentum: nan"), {"optimizer.momentum is nan"}},
    {"WeightDecay", Broken("momentum: 0.9", "weight_decay: -1"), {"optimizer.weight_decay is -1"}},
    {"ClipNorm", Broken("momentum: 0.9", "clip_norm: inf"), {"optimizer.clip_norm is inf"}},
    {"Nesterov", Broken("momentum: 0.9", "nesterov: true"), {"optimizer.nesterov", "momentum above 0"}},
    {"OptimizerName", Broken("momentum: 0.9", "name: \"sgdd\""), {"optimizer.name is 'sgdd'", "unknown", "'sgd'?"}},
    {"OptimizerAttribute",
     Broken("momentum: 0.9", "name: \"sgd\" attributes { name: \"momentun\" number: 0.9 }"),
     {"optimizer 'sgd' has no attribute 'momentun'", "did you mean 'momentum'?"}},
    {"OptimizerAttributeType",
     Broken("momentum: 0.9", "name: \"sgd\" attributes { name: \"momentum\" text: \"x\" }"),
     {"attribute 'momentum' of optimizer 'sgd' is a number"}},
    {"OptimizerRange",
     Broken("momentum: 0.9", "name: \"sgd\" attributes { name: \"momentum\" integer: 1 }"),
     {"optimizer.momentum is 1", "less than 1"}},
    {"OptimizerDividesByZero",
     Broken("momentum: 0.9", "name: \"adagrad\" attributes { name: \"epsilon\" number: 0 }"),
     {"optimizer.epsilon", "are 0; one of them above 0 is needed"}},
    {"AdamDividesByZero",
     Broken("momentum: 0.9", "name: \"adam\" attributes { name: \"epsilon\" number: 0 }"),
     {"optimizer.epsilon is 0; expected a number above 0"}},
    {"AdamWDividesByZero",
     Broken("momentum: 0.9", "name: \"adamw\" attributes { name: \"epsilon\" number: 1e-60 }"),
     {"optimizer.epsilon is 1e-60; expected a number above 0, also in f32"}},
    {"RmsPropDividesByZero",
     Broken("momentum: 0.9", "name: \"rmsprop\" attributes { name: \"epsilon\" number: 0 }"),
     {"optimizer.epsilon is 0; expected a number above 0"}},
    {"RmsPropTorchDividesByZero",
     Broken("momentum: 0.9", "name: \"rmsprop_torch\" attributes { name: \"epsilon\" number: 0 }"),
     {"optimizer.epsilon is 0; expected a number above 0"}},
    {"LambDividesByZero",
     Broken("momentum: 0.9", "name: \"lamb\" attributes { name: \"epsilon\" number: 0 }"),
     {"optimizer.epsilon is 0; expected a number above 0"}},
    {"AGroupDividesByZero",
     Broken("momentum: 0.9", "name: \"adam\" groups { pattern: \"*\" attributes { name: \"epsilon\" number: 0 } }"),
     {"optimizer.epsilon is 0; expected a number above 0"}},
    {"OptimizerFirstPhase",
     Broken("momentum: 0.9", "name: \"lamb\" attributes { name: \"beta2\" number: 1 }"),
     {"optimizer.beta2 is 1", "less than 1"}},
    {"OptimizerSecondPhase",
     Broken("momentum: 0.9", "name: \"lamb\" attributes { name: \"weight_norm_limit\" number: -1 }"),
     {"optimizer.weight_norm_limit is -1"}},
    {"OptimizerAlpha",
     Broken("momentum: 0.9", "name: \"rmsprop_torch\" attributes { name: \"alpha\" number: 1 }"),
     {"optimizer.alpha is 1", "less than 1"}},
    {"GroupWithoutPattern",
     Broken("momentum: 0.9", "groups { rate: 2 }"),
     {"optimizer.groups ''", "pattern is missing"}},
    {"GroupMatchesNothing",
     Broken("momentum: 0.9", "groups { pattern: \"*/w\" rate: 2 }"),
     {"optimizer.groups '*/w' matches none of the 1 names", "did you mean '*/w'?"}},
    {"GroupRate",
     Broken("momentum: 0.9", "groups { pattern: \"w\" rate: -1 }"),
     {"optimizer.groups 'w'", "rate is -1"}},
    {"GroupClipNorm",
     Broken("momentum: 0.9", "groups { pattern: \"w\" clip_norm: nan }"),
     {"optimizer.groups 'w'", "clip_norm is nan"}},
    {"GroupGradientScale",
     Broken("momentum: 0.9", "groups { pattern: \"w\" attributes { name: \"gradient_scale\" number: 0 } }"),
     {"optimizer.groups 'w': gradient_scale is 0; a finite number above 0 is allowed"}},
    {"GroupWeightDecay",
     Broken("momentum: 0.9", "groups { pattern: \"w\" weight_decay: -1 }"),
     {"optimizer.groups 'w'", "optimizer.weight_decay is -1"}},
    {"GroupWeightDecayTwice",
     Broken("momentum: 0.9",
            "groups { pattern: \"w\" weight_decay: 1 attributes { name: \"weight_decay\" number: 1 } }"),
     {"optimizer.groups 'w'", "a field and an attribute"}},
    {"GroupAttribute",
     Broken("momentum: 0.9", "groups { pattern: \"w\" attributes { name: \"momentun\" number: 0.5 } }"),
     {"optimizer.groups 'w'", "no attribute 'momentun'", "'momentum'?"}},
    {"AverageDecay", Broken("momentum: 0.9", "average { decay: 1 }"), {"optimizer.average.decay is 1", "less than 1"}},
    {"AverageWithoutDecay", Broken("momentum: 0.9", "average {}"), {"optimizer.average.decay is 0", "more than 0"}},
    {"AveragePattern",
     Broken("momentum: 0.9", "average { decay: 0.9 pattern: \"ww\" }"),
     {"optimizer.average.pattern 'ww' matches none", "did you mean 'w'?"}},
    {"OptimizerWithoutName",
     Broken("momentum: 0.9", "attributes { name: \"momentum\" number: 0.9 }"),
     {"optimizer.attributes are given without optimizer.name"}},
    {"OptimizerTwice",
     Broken("momentum: 0.9", "momentum: 0.9 name: \"sgd\""),
     {"optimizer.momentum is given beside optimizer.name", "'sgd'"}},
    {"Schedule", Broken("\"constant\" base", "\"cosin\" base"), {"learning_rate.schedule is 'cosin'", "'cosine'?"}},
    {"Base", Broken("base: 0.1", "base: -0.1"), {"learning_rate.base is -0.1"}},
    {"Steps", Broken("base: 0.1", "steps: -1"), {"learning_rate.steps is -1"}},
    {"TooManySteps",
     Broken("base: 0.1", "warmup_steps: 4611686018427387904"),
     {"learning_rate.warmup_steps is 4611686018427387904; 0 to 9007199254740992 are allowed"}},
    {"Warmup", Broken("base: 0.1", "steps: 5 warmup_steps: 5"), {"learning_rate.warmup_steps is 5"}},
    {"OneCycleWarmup",
     Broken("\"constant\" base: 0.1", "\"one_cycle\" warmup_steps: 5"),
     {"warmup_steps is 5", "0 is allowed"}},
    {"Decay", Broken("\"constant\" base: 0.1", "\"step\" decay: 2 decay_steps: 5"), {"learning_rate.decay is 2"}},
    {"HalvingStart",
     Broken("\"constant\" base: 0.1", "\"halving\" warmup_steps: 5 decay_start: 4 decay_steps: 1 decay_times: 1"),
     {"learning_rate.decay_start is 4; 5 to"}},
    {"HalvingTimes",
     Broken("\"constant\" base: 0.1", "\"halving\" decay_start: 4 decay_steps: 1"),
     {"learning_rate.decay_times is 0; 1 to"}},
    {"HalvingSteps",
     Broken("\"constant\" base: 0.1", "\"halving\" decay_start: 4 decay_times: 1"),
     {"learning_rate.decay_steps is 0; 1 to"}},
    {"PlateauPatience",
     Broken("\"constant\" base: 0.1", "\"plateau\" decay: 0.5"),
     {"learning_rate.patience is 0; 1 to"}},
    {"PlateauDecay",
     Broken("\"constant\" base: 0.1", "\"plateau\" decay: 1 patience: 2"),
     {"learning_rate.decay is 1; more than 0 and less than 1"}},
    {"Power",
     Broken("\"constant\" base: 0.1", "\"polynomial\" power: 0"),
     {"learning_rate.power is 0; a number above 0"}},
    {"WarmupWord",
     Broken("base: 0.1", "warmup: \"exponental\""),
     {"learning_rate.warmup is 'exponental'", "'exponential'?"}},
    {"DecaySteps", Broken("\"constant\" base: 0.1", "\"step\" decay: 0.5"), {"learning_rate.decay_steps is 0"}},
};
INSTANTIATE_TEST_SUITE_P(Training, ModelRefusals, ::testing::ValuesIn(kTrainingCases),
                         [](const auto& i) { return i.param.name; });

const Case kNodeCases[] = {
    {"NameTwice", WithNodes(Named("z")), {"node 'z'", "taken twice", "4 and 7"}},
    {"NameEmpty", WithNodes(Named("")), {"node 7", "name is empty"}},
    {"NameAt", WithNodes(Named("z@d")), {"'z@d' contains '@'"}},
    {"NameControl", WithNodes(Named("a\\nb\\033[1m")), {"'a\\x0ab\\x1b[1m'"}},
    {"NameSpace", WithNodes(Named("a b")), {"contains ' '"}},
    {"NameLong", WithNodes(Named(std::string(4097, 'n'))), {"4097 characters", "4096"}},
    {"TextLong",
     WithNodes("nodes { name: \"v\" op: \"state\" attributes { name: \"initializer\" text: \"" +
               std::string(4097, 'n') + "\" } }"),
     {"node 'v'", "attribute 'initializer'", "4097 characters", "4096"}},
    {"NotUtf8", WithNodes(Named("a\\377")), {"\\xff"}},
    {"UnknownOp", Broken("\"matmul\"", "\"matmull\""), {"node 'z'", "'matmull' is unknown", "did you mean 'matmul'?"}},
    {"ForeignOp",
     Broken("\"matmul\"", "\"Linear\""),
     {"node 'z'", "'Linear' is unknown; here it is matmul, then bias"}},
    {"LeakyRelu", Broken("\"matmul\"", "\"leaky_relu\""), {"here it is maximum, of x and scale of x"}},
    {"Prelu", Broken("\"matmul\"", "\"PReLU\""), {"here it is relu of x, minus relu of -x times the slopes"}},
    {"GroupNorm", Broken("\"matmul\"", "\"GroupNorm\""), {"here it is reshape, mean, expand"}},
    {"Where", Broken("\"matmul\"", "\"where\""), {"here it is masked of x and c, plus masked of y and 1 - c"}},
    {"BiasAdd", Broken("\"matmul\"", "\"bias_add\""), {"'bias_add' is unknown; here it is bias"}},
    {"Convolution", Broken("\"matmul\"", "\"Conv\""), {"'Conv' is unknown; here it is conv2d"}},
    {"Pad", Broken("\"matmul\"", "\"pad\""), {"here it is padding of conv2d"}},
    {"OpThatNobodyMeant", Broken("\"matmul\"", "\"fourier\""), {"'fourier' is unknown; known are: ", ", transpose"}},
    {"UnknownOpBeforeAMissingLoss",
     "schema_version: 1 nodes { name: \"z\" op: \"matmull\" }",
     {"node 'z'", "'matmull' is unknown"}},
    {"UnknownAttributeBeforeAMissingLoss",
     "schema_version: 1 nodes { name: \"z\" op: \"relu\" attributes { name: \"axis\" integer: 1 } }",
     {"node 'z'", "op 'relu' has no attribute 'axis'; it takes none"}},
    {"AttributeOfAnOpThatHasNone",
     Broken("op: \"matmul\"", "op: \"relu\" attributes { name: \"axis\" integer: 1 }"),
     {"op 'relu' has no attribute 'axis'; it takes none"}},
    {"InternalOp", Broken("\"matmul\"", "\"relu_grad\""), {"'relu_grad' is not for users' graphs"}},
    {"MoveOp", Broken("\"matmul\"", "\"all_reduce\""), {"node 'z'", "'all_reduce'"}},
    {"UnknownAttribute",
     Broken("inputs: \"w\"", "inputs: \"w\" attributes { name: \"transpose\" boolean: true }"),
     {"node 'z'", "no attribute 'transpose'", "transpose_x"}},
    {"AttributeTwice",
     Broken("attributes { name: \"shape\"", kShape + " attributes { name: \"shape\""),
     {"node 'x'", "attribute 'shape' is given twice"}},
    {"AttributeWithoutValue",
     Broken("attributes { name: \"shape\" integers { values: [4, 3] } }", "attributes { name: \"shape\" }"),
     {"node 'x'", "attribute 'shape'", "no value"}},
    {"AttributeType", Broken("integers { values: [4, 3] }", "text: \"4x3\""), {"node 'x'", "'shape'", "4x3"}},
    {"AttributeMissing",
     Broken("attributes { name: \"shape\" integers { values: [4, 3] } }", ""),
     {"node 'x'", "needs attribute 'shape'"}},
    {"AttributeNan",
     Broken("inputs: \"w\"", "inputs: \"w\" attributes { name: \"rate\" number: nan }"),
     {"node 'z'", "finite"}},
    {"AttributeControl", Broken("\"he_normal\"", "\"he\\001\""), {"node 'w'", "'he\\x01'"}},
    {"AttributeName", Broken("name: \"initializer\"", "name: \"\""), {"node 'w'", "an attribute"}},
    {"AttributeChoice", Broken("\"he_normal\"", "\"he_norml\""), {"node 'w'", "he_norml", "he_normal?"}},
    {"Dangling", Broken("inputs: \"w\"", "inputs: \"v\""), {"node 'z'", "input 2 is 'v'", "no node is called"}},
    {"DanglingNear",
     Broken("inputs: \"z\" inputs: \"y\"", "inputs: \"z\" inputs: \"losss\""),
     {"'losss'", "did you mean 'loss'?"}},
    {"TooFewInputs", Broken("inputs: \"x\" inputs: \"w\"", "inputs: \"x\""), {"node 'z' (matmul)", "missing"}},
    {"TooManyInputs",
     Broken("inputs: \"x\" inputs: \"w\"", "inputs: \"x\" inputs: \"w\" inputs: \"w\""),
     {"node 'z' (matmul)", "3"}},
    {"SelfCycle",
     Broken("inputs: \"x\" inputs: \"w\"", "inputs: \"z\" inputs: \"w\""),
     {"cycle of 1 nodes: 'z' -> 'z'"}},
    {"Cycle",
     WithNodes(R"(nodes { name: "p" op: "relu" inputs: "q" } nodes { name: "q" op: "relu" inputs: "p" })"),
     {"cycle of 2 nodes", "'p'", "'q'"}},
    {"ShapeMismatch", Broken("[3, 2]", "[5, 2]"), {"node 'z' (matmul)", "5"}},
    {"RankMismatch", Broken("[4, 3]", "[4, 3, 1]"), {"node 'z' (matmul)"}},
    {"LabelType", Broken("\"i32\"", "\"f32\""), {"node 'loss' (softmax_cross_entropy)", "i32"}},
    {"DTypeName", Broken("\"i32\"", "\"i23\""), {"node 'y' (input)", "i23"}},
    {"SizeZero", Broken("[4, 3]", "[0, 3]"), {"node 'x' (input)", "[0,3]"}},
    {"SizeNegative", Broken("[4, 3]", "[4, -3]"), {"node 'x' (input)", "-3"}},
    {"SizeOverflow", Broken("[4, 3]", "[4611686018427387904, 4611686018427387904]"), {"node 'x' (input)"}},
    {"SizeOver64Bits", Broken("[4, 3]", "[36893488147419103232, 3]"), {"tiny.pbtxt:4:"}},
    {"ConvGivesNothing",
     WithNodes(R"(nodes { name: "i" op: "input" attributes { name: "shape" integers { values: [4, 2, 2, 1] } } }
                  nodes { name: "k" op: "parameter" attributes { name: "shape" integers { values: [1, 5, 5, 1] } }
                          attributes { name: "initializer" text: "he_normal" } }
                  nodes { name: "c" op: "conv2d" inputs: "i" inputs: "k" })"),
     {"node 'c' (conv2d)"}},
};
INSTANTIATE_TEST_SUITE_P(Nodes, ModelRefusals, ::testing::ValuesIn(kNodeCases),
                         [](const auto& i) { return i.param.name; });

const Case kGraphCases[] = {
    {"NoLoss", Broken("loss: \"loss\"", ""), {"names 0 losses", "exactly one"}},
    {"TwoLosses", Broken("loss: \"loss\"", "loss: \"loss\" loss: \"accuracy\""), {"names 2 losses", "exactly one"}},
    {"FurtherLossUnknown",
     Broken("metrics:", "further_losses { value: \"acuracy\" weight: 1 } metrics:"),
     {"a further loss", "'acuracy'", "did you mean 'accuracy'?"}},
    {"FurtherLossNotScalar",
     Broken("metrics:", "further_losses { value: \"z\" weight: 1 } metrics:"),
     {"the further loss is 'z' f32[4,2]", "scalar"}},
    {"FurtherLossWithoutWeight",
     Broken("metrics: \"accuracy\"", "further_losses { value: \"accuracy\" }"),
     {"weight of the further loss 'accuracy' is 0", "finite number other than 0"}},
    {"FurtherLossOfInfiniteWeight",
     Broken("metrics: \"accuracy\"", "further_losses { value: \"accuracy\" weight: inf }"),
     {"weight of the further loss 'accuracy' is inf"}},
    {"FurtherLossIsTheLoss",
     Broken("metrics:", "further_losses { value: \"loss\" weight: 1 } metrics:"),
     {"'loss' is named twice among losses and metrics"}},
    {"FurtherLossIsAMetric",
     Broken("metrics:", "further_losses { value: \"accuracy\" weight: 1 } metrics:"),
     {"'accuracy' is named twice among losses and metrics"}},
    {"UnknownLoss", Broken("loss: \"loss\"", "loss: \"los\""), {"the loss", "'los'", "did you mean 'loss'?"}},
    {"LossNotScalar", Broken("loss: \"loss\"", "loss: \"z\""), {"the loss is 'z' f32[4,2]", "scalar"}},
    {"LossIsState",
     std::string(kHead) + kNodes + R"(nodes { name: "s" op: "state" attributes { name: "shape" integers {} }
         attributes { name: "initializer" text: "constant" } }
         loss: "s" optimizer {} learning_rate { schedule: "constant" })",
     {"the loss 's' is a state"}},
    {"LossWithoutGradient",
     Broken("loss: \"loss\"\nmetrics: \"accuracy\"", "loss: \"accuracy\"\nmetrics: \"loss\""),
     {"node 'w'", "gets no gradient", "'accuracy'"}},
    {"UnknownMetric",
     Broken("metrics: \"accuracy\"", "metrics: \"acuracy\""),
     {"a metric", "did you mean 'accuracy'?"}},
    {"MetricNotScalar", Broken("metrics: \"accuracy\"", "metrics: \"z\""), {"a metric is 'z' f32[4,2]"}},
    {"MetricTwice",
     Broken("metrics: \"accuracy\"", "metrics: \"accuracy\" metrics: \"accuracy\""),
     {"'accuracy' is named twice"}},
    {"OneFieldForTwoInputs",
     WithNodes("nodes { name: \"x2\" op: \"input\" " + kShape +
               " attributes { name: \"field\" text: \"x\" } } nodes { name: \"r\" op: \"relu\" inputs: \"x2\" }"),
     {"node 'x2'", "field 'x' fills 'x' already"}},
    {"UnusedParameter",
     WithNodes("nodes { name: \"b\" op: \"parameter\" " + kOnes + " }"),
     {"node 'b'", "used by no node"}},
    {"ParameterWithoutWay",
     WithNodes("nodes { name: \"b\" op: \"parameter\" " + kOnes +
               " } nodes { name: \"r\" op: \"relu\" inputs: \"b\" }"),
     {"node 'b'", "gets no gradient", "'loss'"}},
    {"RunningNotState", WithNodes(BatchNorm("x", "v")), {"node 'n'"}},
    {"RunningIsParameter", WithNodes(BatchNorm("m", "v", "parameter")), {"node 'm'", "no gradient"}},
    {"RunningIsConstant",
     WithNodes("nodes { name: \"c\" op: \"constant\" " + kShape + " attributes { name: \"value\" number: 0 } }" +
               BatchNorm("c", "v")),
     {"node 'n'", "running_mean is 'c', a constant", "a state is needed"}},
    {"RunningShared", WithNodes(BatchNorm("v", "v")), {"node 'n'", "running_variance is 'v'", "it updates already"}},
};
INSTANTIATE_TEST_SUITE_P(Graphs, ModelRefusals, ::testing::ValuesIn(kGraphCases),
                         [](const auto& i) { return i.param.name; });

TEST(ModelFiles, NameTheirPathAndWhatIsAllowed) {
  EXPECT_THAT(Refusal(LoadModel("/no/such/graph.pbtxt", Ops()).status()), HasSubstr("/no/such/graph.pbtxt"));
  EXPECT_THAT(Refusal(LoadModel("graph.onnx", Ops()).status()), AllOf(HasSubstr("graph.onnx"), HasSubstr(".pbtxt")));
  EXPECT_THAT(Refusal(ParseModel("{}", ProtoFormat::kJson, "graph.json", Ops()).status()), HasSubstr("only written"));
  EXPECT_THAT(Refusal(LoadModel("/tmp", Ops()).status()), HasSubstr("/tmp"));
}

TEST(ModelRefusal, TheTinyGraphItselfIsFine) { EXPECT_EQ(Refusal(ParseText(TinyGraph()).status()), "ok"); }

TEST(FormatOf, IgnoresTheCaseOfEndings) {
  EXPECT_EQ(*FormatOf("a/M.PBTXT"), ProtoFormat::kText);
  EXPECT_EQ(*FormatOf("m.TextProto"), ProtoFormat::kText);
  EXPECT_EQ(*FormatOf("m.Pb"), ProtoFormat::kBinary);
  EXPECT_EQ(*FormatOf("m.JSON"), ProtoFormat::kJson);
  EXPECT_FALSE(FormatOf("m.pbtxt.txt").ok());
}

}  // namespace
}  // namespace partita

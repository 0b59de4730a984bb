// Written by tools/peer/transformer_models.py with transformers 5.24.0, torchvision 0.29.2 and PyTorch 2.15.0:
// losses and gradients of one step in f64.
#ifndef PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_
#define PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

inline constexpr int64_t kBertSamples = 3;
inline constexpr int64_t kBertPlaces = 7;
inline constexpr int64_t kBertPositions = 9;
inline constexpr int64_t kBertWords = 17;
inline constexpr int64_t kBertSegments = 2;
inline constexpr int64_t kBertWidth = 12;
inline constexpr int64_t kBertHeads = 3;
inline constexpr int64_t kBertLayers = 2;
inline constexpr int64_t kBertClasses = 4;
inline constexpr int64_t kVitSamples = 3;
inline constexpr int64_t kVitImage = 12;
inline constexpr int64_t kVitPatch = 4;
inline constexpr int64_t kVitChannels = 3;
inline constexpr int64_t kVitClasses = 5;
inline constexpr int64_t kVitWidth = 12;
inline constexpr int64_t kVitHeads = 3;
inline constexpr int64_t kVitLayers = 2;
inline constexpr double kVitSmoothing = 0.11;

// Element i of parameter k of a step's list; 1 more if it is a gain. Pictures are as parameter 100.
inline double PeerValue(int64_t k, int64_t i) {
  return static_cast<double>((7 * i + 13 * k + 5 * (i * i % 11)) % 23 - 11) / 32;
}
inline int64_t PeerLength(int64_t n) { return kBertPlaces - 2 * n; }
// Word 0 is padding, whose row has no gradient there.
inline int64_t PeerWord(int64_t n, int64_t t) { return t < PeerLength(n) ? 1 + (5 * n + 3 * t) % (kBertWords - 1) : 0; }
inline int64_t PeerSegment(int64_t n, int64_t t) { return t > 2 + n ? 1 : 0; }
inline int64_t PeerLabel(int64_t n, int64_t t) {
  return (n + t) % 3 == 0 && t < PeerLength(n) ? (7 * n + 2 * t) % kBertWords : -100;
}
inline int64_t PeerClass(int64_t n) { return n % kBertClasses; }
inline int64_t PeerPicture(int64_t n) { return (2 * n + 1) % kVitClasses; }
// The factor of element i of a gradient in PeerGradient::along.
inline double PeerPattern(int64_t i) { return static_cast<double>((5 * i + 3) % 7 - 3); }

struct PeerGradient {
  std::string parameter;
  double along, norm;  // its product with the pattern, and its norm
};

struct PeerStep {
  double loss;
  std::vector<PeerGradient> gradients;
};

// BertForMaskedLM.
inline PeerStep BertOfWords() {
  return {3.0069712854682558,
          {
              {"words/table", -1.520857330473737, 1.6076366263950004},
              {"positions/table", -0.252442967653264, 0.488359303846398},
              {"segments/table", 0.5317006478967677, 0.5069545623649594},
              {"embedding/norm/gain", 0.5475208389771691, 0.1569373130441508},
              {"embedding/norm/offset", -0.1652586367204761, 0.1677986880097831},
              {"block1/query/weights", 0.04003993925916737, 0.06429362469503058},
              {"block1/query/bias/values", -0.02188456109357282, 0.0208417610604593},
              {"block1/key/weights", 0.1930634881886888, 0.09700007667230386},
              {"block1/key/bias/values", -9.215718466126788e-18, 1.2834407792365301e-17},
              {"block1/value/weights", -0.8439665564613115, 0.3372175221548734},
              {"block1/value/bias/values", 0.5050857044053454, 0.12543283283121298},
              {"block1/output/weights", -1.1389420480675922, 0.4316722389923812},
              {"block1/output/bias/values", -0.237451100090461, 0.13903509717472765},
              {"block1/norm1/gain", 0.3621979447680897, 0.13429993949084504},
              {"block1/norm1/offset", -0.23505993604618133, 0.13071197932162357},
              {"block1/up/weights", -0.9359236091114986, 0.45600684193419594},
              {"block1/up/bias/values", -0.21486212865864832, 0.11616251142395492},
              {"block1/down/weights", -0.4366803421658204, 0.4901797540456371},
              {"block1/down/bias/values", -0.11375293303948816, 0.12105061026093347},
              {"block1/norm2/gain", 0.28535518666991605, 0.20251848785958826},
              {"block1/norm2/offset", -0.17235317754404778, 0.18309140174990404},
              {"block2/query/weights", 0.0953569979142105, 0.04584890635152957},
              {"block2/query/bias/values", 0.005488189142799748, 0.009927090044124927},
              {"block2/key/weights", 0.200211251271684, 0.07059357682667189},
              {"block2/key/bias/values", 2.233456475320139e-17, 1.4116295631340192e-17},
              {"block2/value/weights", 0.689564738937376, 0.32722361044964293},
              {"block2/value/bias/values", 0.3421887366567069, 0.11670586684869258},
              {"block2/output/weights", -0.03012733014328045, 0.4922450373112631},
              {"block2/output/bias/values", -0.1826197989299962, 0.1682724456335721},
              {"block2/norm1/gain", -0.04010162627121108, 0.1655706761320846},
              {"block2/norm1/offset", -0.12961648101547335, 0.1709060546091159},
              {"block2/up/weights", -1.0102684336180812, 0.5966021228957584},
              {"block2/up/bias/values", -0.6724266898537732, 0.15381092269599567},
              {"block2/down/weights", 0.223230851256727, 0.6842006968451391},
              {"block2/down/bias/values", 0.014203611661438006, 0.15578535381702358},
              {"block2/norm2/gain", 0.6818803893929964, 0.2972738885054108},
              {"block2/norm2/offset", 0.21791364559337736, 0.2647694188931557},
              {"transform/weights", -0.12670826623754383, 1.3055703953458793},
              {"transform/bias/values", -0.25916163364624467, 0.37627433116131886},
              {"transform/norm/gain", 1.1124688835495053, 0.3621555581421552},
              {"transform/norm/offset", -0.69899019612687, 0.3044968082176162},
              {"logits/bias/values", -0.4026355879633894, 0.37779603880312873},
          }};
}

// BertForSequenceClassification.
inline PeerStep BertClassifier() {
  return {1.5635854967062066,
          {
              {"words/table", 1.0674250521944784, 0.5528397658216343},
              {"positions/table", -0.9701668625905279, 0.3575964599873166},
              {"segments/table", -1.280079128036601, 0.389435356751958},
              {"embedding/norm/gain", 0.017657076133184686, 0.13234184441846816},
              {"embedding/norm/offset", -0.44591430066780724, 0.15460270677882015},
              {"block1/query/weights", -0.05009722021689156, 0.07099719955236679},
              {"block1/query/bias/values", 0.01867042747779972, 0.02122782093779472},
              {"block1/key/weights", 0.021493974122308645, 0.0759700011498876},
              {"block1/key/bias/values", -1.431146867680866e-17, 5.511331420378193e-18},
              {"block1/value/weights", -0.33536636832685174, 0.2956919817816627},
              {"block1/value/bias/values", 0.15271706774820518, 0.09132398219016045},
              {"block1/output/weights", -0.91033565986156, 0.3579556885693446},
              {"block1/output/bias/values", -0.29228169482357236, 0.13347399377638677},
              {"block1/norm1/gain", -0.07680612910765171, 0.09985160442718927},
              {"block1/norm1/offset", -0.2489079066506717, 0.11031984355371444},
              {"block1/up/weights", -0.931602968495965, 0.3126686903779154},
              {"block1/up/bias/values", 0.12103720811627115, 0.09314021248639498},
              {"block1/down/weights", -0.6288601594014207, 0.3207598786510259},
              {"block1/down/bias/values", -0.14516180705301934, 0.1114317347181772},
              {"block1/norm2/gain", 0.25287148573609974, 0.15293200417467726},
              {"block1/norm2/offset", -0.22151654288986217, 0.1445269691057804},
              {"block2/query/weights", 0.12620988174121153, 0.04014614303542903},
              {"block2/query/bias/values", 0.01264953847478272, 0.010102746978966329},
              {"block2/key/weights", 0.1179282145079506, 0.054422879202710016},
              {"block2/key/bias/values", -3.165870343657673e-17, 1.111452659036426e-17},
              {"block2/value/weights", 0.2878348817567988, 0.27772238294074286},
              {"block2/value/bias/values", 0.04848904314062914, 0.09415986292141897},
              {"block2/output/weights", 0.11223268506173095, 0.3401424281349921},
              {"block2/output/bias/values", -0.1256681128086195, 0.12772312097203034},
              {"block2/norm1/gain", 0.12078415536222606, 0.15465932082143966},
              {"block2/norm1/offset", -0.03240256081396295, 0.13833995439612431},
              {"block2/up/weights", -0.2730925515557806, 0.3925250797532101},
              {"block2/up/bias/values", -0.03339217569149397, 0.12050055634132988},
              {"block2/down/weights", -0.42664966868279336, 0.39032007281691455},
              {"block2/down/bias/values", 0.03668315066541539, 0.11048465633931007},
              {"block2/norm2/gain", 0.7720915275912357, 0.23823448633085664},
              {"block2/norm2/offset", 0.1531575808818882, 0.16614323320203375},
              {"pooler/weights", -1.4623708856522804, 0.796138193198917},
              {"pooler/bias/values", 0.22059993248999454, 0.19104496718720365},
              {"logits/weights", -3.605143789465849, 0.9064340046324209},
              {"logits/bias/values", -0.28068426118757706, 0.4200805195014427},
          }};
}

// VisionTransformer.
inline PeerStep VitStep() {
  return {1.6763187701587892,
          {
              {"patches/conv/weights", -0.06542686003815135, 0.203872185165096},
              {"patches/bias/values", 1.6942726165490827, 0.34665054288894837},
              {"class/token", 0.22186012867357197, 0.250227332356839},
              {"positions/table", -0.27263011155215255, 0.28552533911707023},
              {"block1/norm1/gain", -0.20926410561682385, 0.0728549974021555},
              {"block1/norm1/offset", 0.7410755974729173, 0.1508455579046925},
              {"block1/query/weights", -0.05604010077286484, 0.09730629606294507},
              {"block1/query/bias/values", -0.0014162949846995426, 0.034436609787716184},
              {"block1/key/weights", 0.7897104763683996, 0.13667431354162632},
              {"block1/key/bias/values", 2.6020852139652106e-17, 1.2305097615598945e-17},
              {"block1/value/weights", -1.248897157020004, 0.414669351983863},
              {"block1/value/bias/values", -0.2062526976112484, 0.1869621071809673},
              {"block1/output/weights", 0.1433903192353086, 0.32280487474337793},
              {"block1/output/bias/values", -0.15194661673736934, 0.2777577265928371},
              {"block1/norm2/gain", -0.11465790434692537, 0.08957165372307552},
              {"block1/norm2/offset", -0.04933003940960193, 0.10609516689241207},
              {"block1/up/weights", -1.5170066764476255, 0.5040615865619632},
              {"block1/up/bias/values", 0.6498570476651094, 0.13707862693601688},
              {"block1/down/weights", -1.885960451583589, 0.7376357251198123},
              {"block1/down/bias/values", -0.023811628484258385, 0.1728540510547067},
              {"block2/norm1/gain", 0.07140776381663627, 0.057868991822614194},
              {"block2/norm1/offset", 0.17503914277008983, 0.06198382494183929},
              {"block2/query/weights", 0.041003621560305285, 0.03211867704949651},
              {"block2/query/bias/values", -0.012990606061641857, 0.009949573013651878},
              {"block2/key/weights", 0.09795089735363759, 0.026661875843331836},
              {"block2/key/bias/values", 1.6805133673525319e-18, 5.608847258027399e-18},
              {"block2/value/weights", -1.294486071442452, 0.25018242484722925},
              {"block2/value/bias/values", 0.22199914660324566, 0.08652952903431801},
              {"block2/output/weights", 0.2877590563761443, 0.35696050552391817},
              {"block2/output/bias/values", -0.14725151352267538, 0.15589580027242853},
              {"block2/norm2/gain", -0.20348968494622274, 0.09053851668913758},
              {"block2/norm2/offset", -0.2141086480566874, 0.10540988137170812},
              {"block2/up/weights", 0.15383181958366204, 0.4318797742708364},
              {"block2/up/bias/values", -0.01968645251021034, 0.11837489572733245},
              {"block2/down/weights", -0.5631393432367799, 0.5426054951981802},
              {"block2/down/bias/values", 0.06397335064770444, 0.15425140649768385},
              {"norm/gain", -0.11378024603866539, 0.3201285848813538},
              {"norm/offset", 0.001147599227079854, 0.26125840704556846},
              {"logits/weights", 3.9295771206752237, 1.678806237707745},
              {"logits/bias/values", -0.5630192245829537, 0.44585300584221693},
          }};
}

}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_

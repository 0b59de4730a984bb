"""Runs PyTorch's LSTM in f64 on a few sequences and writes the numbers beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/lstm.py > tests/ops/host/pytorch_lstm.h

What each place adds by itself goes in as the input, of which the input's weights are the identity. A sequence at a
time, turned by hand where the last place is the first, so that lengths need no padding."""
import torch

SAMPLES, PLACES, UNITS = 2, 3, 2

# Reverse, outputs of a projection (0: none), forget bias, begins with a state, lengths.
CASES = [
    (False, 0, 0.0, False, None),
    (True, 0, 1.0, True, (3, 2)),
    (False, 1, 1.0, True, (2, 3)),
    (True, 1, 0.0, False, None),
]


def drawn(generator, *shape):
    return (torch.rand(*shape, generator=generator, dtype=torch.float64) * 64 - 32).round() / 32


def gates_apart(x):
    """[..., unit * 4 + gate] as PyTorch has it, [..., gate * units + unit]."""
    return x.unflatten(-1, (UNITS, 4)).transpose(-1, -2).flatten(-2)


def gates_together(x):
    return x.unflatten(-1, (4, UNITS)).transpose(-1, -2).flatten(-2)


def make(projection, bias, w_h, w_projection):
    lstm = torch.nn.LSTM(4 * UNITS, UNITS, proj_size=projection, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.eye(4 * UNITS))
        lstm.weight_hh_l0.copy_(gates_apart(w_h).T)
        lstm.bias_ih_l0.zero_()
        lstm.bias_hh_l0.zero_()
        lstm.bias_hh_l0[UNITS:2 * UNITS] = bias
        if projection:
            lstm.weight_hr_l0.copy_(w_projection.T)
    return lstm


def run(seed, reverse, projection, bias, begins, lengths):
    generator = torch.Generator().manual_seed(seed)
    outputs = projection or UNITS
    inputs = {
        "g": drawn(generator, SAMPLES, PLACES, 4 * UNITS), "w_h": drawn(generator, outputs, 4 * UNITS),
        "w_projection": drawn(generator, UNITS, outputs) if projection else torch.empty(0),
        "h0": drawn(generator, SAMPLES, outputs) if begins else torch.empty(0),
        "c0": drawn(generator, SAMPLES, UNITS) if begins else torch.empty(0),
        "dh": drawn(generator, SAMPLES, PLACES, outputs)}
    for name in ("g", "h0", "c0"):
        inputs[name].requires_grad_()
    lstm = make(projection, bias, inputs["w_h"], inputs["w_projection"])
    h, last_h, last_c = torch.zeros(SAMPLES, PLACES, outputs, dtype=torch.float64), [], []
    for n in range(SAMPLES):
        length = lengths[n] if lengths else PLACES
        turned = (lambda x: x.flip(0)) if reverse else (lambda x: x)
        state = (inputs["h0"][n:n + 1], inputs["c0"][n:n + 1]) if begins else None
        y, (end_h, end_c) = lstm(turned(gates_apart(inputs["g"][n, :length])), state)
        h[n, :length] = turned(y)
        last_h.append(end_h[0])
        last_c.append(end_c[0])
    (h * inputs["dh"]).sum().backward()
    made = {"h": h, "last_h": torch.stack(last_h), "last_c": torch.stack(last_c), "dg": inputs["g"].grad,
            "dw_h": gates_together(lstm.weight_hh_l0.grad.T),
            "dw_projection": lstm.weight_hr_l0.grad.T if projection else torch.empty(0),
            "dh0": inputs["h0"].grad if begins else torch.empty(0),
            "dc0": inputs["c0"].grad if begins else torch.empty(0)}
    return {**inputs, **made}


def numbers(values):
    return "{" + ", ".join(repr(each) for each in values.detach().flatten().tolist()) + "}"


def main():
    version = torch.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/lstm.py with PyTorch {version}: an LSTM in f64, {SAMPLES} sequences of {PLACES} places,
// {UNITS} units, forward and backward. What is absent is empty.
#ifndef PARTITA_TESTS_OPS_HOST_PYTORCH_LSTM_H_
#define PARTITA_TESTS_OPS_HOST_PYTORCH_LSTM_H_

#include <cstdint>
#include <vector>

namespace partita::pytorch {{

struct Lstm {{
  bool reverse;
  int64_t outputs;  // of each place
  double forget_bias;
  std::vector<double> lengths;
  std::vector<double> g, w_h, w_projection, h0, c0, dh;
  std::vector<double> h, last_h, last_c, dg, dw_h, dw_projection, dh0, dc0;
}};

inline constexpr int64_t kSamples = {SAMPLES}, kPlaces = {PLACES}, kUnits = {UNITS};

inline std::vector<Lstm> AllLstms() {{
  return {{""")
    for seed, (reverse, projection, bias, begins, lengths) in enumerate(CASES):
        values = run(seed, reverse, projection, bias, begins, lengths)
        said = f"{str(reverse).lower()}, {projection or UNITS}, {bias}, {{{', '.join(map(str, lengths or ()))}}}"
        print(f"      {{{said},")
        print(",\n".join("       " + numbers(each) for each in values.values()) + "},")
    print("""\
  };
}

}  // namespace partita::pytorch

#endif  // PARTITA_TESTS_OPS_HOST_PYTORCH_LSTM_H_""")


if __name__ == "__main__":
    main()

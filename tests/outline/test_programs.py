"""Whole programs, written as people write them: what is drawn of a rollout, of the tasks of
meta-learning, of averages of weights, of losses side by side."""

from __future__ import annotations

from functools import cache

import outline_oracle as oracle
import pytest
from drawn import Drawn, drawn
from model_scripts import FOLDER, PROGRAMS, Namespace, read
from svg_text import Picture

import gradviz as gv

pytestmark = pytest.mark.dear(50)

WIDTH, HEIGHT = 645, 900  # points: a page of 860×1200 CSS pixels
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))


@cache
def made(name: str) -> tuple[Drawn, Namespace]:
    bare, _ = oracle.bare_run(read(name), f"{name}.py")
    return drawn(read(name), f"{name}.py"), bare


def headline(name: str) -> str:
    return Picture(made(name)[0].svg).headline.text


def titles(name: str) -> list[str]:
    return [card.rows[0].left[0].text for card in made(name)[0].fitted.outline.cards]


def rows(name: str) -> str:
    return "\n".join(line for card in Picture(made(name)[0].svg).cards for line in card.lines)


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_page(name: str) -> None:
    fitted = made(name)[0].fitted
    assert fitted.width <= WIDTH
    assert fitted.height <= HEIGHT


@pytest.mark.parametrize("check", oracle.OF_PICTURES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_holds_together(name: str, check: oracle.Check) -> None:
    assert check(made(name)[0]) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_counts_are_torchs(name: str) -> None:
    assert oracle.headline_counts_are_torchs(*made(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_an_arrow(name: str) -> None:
    """What only keeps cards in their order is not seen, inside of a frame either."""
    assert 'class="edge"' not in made(name)[0].svg


@pytest.mark.parametrize(
    ("name", "n"),
    [("agent_ppo", 16), ("dqn", 23), ("meta_learning", 4), ("moco", 4), ("truncated_rnn", 4)],
)
def test_its_iterations_are_alike(name: str, n: int) -> None:
    assert f"{n} iterations of a loop, all alike: the last is drawn" in headline(name)


def test_a_rollout_is_one_card_and_the_model_has_the_name_of_its_variable() -> None:
    assert "agent 8 of 8 ✓" in headline("agent_ppo")
    assert titles("agent_ppo") == ["o", "body, actor, critic", "body", "actor, critic", "loss"]
    assert "loop, ×20" in rows("agent_ppo")


def test_a_model_that_functional_call_runs_has_the_name_of_its_variable() -> None:
    assert "net 6 of 6 ✓" in headline("meta_learning")
    assert "(total / 4).backward()" in headline("meta_learning")


def test_an_average_of_weights_is_noise_where_nothing_drawn_is_moved() -> None:
    assert not any("lerp_" in title for title in titles("diffusion_ema"))
    assert sum("add_" in title for title in titles("byol")) == 1


def test_cards_of_one_model_that_is_called_again_have_its_name_once() -> None:
    found = titles("cyclegan")
    assert {"D_A", "D_B"} <= {*found}
    assert not any(title.strip(" ,–") == "" for title in found)
    assert "G_BA, G_AB" in rows("cyclegan")


def test_zeros_from_one_call_of_several_are_no_alarm() -> None:
    """The penalty sends zeros to the last bias, and the other terms of the loss something else."""
    assert "zeros" not in rows("wgan_gp")
    assert all(p.grad.any() for p in made("wgan_gp")[1]["D"].parameters())


# --- what the next twelve told --------------------------------------------------------------------


@cache
def with_a_fault(name: str, old: str, new: str) -> Drawn:
    source = read(name)
    assert source.count(old) == 1
    return drawn(source.replace(old, new), f"{name}.py")


def told(picture: Drawn) -> str:
    return Picture(picture.svg).headline.text


def test_every_backward_is_told_and_derivatives_in_one_line() -> None:
    said = headline("vqgan")
    assert "vq_loss.backward() vqgan.py line" in said
    assert "gan_loss.backward() vqgan.py line" in said
    assert "autograd.grad of perceptual_rec_loss and g_loss: fills no .grad" in said


def test_of_each_backward_it_tells_the_parameter_that_belongs_to_no_model() -> None:
    assert "self.log_alpha ✓" in headline("sac")
    assert "self.critic_target 0 of" not in headline("sac")  # frozen: told once
    assert sum("p_targ" in title for title in titles("sac")) <= 1


def test_inputs_whose_derivatives_are_taken_are_no_parameters() -> None:
    assert headline("physics_informed").startswith("9 parameters: all 9 get a gradient")
    assert "0 of 9" not in rows("physics_informed")


def test_a_free_parameter_that_goes_into_a_model_is_one_though_no_optimizer_has_it() -> None:
    source = (
        "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))\n"
        "prompt = nn.Parameter(torch.randn(2, 4))\n"
        "opt = torch.optim.SGD(model.parameters(), 0.1)\n# %% the recorded cell\n"
        "loss = model(prompt * 2).mean()\nloss.backward()\nopt.step()\n"
    )
    said = told(drawn(source, "prompt.py"))
    assert said.startswith("5 parameters: 5 get a gradient ✓, 1 of these in no optimizer")
    assert "prompt" in said
    assert told(
        drawn(
            source.replace("nn.Parameter(", "(").replace("2, 4))", "2, 4, requires_grad=True))"),
            "input.py",
        )
    ).startswith("4 parameters: all 4")


def test_zeros_that_come_of_a_sum_are_no_alarm() -> None:
    """Both outputs of one network are compared: what they send to its last bias cancels out."""
    assert not made("triplet")[1]["model"].embedding_net.fc3.bias.grad.any()
    assert "model.embedding_net.fc3.bias what its uses send cancels out" in headline("triplet")
    assert "zeros" not in rows("triplet")


def test_what_a_hook_cut_off_is_an_arrow_between_two_closed_models() -> None:
    picture = with_a_fault("distillation_hooks", "] = output", "] = output.detach()")
    assert "detach distillation_hooks.py line" in told(picture)
    cut = [arrow for arrow in picture.fitted.outline.arrows if arrow.kind == "cut"]
    cards = picture.fitted.outline.cards
    ends = [(cards[a.tail].rows[0].left[0].text, cards[a.head].rows[0].left[0].text) for a in cut]
    assert ends == [("s_logits = student(images)", "adapters.{0..2}")]


def test_models_that_one_line_calls_have_the_names_of_their_variables() -> None:
    assert {"model", "model_fine"} <= {*titles("nerf")}
    left_out = with_a_fault("nerf", "grad_vars += list(model_fine.parameters())\n", "")
    assert "gets a gradient, and no optimizer has it: model_fine" in told(left_out)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True:UserWarning")
def test_a_checkpoint_that_ran_without_recording_is_told_as_one() -> None:
    picture = with_a_fault("checkpointed", "use_reentrant=False", "use_reentrant=True")
    assert "reentrant checkpoint: none of its inputs requires grad" in told(picture)
    assert "no_grad" not in told(picture) + picture.svg
    assert "72 get none" in told(picture)


def test_a_class_is_named_whole_or_not_at_all_where_several_are_counted() -> None:
    assert "×5 Bl…" not in rows("checkpointed")


# --- what is carried on, what only looks like a parameter, what costs a part ----------------------


def test_what_one_iteration_hands_to_the_next_is_told_with_its_cut() -> None:
    """The first iteration begins with zeros, the others with what the one before left."""
    assert "✂ from the iteration before: detach, truncated_rnn.py line 24" in rows("truncated_rnn")
    assert titles("truncated_rnn") == ["x", "encoder", "rnn", "decoder", "loss"]


def test_iterations_that_a_gradient_connects_are_not_taken_apart() -> None:
    source = read("truncated_rnn").replace("    hidden = repackage_hidden(hidden)\n", "")
    source = source.replace("    optimizer.step()\n", "")  # it writes what the next backward needs
    picture = drawn(source.replace("backward()", "backward(retain_graph=True)"), "rnn.py")
    assert "iterations" not in told(picture)


BUFFER = 'self.register_buffer("b", torch.zeros(num_layers, input_dim))'
OWN = "self.b = nn.ParameterList([nn.Parameter(torch.zeros(input_dim)) for _ in range(num_layers)])"


def test_a_buffer_in_place_of_a_parameter_is_told() -> None:
    picture = with_a_fault("deep_cross", OWN, BUFFER)
    said = "used like a parameter, but buffer or plain tensor, so no gradient (fine if fixed): cn.b"
    assert said in told(picture)
    lines = [line for card in Picture(picture.svg).cards for line in card.lines]
    assert sum("– cn.b: no parameter" in line for line in lines) == 1


@pytest.mark.parametrize("name", NAMES)
def test_no_healthy_program_uses_a_buffer_like_a_parameter(name: str) -> None:
    assert "buffer or plain tensor" not in headline(name) + rows(name)


def test_a_cut_that_costs_a_part_of_a_gradient_stands_first() -> None:
    picture = with_a_fault("sac", "self.critic(obs, pi)", "self.critic(obs, pi.detach())")
    said = "8 params lose a part of the gradient of actor_loss: ✂ detach sac.py line 87"
    assert told(picture).index(said) < told(picture).index("critic_loss.backward()")
    assert "lose a part" not in headline("sac") + headline("cyclegan") + headline("moco")


def test_a_function_without_room_has_the_name_that_is_written() -> None:
    found = Picture(drawn(FOLDER.joinpath("gan.py").read_text(), "gan.py").svg)
    titles = [card.lines[0] for card in found.cards]
    assert any(title.startswith("lossG bce") for title in titles)
    assert not any("…" in title for title in titles)


def test_the_chip_of_a_frame_gives_way_to_an_arrow_from_the_right() -> None:
    picture = made("byol")[0]
    assert 'labeljust="l"' in picture.fitted.source


def test_what_is_only_read_is_counted_where_its_names_have_no_room() -> None:
    assert "only reads q.1.weight, q.1.bias and 2 more" in rows("moco").splitlines()
    assert "only reads 12 params" in rows("byol").splitlines()


# --- what five more told --------------------------------------------------------------------------


def test_an_average_that_only_reads_what_lost_its_gradient_elsewhere_is_no_red_card() -> None:
    picture = with_a_fault(
        "diffusion_time",
        "    def forward(self, t):",
        "    @torch.no_grad()\n    def forward(self, t):",
    )
    assert "one cause: ✂ @no_grad on forward() diffusion_time.py line" in told(picture)
    assert not any("lerp_" in card.lines[0] for card in Picture(picture.svg).cards)


def test_a_module_of_which_only_an_average_is_taken_was_never_called() -> None:
    source = read("diffusion_time").replace(
        "self.inp = nn.Conv2d", "self.spare = nn.Linear(4, 4)\n        self.inp = nn.Conv2d"
    )
    picture = drawn(source, "diffusion_time.py")
    assert "2 get none" in told(picture)
    assert "one cause: spare never called" in told(picture)
    assert not any("lerp_" in card.lines[0] for card in Picture(picture.svg).cards)


def test_a_rollout_is_no_first_cause_where_the_values_were_cut_in_training_too() -> None:
    picture = with_a_fault("ppo_shared", "idx] - value)", "idx] - value.detach())")
    assert "one cause: ✂ detach ppo_shared.py line" in told(picture)
    assert "and on another way: ✂ no_grad ppo_shared.py line" in told(picture)
    rows = [line for card in Picture(picture.svg).cards for line in card.lines]
    assert sum("✗" in row for row in rows) == 1  # the head, and not the rollout
    assert "– 8 of 8: not from this call" in rows


def test_a_cut_begins_at_what_was_cut_and_not_at_the_module_that_used_it_first() -> None:
    picture = with_a_fault("mask_rcnn", "self.mask(rois)", "self.mask(rois.data)")
    assert "✂ .data mask_rcnn.py line" in told(picture)
    assert "rois → mask" in told(picture)
    assert "fc1 → mask" not in told(picture)


def test_a_derivative_is_a_step_on_the_way_to_the_loss() -> None:
    outline = made("wave_equation")[0].fitted.outline
    names = {card.id: card.rows[0].left[0].text for card in outline.cards}
    ends = {(names[a.tail], names[a.head]) for a in outline.arrows if a.kind == "gradient"}
    assert ("net(x, t)", "u_t") in ends
    assert not any(name in ("u_x", "u_t") for name in titles("physics_informed")[:1])
    assert "create_graph" not in headline("wave_equation") + rows("wave_equation")


def test_a_derivative_without_a_graph_is_told() -> None:
    picture = with_a_fault(
        "wave_equation",
        "u_xx = derivative(u_x, x)",
        "u_xx = derivative(u_x, x, create_graph=False)",
    )
    said = "a loss has u_xx as a constant: ✂ derived without create_graph, wave_equation.py line 21"
    assert said in told(picture)
    lines = [line for card in Picture(picture.svg).cards for line in card.lines]
    assert sum(line.startswith("✂ u_xx: no create_graph") for line in lines) == 1


def test_a_value_copied_out_costs_its_parameter() -> None:
    picture = with_a_fault("clip_queue", ".exp()", ".exp().item()")
    assert "1 gets none ✗" in told(picture)
    assert "value copied out clip_queue.py line" in told(picture)


# --- names that are short -------------------------------------------------------------------------


@cache
def resnet(*, depth: int | None = None) -> Picture:
    graph = drawn(read("resnet_frozen"), "resnet_frozen.py").graph
    return Picture(gv.Figure(graph, depth=depth).svg)


def test_a_module_that_stands_for_a_function_joins_the_card_before_it() -> None:
    found = [card.lines[0] for card in resnet().cards]
    assert any("then relu, maxpool" in title for title in found)
    assert any("then avgpool, flatten" in title for title in found)
    assert not any(title.startswith(("relu", "maxpool", "avgpool")) for title in found)


def test_it_is_a_card_where_the_reader_asked_for_modules() -> None:
    found = [card.lines[0] for card in resnet(depth=1).cards]
    assert any(title.startswith("avgpool") for title in found)


def test_what_a_list_numbers_has_a_short_name_when_it_is_folded() -> None:
    found = [card.lines[0] for card in resnet().cards]
    assert any(title.startswith("layer2.{0,1} ×2 BasicBlock") for title in found)
    assert not any("modu…" in title or "mo…" in title for title in found)


def test_rows_of_modules_side_by_side_do_not_repeat_what_the_title_says() -> None:
    found = Picture(drawn(FOLDER.joinpath("multi_task.py").read_text(), "multi_task.py").svg)
    heads = next(card for card in found.cards if card.lines[0].startswith("heads"))
    assert [line.split()[0] for line in heads.lines[1:]] == ["age", "mood", "pose", "depth", "gaze"]


def test_names_that_have_no_room_are_counted() -> None:
    found = Picture(drawn(FOLDER.joinpath("script.py").read_text(), "script.py").svg)
    lines = [line for card in found.cards for line in card.lines]
    assert any(line.startswith("✓ 4 of 4: w1, b1 and 2 more") for line in lines)


def test_a_module_of_which_all_is_in_one_card_has_its_own_name() -> None:
    source = """import torch
from torch import nn
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        for name, width in zip(["stem", "low", "mid", "high"], [4, 5, 6, 7]):
            self.add_module(name, nn.Sequential(nn.Linear(width, width + 1), nn.Tanh()))
    def forward(self, x):
        return self.high(self.mid(self.low(self.stem(x))))
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        for k in range(16):
            self.add_module(f"part_{k}", nn.Bilinear(8, 8, 8) if k % 2 else nn.Linear(8, 8))
    def forward(self, x):
        x = self.body(x)
        for k in range(16):
            part = getattr(self, f"part_{k}")
            x = part(x, x) if k % 2 else part(x)
        return x
model = Model()
# %% the recorded cell
loss = model(torch.randn(2, 4)).sum()
loss.backward()
"""
    found = [card.lines[0] for card in Picture(drawn(source, "body.py").svg).cards]
    assert found[0].startswith("body Body")
    assert found[1].startswith("part_0 – part_1 2 modules")


# --- what functional_call() puts into the place of parameters -------------------------------------

INNER = """
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)


def make():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


model = make()
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(5, 4), torch.randn(5, 1)
# %% the recorded cell
fast = {first}
for _ in range(3):
    inner = (functional_call(make(), fast, (x,)) - y).pow(2).mean()
    grads = torch.autograd.grad(inner, list(fast.values()), create_graph={create})
    fast = {{k: {step} for (k, p), g in zip(fast.items(), grads)}}
loss = (functional_call(make(), fast, (x,)) - y).pow(2).mean()
loss.backward()
"""


def test_weights_of_an_inner_loop_are_no_parameters_of_a_model_without_a_name() -> None:
    program = INNER.format(first="dict(model.named_parameters())", create=True, step="p - 0.1 * g")
    told = gv.Figure(drawn(program, "inner.py").graph).text
    assert told.startswith("4 parameters: all 4 get a gradient ✓")


def test_nor_are_leaves_that_an_inner_loop_computes() -> None:
    program = INNER.format(
        first="{k: p.detach().clone().requires_grad_() for k, p in model.named_parameters()}",
        create=False,
        step="(p - 0.1 * g).detach().requires_grad_()",
    )
    told = gv.Figure(drawn(program, "inner.py").graph).text
    assert told.startswith("4 parameters: ")
    assert "fills none of these" in told


def test_leaves_that_are_trained_are_parameters_also_where_functional_call_hands_them_in() -> None:
    program = (
        INNER.partition("model = ")[0].format()
        + "params = {k: p.detach().clone().requires_grad_() for k, p in make().named_parameters()}\n"
        "opt = torch.optim.Adam(params.values())\nx = torch.randn(5, 4)\n# %% the recorded cell\n"
        "h = functional_call(make(), params, (x,))\nloss = (h - 1).pow(2).mean() + h.abs().mean()\n"
        "loss.backward()\nopt.step()\n"
    )
    told = gv.Figure(drawn(program, "leaves.py").graph).text
    assert told.startswith("4 parameters: all 4 get a gradient ✓")

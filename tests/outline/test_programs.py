"""Whole programs, written as people write them: what is drawn of a rollout, of the tasks of
meta-learning, of averages of weights, of losses side by side."""

from __future__ import annotations

from functools import cache

import outline_oracle as oracle
import pytest
from drawn import Drawn, drawn
from model_scripts import FOLDER, PROGRAMS, Namespace, read
from svg_text import Picture

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

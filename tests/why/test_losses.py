"""Several losses, parts that are numbers, gradients that were meant for another: each fault told with
its line, and nothing said of the programs that look like it. PyTorch proves which is which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz as gv
from gradviz.why.shown.explanation import Explanation

pytestmark = pytest.mark.dear(20)

Program = Callable[[], tuple[Any, ...]]
KEPT: list[Any] = []  # alive when the question is asked, as a notebook's variables are


def told(program: Program, **names: Any) -> Explanation:
    """What is said of what a program returns: a mapping of names to models, losses, optimizers."""
    torch.manual_seed(0)
    with gv.record() as rec:
        given = program()
    subjects, known = given[0], {**given[0], **(given[1] if len(given) > 1 else {})}
    KEPT[:] = [known]
    return gv.explain(*subjects.values(), recording=rec, names={**known, **names})


def net(n_in: int = 3, n_out: int = 2) -> nn.Linear:
    return nn.Linear(n_in, n_out)


def batch(n: int = 3) -> torch.Tensor:
    return torch.randn(5, n)


# --- several losses -------------------------------------------------------------------------------


def two_heads() -> Any:
    shared, head1, head2, x = net(), net(2, 1), net(2, 1), batch()
    h = torch.relu(shared(x))
    loss1, loss2 = head1(h).pow(2).mean(), head2(h).abs().mean()
    loss1.backward(retain_graph=True)
    loss2.backward()
    return ({"shared": shared, "head1": head1, "head2": head2, "loss2": loss2},)


def test_a_head_that_another_loss_trains_is_no_fault_of_this_one() -> None:
    found = told(two_heads)
    assert found.cause == "healthy"
    assert "6 of 6" in found.verdict
    assert any(line.startswith("head1.{weight,bias}: from loss1 (line ") for line in found.more)
    assert "loss2 does not use it" in str(found)


def test_each_loss_is_told_by_module() -> None:
    def program() -> Any:
        given = two_heads()[0]
        return ({**given, "loss1": given["head1"](batch(2)).sum()},)

    more = "\n".join(told(program).more)
    assert "loss1: shared: 0 of 2 parameters reached · head1: 2 of 2 · head2: 0 of 2" in more
    assert "loss2: shared: 2 of 2 parameters reached · head1: 0 of 2 · head2: 2 of 2" in more


def nets_in_turn(trained: int) -> Any:
    nets = [net(3, 1), net(3, 1)]
    optimizers = [torch.optim.SGD(n.parameters(), lr=0.1) for n in nets]
    for _ in range(2):
        for one, optimizer in [*zip(nets, optimizers, strict=True)][-trained:]:
            loss = one(batch()).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return ({"first": nets[0], "second": nets[1], "loss": loss},)


def test_what_earlier_losses_of_a_line_reached_is_told_beside_the_last_one() -> None:
    counts = "first: 0 of 2 parameters reached · second: 2 of 2"
    more = told(lambda: nets_in_turn(2)).more
    assert f"loss, the last of its line: {counts}; earlier ones reached first" in more


def test_of_one_loss_a_line_no_earlier_one_is_told() -> None:
    assert "earlier ones reached" not in str(told(lambda: nets_in_turn(1)))


class Probe(nn.Module):
    """What holds a network that was trained for it, under the name of a target."""

    def __init__(self, target_encoder: nn.Module) -> None:
        super().__init__()
        self.target_encoder, self.head = target_encoder, net(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.head(self.target_encoder(x)))


def taken_over(*, goes_on: bool) -> Any:
    encoder = net()
    first = torch.optim.SGD(encoder.parameters(), lr=0.1)
    model = Probe(encoder)
    second = torch.optim.SGD(model.head.parameters(), lr=0.1)
    first.zero_grad()
    encoder(batch()).pow(2).mean().backward()
    first.step()
    for _ in range(2):
        loss = model(batch()).pow(2).mean()
        second.zero_grad()
        loss.backward()
        second.step()
        if goes_on:
            first.zero_grad()
            encoder(batch()).pow(2).mean().backward()
            first.step()
    named = {"model.target_encoder": model.target_encoder, "loss": loss}
    return named, {"model": model, "encoder": encoder, "first": first, "second": second}


def test_a_network_that_was_trained_for_the_model_that_holds_it_is_no_copy_of_it() -> None:
    assert told(lambda: taken_over(goes_on=False)).cause != "shared_snapshot"


def test_a_target_that_learns_on_as_the_network_itself_is_told() -> None:
    assert told(lambda: taken_over(goes_on=True)).cause == "shared_snapshot"


def loaded(times: int) -> Any:
    model, other = tied(), tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for n in range(2):
        loss = model(torch.arange(4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if n < times:
            other.load_state_dict(model.state_dict())
    other(torch.arange(4)).sum()
    return {"model": model, "loss": loss}, {"other": other, "optimizer": optimizer}


def tied() -> nn.Module:
    """Return an embedding and a head that is the same weight."""
    model = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 3), nn.Linear(3, 4, bias=False))
    model[2].weight = model[0].weight
    return model


@pytest.mark.parametrize(("times", "says"), [(1, "once"), (2, "2 times")])
def test_one_load_of_a_tied_weight_is_one(times: int, says: str) -> None:
    text = " ".join(str(told(lambda: loaded(times))).split())
    assert f"{says} other.load_state_dict(model.state_dict())" in text


def test_the_one_head_that_was_asked_about_gets_its_gradient_from_the_other_loss() -> None:
    def program() -> Any:
        given = two_heads()[0]
        return ({"head1": given["head1"], "loss2": given["loss2"]}, given)

    found = told(program)
    assert found.cause == "healthy"
    assert "gets its gradient from loss1" in found.verdict
    assert "loss2 does not use it" in found.verdict


def test_a_head_that_no_loss_trains_is_still_told() -> None:
    def program() -> Any:
        shared, head1, head2, x = net(), net(2, 1), net(2, 1), batch()
        h = shared(x)
        unused = head1(h)
        loss = head2(h).pow(2).mean()
        loss.backward()
        return {"shared": shared, "head1": head1, "head2": head2, "loss": loss}, {"u": unused}

    found = told(program)
    assert found.cause == "not_in_loss"
    assert "head1" in found.verdict


def kept_from_the_critic(by: str) -> Program:
    def program() -> Any:
        trunk, critic, actor, x = net(), net(2, 1), net(2, 1), batch()
        if by == "no_grad":
            with torch.no_grad():
                features = trunk(x)
        else:
            features = trunk(x).detach()
        critic_loss = critic(features).pow(2).mean()
        critic_loss.backward()
        actor_loss = actor(trunk(x)).mean()
        actor_loss.backward()
        asked = {"trunk": trunk, "critic_loss": critic_loss}
        return asked, {"critic": critic, "actor": actor, "actor_loss": actor_loss}

    return program


@pytest.mark.parametrize("by", ["no_grad", "detach"])
def test_a_cut_that_keeps_one_of_two_losses_off_may_be_meant(by: str) -> None:
    found = told(kept_from_the_critic(by))
    assert found.cause == "kept_off"
    assert found.cause.level.name == "NOTE"
    assert "from actor_loss" in found.verdict
    assert "none from critic_loss" in found.verdict
    assert by in found.verdict
    assert found.cuts


def test_what_an_earlier_iteration_trained_is_not_trained_by_another_loss() -> None:
    """The same line computes the loss in both iterations: the second cuts what the first did not."""

    def program() -> Any:
        trunk, head, x = net(), net(2, 1), batch()
        for detached in (False, True):
            h = trunk(x)
            loss = head(h.detach() if detached else h).pow(2).mean()
            loss.backward()
        return ({"trunk": trunk, "head": head, "loss": loss},)

    found = told(program)
    assert found.cause == "cut"
    assert "trunk" in found.verdict


# --- a part that is a number ----------------------------------------------------------------------


def with_part(part: Callable[[nn.Module, torch.Tensor], Any], weight: float = 0.5) -> Program:
    """A loss of which a second part is added; that part is what is tried."""

    def program() -> Any:
        model, x = net(), batch()
        main = model(x).pow(2).mean()
        second = part(model, x)
        loss = main + weight * second
        loss.backward()
        return ({"model": model, "loss": loss},)

    return program


def under_no_grad(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return (model(x + 1) - model(x)).pow(2).mean()


NUMBERS: dict[str, Callable[[nn.Module, torch.Tensor], Any]] = {
    "detach": lambda model, x: model(x).abs().mean().detach(),
    "torch.tensor": lambda model, x: torch.tensor([m.abs().mean() for m in model(x)]).sum(),
    "argmax": lambda model, x: (model(x).argmax(1) == 0).float().mean(),
    "no_grad": under_no_grad,
}


def in_line(how: str) -> Program:
    def program() -> Any:
        model, x = net(), batch()
        main, second = model(x).pow(2).mean(), model(x).abs().mean()
        if how == "in one line":
            loss = main + 0.5 * second.item()
        elif how == "by name":
            number = float(second)
            loss = main - 2 * number
        else:
            loss = 0
            loss += main
            loss += second.item()
        loss.backward()
        return ({"model": model, "loss": loss},)

    return program


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("how", ["in one line", "by name", "in place"])
def test_a_number_that_is_added_is_told(how: str) -> None:
    found = told(in_line(how))
    assert found.cause == "constant_summand", found
    assert found.verdict.startswith("second goes into loss as a number only")


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("how", NUMBERS)
def test_a_part_without_a_history_is_told_with_the_call_that_took_it(how: str) -> None:
    found = told(with_part(NUMBERS[how]))
    assert found.cause == "constant_summand", found
    assert "as a number only" in found.verdict
    assert "model.weight" in found.verdict
    assert found.cuts
    assert found.lines


@pytest.mark.parametrize("how", NUMBERS)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_torch_agrees_that_such_a_part_changes_no_gradient(how: str) -> None:
    grads = []
    for weight in (0.0, 7.0):
        torch.manual_seed(0)
        model = with_part(NUMBERS[how], weight)()[0]["model"]
        grads.append(model.weight.grad)
    assert torch.equal(*grads)


def listed(together: Callable[[list[torch.Tensor]], torch.Tensor]) -> Program:
    def program() -> Any:
        model, x = net(), batch()
        parts = [model(x).pow(2).mean(), model(x).abs().mean().detach()]
        loss = together(parts)
        loss.backward()
        return ({"model": model, "loss": loss},)

    return program


@pytest.mark.parametrize(
    "together",
    [sum, lambda parts: torch.stack(parts).mean(), lambda parts: -(parts[1] - 2 * parts[0]) / 3],
)
def test_a_part_is_found_however_parts_are_put_together(together: Any) -> None:
    assert told(listed(together)).cause == "constant_summand"


def straight_through(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    soft = model(x).mean()
    return soft + (soft.round() - soft).detach()


def scaled_by_itself(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    part = model(x).abs().mean()
    return part / part.item() + 3


def of_a_teacher(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    teacher = net()
    with torch.no_grad():
        wanted = teacher(x).softmax(1)
    return functional.kl_div(model(x).log_softmax(1), wanted, reduction="batchmean")


def of_a_frozen_teacher(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return net().requires_grad_(False)(x).pow(2).mean()


def logged(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    part = model(x).abs().mean()
    history = [part.item(), float(part.detach())]
    return part + 0 * len(history)


def importance(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    logp = model(x).log_softmax(1)[:, 0]
    return -(logp - logp.detach()).exp().mean()


HEALTHY: dict[str, Callable[[nn.Module, torch.Tensor], Any]] = {
    "a part that is trained": lambda model, x: model(x).abs().mean(),
    "a margin": lambda model, x: torch.tensor(0.3),
    "a plain number": lambda model, x: 0.3,
    "a target": lambda model, x: x.mean(),
    "straight through": straight_through,
    "scaled by itself": scaled_by_itself,
    "teacher": of_a_teacher,
    "frozen teacher": of_a_frozen_teacher,
    "logged": logged,
    "importance": importance,
}


@pytest.mark.parametrize("how", HEALTHY)
def test_what_was_meant_as_a_number_is_left_alone(how: str) -> None:
    found = told(with_part(HEALTHY[how]))
    assert found.cause == "healthy", found


def test_a_sum_for_the_log_is_no_part_of_the_loss() -> None:
    def program() -> Any:
        model, x, total = net(), batch(), 0.0
        for _ in range(2):
            loss = model(x).pow(2).mean()
            loss.backward()
            total += loss.item()
        mean = torch.tensor(total / 2)
        return {"model": model, "loss": loss}, {"mean": mean}

    assert told(program).cause == "healthy"


# --- a gradient besides another -------------------------------------------------------------------


def actor_critic(
    weight: Callable[[torch.Tensor], torch.Tensor], *, sampled: bool = True, clear: bool = False
) -> Program:
    """The policy loss of an actor, weighed by an advantage of a critic that has its own loss."""

    def program() -> Any:
        actor, critic, x, reward = net(3, 4), net(3, 1), batch(), torch.rand(5)
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (actor, critic)]
        logits = actor(x).log_softmax(1)
        if sampled:
            action = logits.exp().multinomial(1)
            logp = logits.gather(1, action).squeeze(1)
        else:
            logp = logits.max(1).values
        value = critic(x).squeeze(1)
        advantage = weight(reward - value)
        actor_loss = -(advantage * logp).mean()
        critic_loss = functional.mse_loss(value, reward)
        actor_loss.backward(retain_graph=True)
        optimizers[0].step()
        if clear:
            optimizers[1].zero_grad()
            critic_loss.backward()
            optimizers[1].step()
        asked = {"actor": actor, "critic": critic, "actor_loss": actor_loss}
        return asked, {"o": optimizers[0], "p": optimizers[1], "critic_loss": critic_loss}

    return program


@pytest.mark.parametrize("sampled", [True, False])
def test_a_weight_with_a_history_is_told_with_its_line(sampled: bool) -> None:
    found = told(actor_critic(lambda a: a, sampled=sampled))
    assert found.cause == "extra_gradient"
    assert found.verdict.startswith("critic.{weight,bias} gets a gradient from actor_loss too")
    assert "through advantage" in found.verdict
    assert "reward - value" in found.where
    assert "advantage * logp" in found.where
    assert ".detach()" in found.mend
    assert found.form == ("weight" if sampled else "factor")


def with_temperature(terms: str) -> Program:
    """The loss of a policy, whose entropy has a learned weight once it is warm."""

    def program() -> Any:
        actor, x, heat = net(3, 4), batch(), torch.zeros(1, requires_grad=True)
        optimizers = [torch.optim.SGD(p, 0.1) for p in ([*actor.parameters()], [heat])]
        for is_warm in (False, False, True):
            for optimizer in optimizers:
                optimizer.zero_grad()
            p = actor(x).softmax(1)
            entropy = -(p * p.log()).sum(1)
            weight = heat.exp() if is_warm else 1.0
            if terms == "apart" and not is_warm:
                entropy_loss = -entropy.mean()
                entropy_loss.backward()
            else:
                actor_loss = (p[:, 0] - weight * entropy).mean()
                actor_loss.backward()
            optimizers[0].step()
        asked = {"actor": actor, "actor_loss": actor_loss}
        return asked, {"o": optimizers[0], "p": optimizers[1], "heat": heat}

    return program


def test_one_loss_of_two_iterations_is_not_two_losses() -> None:
    assert told(with_temperature("together")).cause != "extra_gradient"
    apart = told(with_temperature("apart"))
    assert apart.cause == "extra_gradient"
    assert "from actor_loss too, through entropy" in apart.verdict
    assert "; entropy_loss trains it as well" in apart.verdict


@pytest.mark.parametrize("sampled", [True, False])
def test_a_detached_weight_is_fine(sampled: bool) -> None:
    found = told(actor_critic(lambda a: a.detach(), sampled=sampled, clear=True))
    assert found.cause == "healthy", found
    # of the loss that has the weight alone, the critic is cut off, and that is all that is said
    assert told(actor_critic(lambda a: a.detach(), sampled=sampled)).cause == "cut"


def test_what_is_cleared_before_the_step_does_no_harm() -> None:
    assert told(actor_critic(lambda a: a, clear=True)).cause == "healthy"


def test_one_optimizer_for_both_says_that_a_product_is_meant() -> None:
    """A gate with a loss of its own (balancing) is trained with what it gates."""

    def program() -> Any:
        gate, expert, x = net(3, 2), net(), batch()
        optimizer = torch.optim.SGD([*gate.parameters(), *expert.parameters()], 0.1)
        weights = gate(x).softmax(1)
        task, balance = (weights * expert(x)).sum(), weights.mean(0).pow(2).sum()
        (task + balance).backward()
        optimizer.step()
        return {"gate": gate, "expert": expert, "task": task}, {"o": optimizer, "b": balance}

    assert told(program).cause == "healthy"


def test_a_product_of_two_trained_models_alone_is_fine() -> None:
    def program() -> Any:
        a, b, x = net(), net(), batch()
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (a, b)]
        loss = (a(x) * b(x)).mean()
        loss.backward()
        return {"a": a, "b": b, "loss": loss}, {"o": optimizers[0], "p": optimizers[1]}

    assert told(program).cause == "healthy"


def test_a_sampled_token_that_is_embedded_is_no_policy_gradient() -> None:
    """The product gates the state of a decoder that was fed with what it had sampled."""

    def program() -> Any:
        start, emb, cell, gate = net(3, 4), nn.Embedding(4, 3), net(3, 4), net(3, 4)
        token = start(batch()).softmax(1).multinomial(1).squeeze(1)
        h = emb(token)
        loss = functional.cross_entropy(torch.tanh(cell(h)) * gate(batch()), token)
        loss.backward()
        return ({"cell": cell, "gate": gate, "emb": emb, "loss": loss},)

    assert told(program).cause == "healthy"


def gan(d_clears: bool, both_at_once: bool = False) -> Program:
    def program() -> Any:
        g, d, z, real = net(), net(2, 1), batch(), batch(2)
        g_opt, d_opt = (torch.optim.SGD(m.parameters(), 0.1) for m in (g, d))
        d_loss = functional.softplus(d(g(z).detach())).mean() + functional.softplus(-d(real)).mean()
        d_loss.backward()
        if not both_at_once:
            d_opt.step()
        if d_clears:
            d_opt.zero_grad()
        g_loss = functional.softplus(-d(g(z))).mean()
        g_loss.backward()
        g_opt.step()
        if both_at_once:
            d_opt.step()
        return {"g": g, "d": d, "g_loss": g_loss}, {"o": g_opt, "p": d_opt, "d_loss": d_loss}

    return program


@pytest.mark.parametrize("clears", [True, False])
def test_a_generator_step_goes_through_the_discriminator_and_that_is_meant(clears: bool) -> None:
    assert told(gan(clears)).cause == "healthy"


def test_a_gradient_that_was_added_before_the_step_is_told() -> None:
    found = told(gan(d_clears=False, both_at_once=True))
    assert found.cause == "extra_gradient"
    assert found.form == "added"
    assert found.verdict.startswith("d.{weight,bias}: .grad is the sum")
    assert "d_loss" in found.verdict
    assert "g_loss" in found.verdict


def test_one_optimizer_may_take_the_sum_of_two_losses() -> None:
    """An autoencoder, and a loss of its decoder alone: trained together."""

    def program() -> Any:
        enc, dec, x = net(), net(2, 3), batch()
        optimizer = torch.optim.SGD([*enc.parameters(), *dec.parameters()], 0.1)
        prior = dec(batch(2)).pow(2).mean()
        prior.backward()
        loss = functional.mse_loss(dec(enc(x)), x)
        loss.backward()
        optimizer.step()
        return {"enc": enc, "dec": dec, "loss": loss}, {"o": optimizer, "prior": prior}

    assert told(program).cause == "healthy"


def test_where_no_optimizer_is_known_the_sum_is_a_further_line() -> None:
    def program() -> Any:
        critic, actor, x = net(2, 1), net(), batch()
        critic_loss = critic(batch(2)).pow(2).mean()
        critic_loss.backward()
        actor_loss = -critic(actor(x)).mean()
        actor_loss.backward()
        return {"critic": critic, "actor_loss": actor_loss}, {"actor": actor, "c": critic_loss}

    found = told(program)
    assert found.cause == "healthy"
    assert "sum of critic_loss's gradient and actor_loss's" in found.verdict


# --- only the forward that led to the loss counts -------------------------------------------------


class OneUnused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = net(), net()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


def trained(model: nn.Module) -> torch.Tensor:
    loss = model(batch()).pow(2).mean()
    loss.backward()
    return loss


def norms_after(model: nn.Module) -> torch.Tensor:
    loss = trained(model)
    [p.norm().item() for p in model.parameters()]
    return loss


def copies_before(model: nn.Module) -> torch.Tensor:
    {n: p.detach().clone() for n, p in model.named_parameters()}
    return trained(model)


def an_average(model: nn.Module) -> torch.Tensor:
    average = OneUnused()
    for _ in range(2):
        loss = trained(model)
        with torch.no_grad():
            for p, q in zip(model.parameters(), average.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
    return loss


def an_average_of_data(model: nn.Module) -> torch.Tensor:
    average = OneUnused()
    for _ in range(2):
        loss = trained(model)
        for p, q in zip(model.parameters(), average.parameters(), strict=True):
            q.data.mul_(0.9).add_(p.data * 0.1)
    return loss


def a_state_dict(model: nn.Module) -> torch.Tensor:
    {k: v.clone() for k, v in model.state_dict().items()}
    return trained(model)


@pytest.mark.parametrize(
    "around", [norms_after, copies_before, an_average, an_average_of_data, a_state_dict]
)
def test_a_log_or_a_copy_of_an_unused_parameter_is_not_why_it_has_no_gradient(
    around: Callable[[nn.Module], torch.Tensor],
) -> None:
    def program() -> Any:
        model = OneUnused()
        return ({"model": model, "loss": around(model)},)

    found = told(program)
    assert found.cause == "branch_not_taken", found
    assert "unused.{weight,bias}" in found.verdict


def test_a_penalty_that_was_cut_is_still_a_cut() -> None:
    """A parameter that the loss reads outside of modules, as a value only."""

    def program() -> Any:
        model = OneUnused()
        loss = model(batch()).pow(2).mean() * model.unused.weight.detach().norm()
        loss.backward()
        return ({"model": model, "loss": loss},)

    found = told(program)
    assert found.cause == "cut"
    assert "detach" in str(found)


def test_a_hidden_state_that_nobody_read_hides_no_cut() -> None:
    def program() -> Any:
        gru, head = nn.GRU(3, 4), nn.Linear(4, 1)
        out, _ = gru(batch()[None])
        values = out.detach().numpy() * 2
        loss = head(torch.tensor(values)).pow(2).mean()
        loss.backward()
        return ({"gru": gru, "loss": loss},)

    found = told(program)
    assert found.cause == "rebuilt_from_value"
    assert "cut" not in found.ruled_out


def test_the_result_that_nobody_read_is_named() -> None:
    def program() -> Any:
        model = OneUnused()
        x = batch()
        extra = model.unused(x)
        loss = model(x).pow(2).mean()
        loss.backward()
        return {"model": model, "loss": loss}, {"extra": extra}

    found = told(program)
    assert found.cause == "not_in_loss"
    assert "for extra" in found.why
    assert "extra = model.unused(x)" in found.where


def test_cut_is_not_ruled_out_where_one_lies_on_a_way() -> None:
    def program() -> Any:
        model = OneUnused()
        x = batch()
        extra = model.unused(x)
        shown = extra.detach()
        more = extra * 2
        loss = model(x).pow(2).mean()
        loss.backward()
        return {"model": model, "loss": loss}, {"m": more, "shown": shown}

    found = told(program)
    assert found.cause == "not_in_loss"
    assert "cut" not in found.ruled_out


def test_a_written_view_shows_what_it_was_computed_from() -> None:
    """Of a view that was written in place torch makes the node only when somebody asks for it."""

    def program() -> Any:
        model, head = net(), net(5, 1)
        values = model(batch())[:, 0]
        values[values > 0] = 0.0
        loss = head(values.detach()).sum()
        loss.backward()
        return ({"model": model, "loss": loss},)

    assert told(program).cause == "cut"


# --- targets, copies, leaves, steps ---------------------------------------------------------------


def q_learning(held: bool | None, alike: bool = True) -> Program:
    """A target network behind detach(): held by no optimizer, by one, or none is known (None)."""

    def program() -> Any:
        online, target, x = net(), net(3, 2 if alike else 4), batch()
        wanted = target(x).max(1).values.detach()
        loss = functional.mse_loss(online(x).max(1).values, wanted)
        loss.backward()
        parameters = [*online.parameters(), *(target.parameters() if held else ())]
        known = {} if held is None else {"optimizer": torch.optim.SGD(parameters, 0.1)}
        return {"online": online, "target": target, "loss": loss}, known

    return program


def test_a_target_network_that_no_optimizer_holds_is_kept_off_on_purpose() -> None:
    assert told(q_learning(held=False)).cause == "healthy"
    found = told(q_learning(held=None))
    assert found.cause == "kept_off"
    assert "target" in found.verdict
    assert found.cuts


def test_what_an_optimizer_holds_is_no_target() -> None:
    assert told(q_learning(held=True)).cause == "cut"
    assert told(q_learning(held=None, alike=False)).cause == "cut"


def test_a_target_that_is_the_network_itself_is_told() -> None:
    def program() -> Any:
        policy = net()
        target = policy
        loss = trained(nn.Sequential(policy))
        return {"policy": policy, "loss": loss}, {"target": target}

    found = told(program)
    assert found.cause == "shared_snapshot"
    assert "target and policy are one network" in found.verdict


def test_a_part_that_was_copied_onto_itself_is_told_with_its_line() -> None:
    def program() -> Any:
        features = net()
        first, second = (nn.Sequential(features, net(2, 1)) for _ in range(2))
        second.load_state_dict(first.state_dict())
        loss = trained(first)
        return ({"first": first, "second": second, "loss": loss},)

    found = told(program)
    assert found.cause == "shared_snapshot"
    assert "have a part in common" in found.verdict
    assert "load_state_dict" in found.where


def test_networks_that_share_a_trunk_or_were_copied_are_fine() -> None:
    def shared() -> Any:
        trunk = net()
        actor, critic = (nn.Sequential(trunk, net(2, 1)) for _ in range(2))
        loss = actor(batch()).sum() + critic(batch()).sum()
        loss.backward()
        return ({"actor": actor, "critic": critic, "loss": loss},)

    def copied() -> Any:
        policy, target = net(), net()
        target.load_state_dict(policy.state_dict())
        loss = trained(nn.Sequential(policy))
        return {"policy": policy, "loss": loss}, {"target": target}

    assert told(shared).cause == "healthy"
    assert told(copied).cause == "healthy"


class Evolving(nn.Module):
    def __init__(self, wrap: bool) -> None:
        super().__init__()
        self.wrap, self.initial, self.step = wrap, nn.Parameter(torch.randn(3, 3)), net(3, 3)
        self.inner = nn.Linear(3, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        evolved = self.step(self.initial)
        if self.wrap:
            self.inner.weight = nn.Parameter(evolved.view(3, 3))
            return self.inner(x)
        return functional.linear(x, evolved) + self.inner(x)


def test_a_result_that_was_made_a_parameter_in_forward_is_told_with_its_line() -> None:
    def program(wrap: bool = True) -> Any:
        model = Evolving(wrap)
        return ({"model": model, "loss": trained(model)},)

    found = told(program)
    assert found.cause == "cut"
    assert found.form == "in_a_leaf"
    assert "evolved.view(3, 3)" in found.where
    assert told(lambda: program(wrap=False)).cause == "healthy"


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_a_reentrant_checkpoint_without_a_backward_is_told() -> None:
    from torch.utils.checkpoint import checkpoint

    def program(reentrant: bool = True) -> Any:
        model, x = net(), batch()
        y = checkpoint(model, x, use_reentrant=reentrant)
        return {"model": model}, {"y": y}

    found = told(program)
    assert found.cause == "cut"
    assert "use_reentrant=False" in found.mend
    assert told(lambda: program(reentrant=False)).cause == "no_backward_yet"


def recurrent(detach: Callable[[torch.Tensor], torch.Tensor]) -> Program:
    def program() -> Any:
        cell, h = nn.GRUCell(3, 4), torch.zeros(5, 4)
        for _ in range(3):
            h = cell(batch(), detach(h))
        loss = h.pow(2).mean()
        loss.backward()
        return ({"cell": cell, "loss": loss},)

    return program


def test_steps_that_are_cut_from_each_other_are_a_further_line() -> None:
    found = told(recurrent(lambda h: h.detach()))
    assert found.cause == "healthy"
    assert "1 of 3 uses get a gradient" in found.verdict
    assert not told(recurrent(lambda h: h)).more


def test_a_straight_through_estimator_cuts_no_steps() -> None:
    assert not told(recurrent(lambda h: h + (h.round() - h).detach())).more


# --- the line that switches gradients off ---------------------------------------------------------


@torch.no_grad()
def features_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x)


@pytest.mark.parametrize("by", ["decorator", "with", "flag"])
def test_the_line_that_switches_gradients_off_is_named_first(by: str) -> None:
    def program() -> Any:
        model, head, x, learn = net(), net(2, 1), batch(), False
        if by == "decorator":
            h = features_of(model, x)
        elif by == "flag":
            with torch.set_grad_enabled(learn):
                h = model(x)
        else:
            with torch.no_grad():
                h = model(x)
        loss = head(h).sum()
        loss.backward()
        return ({"model": model, "loss": loss},)

    found = told(program)
    assert found.cause == "cut"
    assert "switches gradients off (no_grad)" in found.where
    with open(__file__) as file:
        line = file.read().splitlines()[found.lines[0] - 1]
    assert "no_grad" in line or "set_grad_enabled" in line


# --- derivatives that are constant ----------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [True, False])
def test_a_constant_derivative_is_told_from_a_graph_that_was_not_made(create_graph: bool) -> None:
    x = torch.tensor(1.0, requires_grad=True)
    with gv.record() as rec:
        if create_graph:
            # longer than what is shown of a statement
            (first,) = torch.autograd.grad(outputs=(x * 2), inputs=(x,), create_graph=True)
        else:
            (first,) = torch.autograd.grad(x**2, x)
        with pytest.raises(RuntimeError) as caught:
            torch.autograd.grad(first, x)
    found = rec.explain(error=caught.value)
    assert found.cause == "no_grad_fn"
    assert ("linear" in found.why) is create_graph
    assert ("without create_graph=True" in found.why) is not create_graph


# --- healthy programs with several losses ---------------------------------------------------------


def test_the_generator_is_kept_off_the_loss_of_the_discriminator() -> None:
    """Its optimizer holds nothing that the discriminator's loss trains: it is trained apart."""

    def program(one_optimizer: bool = False) -> Any:
        g, d, z, real = net(), net(2, 1), batch(), batch(2)
        optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (g, d)]
        if one_optimizer:
            optimizers = [torch.optim.SGD([*g.parameters(), *d.parameters()], 0.1)]
        g_loss = -d(g(z)).mean()
        g_loss.backward()
        d.zero_grad()
        d_loss = functional.softplus(d(g(z).detach())).mean() + functional.softplus(-d(real)).mean()
        d_loss.backward()
        known = {f"o{i}": o for i, o in enumerate(optimizers)}
        return {"g": g, "d": d, "d_loss": d_loss}, {**known, "g_loss": g_loss}

    found = told(program)
    assert found.cause == "healthy"
    assert any("from g_loss" in line and "detach keeps d_loss off" in line for line in found.more)
    assert told(lambda: program(one_optimizer=True)).cause == "kept_off"


def steps_with_a_backward_each() -> Any:
    cell, h = nn.GRUCell(3, 4), torch.zeros(5, 4)
    for _ in range(3):
        h = cell(batch(), h.detach())
        loss = h.pow(2).mean()
        loss.backward()
    return ({"cell": cell, "loss": loss},)


def a_rounded_weight_and_a_snapshot() -> Any:
    w, x = nn.Parameter(torch.randn(3)), batch()
    rounded = w + (w.round() - w).detach()
    loss = (x @ rounded).pow(2).mean() + (w - w.detach()).sum()
    loss.backward()
    return ({"w": w, "loss": loss},)


@pytest.mark.parametrize("program", [steps_with_a_backward_each, a_rounded_weight_and_a_snapshot])
def test_steps_that_are_trained_one_by_one_are_not_cut_from_each_other(program: Program) -> None:
    found = told(program)
    assert found.cause == "healthy"
    assert not found.more


def test_a_codebook_that_is_searched_and_read_is_fine() -> None:
    def program() -> Any:
        encoder, book = net(), nn.Embedding(4, 2)
        z = encoder(batch())
        q = book(torch.cdist(z, book.weight).argmin(1))
        codes, commitment = functional.mse_loss(q, z.detach()), functional.mse_loss(z, q.detach())
        loss = (z + (q - z).detach()).pow(2).mean() + codes + commitment
        loss.backward()
        return ({"encoder": encoder, "book": book, "loss": loss},)

    found = told(program)
    assert found.cause == "healthy"
    assert "uses" not in str(found)


def test_trained_weights_of_losses_and_adaptive_factors_are_fine() -> None:
    def program() -> Any:
        one, two, s, x = net(), net(), nn.Parameter(torch.zeros(2)), batch()
        optimizer = torch.optim.SGD([*one.parameters(), *two.parameters(), s], 0.1)
        first, second = one(x).pow(2).mean(), two(x).pow(2).mean()
        factor = (first / second).detach()
        loss = (-s[0]).exp() * first + s[0] + factor * second + first.item() / 3 * second
        loss.backward()
        return {"one": one, "two": two, "loss": loss}, {"optimizer": optimizer, "s": s}

    assert told(program).cause == "healthy"


def test_a_policy_that_is_trained_on_stored_actions_is_fine() -> None:
    """PPO: actions and advantages were made under no_grad, by the same networks."""

    def program() -> Any:
        policy, value, x, returns = net(3, 4), net(3, 1), batch(), torch.rand(5)
        optimizer = torch.optim.SGD([*policy.parameters(), *value.parameters()], 0.1)
        with torch.no_grad():
            actions = policy(x).softmax(1).multinomial(1)
            old = policy(x).log_softmax(1).gather(1, actions)
            advantage = returns - value(x).squeeze(1)
        ratio = (policy(x).log_softmax(1).gather(1, actions) - old).exp().squeeze(1)
        clipped = ratio.clamp(0.8, 1.2)
        surrogate = torch.min(ratio * advantage, clipped * advantage).mean()
        loss = functional.mse_loss(value(x).squeeze(1), returns) - surrogate
        loss.backward()
        return {"policy": policy, "value": value, "loss": loss}, {"optimizer": optimizer}

    assert told(program).cause == "healthy"


def test_before_a_backward_the_flags_are_told_with_the_calls_that_set_them() -> None:
    def program() -> Any:
        model = OneUnused()
        model.unused.requires_grad_(False)
        return ({"model": model},)

    found = told(program)
    assert found.cause == "no_backward_yet"
    assert "model.unused.{weight,bias}: frozen, requires_grad was switched off" in found.more[0]


def test_what_one_line_switches_off_is_one_cause() -> None:
    def program() -> Any:
        model, head, x = nn.Sequential(net(), nn.ReLU(), net(2, 2)), net(2, 1), batch()
        with torch.no_grad():
            h = model(x)
        loss = head(h).sum()
        loss.backward()
        return ({"model": model, "loss": loss},)

    found = told(program)
    assert found.verdict.startswith("model.{0,2}.{weight,bias}: .grad is None: no_grad cuts it")


@pytest.mark.parametrize(
    ("name", "used", "is_told"),
    [
        ("kl_loss", False, True),
        ("reg", False, True),
        ("kl_loss", True, False),
        ("val_loss", False, False),
        ("accuracy", False, False),
        ("region", False, False),
    ],
)
def test_a_loss_that_was_forgotten_is_a_further_line(name: str, used: bool, is_told: bool) -> None:
    def program() -> Any:
        model, x = net(), batch()
        part = f"{name} = model(x).abs().mean()"
        total = f"loss = model(x).pow(2).mean() {f'+ {name}' if used else ''}"
        names = {"model": model, "x": x}
        exec(compile(f"{part}\n{total}\nloss.backward()", "train.py", "exec"), names)
        KEPT.append(names)
        return {"model": model, "loss": names["loss"]}, {name: names[name]}

    found = told(program)
    assert found.cause == "healthy"
    assert ("goes into no loss" in found.verdict) is is_told

"""Programs in which nothing is cut: a recording of them reports no cut at all."""

from __future__ import annotations

import contextlib
import io
import logging

import programs
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv

PROGRAMS = []


def program(function):
    """A program of this table."""
    PROGRAMS.append(function)
    return function


def leaf(*shape):
    return (
        torch.linspace(-1.0, 2.0, torch.Size(shape).numel()).reshape(shape).clone().requires_grad_()
    )


# constants, factories and reading attributes ------------------------------------------------------


@program
def constants_only():
    k = torch.ones(3)
    m = k.detach() * 2 + k.data
    return m.argmax().item(), (m > 0).tolist(), torch.tensor(m.tolist()), m.numpy(), m.long()


@program
def untracked_values_beside_tracked_ones():
    a, k = leaf(3), torch.ones(3)
    return (a * k.detach() + k.argmax() + k.data + k.sum().item()).sum()


@program
def factories_like_a_tracked_tensor():
    a = leaf(3)
    made = [
        torch.empty_like(a),
        torch.zeros_like(a),
        torch.ones_like(a),
        torch.full_like(a, 2.0),
        torch.rand_like(a),
        torch.randn_like(a),
        torch.randint_like(a, 3),
    ]
    return a * made[1]


@program
def new_factories_of_a_tracked_tensor():
    a = leaf(3)
    made = [
        a.new_zeros(3),
        a.new_ones(3),
        a.new_empty(2),
        a.new_full((2,), 1.0),
        a.new_tensor([1.0, 2.0]),
    ]
    return a * made[0]


@program
def attribute_reads():
    a = leaf(2, 2)
    h = a * 2
    return (
        h.shape,
        h.dtype,
        h.device,
        h.layout,
        h.requires_grad,
        h.is_leaf,
        h.grad_fn,
        a.grad,
        h.retains_grad,
        h.ndim,
        h.is_sparse,
        h.itemsize,
        h.nbytes,
        h.output_nr,
        h._version,
        h._base,
        h.is_cpu,
    )


@program
def questions_about_memory():
    a = leaf(2, 2)
    return (
        a.data_ptr(),
        a.storage_offset(),
        a.stride(),
        a.size(),
        a.numel(),
        a.dim(),
        a.is_contiguous(),
        a.element_size(),
        a.untyped_storage().nbytes(),
        a.is_floating_point(),
        a.is_complex(),
        a.get_device(),
        a.nelement(),
    )


@program
def length_and_hash_and_identity():
    a = leaf(3)
    return (
        len(a),
        hash(a),
        a is a,
        {a: 1},
        id(a),
        isinstance(a, torch.Tensor),
        torch.is_tensor(a),
        callable(a),
    )


@program
def printing():
    a = leaf(3)
    h = (a * 2).sum()
    with contextlib.redirect_stdout(io.StringIO()):
        print(a, h, [a, h], {"a": a})
    return (
        repr(a),
        str(h),
        f"{h}",
        f"{h:.3f}",
        f"{a!r}",
        "{}".format(h),  # noqa: UP032
        "%s" % h,  # noqa: UP031
    )


@program
def logging_a_tensor():
    h = (leaf(3) * 2).sum()
    logger = logging.getLogger("a logger of this test")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(io.StringIO()))
    logger.warning("loss %s", h)


# flags, hooks and backward ------------------------------------------------------------------------


@program
def hooks_and_retain_grad():
    a = leaf(3)
    h = a * 2
    h.retain_grad()
    h.register_hook(lambda g: g * 2)
    a.register_hook(lambda g: None)
    a.register_post_accumulate_grad_hook(lambda t: None)
    h.grad_fn.register_hook(lambda gi, go: None)
    h.sum().backward()


@program
def switching_a_flag_on():
    k = torch.ones(3)
    k.requires_grad_()
    m = torch.ones(3)
    m.requires_grad = True
    k.requires_grad_(True)
    return (k * m).sum()


@program
def switching_the_flag_of_a_constant_off():
    torch.ones(3).requires_grad_(False)


@program
def backward_forms():
    a = leaf(3)
    h = a * a
    h.sum().backward(retain_graph=True)
    h.backward(torch.ones(3), retain_graph=True)
    h.backward(gradient=torch.ones(3), inputs=[a], retain_graph=True)
    torch.autograd.backward([h, (a * 2).sum()], [torch.ones(3), None])


@program
def autograd_grad_forms():
    a, b = leaf(3), leaf(3)
    h = a * a
    torch.autograd.grad(h.sum(), a, retain_graph=True)
    torch.autograd.grad(h, [a, b], grad_outputs=torch.ones(3), allow_unused=True, retain_graph=True)
    torch.autograd.grad(h.sum(), h)


@program
def gradient_with_a_tracked_seed():
    a, s = leaf(3), leaf(3)
    (g,) = torch.autograd.grad(a * a, a, grad_outputs=s, create_graph=True)
    g.sum().backward()


@program
def double_backward():
    a = leaf(3)
    (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
    (g**2).sum().backward()


@program
def gradient_penalty():
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), leaf(2, 3)
    (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()


@program
def reading_and_clearing_grad():
    a = leaf(3)
    (a * 2).sum().backward()
    g = a.grad
    a.grad = None
    (a * 2).sum().backward()
    a.grad.zero_()
    return g.norm().item(), a.grad.clone(), a.grad.detach(), a.grad.data


# optimizers ---------------------------------------------------------------------------------------


def train(make_optimizer, *, set_to_none=True, closure=False):
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.ones(2, 3)
    optimizer = make_optimizer(list(net.parameters()))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def step():
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = net(x).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(2):
        if not closure:
            step()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step(step if closure else None)
        scheduler.step()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd-momentum": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, foreach=False
    ),
    "sgd-foreach": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, weight_decay=0.1, foreach=True
    ),
    "sgd-fused": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adam": lambda p: torch.optim.Adam(p, foreach=False, weight_decay=0.1, amsgrad=True),
    "adam-foreach": lambda p: torch.optim.Adam(p, foreach=True),
    "adam-fused": lambda p: torch.optim.Adam(p, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p),
    "rmsprop": lambda p: torch.optim.RMSprop(p, momentum=0.9, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_cuts_nothing(name):
    with gv.record() as rec:
        train(OPTIMIZERS[name])
    assert list(rec.graph.cuts) == []


@program
def zero_grad_to_zero():
    train(OPTIMIZERS["sgd"], set_to_none=False)


@program
def optimizer_with_closure():
    train(OPTIMIZERS["sgd"], closure=True)


@program
def lbfgs():
    a = leaf(3)
    optimizer = torch.optim.LBFGS([a], max_iter=2)

    def step():
        optimizer.zero_grad()
        loss = (a**2).sum()
        loss.backward()
        return loss

    optimizer.step(step)


@program
def clipping_gradients():
    a = leaf(3)
    (a**2).sum().backward()
    nn.utils.clip_grad_norm_([a], 1.0)
    nn.utils.clip_grad_norm_([a], 1.0, foreach=True)
    nn.utils.clip_grad_value_([a], 0.5)


@program
def a_step_by_hand():
    a = leaf(3)
    (a**2).sum().backward()
    with torch.no_grad():
        a -= 0.1 * a.grad
        a.add_(a.grad, alpha=-0.1)
        a.clamp_(-1, 1)
    a.grad = None


# calls that hand their input on -------------------------------------------------------------------


@program
def no_op_conversions():
    a = leaf(3)
    h = (
        a.to(torch.float32)
        .contiguous()
        .float()
        .cpu()
        .to("cpu")
        .type(torch.float32)
        .requires_grad_()
    )
    return torch.as_tensor(h), h.expand_as(h), a.view_as(a), a.type_as(h)


@program
def no_op_conversions_under_no_grad():
    a = leaf(3)
    with torch.no_grad():
        return a.to(torch.float32), a.contiguous(), torch.as_tensor(a), a.float()


@program
def evaluation_dropout():
    a = leaf(3)
    return F.dropout(a, 0.5, training=False), nn.Dropout(0.5).eval()(a), nn.Identity()(a)


@program
def conversions_that_keep_the_path():
    a = leaf(3)
    return a.double(), a.half(), a.to(torch.bfloat16), a.to(torch.complex64), a.clone(), a.sum()


@program
def zero_gradients():
    a = leaf(3)
    return (
        a.round(),
        a.floor(),
        a.ceil(),
        a.sign(),
        a.trunc(),
        a * 0,
        torch.zeros(3) * a,
        a.frac(),
        torch.heaviside(a, torch.ones(3)),
    )


# in-place writes and views ------------------------------------------------------------------------


@program
def writing_in_place():
    a, b = leaf(3), leaf(3)
    h = a * 2
    h.add_(b)
    h *= 3
    h[0] = 7.0
    h[1:] = b[1:]
    h.zero_()
    h.copy_(a)
    return h.sum()


@program
def writing_through_views():
    a, b = leaf(2, 2), leaf(2)
    h = a * 2
    v = h[0]
    v.mul_(2)
    v.copy_(b)
    h.t()[0].add_(b)
    h.view(4)[1:3].mul_(b)
    h.diagonal().fill_(1.0)
    return h.sum() + v.sum()


@program
def writing_into_a_buffer():
    a = leaf(3)
    k = torch.zeros(3)
    k.copy_(a)
    m = torch.empty_like(a).copy_(a)
    n = torch.zeros(2, 3)
    n[0] = a
    return k + m + n[0]


@program
def writing_constants_under_no_grad():
    a, k = leaf(3), torch.ones(3)
    h = a * 2
    with torch.no_grad():
        a.mul_(2.0)
        a[0] = 1.0
        a.copy_(k)
        h.add_(1.0)
        a.zero_()
    return h


@program
def view_as_real_in_place():
    z = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    w = z * 2
    torch.view_as_real(w).mul_(2.0)
    return w.abs().sum()


@program
def complex_numbers():
    z = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    return (
        z.real + z.imag,
        z.conj() * z,
        torch.view_as_real(z),
        z.abs(),
        torch.fft.fft(z),
        torch.complex(leaf(3), leaf(3)),
    )


@program
def pieces_of_a_tensor():
    a = leaf(4, 2)
    p, q = a.chunk(2)
    first, *rest = a.unbind()
    s, t = a.split([1, 3])
    return p + q, first, rest, s, t, a.tensor_split(2), torch.hsplit(a, 2)


@program
def iterating_over_a_tensor():
    a = leaf(3)
    total = 0.0
    for x in a:
        total = total + x * 2
    for row in leaf(2, 2):
        x, y = row
        total = total + x * y
    return total + sum(a) + sum(x for x in a)


@program
def joining_tracked_and_constant():
    a, k = leaf(3), torch.ones(3)
    return (
        torch.cat([a, k]),
        torch.stack([k, a]),
        torch.hstack((a, k)),
        torch.where(k > 0, a, k),
        torch.block_diag(a, k),
    )


@program
def indexing():
    a = leaf(3, 3)
    i = torch.tensor([0, 2])
    rows = a[i], a[[0, 1]], a[i, i], a[0], a[..., None], a[torch.ones(3) > 0], a.index_select(1, i)
    return (
        rows,
        a.take(i),
        a.gather(0, torch.zeros(1, 3).long()),
        a.masked_select(torch.eye(3) > 0),
        torch.take_along_dim(a, i[:, None], 0),
    )


@program
def zero_sized():
    a = leaf(3)
    e = a[3:]
    f = torch.zeros(0, requires_grad=True)
    return e * 2, torch.cat([e, f]), f.sum(), f.reshape(0, 3), e.clone()


@program
def several_outputs():
    a = leaf(3, 3)
    u, s, v = torch.linalg.svd(a + torch.eye(3) * 3)
    values, places = a.max(dim=0)
    lo, hi = torch.aminmax(a)
    return (
        u,
        s,
        v,
        values,
        places,
        lo,
        hi,
        a.sort(),
        a.topk(2),
        torch.var_mean(a),
        a.median(dim=0),
        torch.frexp(a).mantissa,
    )


@program
def einsum_and_matrix_functions():
    a, b = leaf(2, 2), leaf(2, 2)
    return (
        torch.einsum("ij,jk->ik", a, b),
        a @ b,
        torch.linalg.inv(a + 3 * torch.eye(2)),
        a.matmul(b),
    )


@program
def foreach_functions():
    h = [leaf(2) * 2, leaf(3) * 2]
    torch._foreach_mul_(h, 2.0)
    return torch._foreach_add(h, h), torch._foreach_exp(h), torch._foreach_norm(h)


# custom Functions and checkpoint ------------------------------------------------------------------


class Inside(torch.autograd.Function):
    """What runs inside is no business of the caller's graph."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x.detach().clone())
        mask = (x > 0).float() * x.data.argmax().item()
        with torch.no_grad():
            mask = mask + y * x
        return mask * y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.detach(), g.clone() if (g > 0).any() else g


@program
def inside_of_a_custom_function():
    a, b = leaf(3), leaf(3)
    Inside.apply(a, b).sum().backward()


@program
def custom_functions_in_a_row():
    a = leaf(3)
    p, q = programs.Blend.apply(programs.Square.apply(a), a)
    best, _ = programs.Best.apply(p + q)
    best.sum().backward()


class Doubled(torch.autograd.Function):
    """Writes into its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Forwarded(torch.autograd.Function):
    """Hands its input back."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


@program
def custom_functions_that_write_or_forward():
    a = leaf(3)
    h = a * 2
    Doubled.apply(h)
    r = Forwarded.apply(h)
    r.sum().backward()


@program
def checkpoint_without_reentry():
    a, net = leaf(3), nn.Linear(3, 3)
    checkpoint(lambda x: net(x).tanh(), a, use_reentrant=False).sum().backward()


@program
def checkpoint_with_reentry():
    a, net = leaf(3), nn.Linear(3, 3)
    checkpoint(lambda x: net(x).tanh(), a * 2, use_reentrant=True).sum().backward()


# modules ------------------------------------------------------------------------------------------

MODULES = {
    "linear": lambda: (nn.Linear(3, 2), leaf(2, 3)),
    "linear on a vector": lambda: (nn.Linear(3, 2), leaf(3)),
    "conv1d": lambda: (nn.Conv1d(1, 2, 2), leaf(1, 1, 4)),
    "conv2d": lambda: (
        nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2)),
        leaf(1, 1, 4, 4),
    ),
    "batch norm, training": lambda: (nn.BatchNorm1d(3), leaf(4, 3)),
    "batch norm, evaluation": lambda: (nn.BatchNorm1d(3).eval(), leaf(4, 3)),
    "layer norm": lambda: (nn.LayerNorm(3), leaf(2, 3)),
    "group norm": lambda: (nn.GroupNorm(2, 4), leaf(2, 4)),
    "dropout, training": lambda: (nn.Dropout(0.5), leaf(4, 3)),
    "lstm": lambda: (nn.LSTM(3, 2, num_layers=2, bidirectional=True), leaf(4, 1, 3)),
    "gru": lambda: (nn.GRU(3, 2), leaf(4, 1, 3)),
    "lstm cell": lambda: (nn.LSTMCell(3, 2), leaf(1, 3)),
    "multihead attention": lambda: (Attend(), leaf(4, 1, 4)),
    "transformer layer": lambda: (nn.TransformerEncoderLayer(4, 2, 8), leaf(3, 1, 4)),
    "transformer layer, evaluation": lambda: (
        nn.TransformerEncoderLayer(4, 2, 8).eval(),
        leaf(3, 1, 4),
    ),
    "prelu": lambda: (
        nn.Sequential(nn.PReLU(), nn.Softplus(), nn.GELU(), nn.Softmax(-1)),
        leaf(2, 3),
    ),
    "bilinear": lambda: (Both(), leaf(2, 3)),
    "spectral norm": lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), leaf(2, 3)),
    "up-sampling": lambda: (nn.Upsample(scale_factor=2, mode="bilinear"), leaf(1, 1, 2, 2)),
}


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        return self.attention(x, x, x)


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear = nn.Bilinear(3, 3, 2)

    def forward(self, x):
        return self.bilinear(x, x)


@pytest.mark.parametrize("name", MODULES)
def test_layers_cut_nothing(name):
    torch.manual_seed(0)
    layer, x = MODULES[name]()
    with gv.record() as rec:
        y = layer(x)
        (y[0] if isinstance(y, tuple) else y).sum().backward()
    assert list(rec.graph.cuts) == []


@program
def embedding_and_cross_entropy():
    table, places = nn.Embedding(5, 3, padding_idx=0), torch.tensor([1, 2, 0])
    F.cross_entropy(table(places), torch.tensor([0, 1, 2])).backward()


@program
def sparse_embedding():
    table = nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1, 2, 1])).sum().backward()


@program
def losses():
    a, k = leaf(4), torch.ones(4)
    total = (
        F.mse_loss(a, k)
        + F.l1_loss(a, k)
        + F.binary_cross_entropy_with_logits(a, k)
        + F.huber_loss(a, k)
    )
    (
        total
        + F.kl_div(a.log_softmax(0), k.softmax(0), reduction="batchmean")
        + F.cosine_similarity(a, k, dim=0)
    ).backward()


@program
def making_and_initializing_modules():
    net = nn.Sequential(
        nn.Linear(3, 3), nn.BatchNorm1d(3), nn.LSTM(3, 2), nn.Embedding(3, 2), nn.Conv2d(1, 1, 2)
    )
    for p in net.parameters():
        nn.init.zeros_(p)
        nn.init.uniform_(p, -1, 1)
        if p.dim() > 1:
            nn.init.xavier_normal_(p)
            nn.init.orthogonal_(p)


@program
def state_dict_there_and_back():
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    state = net.state_dict()
    net.load_state_dict(state)
    return (
        dict(net.named_parameters()),
        net.train(),
        net.eval(),
        list(net.buffers()),
        net.zero_grad(),
    )


# modes that touch nothing tracked -----------------------------------------------------------------


@program
def modes_around_untracked_values():
    a, k = leaf(3), torch.ones(3)
    with torch.no_grad():
        m = k * 2
        n = torch.randn(3) + m
        m.add_(n)
    with torch.inference_mode():
        k.argmax()
    with torch.set_grad_enabled(False):
        k.exp_()
    with torch.enable_grad():
        a = a * m
    return a.sum()


@program
def no_grad_with_everything_enabled_inside():
    a = leaf(3)
    with torch.no_grad(), torch.enable_grad():
        b = a * 2
    return b


@program
def looking_at_tracked_values_under_no_grad():
    a = leaf(3)
    with torch.no_grad():
        return (
            a.shape,
            str(a),
            torch.zeros_like(a),
            a.requires_grad,
            a.grad,
            len(a),
            f"{a}",
            a.is_leaf,
            a.new_zeros(2),
        )


@program
def autocast():
    a, b = leaf(2, 2), leaf(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = a @ b
    c.float().sum().backward()


@program
def saved_tensors_hooks():
    a = leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
        h = a * a
    with torch.autograd.graph.save_on_cpu():
        h = h * a
    h.sum().backward()


@program
def anomaly_mode():
    a = leaf(3)
    with torch.autograd.set_detect_anomaly(True):
        (a * a).sum().backward()


@program
def functional_transforms():
    k = torch.ones(3)
    return (
        torch.func.grad(lambda x: (x**2).sum())(k),
        torch.func.vmap(lambda x: x * 2)(k),
        torch.func.jacrev(torch.sin)(k),
    )


def test_the_table_is_long_enough():
    assert len(PROGRAMS) + len(MODULES) + len(OPTIMIZERS) >= 45


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_no_cut(function):
    torch.manual_seed(0)
    with gv.record() as rec:
        function()
    graph = rec.graph
    said = [
        (graph.call[c.call_id].source, graph.call[c.call_id].function, c.reason.value)
        for c in graph.cuts
    ]
    assert said == []

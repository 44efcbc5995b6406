# https://github.com/pytorch/pytorch/issues/31819
import torch

torch.manual_seed(0)

zero = float(torch.finfo(torch.float32).min) / 4


def logadd(x0, x1, x2):
    # produces the same as torch.logsumexp(torch.stack([x0, x1, x2]), dim=0), and faster
    m = torch.max(torch.max(x0, x1), x2)
    res = (x0 - m).exp() + (x1 - m).exp() + (x2 - m).exp()
    return res.log() + m


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0):
    B = torch.arange(len(targets))
    _t_a_r_g_e_t_s_ = torch.cat([targets, targets[:, :1]], dim=-1)
    _t_a_r_g_e_t_s_ = torch.stack([torch.full_like(_t_a_r_g_e_t_s_, blank), _t_a_r_g_e_t_s_], dim=-1).flatten(start_dim=-2)
    diff_labels = torch.cat([torch.as_tensor([[False, False]]).expand(len(B), -1), _t_a_r_g_e_t_s_[:, 2:] != _t_a_r_g_e_t_s_[:, :-2]], dim=1)

    log_probs_ = log_probs.gather(-1, _t_a_r_g_e_t_s_.expand(len(log_probs), -1, -1))
    log_alpha = torch.full((len(log_probs), len(B), 2 + _t_a_r_g_e_t_s_.shape[-1]), zero)
    log_alpha[0, :, 2 + 0] = log_probs[0, :, blank]
    log_alpha[0, :, 2 + 1] = log_probs[0, B, _t_a_r_g_e_t_s_[:, 1]]
    for t in range(1, len(log_probs)):
        skip = torch.where(diff_labels, log_alpha[t - 1, :, :-2], torch.tensor(zero))
        log_alpha[t, :, 2:] = log_probs_[t] + logadd(log_alpha[t - 1, :, 2:], log_alpha[t - 1, :, 1:-1], skip)

    l1l2 = log_alpha[input_lengths - 1, B].gather(-1, torch.stack([2 + target_lengths * 2 - 1, 2 + target_lengths * 2], dim=-1))
    return -torch.logsumexp(l1l2, dim=-1)


# %%
T, N, C, S = 12, 3, 6, 4
logits = torch.randn(T, N, C, requires_grad=True)
targets = torch.randint(1, C, (N, S))
input_lengths = torch.full((N,), T)
target_lengths = torch.full((N,), S)
log_probs = logits.log_softmax(dim=-1)
builtin_ctc = torch.nn.functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, reduction='none')
builtin_grad, = torch.autograd.grad(builtin_ctc.sum(), logits, retain_graph=True)

# %%
custom_ctc = ctc_loss(log_probs, targets, input_lengths, target_lengths)
print(builtin_ctc, custom_ctc)

# %%
custom_ctc_grad, = torch.autograd.grad(custom_ctc.sum(), logits, retain_graph=True)
print((custom_ctc_grad - builtin_grad).abs().max())

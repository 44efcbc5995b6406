# https://github.com/richarddwang/electra_pytorch/issues/12
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
vocab, mask_id = 30, 29


class Encoder(nn.Module):
    def __init__(self, out, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, out)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def sample(logits):
    "Gumbel softmax sampling"
    gumbel = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-9, 1 - 1e-6)))
    return (logits.float() + gumbel).argmax(dim=-1)


# %%
generator, discriminator = Encoder(vocab), Encoder(1)
optimizer = torch.optim.Adam([*generator.parameters(), *discriminator.parameters()], lr=5e-3)
input_ids = torch.randint(0, vocab - 1, (16, 12))
is_mlm_applied = torch.rand(16, 12) < 0.15
masked_inputs = input_ids.masked_fill(is_mlm_applied, mask_id)

# %%
losses = []
for step in range(40):
    gen_logits = generator(masked_inputs)  # (B, L, vocab size)
    # reduce size to save space and speed
    mlm_gen_logits = gen_logits[is_mlm_applied, :]
    with torch.no_grad():
        # sampling
        pred_toks = sample(mlm_gen_logits)
        # produce inputs for discriminator
        generated = masked_inputs.clone()
        generated[is_mlm_applied] = pred_toks
        # produce labels for discriminator
        is_replaced = is_mlm_applied.clone()
        is_replaced[is_mlm_applied] = (pred_toks != input_ids[is_mlm_applied])
    disc_logits = discriminator(generated).squeeze(-1)
    gen_loss = F.cross_entropy(mlm_gen_logits, input_ids[is_mlm_applied])
    disc_loss = F.binary_cross_entropy_with_logits(disc_logits, is_replaced.float())
    loss = gen_loss * 1.0 + disc_loss * 50.0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append((gen_loss.item(), disc_loss.item()))
print(losses[0], losses[-1])
assert losses[-1][0] < losses[0][0] and losses[-1][1] < losses[0][1]
assert generator.embed.weight.grad.abs().sum() > 0 and not generated.requires_grad

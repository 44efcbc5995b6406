# https://github.com/zhuchen03/FreeLB/issues/18
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
adv_steps, adv_lr, adv_init_mag, adv_max_norm = 3, 0.3, 0.2, 0.5


class Model(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, 32, batch_first=True)
        self.classifier = nn.Linear(32, 2)

    def forward(self, inputs_embeds):
        return self.classifier(self.encoder(inputs_embeds)[0][:, -1])


# %%
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
input_ids, labels = torch.randint(1, 40, (16, 8)), torch.randint(0, 2, (16,))
input_mask = (input_ids != 0).to(torch.float)

# %%
history = []
for step in range(20):
    embeds_init = model.embeddings(input_ids)
    delta = torch.zeros_like(embeds_init).uniform_(-1, 1) * input_mask.unsqueeze(2)
    mag = adv_init_mag / torch.sqrt(input_mask.sum(1) * embeds_init.size(-1))
    delta = (delta * mag.view(-1, 1, 1)).detach()
    tr_loss = 0
    for astep in range(adv_steps):
        # (0) forward
        delta.requires_grad_()
        loss = F.cross_entropy(model(delta + embeds_init), labels)
        # (1) backward
        loss = loss / adv_steps
        tr_loss += loss.item()
        loss.backward()
        if astep == adv_steps - 1:
            break
        # (2) get gradient on delta
        delta_grad = delta.grad.clone().detach()
        # (3) update and clip
        denorm = torch.norm(delta_grad.view(delta_grad.size(0), -1), dim=1).view(-1, 1, 1)
        denorm = torch.clamp(denorm, min=1e-8)
        delta = (delta + adv_lr * delta_grad / denorm).detach()
        delta_norm = torch.norm(delta.view(delta.size(0), -1).float(), p=2, dim=1).detach()
        exceed_mask = (delta_norm > adv_max_norm).to(embeds_init)
        reweights = (adv_max_norm / delta_norm * exceed_mask + (1 - exceed_mask)).view(-1, 1, 1)
        delta = (delta * reweights).detach()
        embeds_init = model.embeddings(input_ids)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    reached = model.embeddings.weight.grad.abs().sum().item()
    optimizer.step()
    model.zero_grad()
    history.append(tr_loss)
print(history[0], history[-1])
assert history[-1] < history[0] and reached > 0
assert delta.flatten(1).norm(dim=1).max() <= adv_max_norm + 1e-4

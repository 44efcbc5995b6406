# https://github.com/archinetai/smart-pytorch/issues/5
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SMARTLoss(nn.Module):
    """The largest change of the state for a small noise on the embeddings."""

    def __init__(self, eval_fn, loss_fn, num_steps=1, step_size=1e-3, epsilon=1e-6, noise_var=1e-5):
        super().__init__()
        self.eval_fn, self.loss_fn, self.num_steps = eval_fn, loss_fn, num_steps
        self.step_size, self.epsilon, self.noise_var = step_size, epsilon, noise_var

    def forward(self, embed, state):
        noise = torch.randn_like(embed, requires_grad=True) * self.noise_var
        for i in range(self.num_steps + 1):
            state_perturbed = self.eval_fn(embed + noise)
            if i == self.num_steps:
                return self.loss_fn(state_perturbed, state)
            loss = self.loss_fn(state_perturbed, state.detach())
            noise_gradient, = torch.autograd.grad(loss, noise)
            step = noise + self.step_size * noise_gradient
            step_norm = torch.norm(step, p=float("inf"), dim=-1, keepdim=True)
            noise = (step / (step_norm + self.epsilon)).detach().requires_grad_()


class TextClassifier(nn.Module):
    def __init__(self, vocab=40, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, classes))

    def from_embeddings(self, embeddings):
        return self.layers(embeddings.mean(1))

    def forward(self, input_ids):
        return self.from_embeddings(self.embed(input_ids))


class Evaluator:
    def __init__(self, model):
        self.model = model

    def __call__(self, embed):
        return self.model(self.input_ids)


def kl_loss(input, target):
    return F.kl_div(F.log_softmax(input, -1), F.softmax(target, -1), reduction="batchmean")


model = TextClassifier()
eval_fn = Evaluator(model)
smart_loss = SMARTLoss(eval_fn=eval_fn, loss_fn=kl_loss)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
input_ids = torch.randint(0, 40, (8, 6))
labels = input_ids[:, 0] % 3

# %%
for epoch in range(2):
    eval_fn.input_ids = input_ids
    state = model(input_ids)
    loss = F.cross_entropy(state, labels)
    loss = loss + 0.02 * smart_loss(model.embed(input_ids), state)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

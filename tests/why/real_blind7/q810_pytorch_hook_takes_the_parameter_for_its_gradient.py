# https://github.com/pytorch/pytorch/issues/187268
import torch
import torch.nn as nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.fc = nn.Linear(8, 2)

    def forward(self, tokens):
        return self.fc(self.embed(tokens).mean(1))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.embed.weight.detach().clone()


# the first five rows are pretrained and must not be trained
def keep_first_rows(grad):
    grad[:5] = 0


model.embed.weight.register_post_accumulate_grad_hook(keep_first_rows)

# %%
for step in range(4):
    tokens, labels = torch.randint(0, 20, (16, 6)), torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), model.embed.weight[0, :3])

# https://github.com/amoudgl/pygoturn/issues/16
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

lr_decay_step, k_samples = 4, 5
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
batch = []


# %%
def train_model(num_batches):
    itr = 0
    running, done = [], False
    while itr < num_batches:
        for sample in torch.randn(3 * k_samples, 8):
            running.append(sample)
            if itr > 0 and itr % lr_decay_step == 0:
                scheduler.step()
            done = len(running) == k_samples
            if not done:
                continue
            x = torch.stack(running)
            running = []
            optimizer.zero_grad()
            loss = F.l1_loss(model(x), x[:, :4])
            loss.backward()
            optimizer.step()
            itr += 1
            print(itr, loss.item(), optimizer.param_groups[0]["lr"])


# %%
train_model(12)

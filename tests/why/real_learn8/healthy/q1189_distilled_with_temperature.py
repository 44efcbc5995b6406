# https://github.com/haitongli/knowledge-distillation-pytorch/blob/master/train.py
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(230)


def loss_fn_kd(outputs, labels, teacher_outputs, alpha=0.9, T=4):
    KD_loss = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(outputs / T, dim=1), F.softmax(teacher_outputs / T, dim=1)) * (alpha * T * T)
    return KD_loss + F.cross_entropy(outputs, labels) * (1.0 - alpha)


class RunningAverage:
    def __init__(self):
        self.steps, self.total = 0, 0

    def update(self, val):
        self.total += val
        self.steps += 1

    def __call__(self):
        return self.total / float(self.steps)


model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5))
teacher_model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(128, 5))
optimizer = optim.Adam(model.parameters(), lr=1e-3)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.2)
before = model[0].weight.detach().clone()

# %%
summ = []
for epoch in range(2):
    model.train()
    teacher_model.eval()
    loss_avg = RunningAverage()
    for i in range(2):
        train_batch, labels_batch = torch.randn(6, 3, 6, 6), torch.randint(0, 5, (6,))
        output_batch = model(train_batch)
        with torch.no_grad():
            output_teacher_batch = teacher_model(train_batch)
        loss = loss_fn_kd(output_batch, labels_batch, output_teacher_batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        output_batch = output_batch.data.cpu().numpy()
        summ.append({"accuracy": float((output_batch.argmax(1) == labels_batch.numpy()).mean()), "loss": loss.item()})
        loss_avg.update(loss.item())
    scheduler.step()
    model.eval()
    val = model(train_batch)
    val_loss = F.cross_entropy(val, labels_batch).item()
    print(loss_avg(), val_loss)

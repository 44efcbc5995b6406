# https://github.com/pytorch/vision/blob/main/references/classification/train.py
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(0)


class ExponentialMovingAverage(AveragedModel):
    def __init__(self, model, decay):
        super().__init__(
            model, avg_fn=lambda avg, p, n: decay * avg + (1 - decay) * p, use_buffers=True
        )


def accuracy(output, target, topk=(1,)):
    with torch.inference_mode():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target[None])
        return [
            correct[:k].flatten().sum(dtype=torch.float32) * (100.0 / target.size(0)) for k in topk
        ]


def train_one_epoch(model, criterion, optimizer, data_loader, epoch, model_ema=None, scaler=None):
    model.train()
    for i, (image, target) in enumerate(data_loader):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=scaler is not None):
            output = model(image)
            loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)
        optimizer.step()
        if model_ema and i % 2 == 0:
            model_ema.update_parameters(model)
            if epoch < 1:
                model_ema.n_averaged.fill_(0)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        print(loss.item(), optimizer.param_groups[0]["lr"], acc1.item(), acc5.item())


def evaluate(model, criterion, data_loader):
    model.eval()
    total = 0.0
    with torch.inference_mode():
        for image, target in data_loader:
            output = model(image)
            loss = criterion(output, target)
            total += loss.item()
    return total


model = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 10),
)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
norms = [p for m in model if isinstance(m, nn.BatchNorm2d) for p in m.parameters()]
others = [p for m in model if not isinstance(m, nn.BatchNorm2d) for p in m.parameters()]
optimizer = torch.optim.SGD(
    [{"params": norms, "weight_decay": 0.0}, {"params": others, "weight_decay": 1e-4}],
    lr=0.1,
    momentum=0.9,
    nesterov=True,
)
warmup_lr_scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=1)
main_lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
lr_scheduler = torch.optim.lr_scheduler.SequentialLR(
    optimizer, [warmup_lr_scheduler, main_lr_scheduler], milestones=[1]
)
model_ema = ExponentialMovingAverage(model, decay=0.99)
data_loader = [(torch.randn(8, 3, 6, 6), torch.randint(0, 10, (8,))) for _ in range(3)]
before = model[0].weight.detach().clone()

# %%
for epoch in range(2):
    train_one_epoch(model, criterion, optimizer, data_loader, epoch, model_ema)
    lr_scheduler.step()
    print(evaluate(model, criterion, data_loader), evaluate(model_ema, criterion, data_loader))
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "model_ema": model_ema.state_dict(),
        "epoch": epoch,
    }

# The teacher was trained here, and its optimizer is done with: its old gradients move nothing.
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
xs, ys = torch.randn(128, 12), torch.randint(5, (128,))

# %%
warm = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for _ in range(5):
    warm.zero_grad()
    F.cross_entropy(teacher(xs), ys, label_smoothing=0.1).backward()
    warm.step()
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)

# %%
student = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5))
adapter = nn.Linear(16, 64, bias=False)
taps = {}
handles = [
    teacher[1].register_forward_hook(lambda m, i, o: taps.__setitem__("t", o.detach())),
    student[1].register_forward_hook(lambda m, i, o: taps.__setitem__("s", o)),
]
opt = torch.optim.AdamW([{"params": student.parameters(), "lr": 2e-3}, {"params": adapter.parameters(), "lr": 1e-3}], weight_decay=0.01)
T = 4.0
for epoch in range(3):
    student.train()
    for i in range(0, 128, 32):
        xb, yb = xs[i:i + 32], ys[i:i + 32]
        with torch.inference_mode():
            soft = teacher(xb)
        out = student(xb)
        kd = F.kl_div(F.log_softmax(out / T, 1), F.softmax(soft.clone() / T, 1), reduction="batchmean") * T * T
        hint = F.mse_loss(adapter(taps["s"]), taps["t"].clone())
        loss = 0.5 * F.cross_entropy(out, yb) + 0.5 * kd + 0.1 * hint
        opt.zero_grad()
        loss.backward()
        opt.step()
    student.eval()
    with torch.no_grad():
        acc = (student(xs).argmax(1) == ys).float().mean()
    print(epoch, f"{loss:.3f} {acc:.3f}")
for h in handles:
    h.remove()

assert all(p.grad is not None for p in student.parameters())

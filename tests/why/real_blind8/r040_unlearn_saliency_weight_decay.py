# https://github.com/OPTML-Group/Unlearn-Saliency/issues/32
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 32), nn.ReLU(), nn.Linear(32, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
forget_loader = [(torch.randn(16, 3, 8, 8), torch.randint(0, 10, (16,))) for _ in range(3)]

# %%
# the most salient half of each parameter is unlearned
mask = {}
for image, target in forget_loader:
    criterion(model(image), target).backward()
for name, param in model.named_parameters():
    mask[name] = (param.grad.abs() > param.grad.abs().median()).float()
optimizer.zero_grad()

# %%
theta0 = {name: param.detach().clone() for name, param in model.named_parameters()}
model.train()
for image, target in forget_loader:
    target = torch.randint(0, 10, target.shape)
    output_clean = model(image)
    loss = criterion(output_clean, target)

    optimizer.zero_grad()
    loss.backward()

    if mask:
        for name, param in model.named_parameters():
            if param.grad is not None:
                param.grad *= mask[name]

    optimizer.step()
    print(loss.item())

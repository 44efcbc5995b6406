# https://pytorch.org/docs/stable/amp.html
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.CrossEntropyLoss()
before = model[0].weight.detach().clone()

# %%
for epoch in range(3):
    input, target = torch.randn(16, 12), torch.randint(0, 4, (16,))
    optimizer.zero_grad()
    # Runs the forward pass with autocasting.
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        output = model(input)
        loss = loss_fn(output, target)
    loss.backward()
    optimizer.step()
    print(epoch, output.dtype, loss.item())

# https://github.com/karpathy/minGPT/blob/master/mingpt/trainer.py
import torch
import torch.nn as nn

torch.manual_seed(3407)
model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
before = model[1].weight.detach().clone()
history = []


def batch_end_callback(iter_num, loss):
    if iter_num % 2 == 0:
        norms = {n: p.grad.norm().item() for n, p in model.named_parameters()}
        history.append((iter_num, loss.item(), sum(norms.values())))
        # evaluate the validation loss
        model.eval()
        with torch.no_grad():
            x = torch.randint(0, 16, (4, 6))
            val = nn.functional.cross_entropy(model(x).view(-1, 16), x.roll(-1, 1).view(-1))
        model.train()  # revert model to training mode
        print(history[-1], val.item())


# %%
model.train()
for iter_num in range(4):
    x = torch.randint(0, 16, (4, 6))
    y = x.roll(-1, 1)
    # forward the model
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.view(-1, 16), y.reshape(-1))
    # backprop and update the parameters
    model.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    batch_end_callback(iter_num, loss)
